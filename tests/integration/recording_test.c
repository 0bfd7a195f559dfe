/* SPDX-License-Identifier: Apache-2.0
 * recording_test.c - ways to record, through the whole daemon: as many sessions as allowed, full
 * buffers, traces longer than their buffer, sessions that the command line detaches and
 * attaches, a recorder that is interrupted twice.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/macros.h"
#include "harness.h"
#include "process.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"

/* --- many sessions ---------------------------------------------------------------------------- */

enum { USERS = 3, PER_USER = 5, SESSIONS = USERS * PER_USER, FIRST_UID = 61001 };

/* Connects as another user, by the system call, because the C library's function would change
 * the daemon's thread too. */
static void open_as(struct orma_raw_consumer *consumer, const struct orma_test_daemon *daemon,
		    uid_t uid)
{
	if (geteuid() != 0) {
		orma_raw_consumer_open(consumer, daemon->consumers);
		return;
	}
	CHECK_INT(syscall(SYS_setresuid, -1, uid, -1), 0);
	orma_raw_consumer_open(consumer, daemon->consumers);
	CHECK_INT(syscall(SYS_setresuid, -1, 0, -1), 0);
}

static void enable(struct orma_raw_consumer *consumer)
{
	orma_raw_consumer_enable(consumer, -1,
				 "buffers { size_kb: 64 } "
				 "data_sources { config { name: \"shared\" } }");
}

/* Writes one packet into the buffer of each session; the packet names its session. */
static void emit_to_each(struct orma_raw_producer *producer, const uint32_t *targets,
			 size_t session_count)
{
	for (uint32_t i = 0; i < session_count; i++) {
		ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
		char text[16];

		snprintf(text, sizeof(text), "for %u", i);
		orma_raw_test_packet(&payload, "%s", text);
		orma_raw_producer_write_and_commit(
			producer,
			&(struct orma_raw_chunk){
				.page_idx = i,
				.writer_id = (uint16_t)(i + 1),
				.fragment_count = 1,
				.payload = {(const char *)payload.data, payload.size},
			},
			targets[i]);
	}
	orma_raw_producer_sync(producer);
}

static void check_refusal(const struct orma_test_daemon *daemon, uid_t uid, const char *reason)
{
	struct orma_raw_consumer consumer;

	open_as(&consumer, daemon, uid);
	enable(&consumer);
	CHECK(strstr(orma_raw_consumer_await_disabled(&consumer), reason));
	orma_raw_consumer_close(&consumer);
}

/* A session without data sources, so that the producer of the test does not see it. */
static void check_place(const struct orma_test_daemon *daemon, uid_t uid)
{
	struct orma_raw_consumer consumer;

	open_as(&consumer, daemon, uid);
	orma_raw_consumer_enable(&consumer, -1, "buffers { size_kb: 64 }");
	orma_raw_consumer_fence(&consumer);
	CHECK(orma_base_list_is_empty(&consumer.client.set_aside));
	orma_raw_consumer_close(&consumer);
}

static void open_to_everybody(const struct orma_test_daemon *daemon)
{
	CHECK_INT(chmod(orma_test_tmpdir(), 0755), 0);
	CHECK_INT(chmod(daemon->consumers, 0666), 0);
}

ORMA_TEST(fifteen_sessions_of_three_users_run_at_once)
{
	struct orma_test_daemon daemon;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumers[SESSIONS];
	uint32_t targets[SESSIONS];
	/* Only root can act as several users; other users see only their own limit. */
	size_t session_count = geteuid() == 0 ? SESSIONS : PER_USER;

	orma_test_daemon_start(&daemon);
	open_to_everybody(&daemon);
	orma_raw_producer_open(&producer, daemon.producers, "shared");
	orma_raw_producer_register(&producer, "name: \"shared\"");
	for (size_t i = 0; i < session_count; i++) {
		if (i > 0 && i % PER_USER == 0)
			check_refusal(&daemon, (uid_t)(FIRST_UID + i / PER_USER - 1),
				      "has 5, the maximum");
		open_as(&consumers[i], &daemon, (uid_t)(FIRST_UID + i / PER_USER));
		enable(&consumers[i]);
		while (producer.instance_count <= i || !producer.instances[i].is_started)
			orma_raw_producer_command(&producer);
		targets[i] = producer.instances[i].target_buffer;
	}
	if (session_count == SESSIONS) {
		/* That leaves places for another user and for root. */
		check_place(&daemon, FIRST_UID + USERS);
		check_place(&daemon, 0);
	} else {
		check_refusal(&daemon, FIRST_UID, "has 5, the maximum");
	}
	while (orma_raw_consumer_query(&consumers[0])->num_sessions_started !=
	       (int32_t)session_count)
		;
	emit_to_each(&producer, targets, session_count);
	for (size_t i = 0; i < session_count; i++) {
		struct orma_pb_trace *trace = orma_raw_consumer_read(&consumers[i]);
		char text[16];

		snprintf(text, sizeof(text), "for %zu", i);
		CHECK_INT(orma_raw_test_packet_count(trace), 1);
		CHECK(orma_raw_trace_has(trace, text));
		CHECK_INT(orma_raw_consumer_stats(&consumers[i])->tracing_sessions, session_count);
	}
	/* When one ends, another can begin. */
	orma_raw_call(&consumers[0].client, "FreeBuffers", ORMA_STR(""));
	enable(&consumers[0]);
	while (producer.instance_count <= session_count ||
	       !producer.instances[session_count].is_started)
		orma_raw_producer_command(&producer);
	for (size_t i = 0; i < session_count; i++)
		orma_raw_consumer_close(&consumers[i]);
	orma_raw_producer_close(&producer);
	orma_test_daemon_stop(&daemon);
}

/* --- full buffers ----------------------------------------------------------------------------- */

/* A packet that fills a page: the number, then padding. */
static void emit_page(struct orma_raw_producer *producer, uint32_t number, uint16_t writer_id,
		      uint32_t target_buffer)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
	static char filling[3900];

	memset(filling, 'x', sizeof(filling));
	orma_raw_test_packet(&payload, "%u %.*s", number, (int)sizeof(filling), filling);
	orma_raw_producer_write_and_commit(
		producer,
		&(struct orma_raw_chunk){
			.page_idx = number % 32,
			.chunk_id = number,
			.writer_id = writer_id,
			.fragment_count = 1,
			.payload = {(const char *)payload.data, payload.size},
		},
		target_buffer);
	orma_raw_producer_sync(producer);
}

static int number_of(const struct orma_pb_trace_packet *packet)
{
	return atoi(packet->for_testing->str.data);
}

enum { PAGES = 100 };

/* The packets that remain of PAGES in a buffer of 64 KB. */
static void fill_buffer(const char *policy, struct orma_raw_session *session,
			struct orma_test_daemon *daemon)
{
	char buffer[128];

	orma_test_daemon_start(daemon);
	*session = (struct orma_raw_session){0};
	orma_raw_producer_open(&session->producer, daemon->producers, "full");
	orma_raw_producer_register(&session->producer, "name: \"full\"");
	orma_raw_consumer_open(&session->consumer, daemon->consumers);
	snprintf(buffer, sizeof(buffer), "buffers { size_kb: 64 fill_policy: %s }", policy);
	orma_raw_consumer_enable(&session->consumer, -1,
				 "%s data_sources { config { name: \"full\" } }", buffer);
	uint32_t target = orma_raw_producer_await_start(&session->producer, "full")->target_buffer;
	for (uint32_t i = 0; i < PAGES; i++)
		emit_page(&session->producer, i, 1, target);
}

static void check_run(const struct orma_pb_trace *trace, int first)
{
	size_t count = orma_raw_test_packet_count(trace);

	CHECK(count > 10 && count < 20);
	for (size_t i = 0; i < count; i++) {
		const struct orma_pb_trace_packet *packet = orma_raw_test_packet_at(trace, i);
		CHECK_INT(number_of(packet), first + (int)i);
		if (i > 0)
			CHECK_INT(packet->previous_packet_dropped, 0);
	}
}

ORMA_TEST(a_ring_keeps_the_newest)
{
	struct orma_test_daemon daemon;
	struct orma_raw_session session;

	fill_buffer("RING_BUFFER", &session, &daemon);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&session.consumer);
	int kept = (int)orma_raw_test_packet_count(trace);
	check_run(trace, PAGES - kept);
	CHECK(orma_raw_test_packet_at(trace, 0)->previous_packet_dropped != 0);
	const struct orma_pb_trace_stats_buffer_stats *stats =
		orma_raw_consumer_stats(&session.consumer)->buffer_stats.items[0];
	CHECK_INT(stats->chunks_written, PAGES);
	CHECK_INT(stats->chunks_overwritten, PAGES - kept);
	CHECK_INT(stats->chunks_discarded, 0);
	CHECK(stats->write_wrap_count > 0);
	/* Reading makes room for new packets. */
	emit_page(&session.producer, PAGES, 1, session.producer.instances[0].target_buffer);
	trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 1);
	CHECK_INT(orma_raw_test_packet_at(trace, 0)->previous_packet_dropped, 0);
	orma_raw_session_close(&session);
	orma_test_daemon_stop(&daemon);
}

ORMA_TEST(a_buffer_that_discards_keeps_the_oldest)
{
	struct orma_test_daemon daemon;
	struct orma_raw_session session;

	fill_buffer("DISCARD", &session, &daemon);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&session.consumer);
	int kept = (int)orma_raw_test_packet_count(trace);
	check_run(trace, 0);
	CHECK_INT(orma_raw_test_packet_at(trace, 0)->previous_packet_dropped, 0);
	const struct orma_pb_trace_stats_buffer_stats *stats =
		orma_raw_consumer_stats(&session.consumer)->buffer_stats.items[0];
	CHECK_INT(stats->chunks_written, kept);
	CHECK_INT(stats->chunks_discarded, PAGES - kept);
	CHECK_INT(stats->chunks_overwritten, 0);
	/* A full buffer stays full. */
	emit_page(&session.producer, PAGES, 1, session.producer.instances[0].target_buffer);
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&session.consumer)), 0);
	orma_raw_session_close(&session);
	orma_test_daemon_stop(&daemon);
}

/* --- long traces ------------------------------------------------------------------------------ */

static struct orma_pb_trace *read_file(int fd, struct orma_arena *arena)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	struct orma_pb_trace *trace;

	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	CHECK_INT(orma_base_fd_read_all(fd, 1 << 24, &content), 0);
	CHECK_INT(orma_proto_decode_copy(&orma_pb_trace_desc, content.data, content.size, arena,
					 &trace),
		  0);
	return trace;
}

/* Waits until the daemon has written beyond `size`; a fence per check keeps this from spinning. */
static off_t await_growth(struct orma_raw_producer *producer, int fd, off_t size)
{
	struct stat st;

	do {
		orma_raw_producer_sync(producer);
		CHECK_INT(fstat(fd, &st), 0);
	} while (st.st_size <= size);
	return st.st_size;
}

ORMA_TEST(a_trace_many_times_its_buffer_is_whole_in_the_file)
{
	enum { BURSTS = 8, BURST = 30 }; /* 120 KB each; the buffer holds 128 */
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_fd_closep)
	int fd = open(orma_test_tmpdir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct orma_test_daemon daemon;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	off_t size = 0;

	if (fd < 0)
		orma_test_skip("a filesystem with O_TMPFILE");
	orma_test_daemon_start(&daemon);
	orma_raw_producer_open(&producer, daemon.producers, "long");
	orma_raw_producer_register(&producer, "name: \"long\" no_flush: true");
	orma_raw_consumer_open(&consumer, daemon.consumers);
	orma_raw_consumer_enable(&consumer, fd,
				 "buffers { size_kb: 128 } write_into_file: true "
				 "file_write_period_ms: 100 "
				 "data_sources { config { name: \"long\" } }");
	uint32_t target = orma_raw_producer_await_start(&producer, "long")->target_buffer;
	for (uint32_t i = 0; i < BURSTS * BURST; i++) {
		emit_page(&producer, i, 1, target);
		/* At least the whole burst: nothing may be overwritten before it is in the file. */
		if (i % BURST == BURST - 1)
			size = await_growth(&producer, fd, size + (BURST - 1) * 3900);
	}
	CHECK(orma_raw_call(&consumer.client, "DisableTracing", ORMA_STR(""))->success);
	CHECK_STR(orma_raw_consumer_await_disabled(&consumer), "");
	struct orma_pb_trace *trace = read_file(fd, &arena);
	CHECK_INT(orma_raw_test_packet_count(trace), BURSTS * BURST);
	uint32_t next = 0;
	for (size_t i = 0; i < trace->packet.count; i++) {
		const struct orma_pb_trace_packet *packet = trace->packet.items[i];
		CHECK_INT(packet->previous_packet_dropped, 0);
		if (packet->for_testing)
			CHECK_INT(number_of(packet), next++);
	}
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	orma_test_daemon_stop(&daemon);
}

/* --- detach and attach on the command line ---------------------------------------------------- */

struct command_line {
	struct orma_test_daemon daemon;
	struct orma_test_process process;
	struct orma_raw_producer producer;
	char config[256], out[256];
};

static void open_command_line(struct command_line *line, const char *config, const char *descriptor)
{
	const char *folder = orma_test_tmpdir();

	*line = (struct command_line){0};
	orma_test_daemon_start(&line->daemon);
	memcpy(line->process.producers, line->daemon.producers, sizeof(line->process.producers));
	memcpy(line->process.consumers, line->daemon.consumers, sizeof(line->process.consumers));
	snprintf(line->config, sizeof(line->config), "%s/config", folder);
	snprintf(line->out, sizeof(line->out), "%s/trace", folder);
	FILE *file = fopen(line->config, "we");
	CHECK(file && fputs(config, file) >= 0 && fclose(file) == 0);
	orma_raw_producer_open(&line->producer, line->daemon.producers, "left");
	orma_raw_producer_register(&line->producer, descriptor);
}

static void close_command_line(struct command_line *line)
{
	orma_raw_producer_close(&line->producer);
	orma_test_daemon_stop(&line->daemon);
}

static int perfetto(struct command_line *line, const char *const *arguments)
{
	return orma_test_process_run(&line->process, "perfetto", arguments);
}

#define PERFETTO(line, ...) perfetto(line, (const char *const[]){__VA_ARGS__, NULL})
#define LEFT                "name: \"left\" no_flush: true"
#define LEFT_CONFIG         "buffers { size_kb: 1024 } data_sources { config { name: \"left\" } } "

ORMA_TEST(the_command_line_leaves_a_session_and_takes_it_over)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct command_line line;

	open_command_line(&line, LEFT_CONFIG "write_into_file: true", LEFT);
	CHECK_INT(PERFETTO(&line, "--is_detached", "key"), 2);
	CHECK_INT(PERFETTO(&line, "--txt", "-c", line.config, "-o", line.out, "--detach", "key"),
		  0);
	uint32_t target = orma_raw_producer_await_start(&line.producer, "left")->target_buffer;
	emit_page(&line.producer, 0, 1, target);
	CHECK_INT(PERFETTO(&line, "--is_detached", "key"), 0);
	CHECK_INT(PERFETTO(&line, "--attach", "other"), 2);
	CHECK(strstr(orma_test_process_messages(), "other"));
	/* The check has not ended it. */
	CHECK(!line.producer.instances[0].is_stopped);
	emit_page(&line.producer, 1, 1, target);
	CHECK_INT(PERFETTO(&line, "--attach", "key", "--stop"), 0);
	orma_raw_producer_await_stop(&line.producer, "left");
	CHECK_INT(PERFETTO(&line, "--is_detached", "key"), 2);
	ORMA_AUTO(orma_base_fd_closep) int fd = open(line.out, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(orma_raw_test_packet_count(read_file(fd, &arena)), 2);
	close_command_line(&line);
}

ORMA_TEST(a_key_is_good_for_one_session)
{
	struct command_line line;
	char second[300];

	open_command_line(&line, LEFT_CONFIG "write_into_file: true", LEFT);
	snprintf(second, sizeof(second), "%s.2", line.out);
	CHECK_INT(PERFETTO(&line, "--txt", "-c", line.config, "-o", line.out, "--detach", "key"),
		  0);
	orma_raw_producer_await_start(&line.producer, "left");
	CHECK_INT(PERFETTO(&line, "--txt", "-c", line.config, "-o", second, "--detach", "key"), 1);
	CHECK_INT(PERFETTO(&line, "--is_detached", "key"), 0);
	CHECK(!line.producer.instances[0].is_stopped);
	CHECK_INT(PERFETTO(&line, "--attach", "key", "--stop"), 0);
	close_command_line(&line);
}

ORMA_TEST(a_left_session_ends_when_its_time_is_over)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct command_line line;

	/* Its time is over when it flushes; the session exists until that is answered, however
	 * late. */
	open_command_line(&line, LEFT_CONFIG "write_into_file: true duration_ms: 200",
			  "name: \"left\"");
	CHECK_INT(PERFETTO(&line, "--txt", "-c", line.config, "-o", line.out, "--detach", "key"),
		  0);
	uint32_t target = orma_raw_producer_await_start(&line.producer, "left")->target_buffer;
	uint64_t flush_id = orma_raw_producer_await_flush(&line.producer);
	emit_page(&line.producer, 0, 1, target);
	orma_raw_producer_commit(&line.producer, "flush_request_id: %llu",
				 (unsigned long long)flush_id);
	orma_raw_producer_await_stop(&line.producer, "left");
	/* Its file is complete when nothing can attach to it any more. */
	while (PERFETTO(&line, "--is_detached", "key") != 2)
		;
	ORMA_AUTO(orma_base_fd_closep) int fd = open(line.out, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(orma_raw_test_packet_count(read_file(fd, &arena)), 1);
	close_command_line(&line);
}

ORMA_TEST(leaving_needs_a_file)
{
	struct command_line line;

	open_command_line(&line, LEFT_CONFIG, LEFT);
	CHECK_INT(PERFETTO(&line, "--txt", "-c", line.config, "-o", line.out, "--detach", "key"),
		  1);
	CHECK(strstr(orma_test_process_messages(), "write_into_file"));
	CHECK_INT(line.producer.instance_count, 0);
	close_command_line(&line);
}

/* --- interrupted twice ------------------------------------------------------------------------ */

ORMA_TEST(a_second_interrupt_waits_until_the_service_has_completed_the_file)
{
	/* Signals within half a second of each other count as one. */
	const struct timespec pause = {.tv_nsec = 600000000};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct command_line line;

	open_command_line(&line, LEFT_CONFIG "write_into_file: true",
			  "name: \"left\" will_notify_on_stop: true");
	orma_test_process_begin(
		&line.process, "orma",
		(const char *const[]){"record", "--txt", "-c", line.config, "-o", line.out, NULL});
	uint32_t target = orma_raw_producer_await_start(&line.producer, "left")->target_buffer;
	orma_test_process_signal(&line.process, SIGINT);
	orma_raw_producer_await_flush(&line.producer); /* which gets no answer */
	nanosleep(&pause, NULL);
	orma_test_process_signal(&line.process, SIGINT);
	orma_raw_producer_await_stop(&line.producer, "left");
	emit_page(&line.producer, 0, 1, target);
	struct orma_str args = orma_raw_text(
		&line.producer.client, &orma_pb_notify_data_source_stopped_request_desc,
		"data_source_id: %llu", (unsigned long long)line.producer.instances[0].id);
	CHECK(orma_raw_call(&line.producer.client, "NotifyDataSourceStopped", args)->success);
	CHECK_INT(orma_test_process_wait(&line.process), 0);
	CHECK(strstr(orma_test_process_messages(), "interrupted twice"));
	CHECK(strstr(orma_test_process_messages(), "Recorded "));
	ORMA_AUTO(orma_base_fd_closep) int fd = open(line.out, O_RDONLY | O_CLOEXEC);
	CHECK(fd >= 0);
	CHECK_INT(orma_raw_test_packet_count(read_file(fd, &arena)), 1);
	close_command_line(&line);
}
