/* SPDX-License-Identifier: Apache-2.0
 * probes_test.c - the probes on a thread, as `orma record` runs them, in sessions with a daemon:
 * this machine's own /proc and /sys through shared memory into a trace.
 */
#include <orma/session.h>
#include <pthread.h>
#include <unistd.h>

#include "base/arena.h"
#include "daemon.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/daemon/probes_run.h"

enum { WAIT_MS = 20000 };

/* Later polls are at multiples of their period since the machine started. */
#define NEVER_MS "4000000000"

struct probes_thread {
	struct orma_probes *probes;
	pthread_t thread;
};

static void *probes_main(void *ctx)
{
	struct probes_thread *self = ctx;
	CHECK_INT(orma_tool_probes_run(self->probes), 0);
	return NULL;
}

static void probes_start(struct probes_thread *self, const struct orma_test_daemon *daemon)
{
	struct orma_probes_options options = {.producer_socket = daemon->producers};
	CHECK_INT(orma_tool_probes_new(&options, &self->probes), 0);
	CHECK_INT(pthread_create(&self->thread, NULL, probes_main, self), 0);
}

static void probes_stop(struct probes_thread *self)
{
	orma_tool_probes_stop(self->probes);
	pthread_join(self->thread, NULL);
	orma_tool_probes_free(self->probes);
}

static struct orma_session *session_start(const struct orma_test_daemon *daemon, const char *text)
{
	struct orma_session_options options = {.struct_size = sizeof(options),
					       .consumer_socket = daemon->consumers,
					       .timeout_ms = WAIT_MS};
	struct orma_session *session;
	struct orma_error error = {0};
	void *config;
	size_t size;
	CHECK_INT(orma_session_new(&options, &session, &error), 0);
	if (orma_config_parse("config", text, strlen(text), &config, &size, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_session_enable(session, config, size, -1), 0);
	orma_config_free(config);
	return session;
}

/* The packets of the probes in a session's buffer. */
struct content {
	struct orma_arena arena;
	size_t tree, stats, sys, cpu, interrupts, cleared;
	bool has_self; /* a record of this process */
	size_t self_values;
	uint64_t last_ns;
};

static int count_packet(void *ctx, const void *data, size_t size)
{
	struct content *content = ctx;
	struct orma_pb_trace_packet *packet;
	CHECK_INT(orma_proto_decode_copy(&orma_pb_trace_packet_desc, data, size, &content->arena,
					 &packet),
		  0);
	content->tree += packet->process_tree != NULL;
	content->stats += packet->process_stats != NULL;
	content->sys += packet->sys_stats != NULL;
	content->cpu += packet->cpu_info != NULL;
	content->interrupts += packet->interrupt_info != NULL;
	content->cleared += packet->incremental_state_cleared;
	for (size_t i = 0; packet->process_tree && i < packet->process_tree->processes.count; i++)
		if (packet->process_tree->processes.items[i]->pid == getpid())
			content->has_self = true;
	for (size_t i = 0; packet->process_stats && i < packet->process_stats->processes.count; i++)
		if (packet->process_stats->processes.items[i]->pid == getpid() &&
		    packet->process_stats->processes.items[i]->vm_rss_kb > 0)
			content->self_values++;
	CHECK_INT(packet->previous_packet_dropped, 0);
	return 0;
}

/* Flushes until `is_enough` is true of the session's packets; reading removes them from the
 * buffer. */
static void read_until(struct orma_session *session, struct content *content,
		       bool (*is_enough)(const struct content *))
{
	while (!is_enough(content)) {
		CHECK_INT(orma_session_flush(session, 0, 0), 0);
		CHECK_INT(orma_session_read(session, count_packet, content), 0);
	}
}

static void session_end(struct orma_session *session, struct content *content)
{
	orma_session_free(session);
	orma_base_arena_done(&content->arena);
}

static bool has_first(const struct content *content)
{
	return content->tree > 0 && content->stats > 0 && content->sys > 0 && content->cpu > 0;
}

ORMA_TEST(a_flush_right_after_the_start_brings_everything)
{
	struct orma_test_daemon daemon;
	struct probes_thread probes;
	struct content content = {0};
	orma_test_daemon_start(&daemon);
	probes_start(&probes, &daemon);
	struct orma_session *session = session_start(
		&daemon,
		"buffers { size_kb: 16384 }"
		"data_sources { config { name: 'linux.process_stats' process_stats_config {"
		"  scan_all_processes_on_start: true proc_stats_poll_ms: " NEVER_MS " } } }"
		"data_sources { config { name: 'linux.sys_stats' sys_stats_config {"
		"  meminfo_period_ms: " NEVER_MS " } } }"
		"data_sources { config { name: 'linux.system_info' } }");
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	read_until(session, &content, has_first);
	CHECK(content.has_self);
	CHECK_INT(content.self_values, 1);
	CHECK(content.stats >= 1); /* the number depends on the machine's processes */
	CHECK_INT(content.sys, 1);
	CHECK_INT(content.cpu, 1);
	CHECK_INT(content.cleared, 1);
	session_end(session, &content);
	probes_stop(&probes);
	orma_test_daemon_stop(&daemon);
}

static bool has_five_sys(const struct content *content)
{
	return content->sys >= 5;
}

static bool has_two_stats(const struct content *content)
{
	return content->self_values >= 2 && content->has_self;
}

ORMA_TEST(sessions_at_the_same_time_get_what_each_asked_for)
{
	struct orma_test_daemon daemon;
	struct probes_thread probes;
	struct content one = {0}, two = {0};
	orma_test_daemon_start(&daemon);
	probes_start(&probes, &daemon);
	struct orma_session *first = session_start(
		&daemon, "buffers { size_kb: 4096 }"
			 "data_sources { config { name: 'linux.sys_stats' sys_stats_config {"
			 "  stat_period_ms: 10 vmstat_period_ms: 20 } } }");
	struct orma_session *second = session_start(
		&daemon,
		"buffers { size_kb: 4096 }"
		"data_sources { config { name: 'linux.process_stats' process_stats_config {"
		"  proc_stats_poll_ms: 100 record_process_runtime: true } } }"
		"data_sources { config { name: 'linux.sys_stats' sys_stats_config {"
		"  meminfo_period_ms: " NEVER_MS " } } }");
	read_until(first, &one, has_five_sys);
	read_until(second, &two, has_two_stats);
	CHECK_INT(one.tree + one.stats + one.cpu, 0);
	CHECK_INT(two.sys, 1);
	/* The end of one does not affect the other. */
	session_end(first, &one);
	two.self_values = 0;
	read_until(second, &two, has_two_stats);
	session_end(second, &two);
	probes_stop(&probes);
	orma_test_daemon_stop(&daemon);
}

ORMA_TEST(probes_come_back_when_the_daemon_does)
{
	struct orma_test_daemon daemon;
	struct probes_thread probes;
	orma_test_daemon_start(&daemon);
	probes_start(&probes, &daemon);
	for (int round = 0; round < 2; round++) {
		struct content content = {0};
		struct orma_session *session = session_start(
			&daemon,
			"buffers { size_kb: 4096 }"
			"data_sources { config { name: 'linux.sys_stats' sys_stats_config {"
			"  stat_period_ms: 10 } } }");
		read_until(session, &content, has_five_sys);
		session_end(session, &content);
		if (round == 0) {
			orma_test_daemon_stop(&daemon);
			orma_test_daemon_start(&daemon);
		}
	}
	probes_stop(&probes);
	orma_test_daemon_stop(&daemon);
}

ORMA_TEST(probes_stop_before_a_daemon_was_ever_there)
{
	struct orma_test_daemon daemon;
	struct probes_thread probes;
	snprintf(daemon.producers, sizeof(daemon.producers), "%s/nobody", orma_test_tmpdir());
	probes_start(&probes, &daemon);
	probes_stop(&probes);
}
