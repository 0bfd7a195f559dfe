/* SPDX-License-Identifier: Apache-2.0
 * session_file_test.c - a session is read into descriptors that accept data slowly or not at
 * all.
 */
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <sys/socket.h>
#include <unistd.h>

#include "unit/client/fixture.h"

#define PACKETS   20000
#define TEXT_SIZE 100

struct told {
	int done, error, queries;
	uint64_t bytes;
	char text[ORMA_ERROR_MESSAGE_BYTES];
};

static void on_file(void *ctx, const struct orma_error *error, uint64_t bytes)
{
	struct told *told = ctx;

	told->done++;
	told->bytes = bytes;
	told->error = error ? error->code : 0;
	if (error)
		snprintf(told->text, sizeof(told->text), "%s", error->message);
}

static void on_stats(void *ctx, const struct orma_error *error, const void *data, size_t size)
{
	struct told *told = ctx;

	(void)data;
	(void)size;
	told->error = error ? error->code : told->error;
	told->queries++;
}

/* Packets of about 2.5 MB in one session. */
static struct orma_session *record(uint32_t timeout_ms, struct orma_data_source **ret)
{
	static const char config[] = "buffers { size_kb: 8192 } "
				     "data_sources { config { name: \"test.source\" } }";
	const struct orma_session_options options = {
		.struct_size = sizeof(options), .in_process = true, .timeout_ms = timeout_ms};
	const struct orma_data_source_options source = {.struct_size = sizeof(source),
							.name = "test.source",
							.policy = ORMA_EXHAUSTED_STALL};
	char text[TEXT_SIZE + 1];
	struct orma_session *session;

	memset(text, 'x', TEXT_SIZE);
	text[TEXT_SIZE] = '\0';
	init_in_process();
	CHECK_INT(orma_data_source_register(&source, ret), 0);
	CHECK_INT(orma_sync(WAIT_MS), 0);
	session = session_new(&options);
	session_enable(session, config);
	CHECK_INT(orma_session_wait_started(session, WAIT_MS), 0);
	for (uint64_t i = 1; i <= PACKETS; i++) {
		struct orma_packet *packet = orma_packet_begin(*ret, 0);

		orma_packet_varint(packet, 8, i);
		orma_packet_string(packet, 2000, text);
		orma_packet_end(packet);
	}
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	return session;
}

/* Dispatches until nothing happens any more. */
static void settle(struct orma_session *session)
{
	struct pollfd poll_fd = {.fd = orma_session_poll_fd(session), .events = POLLIN};

	while (poll(&poll_fd, 1, 100) > 0)
		CHECK_INT(orma_session_dispatch(session), 0);
}

/* Reads the available data; false if it would have to wait. */
static bool drain(int fd, struct orma_buf *trace)
{
	struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
	ssize_t size;

	if (poll(&poll_fd, 1, 0) <= 0)
		return false;
	CHECK_INT(orma_base_buf_reserve(trace, 65536), 0);
	size = read(fd, trace->data + trace->size, 65536);
	CHECK(size >= 0);
	trace->size += (size_t)size;
	return size > 0;
}

static void check_trace(const struct orma_buf *trace, uint64_t bytes)
{
	struct packets packets = {0};
	struct orma_proto_reader fields;
	struct orma_proto_field field;

	CHECK_INT(trace->size, bytes);
	orma_proto_reader_init(&fields, trace->data, trace->size);
	while (orma_proto_reader_next(&fields, &field) == 1)
		packets_add(&packets, field.bytes.data, field.bytes.size);
	CHECK_INT(count_values(&packets, 1, PACKETS), PACKETS);
	packets_done(&packets);
}

/* The reader uses fds[0]. */
static void read_through(int fds[2])
{
	struct told told = {0};
	struct orma_data_source *source;
	struct orma_session *session = record(WAIT_MS, &source);
	struct orma_buf trace = {0};
	size_t before = heap_bytes();

	CHECK_INT(orma_session_read_into_fd_async(session, fds[1], on_file, &told), 0);
	/* The descriptor is full, and the call returns. */
	settle(session);
	CHECK_INT(told.done, 0);
	CHECK_INT(orma_session_query_async(session, ORMA_SESSION_QUERY_STATS, on_stats, &told), 0);
	/* Data that does not fit stays in the service. */
	CHECK(heap_bytes() < before + (1 << 20) + (1 << 19));
	while (told.done == 0 || told.queries == 0) {
		struct pollfd poll_fd = {.fd = orma_session_poll_fd(session), .events = POLLIN};

		while (drain(fds[0], &trace))
			;
		CHECK(poll(&poll_fd, 1, WAIT_MS) > 0);
		CHECK_INT(orma_session_dispatch(session), 0);
	}
	CHECK_INT(told.error, 0);
	while (drain(fds[0], &trace))
		;
	check_trace(&trace, told.bytes);
	orma_base_buf_done(&trace);
	orma_session_free(session);
	close(fds[0]);
	close(fds[1]);
	orma_shutdown();
}

ORMA_TEST(a_trace_goes_through_a_pipe_that_nobody_reads_for_a_while)
{
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	read_through(fds);
}

ORMA_TEST(a_trace_goes_through_a_socket_that_nobody_reads_for_a_while)
{
	int fds[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	read_through(fds);
}

ORMA_TEST(a_pipe_that_does_not_block_is_no_different)
{
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	read_through(fds);
}

ORMA_TEST(a_session_can_be_freed_while_its_descriptor_is_full)
{
	struct told told = {0};
	struct orma_data_source *source;
	struct orma_session *session = record(WAIT_MS, &source);
	struct packets packets = {0};
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	CHECK_INT(orma_session_read_into_fd_async(session, fds[1], on_file, &told), 0);
	struct pollfd room = {.fd = fds[1], .events = POLLOUT};
	do
		settle(session);
	while (poll(&room, 1, 0) > 0);
	orma_session_free(session);
	CHECK_INT(told.done, 0);
	/* The same at the end of the trace, for the rest of a small one. */
	session = session_start(SOURCE_CONFIG);
	CHECK(fcntl(fds[1], F_SETPIPE_SZ, 4096) >= 0 || errno == EBUSY);
	emit(source, 1);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(orma_session_read_into_fd_async(session, fds[1], on_file, &told), 0);
	settle(session);
	CHECK_INT(told.done, 0);
	/* Everything has been read, so other calls continue. */
	session_stop(session);
	CHECK_INT(orma_session_read(session, packets_add, &packets), 0);
	orma_session_free(session);
	CHECK_INT(told.done, 0);
	packets_done(&packets);
	close(fds[0]);
	close(fds[1]);
	orma_shutdown();
}

static _Atomic int signals;

static void count_signal(int number)
{
	(void)number;
	signals++;
}

static void leave_reader(int fds[2])
{
	orma_test_need_tls_after_signals();
	const struct sigaction action = {.sa_handler = count_signal};
	struct told told = {0};
	struct orma_data_source *source;
	struct orma_session *session = record(WAIT_MS, &source);

	CHECK_INT(sigaction(SIGPIPE, &action, NULL), 0);
	CHECK_INT(orma_session_read_into_fd_async(session, fds[1], on_file, &told), 0);
	settle(session);
	CHECK_INT(told.done, 0);
	close(fds[0]);
	while (told.done == 0) {
		struct pollfd poll_fd = {.fd = orma_session_poll_fd(session), .events = POLLIN};

		CHECK(poll(&poll_fd, 1, WAIT_MS) > 0);
		CHECK_INT(orma_session_dispatch(session), 0);
	}
	CHECK(told.error == -EPIPE || told.error == -ECONNRESET);
	CHECK(strstr(told.text, "writing"));
	emit(source, 1);
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(orma_session_read_into_fd(session, fds[1], NULL), -EPIPE);
	CHECK_INT(signals, 0);
	/* An answer that was under way for another reason arrives. */
	raise(SIGPIPE);
	CHECK_INT(signals, 1);
	/* The session still works. */
	session_stop(session);
	orma_session_free(session);
	close(fds[1]);
	orma_shutdown();
}

ORMA_TEST(a_reader_that_leaves_a_pipe_is_an_error_and_no_signal)
{
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	leave_reader(fds);
}

ORMA_TEST(a_reader_that_leaves_a_socket_is_an_error_and_no_signal)
{
	int fds[2];

	CHECK_INT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, fds), 0);
	leave_reader(fds);
}

struct reader {
	int fd;
	struct orma_buf trace;
};

static void *read_all(void *ctx)
{
	struct reader *reader = ctx;
	ssize_t size;

	do {
		CHECK_INT(orma_base_buf_reserve(&reader->trace, 4096), 0);
		size = read(reader->fd, reader->trace.data + reader->trace.size, 4096);
		CHECK(size >= 0);
		reader->trace.size += (size_t)size;
	} while (size > 0);
	return NULL;
}

ORMA_TEST(the_waiting_form_waits_for_pipes_that_do_not_block_but_not_for_ever)
{
	struct reader reader = {0};
	struct orma_data_source *source;
	struct orma_session *session = record(WAIT_MS, &source);
	pthread_t thread;
	uint64_t bytes;
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	CHECK(fcntl(fds[1], F_SETFL, O_NONBLOCK) == 0);
	reader.fd = fds[0];
	CHECK_INT(pthread_create(&thread, NULL, read_all, &reader), 0);
	CHECK_INT(orma_session_read_into_fd(session, fds[1], &bytes), 0);
	close(fds[1]);
	pthread_join(thread, NULL);
	check_trace(&reader.trace, bytes);
	orma_base_buf_done(&reader.trace);
	close(fds[0]);
	orma_session_free(session);
	orma_shutdown();

	/* Each answer of the service has as long as the descriptor, also on a busy machine. */
	session = record(2000, &source);
	CHECK_INT(pipe2(fds, O_CLOEXEC | O_NONBLOCK), 0);
	CHECK_INT(orma_session_read_into_fd(session, fds[1], NULL), -ETIMEDOUT);
	close(fds[0]);
	close(fds[1]);
	orma_session_free(session);
	orma_shutdown();
}
