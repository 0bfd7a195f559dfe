/* SPDX-License-Identifier: Apache-2.0
 * http_server_test.c - connections over raw sockets: many, slow, pipelined, half-closed, and those that send too much.
 */
#include "view/http_server.h"

#include <sys/socket.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "harness.h"
#include "http_client.h"

enum { BIG_BYTES = 8 << 20 };

struct fixture {
	struct orma_loop *loop;
	struct orma_http_server *server;
	uint16_t port;
	struct orma_http_connection *waiting; /* for an answer that comes later */
	int requests, abandoned;
	struct orma_buf head, body;
};

static const char big[BIG_BYTES];

/* Answers with the path and the body; "/later" later, and "/big" with much. */
static void on_request(void *ctx, struct orma_http_connection *connection,
		       const struct orma_http_request *request, struct orma_str body)
{
	struct fixture *f = ctx;
	struct orma_buf text = {0};
	f->requests++;
	if (orma_base_str_is(request->path, "/later")) {
		f->waiting = connection;
		orma_http_connection_set_ctx(connection, f);
		return;
	}
	if (orma_base_str_is(request->path, "/big")) {
		orma_http_respond(connection,
				  (struct orma_http_response){.status = 200,
							      .type = "text/plain",
							      .permanent = {big, sizeof(big)}});
		return;
	}
	CHECK_INT(orma_base_buf_append(&text, request->path.data, request->path.size), 0);
	CHECK_INT(orma_base_buf_append(&text, body.data, body.size), 0);
	orma_http_respond(connection, (struct orma_http_response){.status = 200,
								  .type = "text/plain",
								  .fields = "X-More: 1\r\n",
								  .body = text});
}

static void on_abandoned(void *ctx, struct orma_http_connection *connection)
{
	struct fixture *f = ctx;
	CHECK(orma_http_connection_ctx(connection) == f);
	CHECK(f->waiting == connection);
	f->waiting = NULL;
	f->abandoned++;
}

static void set_up(struct fixture *f, uint64_t idle_ns)
{
	struct orma_http_server_options options = {.ctx = f,
						   .request = on_request,
						   .abandoned = on_abandoned,
						   .common_fields = "X-Common: 1\r\n",
						   .idle_ns = idle_ns};
	*f = (struct fixture){0};
	CHECK_INT(orma_base_loop_new(&f->loop), 0);
	CHECK_INT(orma_http_server_new(f->loop, &options, &f->server), 0);
	CHECK_INT(orma_http_server_listen(f->server, http_listen(&f->port)), 0);
}

static void tear_down(struct fixture *f)
{
	orma_http_server_free(f->server);
	orma_base_loop_free(f->loop);
	orma_base_buf_done(&f->head);
	orma_base_buf_done(&f->body);
}

static int receive(struct fixture *f, int fd)
{
	return http_receive(f->loop, fd, &f->head, &f->body);
}

/* Takes turns until the server has so many connections. */
static void wait_for_count(struct fixture *f, size_t count)
{
	while (orma_http_server_count(f->server) != count)
		CHECK(orma_base_loop_turn(f->loop, 2) >= 0);
}

ORMA_TEST(requests_of_one_connection_are_answered_one_after_the_other)
{
	struct fixture f;
	set_up(&f, 0);
	int fd = http_connect(f.port);
	http_send_text(f.loop, fd, "GET /a HTTP/1.1\r\nHost: x\r\n\r\n");
	CHECK_INT(receive(&f, fd), 200);
	CHECK_STR((char *)f.body.data, "/a");
	CHECK(strstr((char *)f.head.data, "\r\nX-More: 1\r\n"));
	CHECK(strstr((char *)f.head.data, "\r\nX-Common: 1\r\n"));
	CHECK(!strstr((char *)f.head.data, "Connection"));
	http_send_text(
		f.loop, fd,
		"POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nConnection: close\r\n\r\nxyz");
	CHECK_INT(receive(&f, fd), 200);
	CHECK_STR((char *)f.body.data, "/bxyz");
	CHECK(strstr((char *)f.head.data, "\r\nConnection: close\r\n"));
	http_wait_for_end(f.loop, fd);
	close(fd);
	wait_for_count(&f, 0);
	tear_down(&f);
}

ORMA_TEST(a_request_may_come_byte_by_byte)
{
	struct fixture f;
	set_up(&f, 0);
	int fd = http_connect(f.port);
	static const char text[] = "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nxyz";
	for (size_t i = 0; i + 1 < sizeof(text); i++) {
		CHECK_INT(f.requests, 0);
		http_send(f.loop, fd, text + i, 1);
	}
	CHECK_INT(receive(&f, fd), 200);
	CHECK_STR((char *)f.body.data, "/bxyz");
	close(fd);
	tear_down(&f);
}

ORMA_TEST(pipelined_requests_are_answered_in_order)
{
	struct fixture f;
	char path[16];
	set_up(&f, 0);
	int fd = http_connect(f.port);
	struct orma_buf text = {0};
	for (int i = 0; i < 2000; i++)
		CHECK_INT(orma_base_buf_printf(&text, "GET /%d HTTP/1.1\r\nHost: x\r\n\r\n", i), 0);
	http_send(f.loop, fd, text.data, text.size);
	orma_base_buf_done(&text);
	for (int i = 0; i < 2000; i++) {
		CHECK_INT(receive(&f, fd), 200);
		snprintf(path, sizeof(path), "/%d", i);
		CHECK_STR((char *)f.body.data, path);
	}
	close(fd);
	tear_down(&f);
}

ORMA_TEST(a_client_that_sends_nothing_more_gets_the_answers_to_what_it_sent)
{
	struct fixture f;
	set_up(&f, 0);
	int fd = http_connect(f.port);
	http_send_text(f.loop, fd,
		       "GET /big HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\nGET");
	CHECK_INT(shutdown(fd, SHUT_WR), 0);
	CHECK_INT(receive(&f, fd), 200);
	CHECK_INT(f.body.size, BIG_BYTES);
	CHECK_INT(receive(&f, fd), 200);
	CHECK_STR((char *)f.body.data, "/b");
	http_wait_for_end(f.loop, fd);
	close(fd);
	wait_for_count(&f, 0);
	tear_down(&f);
}

ORMA_TEST(a_refusal_reaches_a_client_that_sends_much)
{
	struct fixture f;
	set_up(&f, 0);
	char *much = calloc(1, 1 << 20);
	static const struct {
		int status;
		const char *head;
	} cases[] = {{431, "GET /"},
		     {413, "POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2000000\r\n\r\n"},
		     {411, "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"}};
	memset(much, 'x', 1 << 20);
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		int fd = http_connect(f.port);
		http_send_text(f.loop, fd, cases[i].head);
		http_send(f.loop, fd, much, 1 << 20);
		CHECK_INT(receive(&f, fd), cases[i].status);
		http_wait_for_end(f.loop, fd);
		close(fd);
	}
	free(much);
	wait_for_count(&f, 0);
	CHECK_INT(f.requests, 0);
	tear_down(&f);
}

ORMA_TEST(an_answer_may_come_later_and_the_next_request_waits_for_it)
{
	struct fixture f;
	set_up(&f, 0);
	int fd = http_connect(f.port);
	http_send_text(f.loop, fd,
		       "GET /later HTTP/1.1\r\nHost: x\r\n\r\nGET /b HTTP/1.1\r\nHost: x\r\n\r\n");
	while (!f.waiting)
		CHECK(orma_base_loop_turn(f.loop, 2) >= 0);
	for (int i = 0; i < 5; i++)
		CHECK(orma_base_loop_turn(f.loop, 0) >= 0);
	CHECK_INT(f.requests, 1);
	orma_http_respond(f.waiting, (struct orma_http_response){.status = 200,
								 .type = "text/plain",
								 .permanent = ORMA_STR("now")});
	CHECK_INT(receive(&f, fd), 200);
	CHECK_STR((char *)f.body.data, "now");
	CHECK_INT(receive(&f, fd), 200);
	CHECK_STR((char *)f.body.data, "/b");
	close(fd);
	tear_down(&f);
}

ORMA_TEST(a_client_that_goes_abandons_its_answer)
{
	struct fixture f;
	set_up(&f, 0);
	for (int is_reset = 0; is_reset < 2; is_reset++) {
		int fd = http_connect(f.port);
		struct linger linger = {.l_onoff = is_reset};
		http_send_text(f.loop, fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
		while (!f.waiting)
			CHECK(orma_base_loop_turn(f.loop, 2) >= 0);
		CHECK_INT(setsockopt(fd, SOL_SOCKET, SO_LINGER, &linger, sizeof(linger)), 0);
		close(fd);
		wait_for_count(&f, 0);
		CHECK_INT(f.abandoned, is_reset + 1);
	}
	/* One more, which has filled the input: its end shows when there is room again. */
	int fd = http_connect(f.port);
	char much[2 * ORMA_HTTP_HEAD_MAX_BYTES];
	memset(much, 'x', sizeof(much));
	http_send_text(f.loop, fd, "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
	http_send(f.loop, fd, much, sizeof(much));
	while (!f.waiting)
		CHECK(orma_base_loop_turn(f.loop, 2) >= 0);
	orma_http_server_free(f.server);
	CHECK_INT(f.abandoned, 3);
	f.server = NULL;
	close(fd);
	tear_down(&f);
}

ORMA_TEST(the_connection_that_has_waited_longest_makes_room_for_the_33rd)
{
	struct fixture f;
	int fds[ORMA_HTTP_CONNECTIONS_MAX + 1];
	set_up(&f, 0);
	/* The first one waits for its answer, and stays. */
	fds[0] = http_connect(f.port);
	http_send_text(f.loop, fds[0], "GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
	while (!f.waiting)
		CHECK(orma_base_loop_turn(f.loop, 2) >= 0);
	for (size_t i = 1; i < ORMA_HTTP_CONNECTIONS_MAX; i++) {
		fds[i] = http_connect(f.port);
		wait_for_count(&f, i + 1);
	}
	/* The second one has asked since. */
	http_send_text(f.loop, fds[1], "GET /b HTTP/1.1\r\nHost: x\r\n\r\n");
	CHECK_INT(receive(&f, fds[1]), 200);
	fds[ORMA_HTTP_CONNECTIONS_MAX] = http_connect(f.port);
	http_wait_for_end(f.loop, fds[2]);
	CHECK_INT(orma_http_server_count(f.server), ORMA_HTTP_CONNECTIONS_MAX);
	http_send_text(f.loop, fds[ORMA_HTTP_CONNECTIONS_MAX],
		       "GET /c HTTP/1.1\r\nHost: x\r\n\r\n");
	CHECK_INT(receive(&f, fds[ORMA_HTTP_CONNECTIONS_MAX]), 200);
	http_send_text(f.loop, fds[1], "GET /d HTTP/1.1\r\nHost: x\r\n\r\n");
	CHECK_INT(receive(&f, fds[1]), 200);
	for (size_t i = 0; i <= ORMA_HTTP_CONNECTIONS_MAX; i++)
		close(fds[i]);
	wait_for_count(&f, 0);
	tear_down(&f);
}

ORMA_TEST(clients_that_are_slow_are_closed_and_hold_up_nobody)
{
	struct fixture f;
	set_up(&f, 100 * ORMA_NS_PER_MS);
	int silent = http_connect(f.port), slow = http_connect(f.port),
	    reader = http_connect(f.port);
	http_send_text(f.loop, slow, "GET /");
	http_send_text(f.loop, reader, "GET /big HTTP/1.1\r\nHost: x\r\n\r\n");
	int fd = http_connect(f.port);
	http_send_text(f.loop, fd, "GET /b HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n");
	CHECK_INT(receive(&f, fd), 200);
	http_wait_for_end(f.loop, fd);
	close(fd);
	/* A byte now and then does not help. */
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + 20 * ORMA_NS_PER_SEC;
	while (orma_http_server_count(f.server) > 0) {
		CHECK(orma_base_clock_ns(CLOCK_MONOTONIC) < end_ns);
		http_send_text(f.loop, slow, "x");
		CHECK(orma_base_loop_turn(f.loop, 5) >= 0);
	}
	CHECK_INT(f.requests, 2);
	close(silent);
	close(slow);
	close(reader);
	tear_down(&f);
}

ORMA_TEST(without_memory_a_connection_is_closed_and_the_next_one_is_served)
{
	struct fixture f;
	set_up(&f, 0);
	for (uint64_t n = 1;; n++) {
		int fd = http_connect(f.port);
		orma_test_fail_allocation(n);
		for (int i = 0; i < 3; i++)
			CHECK(orma_base_loop_turn(f.loop, 0) >= 0);
		send(fd, "POST /b HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\n\r\nx", 49,
		     MSG_NOSIGNAL);
		for (int i = 0; i < 10 && !orma_test_allocation_failed(); i++)
			CHECK(orma_base_loop_turn(f.loop, 1) >= 0);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		close(fd);
		wait_for_count(&f, 0);
		if (!has_failed)
			break;
	}
	tear_down(&f);
}
