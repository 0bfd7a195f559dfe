/* SPDX-License-Identifier: Apache-2.0
 * ipc_host.c - the serving half: peers, and the dispatch of their frames to services.
 *
 * A host owns its listeners and peers; a peer owns its connection and its unfinished calls. Calls
 * are freed when they are finished or with their peer, and a peer only from its connection's
 * `closed`, which the loop runs outside of all other callbacks: so a handler may drop its own peer
 * and still hold valid pointers until it returns. A peer's services are the first service_count of
 * the table, all of it for peers of some listeners: two hosts would have to share their limits.
 *
 * Ids on the wire are positions in the caller's static tables plus one; there is nothing to
 * register at run time and looking up a hostile id is one comparison. Reference counts on calls
 * were rejected: the owner of a peer knows when it goes, and holds its calls in the same place.
 */
#include "ipc/ipc_host.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "base/map.h"
#include "ipc/address.h"
#include "ipc/connection.h"
#include "ipc/listener.h"

struct orma_ipc_host {
	struct orma_ipc_host_options options;
	struct orma_list peers;     /* struct orma_ipc_peer */
	struct orma_list listeners; /* struct orma_ipc_listener */
	size_t peer_count;
	char machine_name[ORMA_IPC_MACHINE_NAME_BYTES];
};

struct orma_ipc_peer {
	struct orma_list link;
	struct orma_ipc_host *host;
	struct orma_ipc_connection connection;
	struct orma_ipc_peer_identity identity;
	bool has_said_identity;
	size_t service_count;
	void *data;
	struct orma_list calls; /* struct orma_ipc_call: unfinished ones */
	uint32_t call_count;
	struct orma_ipc_call *again; /* its frame comes next; NULL = none */
	bool stays;
};

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
	orma_base_list_remove(&call->link);
	call->peer->call_count--;
	if (call->peer->again == call)
		call->peer->again = NULL;
	orma_base_free(call);
}

static void finish_call(struct orma_ipc_call *call)
{
	/* The dispatcher looks at the call once more after its handler has returned. */
	if (call->is_in_handler)
		call->is_finished = true;
	else
		free_call(call);
}

/* A peer whose frames cannot be queued is one that does not read. */
static int send_frame(struct orma_ipc_peer *peer, const struct orma_ipc_envelope *envelope,
		      const void *body, size_t size, int fd)
{
	struct iovec pieces[] = {{(void *)envelope->prefix, envelope->prefix_size},
				 {(void *)body, size},
				 {(void *)envelope->suffix, envelope->suffix_size}};
	int result =
		orma_ipc_connection_send(&peer->connection, pieces, ORMA_ARRAY_SIZE(pieces), fd);

	if (result < 0) {
		orma_ipc_connection_close(&peer->connection, result);
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
	int result = 0;

	if (call->is_finished)
		return -EINVAL;
	if (orma_ipc_envelope_invoke_reply(&envelope, call->request_id, true, has_more, size) < 0)
		return -EMSGSIZE;
	if (call->wants_reply)
		result = send_frame(call->peer, &envelope, reply, size, fd);
	if (!has_more)
		finish_call(call);
	return result;
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
	int result = 0;

	for (size_t i = 0; i < peer->service_count; i++) {
		const struct orma_ipc_service *service = &options->services[i];

		if (!orma_base_str_is(frame->u.bind.service_name, service->name))
			continue;
		result = orma_ipc_bind_reply_encode(
			&fields, (uint32_t)i + 1,
			service->method_count > 0 ? &service->methods[0].name : NULL,
			sizeof(*service->methods), service->method_count);
		break;
	}
	/* An unknown service is an empty reply: its success is false by default. */
	if (result == 0)
		result = orma_ipc_envelope_bind_reply(&envelope, frame->request_id, fields.size);
	if (result != 0) {
		orma_ipc_connection_close(&peer->connection, result);
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
	struct orma_ipc_call *call = ORMA_TAKE(peer->again);

	if (!call && fn)
		call = new_call(peer, frame);
	if (!call) {
		/* Also when no reply was wanted: upstream looks at that flag only after these
		 * checks. */
		send_rejection(peer, frame->request_id);
		return;
	}
	call->is_in_handler = true;
	int result = fn(peer, call, frame->u.invoke.args.data, frame->u.invoke.args.size);
	if (result < 0)
		orma_ipc_call_reject(call);
	call->is_in_handler = false;
	if (call->is_finished) {
		free_call(call);
	} else if (result == ORMA_IPC_AGAIN) {
		peer->again = call;
		orma_ipc_connection_again(&peer->connection);
	}
}

/* Never 0, which means this machine. */
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
	/* Who says nothing is not root. */
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

static void free_peer(struct orma_ipc_peer *peer)
{
	struct orma_ipc_call *call, *next;

	ORMA_LIST_FOR_EACH_SAFE (call, next, &peer->calls, link)
		free_call(call);
	orma_ipc_connection_done(&peer->connection);
	orma_base_list_remove(&peer->link);
	peer->host->peer_count--;
	orma_base_free(peer);
}

static void on_closed(struct orma_ipc_connection *connection, int error)
{
	struct orma_ipc_peer *peer = peer_of(connection);
	const struct orma_ipc_host_options *options = &peer->host->options;

	peer->stays = false;
	if (options->closed)
		options->closed(options->ctx, peer, error);
	if (peer->stays)
		orma_ipc_connection_again(connection);
	else
		free_peer(peer);
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

static int new_peer(struct orma_ipc_host *host, int fd,
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
	int result = orma_ipc_connection_init(&peer->connection, options->loop, fd, &connection_ops,
					      &limits);
	if (result < 0) {
		orma_base_free(peer);
		return result;
	}
	peer->host = host;
	peer->identity.family = credentials->family;
	peer->identity.uid = credentials->is_known ? credentials->uid : ORMA_IPC_UID_UNKNOWN;
	peer->connection.owner = peer->identity.uid;
	peer->identity.pid = credentials->pid;
	peer->identity.is_trusted = credentials->is_known;
	if (credentials->family == AF_UNIX)
		memcpy(peer->identity.machine_name, host->machine_name, sizeof(host->machine_name));
	peer->service_count = options->service_count - options->reserved_count;
	orma_base_list_init(&peer->calls);
	orma_base_list_append(&host->peers, &peer->link);
	host->peer_count++;
	*ret = peer;
	return 0;
}

static void refuse_peer(int fd, const char *text)
{
	struct orma_ipc_envelope envelope;
	size_t size = strlen(text);

	if (orma_ipc_envelope_error(&envelope, 0, size) < 0)
		return;
	struct iovec pieces[] = {{envelope.prefix, envelope.prefix_size}, {(void *)text, size}};
	struct msghdr message = {.msg_iov = pieces, .msg_iovlen = ORMA_ARRAY_SIZE(pieces)};
	/* A fresh socket has room; if not, the peer just sees the end of the stream. */
	(void)!sendmsg(fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
}

/* Root, or the user that the host runs as: limited by themselves, and by nobody else. */
static bool is_privileged(bool is_known, uid_t uid)
{
	return is_known && (uid == 0 || uid == geteuid());
}

/* Why there is no place for one more; NULL = there is one. Counted anew for each: a table by user
 * would have to forget users, and there are at most some 1,500 peers to walk. */
static const char *find_limit(const struct orma_ipc_host *host,
			      const struct orma_ipc_credentials *credentials)
{
	const struct orma_ipc_peer *peer;
	uint32_t of_user = 0, of_others = 0;

	ORMA_LIST_FOR_EACH (peer, &host->peers, link) {
		const struct orma_ipc_peer_identity *identity = &peer->identity;

		of_user += identity->is_trusted == credentials->is_known &&
			   (!credentials->is_known || identity->uid == credentials->uid);
		of_others += !is_privileged(identity->is_trusted, identity->uid);
	}
	if (of_user >= host->options.peers_per_uid_max)
		return "too many connections of this user";
	if (is_privileged(credentials->is_known, credentials->uid) ||
	    of_others < host->options.peers_max ||
	    (of_user == 0 && of_others - host->options.peers_max < ORMA_IPC_PEERS_FIRST))
		return NULL;
	return "too many connections";
}

/* As orma_ipc_host_adopt(), but takes the descriptor in any case. */
static int admit(struct orma_ipc_host *host, int fd, bool has_all_services,
		 struct orma_ipc_peer **ret_peer)
{
	const struct orma_ipc_host_options *options = &host->options;
	struct orma_fd_closer *closer = orma_base_loop_closer(options->loop);
	struct orma_ipc_credentials credentials = {.uid = ORMA_IPC_UID_UNKNOWN};
	struct orma_ipc_peer *peer = NULL;
	int result = orma_ipc_peer_credentials(fd, &credentials);
	const char *limit = result == 0 ? find_limit(host, &credentials) : NULL;

	if (limit) {
		refuse_peer(fd, limit);
		result = -EBUSY;
	}
	if (result == 0)
		result = new_peer(host, fd, &credentials, &peer);
	if (!peer) {
		/* It may have sent something already. */
		orma_base_socket_close_foreign(closer, fd, credentials.uid);
		return result;
	}
	if (has_all_services)
		peer->service_count = options->service_count;
	result = options->accepted ? options->accepted(options->ctx, peer) : 0;
	if (result < 0) {
		free_peer(peer);
		return result;
	}
	if (ret_peer)
		*ret_peer = peer;
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

void orma_ipc_peer_stay(struct orma_ipc_peer *peer)
{
	peer->stays = true;
}

/* --- the host --------------------------------------------------------------------------------- */

void orma_ipc_host_limit_peers_per_uid(struct orma_ipc_host *host, uint32_t max)
{
	host->options.peers_per_uid_max = max ? max : ORMA_IPC_PEERS_PER_UID_DEFAULT;
}

static void read_machine_name(char name[ORMA_IPC_MACHINE_NAME_BYTES])
{
	const char *wanted = getenv("PERFETTO_MACHINE_NAME");
	struct utsname names;

	if (!wanted && uname(&names) == 0)
		wanted = names.sysname;
	if (wanted)
		memcpy(name, wanted, strnlen(wanted, ORMA_IPC_MACHINE_NAME_BYTES - 1));
}

int orma_ipc_host_new(const struct orma_ipc_host_options *options, struct orma_ipc_host **ret)
{
	struct orma_ipc_host *host = orma_base_zalloc(sizeof(*host));

	if (!host)
		return -ENOMEM;
	host->options = *options;
	if (host->options.peers_max == 0)
		host->options.peers_max = ORMA_IPC_PEERS_MAX_DEFAULT;
	orma_ipc_host_limit_peers_per_uid(host, options->peers_per_uid_max);
	if (host->options.calls_max == 0)
		host->options.calls_max = ORMA_IPC_CALLS_MAX_DEFAULT;
	if (host->options.stall_timeout_ns == 0)
		host->options.stall_timeout_ns = ORMA_IPC_STALL_TIMEOUT_NS_DEFAULT;
	orma_base_list_init(&host->peers);
	orma_base_list_init(&host->listeners);
	read_machine_name(host->machine_name);
	*ret = host;
	return 0;
}

static void free_listeners(struct orma_list *listeners)
{
	while (!orma_base_list_is_empty(listeners))
		orma_ipc_listener_free(
			ORMA_LIST_ENTRY(listeners->next, struct orma_ipc_listener, link));
}

void orma_ipc_host_free(struct orma_ipc_host *host)
{
	if (!host)
		return;
	free_listeners(&host->listeners);
	while (!orma_base_list_is_empty(&host->peers))
		free_peer(ORMA_LIST_ENTRY(host->peers.next, struct orma_ipc_peer, link));
	orma_base_free(host);
}

static void log_refusal(int result)
{
	if (result < 0)
		orma_base_log(ORMA_LOG_DEBUG, "ipc: connection refused: %s", strerror(-result));
}

static void on_accept(void *ctx, int fd)
{
	log_refusal(admit(ctx, fd, false, NULL));
}

static void on_accept_for_all(void *ctx, int fd)
{
	log_refusal(admit(ctx, fd, true, NULL));
}

static orma_ipc_accept_fn *pick_accept(unsigned flags)
{
	return flags & ORMA_IPC_HOST_ALL_SERVICES ? on_accept_for_all : on_accept;
}

int orma_ipc_host_listen(struct orma_ipc_host *host, const char *addresses, unsigned flags)
{
	struct orma_list listeners;
	char item[ORMA_IPC_ADDRESS_TEXT_BYTES];
	int result;

	orma_base_list_init(&listeners);
	while ((result = orma_ipc_address_list_next(&addresses, item)) > 0) {
		struct orma_ipc_address address;
		struct orma_ipc_listener *listener;

		result = orma_ipc_address_parse(item, &address);
		if (result == 0)
			result = orma_ipc_listener_new(host->options.loop, &address, flags,
						       pick_accept(flags), host, &listener);
		if (result != 0)
			break;
		orma_base_list_append(&listeners, &listener->link);
	}
	if (result == 0 && orma_base_list_is_empty(&listeners))
		result = -EINVAL;
	if (result < 0) {
		free_listeners(&listeners);
		return result;
	}
	while (!orma_base_list_is_empty(&listeners)) {
		struct orma_list *link = listeners.next;
		orma_base_list_remove(link);
		orma_base_list_append(&host->listeners, link);
	}
	return 0;
}

int orma_ipc_host_adopt_listener(struct orma_ipc_host *host, int fd, unsigned flags)
{
	struct orma_ipc_listener *listener;
	int result = orma_ipc_listener_new_from_fd(host->options.loop, fd, pick_accept(flags), host,
						   &listener);

	if (result == 0)
		orma_base_list_append(&host->listeners, &listener->link);
	return result;
}

int orma_ipc_host_adopt(struct orma_ipc_host *host, int fd, struct orma_ipc_peer **ret_peer)
{
	/* A duplicate, so that on failure the caller still has what it came with. */
	int own_fd = orma_base_fd_duplicate(fd);

	if (own_fd < 0)
		return own_fd;
	int result = orma_base_fd_set_nonblock(own_fd);
	if (result < 0) {
		orma_base_fd_close(own_fd);
		return result;
	}
	/* The other end is in this process, or near: a child of a fork would hold it open. */
	orma_base_fd_set_close_on_fork(own_fd);
	result = admit(host, own_fd, false, ret_peer);
	if (result == 0)
		orma_base_fd_close(fd);
	return result;
}

size_t orma_ipc_host_peer_count(const struct orma_ipc_host *host)
{
	return host->peer_count;
}
