/* SPDX-License-Identifier: Apache-2.0
 * connection.c - a stream of frames over a non-blocking socket.
 *
 * Sending: a frame goes to the socket at once when the queue is empty. Bytes that the socket does
 * not take are copied into the queue (send_queue.c) and sent when the socket is writable.
 * Invariant: write interest is on exactly while the queue is not empty and the connection does not
 * wait for a turn. A timer ends the connection to a peer that takes no data. Rejected: blocking
 * sends with a timeout, as upstream has; they freeze all other connections meanwhile.
 *
 * Ending: after any failure, in any callback, orma_ipc_connection_close() closes the socket and
 * defers the owner's callback to a task of the loop. Rejected: calling the owner at once, because
 * it would have to expect its own destruction inside every send.
 *
 * Receiving: a turn has at most RECEIVES_PER_TURN receives, so that a flood from one peer cannot
 * starve the others. Level-triggered epoll reports the rest again. Rejected: reading until EAGAIN.
 * It takes one more system call per wake-up, and a fast peer could keep it going without end.
 *
 * Handling frames has a time budget per turn, too, because a frame of ten bytes may ask for
 * milliseconds of work. When the budget is spent, a task hands out the remaining frames in a later
 * turn, and nothing is received before that. The budget is CPU time of the thread, so that a busy
 * machine does not split the frames of an honest peer over many turns. Reading the wall clock is
 * cheaper, so the code reads it first and the CPU clock only when the wall clock has passed the
 * budget. Rejected: a limit on the number of frames, because one that is low enough for costly
 * frames slows cheap frames down. All connections of a host share a second budget per turn
 * (turns.c). When that one is spent, later events wait in connection->waiting, and the socket is
 * not watched meanwhile.
 *
 * The work of a single frame, or of the end of a peer, may exceed a turn as well. The owner then
 * calls orma_ipc_connection_call_again() and gets the same callback in another turn. Meanwhile the
 * frame stays in the assembler, in front of the following ones. So frames stay in order, nothing is
 * copied, and the owner only has to remember its progress. An unfinished frame is completed even
 * when the connection ends meanwhile.
 *
 * close() of a descriptor that a peer sent may block, and so may close() of a socket with unread
 * descriptors in it. The loop's closer, if there is one, closes both. While too many descriptors of
 * a user wait there, a connection of that user that becomes readable is dropped without receiving:
 * receiving could bring more descriptors, and closing those here could block.
 */
#include "ipc/connection.h"

#include <errno.h>
#include <string.h>

#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "ipc/socket_io.h"

#define HANDLING_NS_PER_TURN (2 * ORMA_NS_PER_MS)

enum {
	RECEIVES_PER_TURN = 4,
	SENDS_PER_TURN = 16,
};

enum { FRAMES_LEFT = 8 }; /* a bit of connection->waiting, beside ORMA_LOOP_... */

/* --- ending ----------------------------------------------------------------------------------- */

/* Releases everything except the close task. */
static void release(struct orma_ipc_connection *connection)
{
	orma_base_watch_remove(&connection->watch);
	orma_base_timer_disarm(&connection->stall_timer);
	orma_base_task_cancel(&connection->frames_task);
	orma_ipc_turn_cancel(&connection->turn);
	connection->fd = orma_base_socket_close_foreign(orma_base_loop_closer(connection->loop),
							connection->fd, connection->owner);
	orma_ipc_connection_close_fd(connection, connection->kept_fd);
	connection->kept_fd = -1;
	orma_ipc_send_queue_clear(&connection->queue);
	connection->is_closed = true;
}

static void finish_close(struct orma_ipc_connection *connection);

static void on_close_task(struct orma_task *task)
{
	finish_close(ORMA_CONTAINER_OF(task, struct orma_ipc_connection, close_task));
}

static void defer_close(struct orma_ipc_connection *connection)
{
	ORMA_ASSERT(connection->is_closed);
	if (connection->turn.turns)
		orma_ipc_turn_wait(&connection->turn);
	else
		orma_base_loop_defer(connection->loop, &connection->close_task, on_close_task);
}

void orma_ipc_connection_close(struct orma_ipc_connection *connection, int error)
{
	if (connection->is_closed)
		return;
	/* The assembler stays until the task runs: the caller may be handling a frame inside it. */
	release(connection);
	connection->error = error;
	defer_close(connection);
}

void orma_ipc_connection_call_again(struct orma_ipc_connection *connection)
{
	ORMA_ASSERT(connection->is_gone); /* a callback is running */
	connection->wants_again = true;
}

void orma_ipc_connection_done(struct orma_ipc_connection *connection)
{
	release(connection);
	if (connection->is_gone)
		*connection->is_gone = true;
	orma_base_task_cancel(&connection->close_task);
	orma_ipc_turn_done(&connection->turn);
	orma_ipc_assembler_done(&connection->assembler);
}

/* --- sending ---------------------------------------------------------------------------------- */

static void update_interest(struct orma_ipc_connection *connection)
{
	unsigned interest = connection->is_paused ? 0 : ORMA_LOOP_READ;

	if (!orma_ipc_send_queue_is_empty(&connection->queue))
		interest |= ORMA_LOOP_WRITE;
	if (connection->turn.is_waiting)
		interest = 0;
	/* A paused connection whose peer has hung up is not watched. */
	if (interest == connection->watch.interest || !connection->watch.loop)
		return;
	int r = orma_base_watch_set_interest(&connection->watch, interest);
	if (r < 0)
		orma_ipc_connection_close(connection, r);
}

static void on_stalled(struct orma_timer *timer)
{
	orma_ipc_connection_close(ORMA_CONTAINER_OF(timer, struct orma_ipc_connection, stall_timer),
				  -ETIMEDOUT);
}

/* Called when the peer has taken data, and when the queue becomes non-empty. */
static void restart_stall_timer(struct orma_ipc_connection *connection)
{
	if (orma_ipc_send_queue_is_empty(&connection->queue)) {
		orma_base_timer_disarm(&connection->stall_timer);
	} else if (connection->limits.stall_timeout_ns > 0) {
		int r = orma_base_loop_arm_in(connection->loop, &connection->stall_timer,
					      connection->limits.stall_timeout_ns, on_stalled);
		if (r < 0)
			orma_ipc_connection_close(connection, r);
	}
}

static void report_drained(struct orma_ipc_connection *connection)
{
	if (!connection->wants_drained || connection->is_closed ||
	    connection->queue.bytes > connection->limits.queue_bytes / 4)
		return;
	connection->wants_drained = false;
	connection->ops->drained(connection);
}

void orma_ipc_connection_push(struct orma_ipc_connection *connection)
{
	ssize_t sent = 1;
	bool has_progress = false;

	if (connection->is_closed)
		return;
	for (int i = 0; i < SENDS_PER_TURN && !orma_ipc_send_queue_is_empty(&connection->queue);
	     i++) {
		sent = orma_ipc_send_queue_send(&connection->queue, connection->fd);
		if (sent <= 0)
			break;
		has_progress = true;
	}
	if (sent < 0)
		orma_ipc_connection_close(connection, (int)sent);
	else if (has_progress)
		restart_stall_timer(connection);
}

static void on_writable(struct orma_ipc_connection *connection)
{
	orma_ipc_connection_push(connection);
	if (connection->is_closed)
		return;
	update_interest(connection);
	report_drained(connection);
}

int orma_ipc_connection_send(struct orma_ipc_connection *connection, const struct iovec *pieces,
			     size_t count, int fd)
{
	bool was_empty = orma_ipc_send_queue_is_empty(&connection->queue);
	size_t total = 0;
	ssize_t sent = 0;

	if (connection->is_closed)
		return -ECONNRESET;
	ORMA_ASSERT(connection->fd >= 0);
	for (size_t i = 0; i < count; i++)
		total += pieces[i].iov_len;
	if (was_empty) {
		/* sendmsg() does not write to the pieces; its structure merely has no const. */
		sent = orma_ipc_socket_send(connection->fd, (struct iovec *)pieces, count, fd);
		if (sent < 0) {
			orma_ipc_connection_close(connection, (int)sent);
			return -ECONNRESET;
		}
		if ((size_t)sent == total)
			return 0;
	} else if (connection->queue.bytes + total > connection->limits.queue_bytes) {
		/* The first frame always fits, however small the limit is. */
		return -ENOBUFS;
	}
	int r = orma_ipc_send_queue_append(&connection->queue, pieces, count, (size_t)sent,
					   sent > 0 ? -1 : fd);
	if (r < 0 && sent == 0)
		return r;
	if (r < 0) {
		/* A part of the frame is sent, and there is no memory for the rest. */
		orma_ipc_connection_close(connection, r);
		return -ECONNRESET;
	}
	if (was_empty) {
		restart_stall_timer(connection);
		if (!connection->is_closed)
			update_interest(connection);
	}
	return connection->is_closed ? -ECONNRESET : 0;
}

bool orma_ipc_connection_has_room(struct orma_ipc_connection *connection)
{
	if (connection->queue.bytes < connection->limits.queue_bytes / 2)
		return true;
	connection->wants_drained = connection->ops->drained != NULL;
	return false;
}

/* --- received descriptors --------------------------------------------------------------------- */

void orma_ipc_connection_close_fd(const struct orma_ipc_connection *connection, int fd)
{
	orma_base_fd_close_foreign(orma_base_loop_closer(connection->loop), fd, connection->owner);
}

int orma_ipc_connection_take_fd(struct orma_ipc_connection *connection)
{
	int fd = connection->kept_fd;

	connection->kept_fd = -1;
	return fd;
}

/* Keeps the first descriptor of a message and closes the others. Also closes the one that was kept
 * before, if the owner did not take it. */
static void keep_first_fd(struct orma_ipc_connection *connection,
			  const struct orma_ipc_received_fds *fds)
{
	for (size_t i = 1; i < fds->count; i++)
		orma_ipc_connection_close_fd(connection, fds->items[i]);
	int first = fds->count > 0 ? orma_base_fd_avoid_standard(fds->items[0]) : -1;
	if (first < 0)
		return;
	orma_ipc_connection_close_fd(connection, connection->kept_fd);
	connection->kept_fd = first;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* The time that one connection has for its frames in one turn of the loop. */
struct budget {
	uint64_t wall_end_ns;
	uint64_t cpu_end_ns; /* 0 = the CPU clock was not read yet */
};

static struct budget begin_budget(void)
{
	return (struct budget){.wall_end_ns =
				       orma_base_clock_ns(CLOCK_MONOTONIC) + HANDLING_NS_PER_TURN};
}

static bool is_spent(struct budget *budget)
{
	if (orma_base_clock_ns(CLOCK_MONOTONIC) < budget->wall_end_ns)
		return false;
	uint64_t cpu_ns = orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (budget->cpu_end_ns == 0)
		budget->cpu_end_ns = cpu_ns + HANDLING_NS_PER_TURN;
	return cpu_ns >= budget->cpu_end_ns;
}

/* Handles `events` in another turn of the loop. */
static void wait_for_turn(struct orma_ipc_connection *connection, unsigned events)
{
	connection->waiting |= events;
	orma_ipc_turn_wait(&connection->turn);
	update_interest(connection);
}

static void on_frames_task(struct orma_task *task);

static void defer_frames(struct orma_ipc_connection *connection)
{
	if (!connection->turn.turns) {
		orma_base_loop_defer(connection->loop, &connection->frames_task, on_frames_task);
		return;
	}
	connection->turn.is_costly = true;
	wait_for_turn(connection, FRAMES_LEFT);
}

/* Returns false when the owner has freed the connection. */
static bool hand_out(struct orma_ipc_connection *connection, const uint8_t *data, size_t size,
		     const bool *is_gone)
{
	connection->wants_again = false;
	connection->ops->frame(connection, data, size);
	if (*is_gone)
		return false;
	connection->is_unfinished = connection->wants_again;
	if (connection->is_unfinished)
		orma_ipc_assembler_unget(&connection->assembler, size);
	return true;
}

/* Hands out whole frames that were received, until the budget is spent. Returns false when this
 * turn must not receive more, or the connection is gone. */
static bool dispatch_frames(struct orma_ipc_connection *connection, struct budget *budget,
			    const bool *is_gone)
{
	const uint8_t *data;
	size_t size;
	int r;

	while ((r = orma_ipc_assembler_next(&connection->assembler, &data, &size)) > 0) {
		if (!hand_out(connection, data, size, is_gone) || connection->is_closed ||
		    connection->is_paused)
			return false;
		if (connection->is_unfinished || is_spent(budget)) {
			defer_frames(connection);
			return false;
		}
	}
	if (r < 0)
		orma_ipc_connection_close(connection, r);
	return r == 0;
}

/* --- receiving -------------------------------------------------------------------------------- */

static ssize_t receive_into(struct orma_ipc_connection *connection, uint8_t *window, size_t size)
{
	struct orma_ipc_received_fds fds;
	ssize_t received = orma_ipc_socket_receive(connection->fd, window, size, &fds);

	keep_first_fd(connection, &fds);
	return received;
}

/* Receives once, and hands out the frames that this completes. Returns false when this turn must
 * not receive more. */
static bool receive_once(struct orma_ipc_connection *connection, struct budget *budget,
			 const bool *is_gone)
{
	struct orma_fd_closer *closer = orma_base_loop_closer(connection->loop);
	uint8_t *window;
	size_t size;

	if (closer && closer->is_full(closer, connection->owner)) {
		orma_ipc_connection_close(connection, -EBUSY);
		return false;
	}
	int r = orma_ipc_assembler_window(&connection->assembler, &window, &size);
	if (r < 0) {
		orma_ipc_connection_close(connection, r);
		return false;
	}
	ssize_t received = receive_into(connection, window, size);
	if (received == -EAGAIN || received == -EWOULDBLOCK)
		return false;
	if (received < 0) {
		orma_ipc_connection_close(connection, received == -ENOTCONN ? 0 : (int)received);
		return false;
	}
	orma_ipc_assembler_fill(&connection->assembler, (size_t)received);
	return dispatch_frames(connection, budget, is_gone) && (size_t)received == size;
}

static void on_readable(struct orma_ipc_connection *connection, const bool *is_gone)
{
	/* While frames are left, the window may have no room. */
	if (connection->frames_task.is_queued || connection->turn.is_waiting)
		return;
	struct budget budget = begin_budget();
	for (int i = 0; i < RECEIVES_PER_TURN; i++)
		if (!receive_once(connection, &budget, is_gone))
			break;
	if (!*is_gone && !connection->is_closed)
		orma_ipc_assembler_trim(&connection->assembler);
}

static void on_frames_left(struct orma_ipc_connection *connection, const bool *is_gone)
{
	if (connection->is_paused)
		return;
	struct budget budget = begin_budget();
	(void)dispatch_frames(connection, &budget, is_gone);
	if (!*is_gone && !connection->is_closed)
		orma_ipc_assembler_trim(&connection->assembler);
}

/* --- events ----------------------------------------------------------------------------------- */

static void handle_events(struct orma_ipc_connection *connection, unsigned events,
			  const bool *is_gone)
{
	if (events & ORMA_LOOP_WRITE)
		on_writable(connection);
	if (*is_gone || connection->is_closed)
		return;
	/* After a hang-up there may still be frames to read, until the end of the stream. */
	if (connection->is_paused) {
		/* epoll would report EPOLLHUP repeatedly. */
		if (events & ORMA_LOOP_HANGUP)
			orma_base_watch_remove(&connection->watch);
	} else if (events & FRAMES_LEFT)
		on_frames_left(connection, is_gone);
	else if (events & (ORMA_LOOP_READ | ORMA_LOOP_HANGUP))
		on_readable(connection, is_gone);
}

/* Takes one step at the end of a connection: hands out the unfinished frame again, or runs
 * ops->closed. Returns false when another step is needed. */
static bool take_closing_step(struct orma_ipc_connection *connection, const bool *is_gone)
{
	const uint8_t *data;
	size_t size;

	if (connection->is_unfinished &&
	    orma_ipc_assembler_next(&connection->assembler, &data, &size) > 0) {
		(void)hand_out(connection, data, size, is_gone);
		return *is_gone;
	}
	orma_ipc_assembler_done(&connection->assembler);
	connection->wants_again = false;
	connection->ops->closed(connection, connection->error);
	return *is_gone || !connection->wants_again;
}

static void finish_close(struct orma_ipc_connection *connection)
{
	struct orma_ipc_turns *turns = connection->turn.turns;
	uint64_t begin_ns = orma_ipc_turns_begin();
	bool is_gone = false;

	ORMA_ASSERT(connection->is_closed && !connection->is_gone);
	connection->is_gone = &is_gone;
	if (!take_closing_step(connection, &is_gone)) {
		connection->turn.is_costly = true;
		defer_close(connection);
	}
	if (!is_gone)
		connection->is_gone = NULL;
	orma_ipc_turns_end(turns, is_gone ? NULL : &connection->turn, begin_ns);
}

/* Returns false when the connection is gone. */
static bool serve(struct orma_ipc_connection *connection, unsigned events)
{
	struct orma_ipc_turns *turns = connection->turn.turns;
	uint64_t begin_ns = turns ? orma_ipc_turns_begin() : 0;
	bool is_gone = false;

	ORMA_ASSERT(!connection->is_gone); /* callbacks do not nest */
	connection->is_gone = &is_gone;
	handle_events(connection, events, &is_gone);
	if (!is_gone)
		connection->is_gone = NULL;
	orma_ipc_turns_end(turns, is_gone ? NULL : &connection->turn, begin_ns);
	return !is_gone;
}

static void on_frames_task(struct orma_task *task)
{
	serve(ORMA_CONTAINER_OF(task, struct orma_ipc_connection, frames_task), FRAMES_LEFT);
}

static void on_turn(struct orma_ipc_turn *turn)
{
	struct orma_ipc_connection *connection =
		ORMA_CONTAINER_OF(turn, struct orma_ipc_connection, turn);
	unsigned events = connection->waiting;

	connection->waiting = 0;
	if (connection->is_closed)
		finish_close(connection);
	else if (serve(connection, events) && !connection->is_closed)
		update_interest(connection);
}

static void on_ready(struct orma_watch *watch, unsigned events)
{
	struct orma_ipc_connection *connection =
		ORMA_CONTAINER_OF(watch, struct orma_ipc_connection, watch);

	/* epoll reports EPOLLHUP repeatedly, whatever the interest mask. */
	if (connection->turn.is_waiting)
		connection->waiting |= events;
	else if (orma_ipc_turn_is_over(&connection->turn))
		wait_for_turn(connection, events);
	else
		serve(connection, events);
}

static int begin_watching(struct orma_ipc_connection *connection)
{
	return orma_base_loop_watch(connection->loop, &connection->watch, connection->fd,
				    ORMA_LOOP_READ, on_ready);
}

void orma_ipc_connection_pause(struct orma_ipc_connection *connection, bool is_paused)
{
	if (connection->is_closed || connection->is_paused == is_paused)
		return;
	connection->is_paused = is_paused;
	if (!is_paused)
		orma_base_loop_defer(connection->loop, &connection->frames_task, on_frames_task);
	if (!is_paused && !connection->watch.loop) {
		int r = begin_watching(connection);
		if (r < 0)
			orma_ipc_connection_close(connection, r);
		return;
	}
	update_interest(connection);
}

int orma_ipc_connection_init(struct orma_ipc_connection *connection, struct orma_loop *loop, int fd,
			     const struct orma_ipc_connection_ops *ops,
			     const struct orma_ipc_connection_limits *limits)
{
	memset(connection, 0, sizeof(*connection));
	connection->ops = ops;
	connection->loop = loop;
	connection->limits = *limits;
	if (connection->limits.queue_bytes == 0)
		connection->limits.queue_bytes = ORMA_IPC_QUEUE_BYTES_DEFAULT;
	connection->fd = -1;
	connection->kept_fd = -1;
	orma_ipc_send_queue_init(&connection->queue);
	int r = limits->turns ? orma_ipc_turn_init(&connection->turn, limits->turns, limits->uid,
						   limits->is_uid_known, on_turn)
			      : 0;
	if (r < 0)
		return r;
	connection->fd = fd;
	r = begin_watching(connection);
	if (r < 0) {
		connection->fd = -1;
		orma_ipc_turn_done(&connection->turn);
	}
	return r;
}
