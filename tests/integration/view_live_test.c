/* SPDX-License-Identifier: Apache-2.0
 * view_live_test.c - `orma view --live -` reads a recording whatever its pages do, because a recorder that waits for a reader
 * loses events.
 *
 * Each test writes more bytes than the command keeps, and many times what a pipe holds. If the command had stopped reading, there
 * would be no more room in the pipe, whatever the machine's speed.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/buf.h"
#include "harness.h"
#include "proto/wire.h"

enum {
	PATIENCE_MS = 30000,
	PAGES = 4,
	ALL_BYTES = 40 << 20, /* 32 MiB are kept */
	BATCH_PACKETS = 64,
	NAME_BYTES = 4000,
	EVENT_BYTES = NAME_BYTES + 8,
	SMALL_BUFFER_BYTES = 4096,
};

/* Its answer has more bytes than the sockets hold. */
#define MANY_ROWS                                                                                  \
	"{\"sql\":\"with recursive c(x) as (select 1 union all select x + 1 from c limit 9000) "   \
	"select x, hex(zeroblob(500)) from c\"}"
#define ENDLESS                                                                                    \
	"{\"sql\":\"with recursive c(x) as (select 1 union all select x + 1 from c) "              \
	"select count(*) from c\"}"

struct view {
	pid_t pid;
	int recording_fd; /* we write the trace there */
	int output_fd;
	uint16_t port;
	char ticket[64];
	uint64_t written_bytes, time_ns;
};

/* --- the command ------------------------------------------------------------------------------ */

static _Noreturn void become_view(int input_fd, int output_fd)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (dup2(input_fd, STDIN_FILENO) < 0 || dup2(output_fd, STDOUT_FILENO) < 0)
		_exit(125);
	execl(ORMA_BUILD_DIR "/orma", "orma", "view", "--no-open", "--live", "-", (char *)NULL);
	_exit(125);
}

static void read_address(struct view *view)
{
	char line[256];
	size_t size = 0;
	while (size == 0 || line[size - 1] != '\n') {
		struct pollfd output = {.fd = view->output_fd, .events = POLLIN};
		CHECK(size < sizeof(line) - 1);
		CHECK_INT(poll(&output, 1, PATIENCE_MS), 1);
		CHECK_INT(read(view->output_fd, line + size, 1), 1);
		size++;
	}
	line[size - 1] = '\0';
	CHECK_INT(sscanf(line, "http://127.0.0.1:%hu/#k=%63s", &view->port, view->ticket), 2);
}

static void start(struct view *view)
{
	int input[2], output[2];
	*view = (struct view){.time_ns = 1};
	CHECK_INT(pipe2(input, O_CLOEXEC), 0);
	CHECK_INT(pipe2(output, O_CLOEXEC), 0);
	view->pid = fork();
	if (view->pid == 0)
		become_view(input[0], output[1]);
	CHECK(view->pid > 0);
	close(input[0]);
	close(output[1]);
	view->recording_fd = input[1];
	view->output_fd = output[0];
	CHECK_INT(fcntl(view->recording_fd, F_SETFL, O_NONBLOCK), 0);
	read_address(view);
}

static void finish(struct view *view)
{
	int status;
	close(view->recording_fd);
	CHECK_INT(kill(view->pid, SIGINT), 0);
	CHECK_INT(waitpid(view->pid, &status, 0), view->pid);
	CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
	close(view->output_fd);
}

/* --- the recording ---------------------------------------------------------------------------- */

static void put(struct orma_buf *buf, const void *data, size_t size)
{
	CHECK_INT(orma_base_buf_append(buf, data, size), 0);
}

static void put_varint(struct orma_buf *buf, uint64_t value)
{
	uint8_t bytes[ORMA_PROTO_VARINT_MAX];
	put(buf, bytes, (size_t)(orma_proto_put_varint(bytes, value) - bytes));
}

/* An instant on a track, a millisecond after the one before. Its name is long. */
static void put_event(struct view *view, struct orma_buf *trace)
{
	static char name[NAME_BYTES];
	memset(name, 'n', sizeof(name));
	view->time_ns += 1000000;
	put(trace, "\x0a", 1);
	put_varint(trace, 1 + orma_proto_varint_size(view->time_ns) + 2 + 3 + EVENT_BYTES);
	put(trace, "\x40", 1); /* timestamp */
	put_varint(trace, view->time_ns);
	put(trace, "\x50\x01", 2); /* trusted_packet_sequence_id */
	put(trace, "\x5a", 1);
	put_varint(trace, EVENT_BYTES);
	/* track_event { type: TYPE_INSTANT track_uuid: 9 name: "nn..." } */
	put(trace, "\x48\x03\x58\x09\xba\x01", 6);
	put_varint(trace, NAME_BYTES);
	put(trace, name, NAME_BYTES);
}

static void write_all(struct view *view, const struct orma_buf *trace)
{
	for (size_t at = 0; at < trace->size;) {
		struct pollfd room = {.fd = view->recording_fd, .events = POLLOUT};
		if (poll(&room, 1, PATIENCE_MS) == 0)
			orma_test_fail(__FILE__, __LINE__, "no room behind %llu bytes",
				       (unsigned long long)(view->written_bytes + at));
		ssize_t size = write(view->recording_fd, trace->data + at, trace->size - at);
		CHECK(size > 0 || errno == EAGAIN);
		at += size > 0 ? (size_t)size : 0;
	}
	view->written_bytes += trace->size;
}

static void record(struct view *view)
{
	struct orma_buf trace = {0};
	for (view->written_bytes = 0; view->written_bytes < ALL_BYTES;) {
		trace.size = 0;
		for (int i = 0; i < BATCH_PACKETS; i++)
			put_event(view, &trace);
		write_all(view, &trace);
	}
	orma_base_buf_done(&trace);
}

/* --- pages ------------------------------------------------------------------------------------ */

/* Little fits between the server and a page that does not read. */
static int open_page(const struct view *view)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_port = htons(view->port),
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct timeval patience = {.tv_sec = PATIENCE_MS / 1000};
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), small = SMALL_BUFFER_BYTES;
	CHECK(fd >= 0);
	CHECK_INT(setsockopt(fd, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	CHECK_INT(setsockopt(fd, SOL_SOCKET, SO_SNDBUF, &small, sizeof(small)), 0);
	CHECK_INT(setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)), 0);
	CHECK_INT(connect(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

static void ask(int fd, const char *path, const char *token, const char *body)
{
	char question[1024];
	int size = snprintf(question, sizeof(question),
			    "POST /api/%s HTTP/1.1\r\nHost: localhost\r\nX-Orma-Token: %s\r\n"
			    "Content-Length: %zu\r\n\r\n%s",
			    path, token, strlen(body), body);
	CHECK(size > 0 && (size_t)size < sizeof(question));
	CHECK_INT(send(fd, question, (size_t)size, MSG_NOSIGNAL), size);
}

/* Reads until the text has come. */
static void await_answer(int fd, const char *text, char *ret, size_t size)
{
	size_t at = 0;
	do {
		CHECK(at < size - 1);
		ssize_t got = recv(fd, ret + at, size - 1 - at, 0);
		CHECK(got > 0);
		at += (size_t)got;
		ret[at] = '\0';
	} while (!strstr(ret, text));
}

/* Exchanges the ticket of the address for a token. */
static void say_hello(const struct view *view, char ret_token[64])
{
	char body[128], answer[2048];
	int fd = open_page(view);
	snprintf(body, sizeof(body), "{\"ticket\":\"%s\"}", view->ticket);
	ask(fd, "hello", "-", body);
	await_answer(fd, "\"program\"", answer, sizeof(answer));
	const char *token = strstr(answer, "\"token\":\"");
	CHECK(token);
	CHECK_INT(sscanf(token, "\"token\":\"%63[0-9a-f]", ret_token), 1);
	close(fd);
}

/* Asks twice, and reads nothing of the answer that begins to come. */
static int open_stalled_page(const struct view *view, const char *token)
{
	int fd = open_page(view);
	struct pollfd answer = {.fd = fd, .events = POLLIN};
	ask(fd, "sql", token, MANY_ROWS);
	ask(fd, "sql", token, MANY_ROWS);
	CHECK_INT(poll(&answer, 1, PATIENCE_MS), 1);
	return fd;
}

/* It still answers who reads. */
static void check_that_it_answers(const struct view *view, const char *token)
{
	char answer[2048];
	int fd = open_page(view);
	ask(fd, "progress", token, "");
	await_answer(fd, "\"loading\"", answer, sizeof(answer));
	close(fd);
}

/* --- the tests -------------------------------------------------------------------------------- */

ORMA_TEST(a_recording_without_a_page_is_read)
{
	struct view view;
	char token[64];
	start(&view);
	record(&view);
	say_hello(&view, token);
	check_that_it_answers(&view, token);
	finish(&view);
}

ORMA_TEST(pages_that_ask_and_never_read_do_not_slow_the_recording)
{
	struct view view;
	char token[64];
	int pages[PAGES];
	start(&view);
	say_hello(&view, token);
	for (int i = 0; i < PAGES; i++)
		pages[i] = open_stalled_page(&view, token);
	record(&view);
	check_that_it_answers(&view, token);
	for (int i = 0; i < PAGES; i++)
		close(pages[i]);
	finish(&view);
}

ORMA_TEST(a_query_that_does_not_end_does_not_slow_the_recording)
{
	struct view view;
	char token[64];
	start(&view);
	say_hello(&view, token);
	int page = open_page(&view);
	ask(page, "sql", token, ENDLESS);
	record(&view);
	check_that_it_answers(&view, token);
	struct pollfd answer = {.fd = page, .events = POLLIN};
	CHECK_INT(poll(&answer, 1, 0), 0);
	close(page);
	finish(&view);
}

ORMA_TEST(a_page_that_is_stopped_in_a_question_does_not_slow_the_recording)
{
	struct view view;
	char token[64];
	start(&view);
	say_hello(&view, token);
	static const char part[] = "POST /api/sql HTTP/1.1\r\nHost: local";
	int page = open_page(&view);
	CHECK_INT(send(page, part, sizeof(part) - 1, MSG_NOSIGNAL), sizeof(part) - 1);
	record(&view);
	check_that_it_answers(&view, token);
	close(page);
	finish(&view);
}
