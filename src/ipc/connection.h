/* SPDX-License-Identifier: Apache-2.0
 * connection.h - a stream of frames over a non-blocking socket on the event loop.
 *
 * Nothing blocks: bytes that the socket does not take at once wait in a queue of bounded size. The
 * connection ends when the peer closes it, when the peer sends an oversize frame, and when the peer
 * takes no data until the stall timeout has passed.
 *
 * Lifetime: a connection is embedded in its owner. The owner may end it with
 * orma_ipc_connection_done() at any time, even inside a callback. Otherwise ops->closed reports its
 * end. It runs from the loop, never inside another callback or a call, and it runs again only if it
 * asks for that.
 */
#ifndef ORMA_IPC_CONNECTION_H
#define ORMA_IPC_CONNECTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

#include "base/loop.h"
#include "ipc/frame.h"
#include "ipc/send_queue.h"
#include "ipc/turns.h"

struct orma_ipc_connection;

struct orma_ipc_connection_ops {
	/* One frame without its header, borrowed. */
	void (*frame)(struct orma_ipc_connection *connection, const uint8_t *data_untrusted,
		      size_t size);
	/* There is room again after orma_ipc_connection_has_room() returned false. May be NULL. */
	void (*drained)(struct orma_ipc_connection *connection);
	/* The socket is closed. `error` is 0 at the end of the stream, else why the connection
	 * ended. */
	void (*closed)(struct orma_ipc_connection *connection, int error);
};

struct orma_ipc_connection_limits {
	size_t queue_bytes;        /* 0 = ORMA_IPC_QUEUE_BYTES_DEFAULT */
	uint64_t stall_timeout_ns; /* 0 = never */
	/* The scheduler that shares the loop's time among users; borrowed. NULL = the connection
	 * never waits for others. */
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
	struct orma_task frames_task; /* queued while received frames wait for another turn */
	struct orma_ipc_turn turn;
	unsigned waiting; /* events to handle in that turn: ORMA_LOOP_... and FRAMES_LEFT */
	struct orma_ipc_connection_limits limits;
	struct orma_ipc_assembler assembler;
	struct orma_ipc_send_queue queue;
	int fd;      /* -1 once the connection has ended */
	int kept_fd; /* received and not yet taken; -1 = none */
	int error;   /* why the connection ended */
	uid_t owner; /* the user who sends descriptors, for the loop's closer */
	bool is_closed, wants_drained;
	bool is_paused;
	bool is_unfinished; /* the next frame has been handed out before */
	bool wants_again;   /* set by orma_ipc_connection_call_again() in the running callback */
	bool *is_gone;      /* set by orma_ipc_connection_done() while a callback runs */
};

/* Takes over `fd` (a connected, non-blocking stream socket) on success. 0 or -errno. */
int orma_ipc_connection_init(struct orma_ipc_connection *connection, struct orma_loop *loop, int fd,
			     const struct orma_ipc_connection_ops *ops,
			     const struct orma_ipc_connection_limits *limits);
/* Frees everything at once, including the bytes of a frame that is being handled. No callback
 * follows. */
void orma_ipc_connection_done(struct orma_ipc_connection *connection);
/* Ends the connection: nothing is received or sent any more, and ops->closed(error) follows from
 * the loop. Safe in every callback, and when called twice. */
void orma_ipc_connection_close(struct orma_ipc_connection *connection, int error);

/*
 * Sends one whole frame (header included), given as a few pieces, and copies the bytes that have to
 * wait. `fd` (-1 = none) is sent with the first byte; it is borrowed, and duplicated when it has to
 * wait. Returns 0, or -ECONNRESET when the connection has ended. On -ENOBUFS (over the queue
 * limit), -ENOMEM and -EMFILE nothing was sent, and the connection stays open.
 */
int orma_ipc_connection_send(struct orma_ipc_connection *connection, const struct iovec *pieces,
			     size_t count, int fd);

/* Sends of the queue what the socket takes now, as the loop does. For a thread that waits for the peer and keeps the loop from
 * running meanwhile. */
void orma_ipc_connection_push(struct orma_ipc_connection *connection);

/* Returns true while less than half of the queue limit waits to be sent. After it has returned
 * false, ops->drained reports that there is room again. */
bool orma_ipc_connection_has_room(struct orma_ipc_connection *connection);
/* Pauses or resumes receiving. While the connection is paused, the end of the stream is not noticed
 * either. No callback runs inside this call. */
void orma_ipc_connection_pause(struct orma_ipc_connection *connection, bool is_paused);
/* Makes the running callback run again in another turn of the loop; for work that is too long for
 * one turn. Allowed only in ops->frame and ops->closed. Nothing is handed out or received in
 * between, and an unfinished frame is handed out again before ops->closed. */
void orma_ipc_connection_call_again(struct orma_ipc_connection *connection);
/* Returns the descriptor that came last, which the caller then owns; -1 = none. */
int orma_ipc_connection_take_fd(struct orma_ipc_connection *connection);
/* Closes a descriptor that was taken, through the loop's closer. */
void orma_ipc_connection_close_fd(const struct orma_ipc_connection *connection, int fd);

#endif
