/* SPDX-License-Identifier: Apache-2.0
 * files_test.c - write_into_file with a descriptor that cannot be written to: full, closed,
 * stuck, a directory. The session ends with an error that its consumer receives; the daemon and
 * the bystander continue.
 */
#include <fcntl.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/trace/trace_file.h"

#define FILE_CONFIG                                                                                \
	"buffers { size_kb: 256 } data_sources { config { name: \"file\" } } "                     \
	"write_into_file: true file_write_period_ms: 100 "

struct file_session {
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	uint32_t target_buffer, next_chunk_id;
};

static void open_session(struct file_session *session, int fd, const char *config)
{
	session->next_chunk_id = 0;
	orma_stage_open(&session->stage);
	orma_raw_producer_open(&session->producer, session->stage.daemon.producers, "file");
	orma_raw_producer_register(&session->producer, "name: \"file\"");
	orma_raw_consumer_open(&session->consumer, session->stage.daemon.consumers);
	orma_raw_consumer_enable(&session->consumer, fd, FILE_CONFIG "%s", config);
}

static void close_session(struct file_session *session)
{
	orma_bystander_check(&session->stage.bystander);
	orma_raw_consumer_close(&session->consumer);
	orma_raw_producer_close(&session->producer);
	orma_stage_close(&session->stage);
}

static void emit(struct file_session *session, size_t size)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
	static char text[4000];

	memset(text, 'f', sizeof(text));
	orma_raw_test_packet(&payload, "%.*s", (int)size, text);
	struct orma_raw_chunk chunk = {
		.chunk_id = session->next_chunk_id++,
		.writer_id = 1,
		.fragment_count = 1,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(&session->producer, &chunk, session->target_buffer);
	orma_raw_producer_sync(&session->producer);
}

static void start(struct file_session *session)
{
	session->target_buffer =
		orma_raw_producer_await_start(&session->producer, "file")->target_buffer;
}

/* Answers flushes until the session is stopped. */
static void disable(struct file_session *session)
{
	CHECK(orma_raw_call(&session->consumer.client, "DisableTracing", ORMA_STR(""))->success);
	const struct orma_pb_get_async_command_response *command;
	do {
		command = orma_raw_producer_command(&session->producer);
		if (command->flush)
			orma_raw_producer_commit(&session->producer, "flush_request_id: %llu",
						 (unsigned long long)command->flush->request_id);
	} while (!command->stop_data_source);
}

ORMA_TEST(a_file_holds_the_whole_trace_when_tracing_ends)
{
	struct file_session session;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_fd_closep)
	int fd = open(orma_test_tmpdir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct orma_pb_trace *trace;

	if (fd < 0)
		orma_test_skip("a filesystem with O_TMPFILE");
	open_session(&session, fd, "");
	start(&session);
	for (int i = 0; i < 60; i++)
		emit(&session, 3000);
	/* All of it goes into the file. */
	CHECK_INT(orma_raw_consumer_read(&session.consumer)->packet.count, 0);
	disable(&session);
	CHECK_STR(orma_raw_consumer_await_disabled(&session.consumer), "");
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	CHECK_INT(orma_base_fd_read_all(fd, 1 << 24, &content), 0);
	CHECK_INT(
		orma_proto_decode(&orma_pb_trace_desc, content.data, content.size, &arena, &trace),
		0);
	CHECK_INT(orma_raw_test_packet_count(trace), 60);
	close_session(&session);
}

ORMA_TEST(a_full_disk_ends_the_session_with_words)
{
	struct file_session session;
	ORMA_AUTO(orma_base_fd_closep) int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		orma_test_skip("/dev/full");
	open_session(&session, fd, "");
	CHECK(strstr(orma_raw_consumer_await_disabled(&session.consumer), "no space left"));
	close_session(&session);
}

ORMA_TEST(a_broken_pipe_ends_the_session_with_words)
{
	struct file_session session;
	int pipe_fds[2];

	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	close(pipe_fds[0]);
	open_session(&session, pipe_fds[1], "");
	close(pipe_fds[1]);
	CHECK(strstr(orma_raw_consumer_await_disabled(&session.consumer),
		     "reader of the pipe is gone"));
	close_session(&session);
}

ORMA_TEST(descriptors_that_cannot_be_written_are_refused)
{
	struct file_session session;
	const int fds[] = {
		open(orma_test_tmpdir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC),
		open("/dev/null", O_RDONLY | O_CLOEXEC),
		open("/proc/self/exe", O_PATH | O_CLOEXEC),
		open("/proc/self/exe", O_RDONLY | O_CLOEXEC),
		-1,
	};

	open_session(&session, -1, "");
	CHECK(*orma_raw_consumer_await_disabled(&session.consumer));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(fds); i++) {
		orma_raw_consumer_enable(&session.consumer, fds[i], FILE_CONFIG);
		CHECK(strstr(orma_raw_consumer_await_disabled(&session.consumer),
			     "write_into_file"));
		orma_base_fd_close(fds[i]);
	}
	close_session(&session);
}

ORMA_TEST(paths_that_cannot_be_created_are_refused)
{
	struct file_session session;
	char existing[300];
	static const char *const paths[] = {"/", "/proc/none/x", "/dev/full", "relative/none/x",
					    ""};

	snprintf(existing, sizeof(existing), "%s/existing", orma_test_tmpdir());
	int fd = open(existing, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	CHECK_INT(write(fd, "keep", 4), 4);
	close(fd);
	open_session(&session, -1, "");
	CHECK(*orma_raw_consumer_await_disabled(&session.consumer));
	for (size_t i = 0; i <= ORMA_ARRAY_SIZE(paths); i++) {
		orma_raw_consumer_enable(&session.consumer, -1, FILE_CONFIG "output_path: \"%s\"",
					 i < ORMA_ARRAY_SIZE(paths) ? paths[i] : existing);
		CHECK(*orma_raw_consumer_await_disabled(&session.consumer));
	}
	struct stat st;
	CHECK_INT(stat(existing, &st), 0);
	CHECK_INT(st.st_size, 4);
	close_session(&session);
}

ORMA_TEST(a_pipe_that_nobody_reads_holds_up_only_its_own_session)
{
	struct file_session session;
	int pipe_fds[2];

	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	open_session(&session, pipe_fds[1], "");
	start(&session);
	for (int i = 0; i < 300; i++) { /* 1 MB; a pipe takes 64 KB */
		emit(&session, 3900);
		if (i % 30 == 0)
			orma_bystander_check(&session.stage.bystander);
	}
	for (int i = 0; i < 20; i++)
		orma_bystander_check(&session.stage.bystander);
	/* Nothing will ever read it. The consumer disconnects, and the daemon must be able to
	 * end. */
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	close_session(&session);
}

ORMA_TEST(a_stuck_pipe_does_not_keep_the_daemon_from_ending)
{
	struct file_session session;
	int pipe_fds[2];

	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	open_session(&session, pipe_fds[1], "");
	start(&session);
	for (int i = 0; i < 60; i++)
		emit(&session, 3900);
	CHECK(orma_raw_call(&session.consumer.client, "DisableTracing", ORMA_STR(""))->success);
	close_session(&session);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
}

ORMA_TEST(a_file_with_a_size_limit_ends_the_session_whole)
{
	struct file_session session;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_fd_closep)
	int fd = open(orma_test_tmpdir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct orma_pb_trace *trace;

	if (fd < 0)
		orma_test_skip("a filesystem with O_TMPFILE");
	open_session(&session, fd, "max_file_size_bytes: 20000");
	start(&session);
	for (int i = 0; i < 30; i++)
		emit(&session, 3000);
	orma_raw_consumer_await_disabled(&session.consumer);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	CHECK_INT(orma_base_fd_read_all(fd, 1 << 24, &content), 0);
	CHECK(content.size <= 20000);
	CHECK_INT(
		orma_proto_decode(&orma_pb_trace_desc, content.data, content.size, &arena, &trace),
		0);
	CHECK(orma_raw_test_packet_count(trace) >= 1);
	close_session(&session);
}

ORMA_TEST(a_socket_that_the_other_end_closes_ends_the_session)
{
	struct file_session session;
	int pair[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
	open_session(&session, pair[1], "");
	start(&session);
	close(pair[0]);
	close(pair[1]);
	emit(&session, 100);
	CHECK(*orma_raw_consumer_await_disabled(&session.consumer));
	close_session(&session);
}

/* The texts of the session's packets, and counts of other packets, of the trace at a path; 0 =
 * there is no such file. */
static size_t read_rotated(const char *path, uint32_t *first, uint32_t *last)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_trace *trace;
	bool has_clocks = false, has_config = false, has_uuid = false, has_system = false;
	size_t count = 0;

	if (orma_base_file_read(AT_FDCWD, path, 1 << 24, &content) < 0)
		return 0;
	CHECK_INT(
		orma_proto_decode(&orma_pb_trace_desc, content.data, content.size, &arena, &trace),
		0);
	for (size_t i = 0; i < trace->packet.count; i++) {
		const struct orma_pb_trace_packet *packet = trace->packet.items[i];

		has_clocks |= packet->clock_snapshot != NULL;
		has_config |= packet->trace_config != NULL;
		has_uuid |= packet->trace_uuid != NULL;
		has_system |= packet->system_info != NULL;
		if (!packet->for_testing)
			continue;
		/* The packets that explain a producer's packets come before them. */
		CHECK(has_clocks && has_config && has_uuid && has_system);
		*last = (uint32_t)strtoul(packet->for_testing->str.data, NULL, 10);
		if (count++ == 0)
			*first = *last;
		CHECK_INT(*last - *first + 1, count);
	}
	CHECK(has_clocks && has_config && has_uuid && has_system);
	return content.size;
}

static void emit_number(struct file_session *session, uint32_t number)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	orma_raw_test_packet(&payload, "%03500u", number);
	struct orma_raw_chunk chunk = {
		.chunk_id = session->next_chunk_id++,
		.writer_id = 1,
		.fragment_count = 1,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(&session->producer, &chunk, session->target_buffer);
	orma_raw_producer_sync(&session->producer);
}

ORMA_TEST(a_file_with_a_size_limit_and_a_count_goes_on_in_the_next_one)
{
	struct file_session session;
	char config[600], path[300], name[310];
	uint32_t first = 0, last = 0, next = 0;

	snprintf(path, sizeof(path), "%s/rotated", orma_test_tmpdir());
	snprintf(config, sizeof(config),
		 "output_path: \"%s\" max_file_size_bytes: 70000 max_file_count: 3", path);
	open_session(&session, -1, config);
	start(&session);
	/* A quarter of a megabyte, which fits into the buffer: four files, of which three are
	 * kept. */
	for (uint32_t i = 0; i < 70; i++)
		emit_number(&session, i);
	disable(&session);
	CHECK_STR(orma_raw_consumer_await_disabled(&session.consumer), "");
	/* The oldest remaining file first. */
	for (int i = 2; i >= 0; i--) {
		snprintf(name, sizeof(name), i ? "%s.%d" : "%s", path, i);
		size_t size = read_rotated(name, &first, &last);
		CHECK(size > 0 && size < 70000);
		CHECK(next == 0 ? first > 0 : first == next);
		next = last + 1;
	}
	CHECK_INT(next, 70);
	snprintf(name, sizeof(name), "%s.3", path);
	CHECK_INT(access(name, F_OK), -1);
	close_session(&session);
}

/* The kernel writes what fits and refuses the rest: a short write, then an error. The file ends
 * after its last whole packet. */
ORMA_TEST(a_file_that_takes_a_part_of_a_write_ends_the_session_with_words)
{
	struct file_session session;
	ORMA_AUTO(orma_base_fd_closep)
	int fd = open(orma_test_tmpdir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	struct rlimit limit = {.rlim_cur = 50001, .rlim_max = RLIM_INFINITY};
	struct orma_tool_summary summary;
	struct stat st;

	if (fd < 0)
		orma_test_skip("a filesystem with O_TMPFILE");
	open_session(&session, fd, "");
	start(&session);
	CHECK_INT(getrlimit(RLIMIT_FSIZE, &limit), 0);
	limit.rlim_cur = 50001;
	CHECK_INT(setrlimit(RLIMIT_FSIZE, &limit), 0);
	for (int i = 0; i < 30; i++)
		emit(&session, 3000);
	CHECK_STR(orma_raw_consumer_await_disabled(&session.consumer),
		  "write_into_file: the file has its maximum size");
	CHECK_INT(fstat(fd, &st), 0);
	CHECK(st.st_size <= 50001 && st.st_size > 50001 - 3100);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	CHECK_INT(orma_tool_trace_summarize(fd, &summary, NULL), 0);
	close_session(&session);
}

ORMA_TEST(a_file_in_the_way_of_the_next_one_ends_the_session_with_words)
{
	struct file_session session;
	char config[600], path[300], name[310];

	snprintf(path, sizeof(path), "%s/blocked", orma_test_tmpdir());
	snprintf(name, sizeof(name), "%s.1", path);
	snprintf(config, sizeof(config),
		 "output_path: \"%s\" max_file_size_bytes: 100000 max_file_count: 4", path);
	open_session(&session, -1, config);
	start(&session);
	CHECK_INT(mkdir(name, 0700), 0);
	for (uint32_t i = 0; i < 40; i++)
		emit_number(&session, i);
	CHECK_STR(orma_raw_consumer_await_disabled(&session.consumer),
		  "write_into_file: a file of that name exists already");
	CHECK_INT(rmdir(name), 0);
	close_session(&session);
}

ORMA_TEST(a_session_whose_descriptor_can_never_take_data_ends_at_once)
{
	struct file_session session;
	ORMA_AUTO(orma_base_fd_closep) int fd = epoll_create1(EPOLL_CLOEXEC);

	CHECK(fd >= 0);
	open_session(&session, fd, "");
	CHECK_STR(orma_raw_consumer_await_disabled(&session.consumer),
		  "write_into_file: the descriptor is neither that of a file or device, nor of a "
		  "pipe or a connected stream socket");
	close_session(&session);
}
