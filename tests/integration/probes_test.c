/* SPDX-License-Identifier: Apache-2.0
 * probes_test.c - the probes on a thread, as `orma record` runs them, in sessions with a daemon:
 * this machine's own /proc and /sys through shared memory into a trace.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <orma/log.h>
#include <orma/session.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock_ns.h"
#include "daemon.h"
#include "harness.h"
#include "probes/systemd_journald/journal_library.h"
#include "process.h"
#include "proto/codec.h"
#include "schema/gen/journald_event.pb.h"
#include "schema/gen/process_stats.pb.h"
#include "schema/gen/process_tree.pb.h"
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
	char journal[256]; /* messages */
	uint64_t journal_total;
	bool has_journal; /* the journal is open */
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
	struct orma_pb_systemd_journald_event *event = packet->journald_event;
	if (event && event->message.size > 0)
		snprintf(content->journal + strlen(content->journal), 64, "%.*s@%llu ",
			 (int)event->message.size, event->message.data,
			 (unsigned long long)packet->timestamp);
	if (event)
		content->journal_total = event->num_total;
	content->has_journal |= event != NULL;
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

/* The probes fill their shared memory, and nobody reads it. */
ORMA_TEST(a_daemon_that_hangs_holds_the_probes_up_for_a_second)
{
	struct orma_test_process process = {0};
	struct orma_test_daemon paths;
	struct probes_thread probes;

	CHECK(orma_test_process_start(&process));
	memcpy(paths.producers, process.producers, sizeof(paths.producers));
	memcpy(paths.consumers, process.consumers, sizeof(paths.consumers));
	probes_start(&probes, &paths);
	struct orma_session *session = session_start(
		&paths, "buffers { size_kb: 4096 }"
			"producers { producer_name: 'perfetto.traced_probes' shm_size_kb: 32 "
			"page_size_kb: 4 }"
			"data_sources { config { name: 'linux.sys_stats' sys_stats_config {"
			"  stat_period_ms: 10 vmstat_period_ms: 10 meminfo_period_ms: 10 } } }");
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	orma_test_process_signal(&process, SIGSTOP);
	sleep(2);
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	probes_stop(&probes);
	uint64_t took_ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	orma_test_process_signal(&process, SIGCONT);
	orma_session_free(session);
	CHECK_INT(orma_test_process_stop(&process), 0);
	/* It would be 30 s; a busy machine gets some of that. */
	CHECK(took_ns < 10 * ORMA_NS_PER_SEC);
}

ORMA_TEST(probes_stop_before_a_daemon_was_ever_there)
{
	struct orma_test_daemon daemon;
	struct probes_thread probes;
	snprintf(daemon.producers, sizeof(daemon.producers), "%s/nobody", orma_test_tmpdir());
	probes_start(&probes, &daemon);
	probes_stop(&probes);
}

/* ---- the journal ---- */

#ifdef MADE_UP_SYSTEMD

/* Makes a library the libsystemd of this process. */
static void load_systemd(const char *kind)
{
	char path[512];
	snprintf(path, sizeof(path), "%s%s.so", MADE_UP_SYSTEMD, kind);
	CHECK(dlopen(path, RTLD_NOW | RTLD_LOCAL) != NULL);
	snprintf(path, sizeof(path), "%s/journal", orma_test_tmpdir());
	CHECK_INT(setenv("ORMA_TEST_JOURNAL", path, 1), 0);
}

static void append(const char *name, const char *text)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", orma_test_tmpdir(), name);
	int fd = open(path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, text, strlen(text)), strlen(text));
	close(fd);
}

static void rotate(void)
{
	char from[512], to[512];
	snprintf(from, sizeof(from), "%s/next", orma_test_tmpdir());
	snprintf(to, sizeof(to), "%s/journal", orma_test_tmpdir());
	CHECK_INT(rename(from, to), 0);
}

static bool has_journal(const struct content *content)
{
	return content->has_journal;
}

static bool has_two_entries(const struct content *content)
{
	return content->journal_total == 2;
}

static bool has_four_entries(const struct content *content)
{
	return content->journal_total == 4;
}

static void record_journal(struct content *content)
{
	struct orma_test_daemon daemon;
	struct probes_thread probes;
	append("journal", "1\nMESSAGE=before the start\n\n");
	orma_test_daemon_start(&daemon);
	probes_start(&probes, &daemon);
	struct orma_session *session = session_start(
		&daemon, "buffers { size_kb: 4096 }"
			 "data_sources { config { name: 'linux.systemd_journald' } }");
	read_until(session, content, has_journal);
	CHECK_INT(content->journal_total, 0);
	append("journal", "5\nno field\nMESSAGE=a\n_PID=7\n\n6\n\n");
	read_until(session, content, has_two_entries);
	append("journal", "7\nMESSAGE=b\n\n");
	append("next", "8\nMESSAGE=c\n\n");
	rotate();
	read_until(session, content, has_four_entries);
	session_end(session, content);
	probes_stop(&probes);
	orma_test_daemon_stop(&daemon);
}

ORMA_TEST(entries_of_the_journal_are_recorded_from_the_start_and_over_a_rotation)
{
	struct content content = {0};
	load_systemd("whole");
	record_journal(&content);
	CHECK_STR(content.journal, "a@5000 b@7000 c@8000 ");
}

ORMA_TEST(a_library_before_systemd_246_is_used_too)
{
	struct content content = {0};
	load_systemd("old");
	record_journal(&content);
	CHECK_STR(content.journal, "a@5000 b@7000 c@8000 ");
}

ORMA_TEST(a_library_that_lacks_a_function_is_not_used)
{
	const char *missing;
	load_systemd("partial");
	CHECK(orma_journal_library_load(&missing) == NULL);
	CHECK_STR(missing, "sd_journal_process");
}

static atomic_bool is_said;

static void listen_to_log(void *ctx, enum orma_log_level level, const char *message)
{
	(void)ctx;
	if (level == ORMA_LOG_ERROR && strstr(message, "the journal cannot be opened"))
		is_said = true;
}

ORMA_TEST(a_journal_that_may_not_be_opened_holds_no_session_up)
{
	struct orma_test_daemon daemon;
	struct probes_thread probes;
	struct content content = {0};
	load_systemd("whole");
	CHECK_INT(setenv("ORMA_TEST_JOURNAL_ERROR", "13", 1), 0);
	orma_test_daemon_start(&daemon);
	orma_log_set_sink(listen_to_log, NULL);
	probes_start(&probes, &daemon);
	struct orma_session *session = session_start(
		&daemon, "buffers { size_kb: 4096 }"
			 "data_sources { config { name: 'linux.systemd_journald' } }");
	while (!is_said) {
		CHECK_INT(orma_session_flush(session, 0, 0), 0);
		CHECK_INT(orma_session_read(session, count_packet, &content), 0);
	}
	CHECK(!content.has_journal);
	session_end(session, &content);
	probes_stop(&probes);
	orma_log_set_sink(NULL, NULL);
	orma_test_daemon_stop(&daemon);
}

#endif
