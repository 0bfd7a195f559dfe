/* SPDX-License-Identifier: Apache-2.0
 * connection.h - a stream of frames over a non-blocking socket on the event loop.
 *
 * What cannot be sent at once waits in a queue of bounded size; nothing blocks. A peer that takes
 * nothing for longer than the stall timeout, lets the queue grow beyond its limit, sends an
 * oversize frame or closes ends the connection.
 *
 * Lifetime: embedded in its owner, which may end it with orma_ipc_connection_done() at any time, in
 * every callback too. Otherwise ops->closed tells when it ended; that runs once (or again, if it
 * asks for it), from the loop and never inside another callback or a call.
 */
#ifndef ORMA_IPC_CONNECTION_H
#define ORMA_IPC_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/list.h"
#include "base/loop.h"
#include "ipc/frame.h"
#include "ipc/turns.h"

struct orma_ipc_connection;

struct orma_ipc_connection_ops {
	/* One frame without its header, borrowed. */
	void (*frame)(struct orma_ipc_connection *connection, const uint8_t *data_untrusted,
		      size_t size);
	/* There is room again after orma_ipc_connection_has_room() said no. May be NULL. */
	void (*drained)(struct orma_ipc_connection *connection);
	/* The descriptor is closed; error is 0 (end of stream) or why it ended. */
	void (*closed)(struct orma_ipc_connection *connection, int error);
};

struct orma_ipc_connection_limits {
	size_t queue_bytes;        /* 0 = ORMA_IPC_QUEUE_BYTES_DEFAULT */
	uint64_t stall_timeout_ns; /* 0 = never */
	/* Shares the loop's time by it, as this user; NULL: does not wait for others. */
	struct orma_ipc_turns *turns;
	uid_t uid;
	bool is_uid_known;
};

#define ORMA_IPC_QUEUE_BYTES_DEFAULT ((size_t)1024 * 1024)

struct orma_ipc_connection {
	const struct orma_ipc_connection_ops *ops;
	struct orma_loop *loop;
	struct orma_watch watch;
	struct orma_timer stall_timer;
	struct orma_task close_task;
	struct orma_task frames_task; /* queued while frames that arrived wait for another turn */
	struct orma_ipc_turn turn;
	unsigned waiting; /* what is to be done in that */
	struct orma_ipc_connection_limits limits;
	struct orma_ipc_assembler assembler;
	struct orma_list queue; /* struct orma_ipc_queued */
	size_t queued_bytes;
	int fd;      /* -1 once it has ended */
	int kept_fd; /* received and not yet taken, or -1 */
	int error;   /* why it ended */
	uid_t owner; /* for the loop's closer: who sent the descriptors */
	bool is_closed, wants_drained;
	bool is_paused;
	bool is_unfinished; /* the next frame was handed out before */
	bool wants_again;   /* said in the callback that runs */
	bool *is_gone;      /* set by _done() while a callback runs */
};

/* Takes over `fd` (a connected, non-blocking stream socket) on success. 0 or -errno. */
int orma_ipc_connection_init(struct orma_ipc_connection *connection, struct orma_loop *loop, int fd,
			     const struct orma_ipc_connection_ops *ops,
			     const struct orma_ipc_connection_limits *limits);
/* Frees what it holds at once, the bytes of the frame being handled included; no callback follows.
 */
void orma_ipc_connection_done(struct orma_ipc_connection *connection);
/* Ends it: nothing is received or sent any more, ops->closed(error) follows from the loop. Safe in
 * every callback, and twice. */
void orma_ipc_connection_close(struct orma_ipc_connection *connection, int error);

/*
 * Sends one whole frame (header included), given as a few pieces, copying what has to
 * wait. `fd` (or -1) rides on its first byte; borrowed, duplicated when it has to wait.
 * 0; -ECONNRESET (ended). Nothing was sent and the connection goes on: -ENOBUFS (over the queue
 * limit), -ENOMEM, -EMFILE.
 */
int orma_ipc_connection_send(struct orma_ipc_connection *connection, const struct iovec *pieces,
			     size_t count, int fd);

/* A stream should go on: less than half of the queue limit is waiting. When not, ops->drained
 * follows. */
bool orma_ipc_connection_has_room(struct orma_ipc_connection *connection);
/* Paused: nothing is received, nor is the end of the stream noticed, until that is over. No callback
 * runs in here. */
void orma_ipc_connection_pause(struct orma_ipc_connection *connection, bool is_paused);
/* In ops->frame and ops->closed alone: the same again in another turn of the loop, for what takes too
 * long at once. Nothing is handed out or received in between, and a frame that was begun comes
 * again before ops->closed. */
void orma_ipc_connection_again(struct orma_ipc_connection *connection);
/* The descriptor that came last, for the caller to own; -1 = none. */
int orma_ipc_connection_take_fd(struct orma_ipc_connection *connection);
/* What becomes of a taken one. */
void orma_ipc_connection_close_fd(const struct orma_ipc_connection *connection, int fd);

struct orma_ipc_credentials {
	int family; /* AF_... */
	uid_t uid;
	gid_t gid;
	pid_t pid;
	bool is_known; /* vouched for by the kernel */
};

/* Of the process at the other end; on sockets without credentials is_known is false, uid, gid and
 * pid 0. 0 or -errno. */
int orma_ipc_peer_credentials(int fd, struct orma_ipc_credentials *ret);

#endif
