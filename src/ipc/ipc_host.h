/* SPDX-License-Identifier: Apache-2.0
 * ipc_host.h - the serving half: accepts peers, binds services by name, dispatches calls, sends
 * replies.
 *
 * A host has a table of services, several listening sockets, and peers. It never blocks, bounds
 * what a peer can make it do and hold, and knows nothing of what the services do.
 *
 *	static const struct orma_ipc_method methods[] = {
 *		{"InitializeConnection", on_initialize_connection}, ...
 *	};
 *	static const struct orma_ipc_service services[] = {
 *		{"ProducerPort", methods, ORMA_ARRAY_SIZE(methods)},
 *	};
 */
#ifndef ORMA_IPC_IPC_HOST_H
#define ORMA_IPC_IPC_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/loop.h"

struct orma_ipc_host;
struct orma_ipc_peer;
struct orma_ipc_call;

enum { ORMA_IPC_AGAIN = 1 }; /* what a method may return, beside 0 and -errno */

/*
 * Runs one call. `call` stays valid until it is finished (a last reply, a rejection) or until
 * host->closed has returned for its peer, so it may be answered now or later. A negative return
 * rejects it (when the handler has not finished it). The arguments are borrowed for the call of the
 * handler. ORMA_IPC_AGAIN: it was too much for this turn of the loop; the handler runs again, with
 * the same call and arguments, in another one, and before anything else of its peer is looked at,
 * its end included. The call is not to be finished in between.
 */
typedef int orma_ipc_method_fn(struct orma_ipc_peer *peer, struct orma_ipc_call *call,
			       const void *args_untrusted, size_t args_size);

struct orma_ipc_method {
	const char *name;       /* its id on the wire is 1 + its position */
	orma_ipc_method_fn *fn; /* NULL: known by name, always rejected */
};

struct orma_ipc_service {
	const char *name; /* its id is 1 + its position */
	const struct orma_ipc_method *methods;
	size_t method_count;
};

#define ORMA_IPC_PEERS_MAX_DEFAULT        1024
#define ORMA_IPC_PEERS_PER_UID_DEFAULT    200
#define ORMA_IPC_PEERS_FIRST              128
#define ORMA_IPC_CALLS_MAX_DEFAULT        1024
#define ORMA_IPC_STALL_TIMEOUT_NS_DEFAULT UINT64_C(10000000000)
#define ORMA_IPC_MACHINE_NAME_BYTES       256

struct orma_ipc_host_options {
	struct orma_loop *loop;
	const struct orma_ipc_service
		*services; /* borrowed for the host's life, names and methods too */
	size_t service_count;
	/* So many of them, the last ones, are there only for peers of listeners with
	 * ORMA_IPC_HOST_ALL_SERVICES. */
	size_t reserved_count;
	void *ctx;
	struct orma_ipc_turns *turns; /* borrowed for the host's life; NULL: it has none */
	/* A new peer; a negative return refuses it (`closed` does not follow). May be NULL, as the
	 * next two. */
	int (*accepted)(void *ctx, struct orma_ipc_peer *peer);
	/* It is gone, its unfinished calls with it; error as in connection.h. Not called by
	 * orma_ipc_host_free(). After orma_ipc_peer_stay() it follows once more. */
	void (*closed)(void *ctx, struct orma_ipc_peer *peer, int error);
	/* There is room again after orma_ipc_peer_has_room() said no. */
	void (*drained)(void *ctx, struct orma_ipc_peer *peer);
	/* Of all users but root and the host's own; 0 = default. ORMA_IPC_PEERS_FIRST more may come,
	 * each of a user that has none; the rest is refused with a RequestError. */
	uint32_t peers_max;
	/* The same of one user, so that none can shut the others out. Peers whom the kernel does not
	 * vouch for are one user together, whatever they claim. 0 = default. */
	uint32_t peers_per_uid_max;
	uint32_t calls_max; /* unfinished ones per peer; 0 = default; more are rejected */
	size_t queue_bytes; /* waiting to be sent per peer; 0 = default; beyond it the peer is
			       dropped */
	uint64_t stall_timeout_ns; /* a peer that takes nothing for so long is dropped; 0 = default
				    */
};

int orma_ipc_host_new(const struct orma_ipc_host_options *options, struct orma_ipc_host **ret);
/* Drops all peers without callbacks, removes the socket files it made. Not from inside a callback
 * of the host. */
void orma_ipc_host_free(struct orma_ipc_host *host);

enum {
	/* Beside the flags of orma_ipc_listen(): the listener's peers find the reserved services. */
	ORMA_IPC_HOST_ALL_SERVICES = 1 << 8,
};

/* Listens on each address of a comma-separated list. All or none: 0 or -errno. */
int orma_ipc_host_listen(struct orma_ipc_host *host, const char *addresses, unsigned flags);
/* A listening socket made by somebody else; made non-blocking and taken over on success. */
int orma_ipc_host_adopt_listener(struct orma_ipc_host *host, int fd, unsigned flags);
/* For the peers to come; 0 = default. */
void orma_ipc_host_limit_peers_per_uid(struct orma_ipc_host *host, uint32_t max);
/* A connected socket; made non-blocking and taken over on success. *ret_peer may be NULL. -EBUSY:
 * too many peers. */
int orma_ipc_host_adopt(struct orma_ipc_host *host, int fd, struct orma_ipc_peer **ret_peer);
size_t orma_ipc_host_peer_count(const struct orma_ipc_host *host);

/* --- peers ------------------------------------------------------------------------------------ */

/* "nobody", as the kernel shows users that it has no number for. Upstream takes 0, which says that
 * root sent what anybody may have sent. */
#define ORMA_IPC_UID_UNKNOWN 65534u

struct orma_ipc_peer_identity {
	int family; /* AF_UNIX, ...; descriptors pass only over AF_UNIX */
	uid_t uid;  /* the kernel's word on AF_UNIX, else what SetPeerIdentity said, else
		       ORMA_IPC_UID_UNKNOWN */
	pid_t pid;
	bool is_trusted;     /* vouched for by the kernel */
	uint32_t machine_id; /* 0 = this machine */
	/* Of peers on AF_UNIX this machine's: PERFETTO_MACHINE_NAME, else the system's name; of
	 * others what SetPeerIdentity said, cut, or "". */
	char machine_name[ORMA_IPC_MACHINE_NAME_BYTES];
};

const struct orma_ipc_peer_identity *orma_ipc_peer_identity(const struct orma_ipc_peer *peer);
void orma_ipc_peer_set_data(struct orma_ipc_peer *peer, void *data);
void *orma_ipc_peer_data(const struct orma_ipc_peer *peer);
void *orma_ipc_peer_host_ctx(const struct orma_ipc_peer *peer); /* options->ctx */
/* False: stop streaming until options->drained. */
bool orma_ipc_peer_has_room(struct orma_ipc_peer *peer);
/* Drops it; options->closed follows from the loop. */
void orma_ipc_peer_close(struct orma_ipc_peer *peer, int error);
/* In options->closed alone, for ends that take more than a turn of the loop: that runs again in
 * another one; until then the peer counts as one. */
void orma_ipc_peer_stay(struct orma_ipc_peer *peer);

/* --- calls ------------------------------------------------------------------------------------ */

struct orma_ipc_peer *orma_ipc_call_peer(const struct orma_ipc_call *call);
/* False: the caller asked for silence; replies are swallowed. */
bool orma_ipc_call_wants_reply(const struct orma_ipc_call *call);
/* The descriptor that came with the call, for the caller to own; -1 = none. Only while the handler
 * runs. */
int orma_ipc_call_take_fd(struct orma_ipc_call *call);
/* Closes one that was taken, as long as the handler runs: that may take long, and is not waited for
 * where the loop has a closer. */
void orma_ipc_call_close_fd(const struct orma_ipc_call *call, int fd);

/*
 * One reply; without has_more it finishes the call. `fd` (or -1) is borrowed.
 * 0; -ECONNRESET (the peer is being dropped); -EMSGSIZE (nothing sent, the call goes on). With the
 * first two a last reply has finished the call.
 */
int orma_ipc_call_reply(struct orma_ipc_call *call, const void *reply, size_t size, bool has_more,
			int fd);
/* success=false; finishes the call. */
void orma_ipc_call_reject(struct orma_ipc_call *call);

#endif
