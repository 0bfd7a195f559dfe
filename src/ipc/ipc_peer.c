/* SPDX-License-Identifier: Apache-2.0
 * ipc_peer.c - one connection to a host: its frames, and its calls.
 *
 * A peer owns its connection and its unfinished calls. A call is freed when it is finished, or with
 * its peer. A peer is freed only in its connection's `closed`, which the loop runs outside of all
 * other callbacks. So a handler may drop its own peer and still hold valid pointers until it
 * returns.
 *
 * Ids on the wire are positions in the host's static tables plus one. So nothing is registered at
 * run time, and a hostile id is refused by one comparison. Rejected: reference counts on calls,
 * because the owner of a peer learns when the peer goes and can drop its calls then.
 */
#include "ipc/ipc_peer.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "base/map.h"
#include "ipc/address.h"

struct orma_ipc_call {
	struct orma_list link;
	struct orma_ipc_peer *peer;
	uint64_t request_id;
	bool wants_reply;
	bool is_in_handler, is_finished;
};

/* --- calls ------------------------------------------------------------------------------------ */

static void free_call(struct orma_ipc_call *call)
{
	ORMA_ASSERT(call->peer->call_count > 0 && !call->is_in_handler);
	orma_base_list_remove(&call->link);
	call->peer->call_count--;
	if (call->peer->unfinished == call)
		call->peer->unfinished = NULL;
	orma_base_free(call);
}

static void finish_call(struct orma_ipc_call *call)
{
	/* The dispatcher reads the call once more after its handler has returned. */
	if (call->is_in_handler)
		call->is_finished = true;
	else
		free_call(call);
}

/* Closes the connection when the frame cannot be queued, because the peer does not read. */
static int send_frame(struct orma_ipc_peer *peer, const struct orma_ipc_envelope *envelope,
		      const void *body, size_t size, int fd)
{
	struct iovec pieces[] = {{(void *)envelope->prefix, envelope->prefix_size},
				 {(void *)body, size},
				 {(void *)envelope->suffix, envelope->suffix_size}};
	int r = orma_ipc_connection_send(&peer->connection, pieces, ORMA_ARRAY_SIZE(pieces), fd);

	if (r < 0) {
		orma_ipc_connection_close(&peer->connection, r);
		return -ECONNRESET;
	}
	return 0;
}

static void send_rejection(struct orma_ipc_peer *peer, uint64_t request_id)
{
	struct orma_ipc_envelope envelope;

	if (orma_ipc_envelope_invoke_reply(&envelope, request_id, false, false, 0) == 0)
		send_frame(peer, &envelope, NULL, 0, -1);
}

struct orma_ipc_peer *orma_ipc_call_peer(const struct orma_ipc_call *call)
{
	return call->peer;
}

bool orma_ipc_call_wants_reply(const struct orma_ipc_call *call)
{
	return call->wants_reply;
}

int orma_ipc_call_take_fd(struct orma_ipc_call *call)
{
	return call->is_in_handler ? orma_ipc_connection_take_fd(&call->peer->connection) : -1;
}

void orma_ipc_call_close_fd(const struct orma_ipc_call *call, int fd)
{
	orma_ipc_connection_close_fd(&call->peer->connection, fd);
}

int orma_ipc_call_reply(struct orma_ipc_call *call, const void *reply, size_t size, bool has_more,
			int fd)
{
	struct orma_ipc_envelope envelope;
	int r = 0;

	if (call->is_finished)
		return -EINVAL;
	if (orma_ipc_envelope_invoke_reply(&envelope, call->request_id, true, has_more, size) < 0)
		return -EMSGSIZE;
	if (call->wants_reply)
		r = send_frame(call->peer, &envelope, reply, size, fd);
	if (!has_more)
		finish_call(call);
	return r;
}

void orma_ipc_call_reject(struct orma_ipc_call *call)
{
	if (call->is_finished)
		return;
	if (call->wants_reply)
		send_rejection(call->peer, call->request_id);
	finish_call(call);
}

/* --- frames ----------------------------------------------------------------------------------- */

static void handle_bind(struct orma_ipc_peer *peer, const struct orma_ipc_frame *frame)
{
	const struct orma_ipc_host_options *options = &peer->host->options;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf fields = {0};
	struct orma_ipc_envelope envelope;
	int r = 0;

	for (size_t i = 0; i < peer->service_count; i++) {
		const struct orma_ipc_service *service = &options->services[i];

		if (!orma_base_str_is(frame->u.bind.service_name, service->name))
			continue;
		r = orma_ipc_bind_reply_encode(&fields, (uint32_t)i + 1,
					       service->method_count > 0 ? &service->methods[0].name
									 : NULL,
					       sizeof(*service->methods), service->method_count);
		break;
	}
	/* An empty reply says that the service is unknown: its field `success` is false by
	 * default. */
	if (r == 0)
		r = orma_ipc_envelope_bind_reply(&envelope, frame->request_id, fields.size);
	if (r != 0) {
		orma_ipc_connection_close(&peer->connection, r);
		return;
	}
	send_frame(peer, &envelope, fields.data, fields.size, -1);
}

static orma_ipc_method_fn *find_method(const struct orma_ipc_peer *peer, uint32_t service_id,
				       uint32_t method_id)
{
	const struct orma_ipc_service *service;

	if (service_id == 0 || service_id > peer->service_count)
		return NULL;
	service = &peer->host->options.services[service_id - 1];
	if (method_id == 0 || method_id > service->method_count)
		return NULL;
	return service->methods[method_id - 1].fn;
}

static struct orma_ipc_call *new_call(struct orma_ipc_peer *peer,
				      const struct orma_ipc_frame *frame)
{
	struct orma_ipc_call *call;

	if (peer->call_count >= peer->host->options.calls_max)
		return NULL;
	call = orma_base_zalloc(sizeof(*call));
	if (!call)
		return NULL;
	call->peer = peer;
	call->request_id = frame->request_id;
	call->wants_reply = !frame->u.invoke.drop_reply;
	orma_base_list_append(&peer->calls, &call->link);
	peer->call_count++;
	return call;
}

static void handle_invoke(struct orma_ipc_peer *peer, const struct orma_ipc_frame *frame)
{
	orma_ipc_method_fn *fn =
		find_method(peer, frame->u.invoke.service_id, frame->u.invoke.method_id);
	struct orma_ipc_call *call = ORMA_TAKE(peer->unfinished);

	ORMA_ASSERT(!call || (call->request_id == frame->request_id && !call->is_finished));
	if (!call && fn)
		call = new_call(peer, frame);
	if (!call) {
		/* Sent even when no reply was wanted: upstream reads that flag only after these
		 * checks. */
		send_rejection(peer, frame->request_id);
		return;
	}
	call->is_in_handler = true;
	int r = fn(peer, call, frame->u.invoke.args.data, frame->u.invoke.args.size);
	if (r < 0)
		orma_ipc_call_reject(call);
	call->is_in_handler = false;
	if (call->is_finished) {
		free_call(call);
	} else if (r == ORMA_IPC_AGAIN) {
		ORMA_ASSERT(!peer->unfinished);
		peer->unfinished = call;
		orma_ipc_connection_call_again(&peer->connection);
	}
}

/* Hashes the hint that identifies the machine, or the address without its port. Never returns 0,
 * which means this machine. */
static uint32_t machine_id_of(struct orma_ipc_peer *peer, struct orma_str hint)
{
	struct orma_ipc_address address = {.size = sizeof(address.storage)};
	char text[ORMA_IPC_ADDRESS_TEXT_BYTES];
	uint32_t id;

	if (hint.size == 0 && getpeername(peer->connection.fd, (struct sockaddr *)&address.storage,
					  &address.size) == 0) {
		orma_ipc_address_format(&address, text);
		char *port = strrchr(text, ':');
		hint = (struct orma_str){text, port ? (size_t)(port - text) : strlen(text)};
	}
	id = (uint32_t)orma_base_fnv1a(ORMA_FNV1A_INIT, hint.data, hint.size);
	return id != 0 ? id : 1;
}

static void handle_identity(struct orma_ipc_peer *peer, const struct orma_ipc_frame *frame)
{
	struct orma_ipc_peer_identity *identity = &peer->identity;
	struct orma_str name = frame->u.identity.machine_name;

	if (identity->is_trusted || peer->has_said_identity)
		return;
	peer->has_said_identity = true;
	identity->pid = frame->u.identity.pid;
	/* A peer that names no user keeps ORMA_IPC_UID_UNKNOWN, instead of 0. */
	if (frame->u.identity.has_uid)
		identity->uid = (uid_t)frame->u.identity.uid;
	identity->machine_id = machine_id_of(peer, frame->u.identity.machine_id_hint);
	name.size = ORMA_MIN(name.size, sizeof(identity->machine_name) - 1);
	if (name.size > 0)
		memcpy(identity->machine_name, name.data, name.size);
}

static void refuse_frame(struct orma_ipc_peer *peer, uint64_t request_id)
{
	static const char text[] = "unknown request";
	struct orma_ipc_envelope envelope;

	if (orma_ipc_envelope_error(&envelope, request_id, sizeof(text) - 1) == 0)
		send_frame(peer, &envelope, text, sizeof(text) - 1, -1);
}

static struct orma_ipc_peer *peer_of(struct orma_ipc_connection *connection)
{
	return ORMA_CONTAINER_OF(connection, struct orma_ipc_peer, connection);
}

static void on_frame(struct orma_ipc_connection *connection, const uint8_t *data_untrusted,
		     size_t size)
{
	struct orma_ipc_peer *peer = peer_of(connection);
	struct orma_ipc_frame frame;

	if (orma_ipc_frame_decode(data_untrusted, size, &frame) < 0)
		return;
	switch (frame.kind) {
	case ORMA_IPC_FRAME_BIND:
		handle_bind(peer, &frame);
		break;
	case ORMA_IPC_FRAME_INVOKE:
		handle_invoke(peer, &frame);
		break;
	case ORMA_IPC_FRAME_IDENTITY:
		handle_identity(peer, &frame);
		break;
	case ORMA_IPC_FRAME_BIND_REPLY:
	case ORMA_IPC_FRAME_INVOKE_REPLY:
	case ORMA_IPC_FRAME_ERROR:
	case ORMA_IPC_FRAME_OTHER:
		refuse_frame(peer, frame.request_id);
		break;
	}
}

/* --- peers ------------------------------------------------------------------------------------ */

void orma_ipc_peer_free(struct orma_ipc_peer *peer)
{
	struct orma_ipc_call *call, *next;

	ORMA_LIST_FOR_EACH_SAFE (call, next, &peer->calls, link)
		free_call(call);
	ORMA_ASSERT(peer->call_count == 0 && !peer->unfinished);
	orma_ipc_connection_done(&peer->connection);
	orma_base_list_remove(&peer->link);
	ORMA_ASSERT(peer->host->peer_count > 0);
	peer->host->peer_count--;
	orma_base_free(peer);
}

static void on_closed(struct orma_ipc_connection *connection, int error)
{
	struct orma_ipc_peer *peer = peer_of(connection);
	const struct orma_ipc_host_options *options = &peer->host->options;

	peer->wants_closed_again = false;
	if (options->closed)
		options->closed(options->ctx, peer, error);
	if (peer->wants_closed_again)
		orma_ipc_connection_call_again(connection);
	else
		orma_ipc_peer_free(peer);
}

static void on_drained(struct orma_ipc_connection *connection)
{
	struct orma_ipc_peer *peer = peer_of(connection);
	const struct orma_ipc_host_options *options = &peer->host->options;

	if (options->drained)
		options->drained(options->ctx, peer);
}

static const struct orma_ipc_connection_ops connection_ops = {
	.frame = on_frame,
	.drained = on_drained,
	.closed = on_closed,
};

int orma_ipc_peer_new(struct orma_ipc_host *host, int fd,
		      const struct orma_ipc_credentials *credentials, struct orma_ipc_peer **ret)
{
	const struct orma_ipc_host_options *options = &host->options;
	struct orma_ipc_connection_limits limits = {
		.queue_bytes = options->queue_bytes,
		.stall_timeout_ns = options->stall_timeout_ns,
		.turns = options->turns,
		.uid = credentials->uid,
		.is_uid_known = credentials->is_known,
	};
	struct orma_ipc_peer *peer = orma_base_zalloc(sizeof(*peer));

	if (!peer)
		return -ENOMEM;
	int r = orma_ipc_connection_init(&peer->connection, options->loop, fd, &connection_ops,
					 &limits);
	if (r < 0) {
		orma_base_free(peer);
		return r;
	}
	peer->host = host;
	peer->identity.family = credentials->family;
	peer->identity.uid = credentials->is_known ? credentials->uid : ORMA_IPC_UID_UNKNOWN;
	peer->connection.owner = peer->identity.uid;
	peer->identity.pid = credentials->pid;
	peer->identity.is_trusted = credentials->is_known;
	if (credentials->family == AF_UNIX)
		memcpy(peer->identity.machine_name, host->machine_name, sizeof(host->machine_name));
	ORMA_ASSERT(options->reserved_count <= options->service_count);
	peer->service_count = options->service_count - options->reserved_count;
	orma_base_list_init(&peer->calls);
	orma_base_list_append(&host->peers, &peer->link);
	host->peer_count++;
	*ret = peer;
	return 0;
}

const struct orma_ipc_peer_identity *orma_ipc_peer_identity(const struct orma_ipc_peer *peer)
{
	return &peer->identity;
}

void orma_ipc_peer_set_data(struct orma_ipc_peer *peer, void *data)
{
	peer->data = data;
}

void *orma_ipc_peer_data(const struct orma_ipc_peer *peer)
{
	return peer->data;
}

void *orma_ipc_peer_host_ctx(const struct orma_ipc_peer *peer)
{
	return peer->host->options.ctx;
}

bool orma_ipc_peer_has_room(struct orma_ipc_peer *peer)
{
	return orma_ipc_connection_has_room(&peer->connection);
}

void orma_ipc_peer_close(struct orma_ipc_peer *peer, int error)
{
	orma_ipc_connection_close(&peer->connection, error);
}

void orma_ipc_peer_call_closed_again(struct orma_ipc_peer *peer)
{
	peer->wants_closed_again = true;
}
