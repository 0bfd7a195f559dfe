/* SPDX-License-Identifier: Apache-2.0
 * ipc_client.c - the calling half: connects, binds one service, matches replies with calls.
 *
 *   CONNECTING --socket ready--> BINDING --bind reply--> BOUND --+
 *        |                          |                            |
 *        +----------- failure ------+------ end of stream -------+--> LOST
 *
 * A call is no longer outstanding (ipc_outstanding.c) when its callback runs for the last time. So each
 * call is answered exactly once, whatever the callback does. LOST is entered only from the loop: by the connection's
 * `closed`, or by a task of the client when there is no connection.
 *
 * `is_gone` points into the stack frame of the code that runs a callback. orma_ipc_client_free()
 * sets it, and that code checks it before it touches the client again. Rejected: deferring the free
 * to the next turn of the loop, because callers often stop and free their loop right after;
 * queueing calls until the service is bound, because only the caller knows which of them still make
 * sense then.
 */
#include "ipc/ipc_client.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "ipc/address.h"
#include "ipc/connection.h"
#include "ipc/ipc_outstanding.h"
#include "ipc/trust.h"

#define BIND_REQUEST_ID      1
#define CONNECT_TIMEOUT_NS   (10 * ORMA_NS_PER_SEC)
#define CONNECT_RETRY_NS     (10 * ORMA_NS_PER_MS)
#define ERROR_TEXT_BYTES_MAX 512

enum client_state { CLIENT_CONNECTING, CLIENT_BINDING, CLIENT_BOUND, CLIENT_LOST };

struct orma_ipc_client {
	struct orma_ipc_client_options options;
	enum client_state state;

	struct orma_ipc_address address;
	struct orma_ipc_trust trust;
	struct orma_watch connect_watch;
	int connect_fd; /* -1 = none, or owned by the connection */
	struct orma_timer retry_timer, timeout_timer;
	struct orma_task start_task;
	int start_error;

	struct orma_ipc_connection connection;
	bool has_connection;
	uint64_t next_request_id;
	uint32_t service_id;
	struct orma_ipc_outstanding calls;

	char *error_text;
	bool *is_gone;
	uint32_t method_ids[]; /* 0 = the host has no such method */
};

/* --- the end ---------------------------------------------------------------------------------- */

/* Runs the last callback of a call. Returns false when it freed the client. */
static bool finish_call(struct orma_ipc_client *client, struct orma_ipc_outstanding_call *call,
			const struct orma_ipc_reply *reply)
{
	struct orma_ipc_outstanding_call copy = *call;
	bool is_gone = false;

	ORMA_ASSERT(!client->is_gone);
	orma_ipc_outstanding_remove(&client->calls, call);
	client->is_gone = &is_gone;
	copy.fn(copy.fn_ctx, reply);
	if (!is_gone)
		client->is_gone = NULL;
	return !is_gone;
}

static void stop_connecting(struct orma_ipc_client *client)
{
	orma_base_watch_remove(&client->connect_watch);
	client->connect_fd = orma_base_fd_close(client->connect_fd);
	orma_base_timer_disarm(&client->retry_timer);
	orma_base_timer_disarm(&client->timeout_timer);
	orma_base_task_cancel(&client->start_task);
}

/* Rejects all calls and reports the end; nothing follows. */
static void lose(struct orma_ipc_client *client, int error)
{
	struct orma_ipc_reply reply = {.error = error < 0 ? error : -ECONNRESET};

	ORMA_ASSERT(client->state != CLIENT_LOST);
	stop_connecting(client);
	client->state = CLIENT_LOST;
	struct orma_ipc_outstanding_call *call;
	while ((call = orma_ipc_outstanding_oldest(&client->calls)))
		if (!finish_call(client, call, &reply))
			return;
	if (client->options.disconnected)
		client->options.disconnected(client->options.ctx, error);
}

void orma_ipc_client_free(struct orma_ipc_client *client)
{
	if (!client)
		return;
	if (client->is_gone)
		*client->is_gone = true;
	stop_connecting(client);
	if (client->has_connection)
		orma_ipc_connection_done(&client->connection);
	orma_ipc_outstanding_done(&client->calls);
	orma_base_free(client->error_text);
	orma_base_free(client);
}

/* Ends a client, with or without a connection. */
static void give_up(struct orma_ipc_client *client, int error)
{
	if (client->has_connection)
		orma_ipc_connection_close(&client->connection, error);
	else
		lose(client, error);
}

/* --- frames from the host --------------------------------------------------------------------- */

static void learn_method(struct orma_ipc_client *client, const struct orma_ipc_method_info *info)
{
	for (size_t i = 0; i < client->options.method_count; i++)
		if (orma_base_str_is(info->name, client->options.method_names[i]))
			client->method_ids[i] = info->id;
}

static void handle_bind_reply(struct orma_ipc_client *client, const struct orma_ipc_frame *frame)
{
	struct orma_ipc_method_info info;
	struct orma_proto_reader reader;
	int r;

	if (client->state != CLIENT_BINDING || frame->request_id != BIND_REQUEST_ID)
		return;
	if (!frame->u.bind_reply.success) {
		orma_ipc_connection_close(&client->connection, -ENOTSUP);
		return;
	}
	client->service_id = frame->u.bind_reply.service_id;
	orma_proto_reader_init(&reader, frame->u.bind_reply.message.data,
			       frame->u.bind_reply.message.size);
	while ((r = orma_ipc_bind_reply_next(&reader, &info)) > 0)
		if (info.id != 0 && info.name.size > 0)
			learn_method(client, &info);
	if (r < 0) {
		orma_ipc_connection_close(&client->connection, -EPROTO);
		return;
	}
	orma_base_timer_disarm(&client->timeout_timer);
	client->state = CLIENT_BOUND;
	if (client->options.connected)
		client->options.connected(client->options.ctx);
}

static void handle_invoke_reply(struct orma_ipc_client *client, const struct orma_ipc_frame *frame)
{
	struct orma_ipc_outstanding_call *call =
		orma_ipc_outstanding_find(&client->calls, frame->request_id);
	struct orma_ipc_reply reply = {
		.success = frame->u.invoke_reply.success,
		.has_more = frame->u.invoke_reply.success && frame->u.invoke_reply.has_more,
		.error = frame->u.invoke_reply.success ? 0 : -EREMOTEIO,
		.data = frame->u.invoke_reply.reply.data,
		.size = frame->u.invoke_reply.reply.size,
	};

	if (!call)
		return;
	if (reply.has_more)
		call->fn(call->fn_ctx, &reply);
	else
		finish_call(client, call, &reply);
}

static void handle_error(struct orma_ipc_client *client, const struct orma_ipc_frame *frame)
{
	struct orma_ipc_outstanding_call *call =
		orma_ipc_outstanding_find(&client->calls, frame->request_id);
	struct orma_ipc_reply reply = {.error = -EREMOTEIO};
	struct orma_str text = frame->u.error.text;

	text.size = ORMA_MIN(text.size, (size_t)ERROR_TEXT_BYTES_MAX);
	orma_base_free(client->error_text);
	client->error_text = orma_base_str_dup(text);
	if (client->state == CLIENT_BINDING)
		orma_ipc_connection_close(&client->connection,
					  frame->request_id == BIND_REQUEST_ID ? -EPROTO : -EBUSY);
	else if (call)
		finish_call(client, call, &reply);
}

static struct orma_ipc_client *client_of(struct orma_ipc_connection *connection)
{
	return ORMA_CONTAINER_OF(connection, struct orma_ipc_client, connection);
}

static void on_frame(struct orma_ipc_connection *connection, const uint8_t *data_untrusted,
		     size_t size)
{
	struct orma_ipc_client *client = client_of(connection);
	struct orma_ipc_frame frame;

	if (orma_ipc_frame_decode(data_untrusted, size, &frame) < 0)
		return;
	switch (frame.kind) {
	case ORMA_IPC_FRAME_BIND_REPLY:
		handle_bind_reply(client, &frame);
		break;
	case ORMA_IPC_FRAME_INVOKE_REPLY:
		handle_invoke_reply(client, &frame);
		break;
	case ORMA_IPC_FRAME_ERROR:
		handle_error(client, &frame);
		break;
	case ORMA_IPC_FRAME_BIND:
	case ORMA_IPC_FRAME_INVOKE:
	case ORMA_IPC_FRAME_IDENTITY:
	case ORMA_IPC_FRAME_OTHER:
		break;
	}
}

static void on_drained(struct orma_ipc_connection *connection)
{
	struct orma_ipc_client *client = client_of(connection);

	if (client->options.drained)
		client->options.drained(client->options.ctx);
}

static void on_closed(struct orma_ipc_connection *connection, int error)
{
	lose(client_of(connection), error);
}

static const struct orma_ipc_connection_ops connection_ops = {
	.frame = on_frame,
	.drained = on_drained,
	.closed = on_closed,
};

/* --- connecting ------------------------------------------------------------------------------- */

static int send_bind(struct orma_ipc_client *client)
{
	struct orma_ipc_envelope envelope;
	const char *name = client->options.service_name;
	size_t name_size = strlen(name);
	int r = orma_ipc_envelope_bind(&envelope, BIND_REQUEST_ID, name_size);
	struct iovec pieces[] = {{envelope.prefix, envelope.prefix_size},
				 {(void *)name, name_size}};

	if (r < 0)
		return r;
	ORMA_ASSERT(client->state == CLIENT_CONNECTING && client->has_connection);
	client->next_request_id = BIND_REQUEST_ID + 1;
	client->state = CLIENT_BINDING;
	return orma_ipc_connection_send(&client->connection, pieces, ORMA_ARRAY_SIZE(pieces), -1);
}

/* Checks which user listens, before anything is sent. */
static int check_trust(struct orma_ipc_client *client, int fd)
{
	struct orma_ipc_credentials listener;
	char text[32];
	int r = orma_ipc_peer_credentials(fd, &listener);

	if (r < 0)
		return r;
	if (orma_ipc_trust_covers(&client->trust, &listener,
				  orma_ipc_address_path(&client->address), geteuid()))
		return 0;
	if (listener.is_known)
		snprintf(text, sizeof(text), "user %u", (unsigned)listener.uid);
	orma_base_free(client->error_text);
	client->error_text = orma_base_strdup(listener.is_known ? text : "an unknown user");
	return -EPERM;
}

/* Takes over the descriptor on success. */
static int start_binding(struct orma_ipc_client *client, int fd)
{
	struct orma_ipc_connection_limits limits = {
		.queue_bytes = client->options.queue_bytes,
		.stall_timeout_ns = client->options.stall_timeout_ns,
	};
	int r = client->options.trust ? check_trust(client, fd) : 0;

	if (r == 0)
		r = orma_ipc_connection_init(&client->connection, client->options.loop, fd,
					     &connection_ops, &limits);
	if (r < 0)
		return r;
	client->has_connection = true;
	client->connect_fd = -1;
	r = send_bind(client);
	if (r < 0)
		orma_ipc_connection_close(&client->connection, r);
	return 0;
}

static void on_connect_ready(struct orma_watch *watch, unsigned ready)
{
	struct orma_ipc_client *client =
		ORMA_CONTAINER_OF(watch, struct orma_ipc_client, connect_watch);
	int error = 0;
	socklen_t size = sizeof(error);

	(void)ready;
	if (getsockopt(watch->fd, SOL_SOCKET, SO_ERROR, &error, &size) < 0)
		error = errno;
	orma_base_watch_remove(watch);
	int r = error != 0 ? -error : start_binding(client, client->connect_fd);
	if (r < 0)
		lose(client, r);
}

static void on_retry(struct orma_timer *timer);

/* Returns 0 when a connection attempt is under way, else -errno. */
static int try_connect(struct orma_ipc_client *client)
{
	bool is_pending;
	int fd = orma_ipc_connect(&client->address, &is_pending);

	if (fd == -EAGAIN)
		return orma_base_loop_arm_in(client->options.loop, &client->retry_timer,
					     CONNECT_RETRY_NS, on_retry);
	if (fd < 0)
		return fd;
	client->connect_fd = fd;
	if (!is_pending)
		return start_binding(client, fd);
	return orma_base_loop_watch(client->options.loop, &client->connect_watch, fd,
				    ORMA_LOOP_WRITE, on_connect_ready);
}

static void on_retry(struct orma_timer *timer)
{
	struct orma_ipc_client *client =
		ORMA_CONTAINER_OF(timer, struct orma_ipc_client, retry_timer);
	int r = try_connect(client);

	if (r < 0)
		lose(client, r);
}

static void on_connect_timeout(struct orma_timer *timer)
{
	give_up(ORMA_CONTAINER_OF(timer, struct orma_ipc_client, timeout_timer), -ETIMEDOUT);
}

static void on_start_failed(struct orma_task *task)
{
	struct orma_ipc_client *client =
		ORMA_CONTAINER_OF(task, struct orma_ipc_client, start_task);

	lose(client, client->start_error);
}

static int new_client(const struct orma_ipc_client_options *options, struct orma_ipc_client **ret)
{
	uint64_t timeout_ns =
		options->connect_timeout_ns > 0 ? options->connect_timeout_ns : CONNECT_TIMEOUT_NS;
	size_t size;

	if (__builtin_mul_overflow(options->method_count, sizeof(uint32_t), &size) ||
	    __builtin_add_overflow(size, sizeof(struct orma_ipc_client), &size))
		return -ENOMEM;
	struct orma_ipc_client *client = orma_base_zalloc(size);
	if (!client)
		return -ENOMEM;
	client->options = *options;
	if (client->options.calls_max == 0)
		client->options.calls_max = ORMA_IPC_CLIENT_CALLS_MAX;
	if (options->trust) {
		client->trust = *options->trust;
		client->options.trust = &client->trust;
	}
	client->connect_fd = -1;
	orma_ipc_outstanding_init(&client->calls);
	int r = orma_base_loop_arm_in(options->loop, &client->timeout_timer, timeout_ns,
				      on_connect_timeout);
	if (r < 0) {
		orma_ipc_client_free(client);
		return r;
	}
	*ret = client;
	return 0;
}

int orma_ipc_client_new(const struct orma_ipc_client_options *options, const char *address,
			struct orma_ipc_client **ret)
{
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	struct orma_ipc_address parsed;
	struct orma_ipc_client *client;
	int r = orma_ipc_address_list_next(&address, item);

	if (r > 0)
		r = orma_ipc_address_parse(item, &parsed);
	else if (r == 0)
		r = -EINVAL;
	if (r == 0)
		r = new_client(options, &client);
	if (r != 0)
		return r;
	client->address = parsed;
	client->start_error = try_connect(client);
	/* Report a failure from the loop, too, so that the caller handles it in one place. */
	if (client->start_error < 0)
		orma_base_loop_defer(options->loop, &client->start_task, on_start_failed);
	*ret = client;
	return 0;
}

int orma_ipc_client_new_from_fd(const struct orma_ipc_client_options *options, int fd,
				struct orma_ipc_client **ret)
{
	struct orma_ipc_client *client;
	int r = orma_base_fd_set_nonblock(fd);

	if (r == 0)
		r = new_client(options, &client);
	if (r != 0)
		return r;
	/* A connection whose peer has gone closes the descriptor before start_binding() returns. */
	orma_base_fd_set_close_on_fork(fd);
	r = start_binding(client, fd);
	if (r < 0) {
		orma_ipc_client_free(client);
		return r;
	}
	*ret = client;
	return 0;
}

/* --- calls ------------------------------------------------------------------------------------ */

bool orma_ipc_client_is_connected(const struct orma_ipc_client *client)
{
	return client->state == CLIENT_BOUND && !client->connection.is_closed;
}

bool orma_ipc_client_has_method(const struct orma_ipc_client *client, size_t method_idx)
{
	return method_idx < client->options.method_count && client->method_ids[method_idx] != 0;
}

const char *orma_ipc_client_error_text(const struct orma_ipc_client *client)
{
	return client->error_text;
}

int orma_ipc_client_invoke_fd(struct orma_ipc_client *client, size_t method_idx, const void *args,
			      size_t size, int fd, orma_ipc_reply_fn *fn, void *fn_ctx)
{
	struct orma_ipc_envelope envelope;
	struct orma_ipc_outstanding_call *call = NULL;

	if (!orma_ipc_client_is_connected(client))
		return -ENOTCONN;
	if (!orma_ipc_client_has_method(client, method_idx))
		return -ENOTSUP;
	int r = orma_ipc_envelope_invoke(&envelope, client->next_request_id, client->service_id,
					 client->method_ids[method_idx], fn == NULL, size);
	if (r == 0 && fn && client->calls.by_id.count >= client->options.calls_max)
		r = -EBUSY;
	if (r == 0 && fn)
		r = orma_ipc_outstanding_add(&client->calls, client->next_request_id, fn, fn_ctx,
					     &call);
	if (r < 0)
		return r;
	struct iovec pieces[] = {{envelope.prefix, envelope.prefix_size},
				 {(void *)args, size},
				 {envelope.suffix, envelope.suffix_size}};
	r = orma_ipc_connection_send(&client->connection, pieces, ORMA_ARRAY_SIZE(pieces), fd);
	if (r < 0) {
		if (call)
			orma_ipc_outstanding_remove(&client->calls, call);
		return r == -ECONNRESET ? -ENOTCONN : r;
	}
	client->next_request_id++;
	return 0;
}

int orma_ipc_client_invoke(struct orma_ipc_client *client, size_t method_idx, const void *args,
			   size_t size, orma_ipc_reply_fn *fn, void *fn_ctx)
{
	return orma_ipc_client_invoke_fd(client, method_idx, args, size, -1, fn, fn_ctx);
}

void orma_ipc_client_forget(struct orma_ipc_client *client, const void *fn_ctx)
{
	orma_ipc_outstanding_forget(&client->calls, fn_ctx);
}

bool orma_ipc_client_has_room(struct orma_ipc_client *client)
{
	return !client->has_connection || orma_ipc_connection_has_room(&client->connection);
}

void orma_ipc_client_push(struct orma_ipc_client *client)
{
	if (client->has_connection)
		orma_ipc_connection_push(&client->connection);
}

void orma_ipc_client_pause(struct orma_ipc_client *client, bool is_paused)
{
	if (client->has_connection)
		orma_ipc_connection_pause(&client->connection, is_paused);
}

int orma_ipc_client_take_fd(struct orma_ipc_client *client)
{
	return client->has_connection ? orma_ipc_connection_take_fd(&client->connection) : -1;
}
