/* SPDX-License-Identifier: Apache-2.0
 * http_server.c - connections and their states.
 *
 *	RECEIVING --request whole--> ANSWERING --orma_http_respond()--> SENDING --all sent--> RECEIVING
 *	    |  malformed: an answer                                        |  the last one
 *	    +------------------------------> SENDING ----------------------+--> LINGERING --> closed
 *
 * In RECEIVING the input has at most one head and one body, because no more is read. In ANSWERING input is read up to the
 * size of a head: only that shows that the client has gone, and a pipelined request may be in it. In SENDING nothing is
 * read, and so a client that reads slowly holds one answer and nothing else. LINGERING reads and forgets for a second: if a
 * socket is closed while input is unread, TCP throws away the answer that explains the refusal.
 *
 * Each state but ANSWERING has a deadline. A request has to be whole when it has taken `idle_ns`, so that a byte per second
 * does not hold a connection; an answer has to make progress in that time. When all connections are taken, the one that has
 * been in such a state for the longest time is closed for a new one.
 *
 * Each time that a connection is ready, it takes one step, and a request that was pipelined waits for the loop's next turn.
 * So a client that sends much does not make the turns longer.
 */
#include "view/http_server.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"

#define IDLE_NS    UINT64_C(60000000000)
#define LINGER_NS  UINT64_C(1000000000)
#define BACKOFF_NS UINT64_C(100000000)

enum {
	READ_BYTES = 32 << 10,  /* per step */
	SEND_BYTES = 256 << 10, /* per step */
	LINGER_BYTES = 4 << 20, /* that are forgotten at most */
	ACCEPTS_PER_TURN = 16,
};

enum state { RECEIVING, ANSWERING, SENDING, LINGERING };

struct orma_http_connection {
	struct orma_http_server *server;
	struct orma_list link;
	struct orma_watch watch;
	struct orma_timer timer;
	struct orma_task task; /* looks for a request in what was received */
	enum state state;
	uint64_t since_ns; /* in this state */
	bool is_last;      /* the connection is closed after the answer */
	bool is_at_end;    /* the client sends nothing more */
	struct orma_buf input;
	struct orma_buf head, body; /* the answer */
	struct orma_str rest;       /* the part of the body that is unsent */
	size_t head_sent, lingered_bytes;
	void *ctx;
};

struct listener {
	struct orma_http_server *server;
	struct orma_watch watch;
};

struct orma_http_server {
	struct orma_loop *loop;
	struct orma_http_server_options options;
	struct listener listeners[ORMA_HTTP_LISTENERS_MAX];
	size_t listener_count;
	struct orma_timer backoff; /* while no descriptor is free, nothing is accepted */
	struct orma_list connections;
	size_t count;
};

static void receive(struct orma_watch *watch, unsigned ready);
static void look_for_request(struct orma_task *task);
static void expire(struct orma_timer *timer);

/* --- connections ------------------------------------------------------------------------------ */

static void close_connection(struct orma_http_connection *connection)
{
	struct orma_http_server *server = connection->server;
	if (connection->state == ANSWERING && server->options.abandoned)
		server->options.abandoned(server->options.ctx, connection);
	int fd = connection->watch.fd;
	orma_base_watch_remove(&connection->watch);
	orma_base_timer_disarm(&connection->timer);
	orma_base_task_cancel(&connection->task);
	orma_base_fd_close(fd);
	orma_base_list_remove(&connection->link);
	server->count--;
	orma_base_buf_done(&connection->input);
	orma_base_buf_done(&connection->head);
	orma_base_buf_done(&connection->body);
	orma_base_free(connection);
}

/* Goes to a state with a deadline. Without memory for the timer the connection cannot stay. False when it is closed. */
static bool enter(struct orma_http_connection *connection, enum state state, unsigned interest,
		  uint64_t time_ns)
{
	struct orma_loop *loop = connection->server->loop;
	connection->state = state;
	connection->since_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	if (orma_base_watch_set_interest(&connection->watch, interest) == 0 &&
	    orma_base_loop_arm_in(loop, &connection->timer, time_ns, expire) == 0)
		return true;
	close_connection(connection);
	return false;
}

static void expire(struct orma_timer *timer)
{
	close_connection(ORMA_CONTAINER_OF(timer, struct orma_http_connection, timer));
}

static int add_connection(struct orma_http_server *server, int fd)
{
	struct orma_http_connection *connection = orma_base_zalloc(sizeof(*connection));
	int r = connection ? orma_base_loop_watch(server->loop, &connection->watch, fd,
						  ORMA_LOOP_READ, receive)
			   : -ENOMEM;
	if (r < 0) {
		orma_base_free(connection);
		return r;
	}
	connection->server = server;
	orma_base_list_append(&server->connections, &connection->link);
	server->count++;
	enter(connection, RECEIVING, ORMA_LOOP_READ, server->options.idle_ns);
	return 0;
}

/* Closes the connection that has waited for its client for the longest time. False when all wait for us. */
static bool evict(struct orma_http_server *server)
{
	struct orma_http_connection *oldest = NULL, *connection;
	ORMA_LIST_FOR_EACH (connection, &server->connections, link)
		if (connection->state != ANSWERING &&
		    (!oldest || connection->since_ns < oldest->since_ns))
			oldest = connection;
	if (oldest)
		close_connection(oldest);
	return oldest != NULL;
}

/* --- accepting -------------------------------------------------------------------------------- */

static void resume(struct orma_timer *timer)
{
	struct orma_http_server *server =
		ORMA_CONTAINER_OF(timer, struct orma_http_server, backoff);
	for (size_t i = 0; i < server->listener_count; i++)
		orma_base_watch_set_interest(&server->listeners[i].watch, ORMA_LOOP_READ);
}

/* No descriptor is free, so that the socket stays readable. Looks again a little later. */
static void pause_accepting(struct orma_http_server *server)
{
	if (orma_base_loop_arm_in(server->loop, &server->backoff, BACKOFF_NS, resume) < 0)
		return;
	for (size_t i = 0; i < server->listener_count; i++)
		orma_base_watch_set_interest(&server->listeners[i].watch, 0);
}

static void take_connection(struct orma_http_server *server, int fd)
{
	bool is_welcome =
		!server->options.accept || server->options.accept(server->options.ctx, fd);
	if (is_welcome && server->count == ORMA_HTTP_CONNECTIONS_MAX)
		is_welcome = evict(server);
	if (!is_welcome || add_connection(server, fd) < 0)
		orma_base_fd_close(fd);
}

static void accept_ready(struct orma_watch *watch, unsigned ready)
{
	struct orma_http_server *server = ORMA_CONTAINER_OF(watch, struct listener, watch)->server;
	(void)ready;
	for (int i = 0; i < ACCEPTS_PER_TURN; i++) {
		int fd = orma_base_fd_avoid_standard(
			accept4(watch->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK));
		if (fd >= 0)
			take_connection(server, fd);
		else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS ||
			 errno == ENOMEM) {
			pause_accepting(server);
			return;
		} else if (errno != EINTR && errno != ECONNABORTED)
			return;
	}
}

/* --- answers ---------------------------------------------------------------------------------- */

static const char *reason(int status)
{
	static const struct {
		int status;
		const char *words;
	} reasons[] = {{200, "OK"},
		       {400, "Bad Request"},
		       {403, "Forbidden"},
		       {404, "Not Found"},
		       {405, "Method Not Allowed"},
		       {410, "Gone"},
		       {411, "Length Required"},
		       {413, "Content Too Large"},
		       {417, "Expectation Failed"},
		       {431, "Request Header Fields Too Large"},
		       {500, "Internal Server Error"},
		       {503, "Service Unavailable"},
		       {505, "HTTP Version Not Supported"}};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(reasons); i++)
		if (reasons[i].status == status)
			return reasons[i].words;
	return "Error";
}

/* The answer is out. */
static void end_answer(struct orma_http_connection *connection)
{
	struct orma_http_server *server = connection->server;
	orma_base_buf_done(&connection->head);
	orma_base_buf_done(&connection->body);
	connection->rest = (struct orma_str){NULL, 0};
	connection->head_sent = 0;
	if (connection->is_last) {
		shutdown(connection->watch.fd, SHUT_WR);
		if (connection->is_at_end)
			close_connection(connection);
		else
			enter(connection, LINGERING, ORMA_LOOP_READ, LINGER_NS);
		return;
	}
	unsigned interest = connection->is_at_end ? 0 : ORMA_LOOP_READ;
	if (enter(connection, RECEIVING, interest, server->options.idle_ns) &&
	    (connection->input.size > 0 || connection->is_at_end))
		orma_base_loop_defer(server->loop, &connection->task, look_for_request);
}

/* Sends a piece of the answer. */
static void send_some(struct orma_http_connection *connection)
{
	struct orma_str head = {(const char *)connection->head.data + connection->head_sent,
				connection->head.size - connection->head_sent};
	struct iovec pieces[2] = {{(void *)(uintptr_t)head.data, head.size},
				  {(void *)(uintptr_t)connection->rest.data,
				   ORMA_MIN(connection->rest.size, (size_t)SEND_BYTES)}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = 2};
	ssize_t sent = sendmsg(connection->watch.fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	if (sent < 0) {
		if (errno != EAGAIN && errno != EINTR)
			close_connection(connection);
		return;
	}
	size_t of_head = ORMA_MIN((size_t)sent, head.size), of_body = (size_t)sent - of_head;
	connection->head_sent += of_head;
	connection->rest.data += of_body;
	connection->rest.size -= of_body;
	if (connection->head_sent == connection->head.size && connection->rest.size == 0)
		end_answer(connection);
	else if (sent > 0)
		enter(connection, SENDING, ORMA_LOOP_WRITE, connection->server->options.idle_ns);
}

void orma_http_respond(struct orma_http_connection *connection, struct orma_http_response response)
{
	const char *common = connection->server->options.common_fields;
	struct orma_buf *head = &connection->head;
	connection->body = response.body;
	connection->rest =
		response.permanent.data
			? response.permanent
			: (struct orma_str){(const char *)response.body.data, response.body.size};
	int r = orma_base_buf_printf(head,
				     "HTTP/1.1 %d %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\n"
				     "%s%s%s\r\n",
				     response.status, reason(response.status), response.type,
				     connection->rest.size,
				     connection->is_last ? "Connection: close\r\n" : "",
				     common ? common : "", response.fields ? response.fields : "");
	if (r < 0) {
		connection->state = RECEIVING; /* nobody works on it any more */
		close_connection(connection);
		return;
	}
	if (enter(connection, SENDING, ORMA_LOOP_WRITE, connection->server->options.idle_ns))
		send_some(connection);
}

/* Answers a request that cannot be read, after which nothing is known about the bytes that follow. */
static void refuse(struct orma_http_connection *connection, int status)
{
	connection->is_last = true;
	orma_http_respond(connection,
			  (struct orma_http_response){.status = status,
						      .type = "text/plain",
						      .permanent = orma_base_str(reason(status))});
}

/* --- requests --------------------------------------------------------------------------------- */

static void begin_request(struct orma_http_connection *connection,
			  const struct orma_http_request *request)
{
	struct orma_http_server *server = connection->server;
	size_t size = request->head_bytes + request->body_bytes;
	struct orma_buf input = connection->input;
	struct orma_str body = {(const char *)input.data + request->head_bytes,
				request->body_bytes};
	/* Bytes behind it are another request. The handler needs the bytes of this one, and may close the connection. */
	connection->input = (struct orma_buf){0};
	connection->is_last = !request->keeps_alive;
	connection->state = ANSWERING;
	orma_base_timer_disarm(&connection->timer);
	if ((input.size > size &&
	     orma_base_buf_append(&connection->input, input.data + size, input.size - size) < 0) ||
	    orma_base_watch_set_interest(&connection->watch,
					 connection->is_at_end ? 0 : ORMA_LOOP_READ) < 0) {
		connection->state = RECEIVING;
		close_connection(connection);
	} else {
		server->options.request(server->options.ctx, connection, request, body);
	}
	orma_base_buf_done(&input);
}

/* Begins the request that is whole, if there is one. */
static void look_for_request(struct orma_task *task)
{
	struct orma_http_connection *connection =
		ORMA_CONTAINER_OF(task, struct orma_http_connection, task);
	struct orma_str input = {(const char *)connection->input.data, connection->input.size};
	struct orma_http_request request;
	int status = 0;
	ORMA_ASSERT(connection->state == RECEIVING);
	int r = orma_http_parse(input, &request, &status);
	if (r == -EBADMSG)
		refuse(connection, status);
	else if (r == 0 && input.size >= request.head_bytes + request.body_bytes)
		begin_request(connection, &request);
	else if (connection->is_at_end)
		close_connection(connection);
}

/* Says how much may be read: a whole request, and no more. */
static size_t input_room(const struct orma_http_connection *connection)
{
	size_t most = ORMA_HTTP_HEAD_MAX_BYTES;
	struct orma_str input = {(const char *)connection->input.data, connection->input.size};
	struct orma_http_request request;
	int status;
	if (connection->state == RECEIVING && orma_http_parse(input, &request, &status) == 0)
		most = request.head_bytes + request.body_bytes;
	return most > input.size ? most - input.size : 0;
}

static void forget_input(struct orma_http_connection *connection)
{
	char scratch[READ_BYTES];
	ssize_t size = recv(connection->watch.fd, scratch, sizeof(scratch), MSG_DONTWAIT);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (size > 0)
		connection->lingered_bytes += (size_t)size;
	if (size <= 0 || connection->lingered_bytes > LINGER_BYTES)
		close_connection(connection);
}

/* Appends what the client sends. False when the connection is closed, or nothing came. */
static bool read_input(struct orma_http_connection *connection)
{
	struct orma_buf *input = &connection->input;
	size_t room = ORMA_MIN(input_room(connection), (size_t)READ_BYTES);
	if (room == 0) {
		/* It is pipelined more than there is room for; it is read when its turn comes. */
		if (orma_base_watch_set_interest(&connection->watch, 0) < 0)
			close_connection(connection);
		return false;
	}
	ssize_t size =
		orma_base_buf_reserve(input, room) < 0
			? -1
			: recv(connection->watch.fd, input->data + input->size, room, MSG_DONTWAIT);
	if (size < 0 && (errno == EAGAIN || errno == EINTR))
		return false;
	/* A client that ends while it waits for its answer has gone: browsers end a request so that is not wanted any more. */
	if (size < 0 || (size == 0 && connection->state == ANSWERING)) {
		close_connection(connection);
		return false;
	}
	connection->is_at_end = size == 0;
	/* The time of a request begins with its first byte. */
	if (input->size == 0 && size > 0 && connection->state == RECEIVING &&
	    !enter(connection, RECEIVING, ORMA_LOOP_READ, connection->server->options.idle_ns))
		return false;
	input->size += (size_t)size;
	return true;
}

static void receive(struct orma_watch *watch, unsigned ready)
{
	struct orma_http_connection *connection =
		ORMA_CONTAINER_OF(watch, struct orma_http_connection, watch);
	bool is_gone = (ready & ORMA_LOOP_HANGUP) != 0;
	if (is_gone && (connection->state == SENDING || connection->state == ANSWERING)) {
		close_connection(connection);
	} else if (connection->state == SENDING) {
		send_some(connection);
	} else if (connection->state == LINGERING) {
		forget_input(connection);
	} else if (read_input(connection) && connection->state == RECEIVING) {
		look_for_request(&connection->task);
	}
}

/* --- the server ------------------------------------------------------------------------------- */

int orma_http_server_new(struct orma_loop *loop, const struct orma_http_server_options *options,
			 struct orma_http_server **ret)
{
	struct orma_http_server *server = orma_base_zalloc(sizeof(*server));
	if (!server)
		return -ENOMEM;
	server->loop = loop;
	server->options = *options;
	if (server->options.idle_ns == 0)
		server->options.idle_ns = IDLE_NS;
	orma_base_list_init(&server->connections);
	*ret = server;
	return 0;
}

void orma_http_server_free(struct orma_http_server *server)
{
	struct orma_http_connection *connection, *next;
	if (!server)
		return;
	ORMA_LIST_FOR_EACH_SAFE (connection, next, &server->connections, link)
		close_connection(connection);
	orma_base_timer_disarm(&server->backoff);
	for (size_t i = 0; i < server->listener_count; i++) {
		int fd = server->listeners[i].watch.fd;
		orma_base_watch_remove(&server->listeners[i].watch);
		orma_base_fd_close(fd);
	}
	orma_base_free(server);
}

int orma_http_server_listen(struct orma_http_server *server, int fd)
{
	ORMA_ASSERT(server->listener_count < ORMA_HTTP_LISTENERS_MAX);
	struct listener *listener = &server->listeners[server->listener_count];
	listener->server = server;
	int r = orma_base_loop_watch(server->loop, &listener->watch, fd, ORMA_LOOP_READ,
				     accept_ready);
	if (r == 0)
		server->listener_count++;
	return r;
}

size_t orma_http_server_count(const struct orma_http_server *server)
{
	return server->count;
}

void orma_http_connection_set_ctx(struct orma_http_connection *connection, void *ctx)
{
	connection->ctx = ctx;
}

void *orma_http_connection_ctx(const struct orma_http_connection *connection)
{
	return connection->ctx;
}
