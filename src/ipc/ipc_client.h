/* SPDX-License-Identifier: Apache-2.0
 * ipc_client.h - the calling half: connects, binds one service, invokes its methods by name.
 *
 * The caller has a static table of the method names that it may use; the host assigns their ids.
 * All callbacks run on the loop, never inside orma_ipc_client_new() or orma_ipc_client_invoke().
 * The client may be freed in every callback. Children of a fork must not hold the client's socket
 * open, because the host would not notice the end of the process: so the socket is marked with
 * orma_base_fd_set_close_on_fork().
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
	/* 0, or without success: -EREMOTEIO when the host rejected the call, else why the
	 * connection ended. */
	int error;
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
	/* The service is bound, and calls can be made. */
	void (*connected)(void *ctx);
	/*
	 * Runs once, after every outstanding call has been rejected; no callback follows.
	 * -ECONNREFUSED and the like: it never connected. -EPERM: options.trust does not cover the
	 * listener. -ENOTSUP: the host has no such service. -EBUSY: the host refused the
	 * connection. (orma_ipc_client_error_text() says more about -EPERM and -EBUSY.) -EPROTO,
	 * -ETIMEDOUT. 0 or -ECONNRESET: the connection was lost.
	 */
	void (*disconnected)(void *ctx, int error);
	/* There is room again after orma_ipc_client_has_room() returned false. May be NULL. */
	void (*drained)(void *ctx);
	size_t queue_bytes;        /* limit on bytes that wait to be sent; 0 = default */
	uint64_t stall_timeout_ns; /* a host that takes no data for this long is lost; 0 = never */
	uint64_t connect_timeout_ns; /* until bound; 0 = 10 s */
	size_t calls_max;            /* limit on outstanding calls; 0 = ORMA_IPC_CLIENT_CALLS_MAX */
	/* The users whose services the client accepts. It sends nothing to other listeners. Copied;
	 * NULL = all users. */
	const struct orma_ipc_trust *trust;
};

#define ORMA_IPC_CLIENT_CALLS_MAX 65536

/* Connects to the first address of a comma-separated list. -EINVAL and -ENAMETOOLONG (address),
 * -ENOMEM; other failures come to `disconnected`. */
int orma_ipc_client_new(const struct orma_ipc_client_options *options, const char *address,
			struct orma_ipc_client **ret);
/* Uses a connected socket, and takes it over on success. */
int orma_ipc_client_new_from_fd(const struct orma_ipc_client_options *options, int fd,
				struct orma_ipc_client **ret);
/* Closes the connection. Outstanding calls are dropped, and no callback follows. */
void orma_ipc_client_free(struct orma_ipc_client *client);

bool orma_ipc_client_is_connected(const struct orma_ipc_client *client); /* bound and not lost */
bool orma_ipc_client_has_method(const struct orma_ipc_client *client, size_t method_idx);
/* Returns the host's last RequestError, or after -EPERM the user that listens; NULL = none. Valid
 * until the next one. */
const char *orma_ipc_client_error_text(const struct orma_ipc_client *client);

/*
 * Calls a method. With fn == NULL no reply is wanted. Otherwise fn runs for every reply, and
 * exactly once without success when the call fails or the connection ends. fn never runs when this
 * returns an error: -ENOTCONN (not bound, or lost), -ENOTSUP (the host has no such method),
 * -EMSGSIZE, -EBUSY (too many calls), -ENOMEM, -ENOBUFS.
 */
int orma_ipc_client_invoke(struct orma_ipc_client *client, size_t method_idx, const void *args,
			   size_t size, orma_ipc_reply_fn *fn, void *fn_ctx);
/* Does the same with a descriptor, which is borrowed. */
int orma_ipc_client_invoke_fd(struct orma_ipc_client *client, size_t method_idx, const void *args,
			      size_t size, int fd, orma_ipc_reply_fn *fn, void *fn_ctx);
/* Drops every outstanding call with this context; its fn does not run any more. */
void orma_ipc_client_forget(struct orma_ipc_client *client, const void *fn_ctx);
/* Returns true while less than half of the queue limit waits to be sent. */
bool orma_ipc_client_has_room(struct orma_ipc_client *client);
/* See orma_ipc_connection_push(). */
void orma_ipc_client_push(struct orma_ipc_client *client);
/* While the client is paused, nothing is received and no reply arrives; sending goes on. */
void orma_ipc_client_pause(struct orma_ipc_client *client, bool is_paused);
/* Returns the descriptor that came last with a reply, which the caller then owns; -1 = none. */
int orma_ipc_client_take_fd(struct orma_ipc_client *client);

#endif
