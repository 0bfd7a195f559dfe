/* SPDX-License-Identifier: Apache-2.0
 * ipc_client.h - the calling half: connects, binds one service, invokes its methods by name.
 *
 * The caller has a static table of the method names it may use; ids are learned from the host. All
 * callbacks run on the loop, never inside orma_ipc_client_new() or orma_ipc_client_invoke(). In
 * every callback the client may be freed. Its socket is not for children of forks, which would keep
 * the host from seeing us end: orma_base_fd_set_close_on_fork().
 */
#ifndef ORMA_IPC_IPC_CLIENT_H
#define ORMA_IPC_IPC_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/loop.h"

struct orma_ipc_client;
struct orma_ipc_trust;

struct orma_ipc_reply {
	bool success;
	bool has_more; /* the callback will run again */
	int error; /* 0; without success: -EREMOTEIO the host rejected it, else why the connection
		      ended */
	const void *data; /* untrusted; borrowed for the callback */
	size_t size;
};

typedef void orma_ipc_reply_fn(void *ctx, const struct orma_ipc_reply *reply);

struct orma_ipc_client_options {
	struct orma_loop *loop;
	const char *service_name;        /* borrowed for the client's life */
	const char *const *method_names; /* borrowed for the client's life */
	size_t method_count;
	void *ctx;
	/* Bound: calls can be made. */
	void (*connected)(void *ctx);
	/*
	 * Once, after every outstanding call has been rejected; nothing follows. -ECONNREFUSED and
	 * the like (never connected), -EPERM (options.trust does not cover the listener),
	 * -ENOTSUP (no such service), -EBUSY (refused; for both orma_ipc_client_error_text() says
	 * more), -EPROTO, -ETIMEDOUT; 0 or -ECONNRESET: lost.
	 */
	void (*disconnected)(void *ctx, int error);
	/* There is room again after orma_ipc_client_has_room() said no. May be NULL. */
	void (*drained)(void *ctx);
	size_t queue_bytes;          /* waiting to be sent; 0 = default */
	uint64_t stall_timeout_ns;   /* the host takes nothing for so long; 0 = never */
	uint64_t connect_timeout_ns; /* until bound; 0 = 10 s */
	size_t calls_max;            /* outstanding ones; 0 = ORMA_IPC_CLIENT_CALLS_MAX */
	/* Whose services it talks to; a listener that is not covered learns nothing but that
	 * somebody connected. Copied; NULL = everybody's. */
	const struct orma_ipc_trust *trust;
};

#define ORMA_IPC_CLIENT_CALLS_MAX 65536

/* To the first address of a comma-separated list. -EINVAL and -ENAMETOOLONG (address), -ENOMEM;
 * the rest comes to `disconnected`. */
int orma_ipc_client_new(const struct orma_ipc_client_options *options, const char *address,
			struct orma_ipc_client **ret);
/* Over a connected socket, taken over on success. */
int orma_ipc_client_new_from_fd(const struct orma_ipc_client_options *options, int fd,
				struct orma_ipc_client **ret);
/* Closes; outstanding calls are forgotten, no callback follows. */
void orma_ipc_client_free(struct orma_ipc_client *client);

bool orma_ipc_client_is_connected(const struct orma_ipc_client *client); /* bound and not lost */
bool orma_ipc_client_has_method(const struct orma_ipc_client *client, size_t method_idx);
/* What the host said last in a RequestError, or, after -EPERM, the user that listens; NULL = nothing. Valid until the next one. */
const char *orma_ipc_client_error_text(const struct orma_ipc_client *client);

/*
 * Calls a method. fn == NULL: no reply wanted. Otherwise fn runs for every reply, and with success
 * == false exactly once when the call fails or the connection ends. -ENOTCONN (not bound, or lost),
 * -ENOTSUP (the host has no such method), -EMSGSIZE, -EBUSY (too many calls), -ENOMEM, -ENOBUFS; fn
 * never runs then.
 */
int orma_ipc_client_invoke(struct orma_ipc_client *client, size_t method_idx, const void *args,
			   size_t size, orma_ipc_reply_fn *fn, void *fn_ctx);
/* The same with a descriptor (borrowed). */
int orma_ipc_client_invoke_fd(struct orma_ipc_client *client, size_t method_idx, const void *args,
			      size_t size, int fd, orma_ipc_reply_fn *fn, void *fn_ctx);
/* Forgets every outstanding call with this context: its fn will not run any more. */
void orma_ipc_client_forget(struct orma_ipc_client *client, const void *fn_ctx);
/* Less than half of the queue limit is waiting to be sent. */
bool orma_ipc_client_has_room(struct orma_ipc_client *client);
/* Paused: nothing is received, and no reply comes, until that is over; what is sent goes. */
void orma_ipc_client_pause(struct orma_ipc_client *client, bool is_paused);
/* The descriptor that came last with a reply, for the caller to own; -1 = none. */
int orma_ipc_client_take_fd(struct orma_ipc_client *client);

#endif
