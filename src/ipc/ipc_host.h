/* SPDX-License-Identifier: Apache-2.0
 * ipc_host.h - the serving half: accepts peers, binds services by name, dispatches calls, sends
 * replies.
 *
 * A host has a table of services, listening sockets, and peers. It never blocks, it bounds the work
 * and the memory that a peer can cause, and it does not know what the services do.
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

enum { ORMA_IPC_AGAIN = 1 }; /* a method may return it, beside 0 and -errno */

/*
 * Handles one call. `call` stays valid until it is finished (by a last reply or a rejection), or
 * until options->closed has returned for its peer, so it may be answered later. A negative return
 * value rejects the call if the handler has not finished it. The arguments are borrowed until the
 * handler returns.
 *
 * A handler returns ORMA_IPC_AGAIN when the work is too much for one turn of the loop. It then runs
 * again in another turn, with the same call and arguments, before anything else of the peer is
 * handled, including its end. The call must not be finished in between.
 */
typedef int orma_ipc_method_fn(struct orma_ipc_peer *peer, struct orma_ipc_call *call,
			       const void *args_untrusted, size_t args_size);

struct orma_ipc_method {
	const char *name; /* its id on the wire is 1 + its position */
	/* NULL = peers get an id for the name, but every call is rejected */
	orma_ipc_method_fn *fn;
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
	/* The last `reserved_count` services exist only for peers of listeners with
	 * ORMA_IPC_HOST_ALL_SERVICES. */
	size_t reserved_count;
	void *ctx;
	struct orma_ipc_turns
		*turns; /* borrowed for the host's life; NULL = peers never wait for others */
	/* A peer has connected. A negative return value refuses it; `closed` does not follow then.
	 * This and the next two may be NULL. */
	int (*accepted)(void *ctx, struct orma_ipc_peer *peer);
	/* The connection has ended; `error` is as in connection.h. The peer and its unfinished
	 * calls are freed on return, unless orma_ipc_peer_call_closed_again() asked for another
	 * call. Not called by orma_ipc_host_free(). */
	void (*closed)(void *ctx, struct orma_ipc_peer *peer, int error);
	/* There is room again after orma_ipc_peer_has_room() returned false. */
	void (*drained)(void *ctx, struct orma_ipc_peer *peer);
	/* Limit on the peers of all users other than root and the host's own; 0 = default. Beyond
	 * it, ORMA_IPC_PEERS_FIRST users may have one peer each. The host refuses all others with a
	 * RequestError. */
	uint32_t peers_max;
	/* Limit on the peers of one user, so that no user can shut the others out; 0 = default. All
	 * peers without credentials from the kernel count as one user, whatever they claim. */
	uint32_t peers_per_uid_max;
	uint32_t calls_max; /* unfinished calls per peer; 0 = default; more are rejected */
	/* Limit on the unsent bytes of a peer, which is dropped beyond it; 0 = default. */
	size_t queue_bytes;
	/* A peer that takes no data for this long is dropped; 0 = default. */
	uint64_t stall_timeout_ns;
};

int orma_ipc_host_new(const struct orma_ipc_host_options *options, struct orma_ipc_host **ret);
/* Drops all peers without callbacks, and removes the socket files that the host made. Must not be
 * called inside a callback of the host. */
void orma_ipc_host_free(struct orma_ipc_host *host);

enum {
	/* Added to the flags of orma_ipc_listen(): peers of this listener find the reserved
	 * services. */
	ORMA_IPC_HOST_ALL_SERVICES = 1 << 8,
};

/* Listens on each address of a comma-separated list. 0, or -errno, and then on none of them. */
int orma_ipc_host_listen(struct orma_ipc_host *host, const char *addresses, unsigned flags);
/* Accepts peers from a socket that listens already. Makes it non-blocking, and takes it over on
 * success. */
int orma_ipc_host_adopt_listener(struct orma_ipc_host *host, int fd, unsigned flags);
/* Replaces options->peers_per_uid_max for peers that connect from now on; 0 = default. */
void orma_ipc_host_limit_peers_per_uid(struct orma_ipc_host *host, uint32_t max);
/* Serves a connected socket. Makes it non-blocking, and takes it over on success. `ret_peer` may be
 * NULL. -EBUSY: too many peers. */
int orma_ipc_host_adopt(struct orma_ipc_host *host, int fd, struct orma_ipc_peer **ret_peer);
size_t orma_ipc_host_peer_count(const struct orma_ipc_host *host);

/* --- peers ------------------------------------------------------------------------------------ */

/* The user "nobody"; the kernel shows users that it cannot map by this number. Upstream uses 0, and
 * so takes data of unknown users for data of root. */
#define ORMA_IPC_UID_UNKNOWN 65534u

struct orma_ipc_peer_identity {
	int family; /* AF_UNIX, ...; descriptors pass only over AF_UNIX */
	/* The kernel knows it on AF_UNIX. Elsewhere it comes from SetPeerIdentity, or is
	 * ORMA_IPC_UID_UNKNOWN. */
	uid_t uid;
	pid_t pid;
	bool is_trusted;     /* uid and pid come from the kernel */
	uint32_t machine_id; /* 0 = this machine */
	/* Peers on AF_UNIX have the name of this machine: PERFETTO_MACHINE_NAME, else the host
	 * name. Others have the name from SetPeerIdentity, which may be truncated, or "". */
	char machine_name[ORMA_IPC_MACHINE_NAME_BYTES];
};

const struct orma_ipc_peer_identity *orma_ipc_peer_identity(const struct orma_ipc_peer *peer);
void orma_ipc_peer_set_data(struct orma_ipc_peer *peer, void *data);
void *orma_ipc_peer_data(const struct orma_ipc_peer *peer);
void *orma_ipc_peer_host_ctx(const struct orma_ipc_peer *peer); /* options->ctx */
/* Returns false when a stream should pause until options->drained. */
bool orma_ipc_peer_has_room(struct orma_ipc_peer *peer);
/* Closes the connection; options->closed follows from the loop. */
void orma_ipc_peer_close(struct orma_ipc_peer *peer, int error);
/* Makes options->closed run again in another turn; for cleanup that is too long for one turn of the
 * loop. Allowed only in options->closed. The peer counts against the limits until then. */
void orma_ipc_peer_call_closed_again(struct orma_ipc_peer *peer);

/* --- calls ------------------------------------------------------------------------------------ */

struct orma_ipc_peer *orma_ipc_call_peer(const struct orma_ipc_call *call);
/* Returns false when the caller wants no reply; replies are then discarded. */
bool orma_ipc_call_wants_reply(const struct orma_ipc_call *call);
/* Returns the descriptor that came with the call, which the caller then owns; -1 = none. Allowed
 * only while the handler runs. */
int orma_ipc_call_take_fd(struct orma_ipc_call *call);
/* Closes a descriptor that was taken, through the loop's closer, because close() of a peer's
 * descriptor may block. Allowed only while the handler runs. */
void orma_ipc_call_close_fd(const struct orma_ipc_call *call, int fd);

/*
 * Sends one reply. Without `has_more` it is the last one and finishes the call. `fd` (-1 = none) is
 * borrowed. 0, or -ECONNRESET when the peer is being dropped; the last reply finishes the call in
 * both cases. -EMSGSIZE: nothing was sent, and the call is still open.
 */
int orma_ipc_call_reply(struct orma_ipc_call *call, const void *reply, size_t size, bool has_more,
			int fd);
/* Replies with success=false, and finishes the call. */
void orma_ipc_call_reject(struct orma_ipc_call *call);

#endif
