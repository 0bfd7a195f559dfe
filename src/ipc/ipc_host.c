/* SPDX-License-Identifier: Apache-2.0
 * ipc_host.c - the serving half: listeners, and the admission of peers.
 *
 * A host owns its listeners and its peers; ipc_peer.c handles what a peer sends. A peer can bind
 * the first service_count services of the table; only peers of some listeners can bind the reserved
 * services at its end. Rejected: a second host for the reserved services, because the two would
 * have to share their limits.
 */
#include "ipc/ipc_host.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/log_message.h"
#include "base/macros.h"
#include "ipc/address.h"
#include "ipc/ipc_peer.h"
#include "ipc/listener.h"

/* --- admission -------------------------------------------------------------------------------- */

static void refuse_peer(int fd, const char *text)
{
	struct orma_ipc_envelope envelope;
	size_t size = strlen(text);

	if (orma_ipc_envelope_error(&envelope, 0, size) < 0)
		return;
	struct iovec pieces[] = {{envelope.prefix, envelope.prefix_size}, {(void *)text, size}};
	/* A fresh socket has room. If it has none, the peer merely sees the end of the stream. */
	(void)orma_ipc_socket_send(fd, pieces, ORMA_ARRAY_SIZE(pieces), -1);
}

/* Root and the host's own user have only a limit per user, so the connections of other users cannot
 * shut them out. */
static bool is_privileged(bool is_known, uid_t uid)
{
	return is_known && (uid == 0 || uid == geteuid());
}

/* Returns why the host takes no further connection of this user, or NULL when it does. The peers
 * are counted each time: a table of users would have to drop users that have left, and there are at
 * most some 1,500 peers to walk. */
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

/* Works like orma_ipc_host_adopt(), but owns the descriptor even on failure. */
static int admit(struct orma_ipc_host *host, int fd, bool has_all_services,
		 struct orma_ipc_peer **ret_peer)
{
	const struct orma_ipc_host_options *options = &host->options;
	struct orma_fd_closer *closer = orma_base_loop_closer(options->loop);
	struct orma_ipc_credentials credentials = {.uid = ORMA_IPC_UID_UNKNOWN};
	struct orma_ipc_peer *peer = NULL;
	int r = orma_ipc_peer_credentials(fd, &credentials);
	const char *limit = r == 0 ? find_limit(host, &credentials) : NULL;

	if (limit) {
		refuse_peer(fd, limit);
		r = -EBUSY;
	}
	if (r == 0)
		r = orma_ipc_peer_new(host, fd, &credentials, &peer);
	if (!peer) {
		/* The peer may have sent something already, and close() of unread descriptors may
		 * block. */
		orma_base_socket_close_foreign(closer, fd, credentials.uid);
		return r;
	}
	if (has_all_services)
		peer->service_count = options->service_count;
	r = options->accepted ? options->accepted(options->ctx, peer) : 0;
	if (r < 0) {
		orma_ipc_peer_free(peer);
		return r;
	}
	if (ret_peer)
		*ret_peer = peer;
	return 0;
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
		orma_ipc_peer_free(ORMA_LIST_ENTRY(host->peers.next, struct orma_ipc_peer, link));
	ORMA_ASSERT(host->peer_count == 0);
	orma_base_free(host);
}

static void log_refusal(int r)
{
	if (r < 0)
		orma_base_log(ORMA_LOG_DEBUG, "ipc: connection refused: %s", strerror(-r));
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
	int r;

	orma_base_list_init(&listeners);
	while ((r = orma_ipc_address_list_next(&addresses, item)) > 0) {
		struct orma_ipc_address address;
		struct orma_ipc_listener *listener;

		r = orma_ipc_address_parse(item, &address);
		if (r == 0)
			r = orma_ipc_listener_new(host->options.loop, &address, flags,
						  pick_accept(flags), host, &listener);
		if (r != 0)
			break;
		orma_base_list_append(&listeners, &listener->link);
	}
	if (r == 0 && orma_base_list_is_empty(&listeners))
		r = -EINVAL;
	if (r < 0) {
		free_listeners(&listeners);
		return r;
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
	int r = orma_ipc_listener_new_from_fd(host->options.loop, fd, pick_accept(flags), host,
					      &listener);

	if (r == 0)
		orma_base_list_append(&host->listeners, &listener->link);
	return r;
}

int orma_ipc_host_adopt(struct orma_ipc_host *host, int fd, struct orma_ipc_peer **ret_peer)
{
	/* Works on a duplicate, so that on failure the caller still owns an unchanged
	 * descriptor. */
	int own_fd = orma_base_fd_duplicate(fd);

	if (own_fd < 0)
		return own_fd;
	int r = orma_base_fd_set_nonblock(own_fd);
	if (r < 0) {
		orma_base_fd_close(own_fd);
		return r;
	}
	/* The other end may be in this process: a child of a fork would hold the socket open. */
	orma_base_fd_set_close_on_fork(own_fd);
	r = admit(host, own_fd, false, ret_peer);
	if (r == 0)
		orma_base_fd_close(fd);
	return r;
}

size_t orma_ipc_host_peer_count(const struct orma_ipc_host *host)
{
	return host->peer_count;
}
