/* SPDX-License-Identifier: Apache-2.0
 * connection.c - a stream of frames over a non-blocking socket.
 *
 * Sending: a frame goes to the socket at once when nothing waits before it; what the socket does
 * not take is copied into one orma_ipc_queued and waits for writability. Invariants: frames leave
 * whole and in order; queued_bytes is the sum of the unsent bytes; write interest is on exactly
 * while the queue is not empty; a queued frame owns its descriptor until its first byte has left.
 * Descriptors must ride on the first byte of their frame, so a sendmsg() never spans the beginning
 * of a frame that has one.
 *
 * Ending: whatever goes wrong, in whatever callback, orma_ipc_connection_close() closes the
 * descriptor and defers the owner's callback to a task of the loop. Calling the owner right there
 * was rejected: it would have to expect its own destruction inside every send.
 *
 * Receiving: RECEIVES_PER_TURN times at most per turn, so that a flood of one peer cannot keep the
 * loop from the others; level-triggered epoll brings us back. Reading until EAGAIN would cost a
 * system call more per wake-up and has no bound. A frame of ten bytes may ask for work of
 * milliseconds, so handling frames has a time per turn too; what is left of them is handed out by a
 * task, and nothing is received before that. It is the thread's own time, which costs more to read,
 * so the wall clock says when to look: on a busy machine the frames of an honest peer stay
 * together. Counting frames instead was rejected: what would let costly ones starve the loop would
 * slow cheap ones down. All connections of a host together have a time per turn as well (turns.c):
 * what comes when that is over waits in connection->waiting, and nothing is watched meanwhile.
 *
 * A single frame, or the end of a peer, may be work of more than a turn as well. Its owner then
 * says so, and is called again in another turn: the frame goes back into the assembler, in front of
 * what follows, so order holds, nothing is copied, and the owner remembers only how far it came.
 * What was begun is completed even when the connection ends meanwhile.
 *
 * A descriptor that a peer sent is closed by the loop's closer, if there is one, and so is a socket
 * with something unread in it. While too many of a user's are waiting there, whoever of his sends
 * something is dropped before it is received: receiving would bring more, and refusing to take
 * descriptors that have arrived closes them here.
 *
 * A timer watches for peers that take nothing. Blocking sends with a timeout, as upstream has,
 * freeze everybody else meanwhile.
 */
#include "ipc/connection.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"

#define HANDLING_NS_PER_TURN (2 * ORMA_NS_PER_MS)

enum {
	RECEIVES_PER_TURN = 4,
	SENDS_PER_TURN = 16,
	SEND_BATCH = 64,     /* queued frames per sendmsg() */
	QUEUED_GRAIN = 4096, /* small frames share what is allocated */
	RECEIVED_FDS =
		253, /* SCM_MAX_FD: with room for all, truncation only means that we ran out */
};

enum { FRAMES_LEFT = 8 }; /* of connection->waiting, beside ORMA_LOOP_... */

struct orma_ipc_queued {
	struct orma_list link;
	size_t size, sent, capacity;
	int fd;
	uint8_t data[];
};

/* --- ending ----------------------------------------------------------------------------------- */

static void free_queued(struct orma_ipc_queued *queued)
{
	orma_base_list_remove(&queued->link);
	orma_base_fd_close(queued->fd);
	orma_base_free(queued);
}

/* Gives everything back but the close task. */
static void release(struct orma_ipc_connection *connection)
{
	struct orma_ipc_queued *queued, *next;

	orma_base_watch_remove(&connection->watch);
	orma_base_timer_disarm(&connection->stall_timer);
	orma_base_task_cancel(&connection->frames_task);
	orma_ipc_turn_cancel(&connection->turn);
	connection->fd = orma_base_socket_close_foreign(orma_base_loop_closer(connection->loop),
							connection->fd, connection->owner);
	orma_ipc_connection_close_fd(connection, connection->kept_fd);
	connection->kept_fd = -1;
	ORMA_LIST_FOR_EACH_SAFE (queued, next, &connection->queue, link)
		free_queued(queued);
	connection->queued_bytes = 0;
	connection->is_closed = true;
}

static void tell_closed(struct orma_ipc_connection *connection);

static void on_close_task(struct orma_task *task)
{
	tell_closed(ORMA_CONTAINER_OF(task, struct orma_ipc_connection, close_task));
}

static void defer_closed(struct orma_ipc_connection *connection)
{
	if (connection->turn.turns)
		orma_ipc_turn_wait(&connection->turn);
	else
		orma_base_loop_defer(connection->loop, &connection->close_task, on_close_task);
}

void orma_ipc_connection_close(struct orma_ipc_connection *connection, int error)
{
	if (connection->is_closed)
		return;
	/* The assembler stays until the task: the caller may be handling a frame that lies in it.
	 */
	release(connection);
	connection->error = error;
	defer_closed(connection);
}

void orma_ipc_connection_again(struct orma_ipc_connection *connection)
{
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

	if (!orma_base_list_is_empty(&connection->queue))
		interest |= ORMA_LOOP_WRITE;
	if (connection->turn.is_waiting)
		interest = 0;
	/* Not watched: paused, and the peer has left. */
	if (interest == connection->watch.interest || !connection->watch.loop)
		return;
	int result = orma_base_watch_set_interest(&connection->watch, interest);
	if (result < 0)
		orma_ipc_connection_close(connection, result);
}

static void on_stalled(struct orma_timer *timer)
{
	orma_ipc_connection_close(ORMA_CONTAINER_OF(timer, struct orma_ipc_connection, stall_timer),
				  -ETIMEDOUT);
}

/* The peer took something, or has something new to take. */
static void restart_stall_timer(struct orma_ipc_connection *connection)
{
	if (orma_base_list_is_empty(&connection->queue)) {
		orma_base_timer_disarm(&connection->stall_timer);
	} else if (connection->limits.stall_timeout_ns > 0) {
		int result = orma_base_loop_arm_in(connection->loop, &connection->stall_timer,
						   connection->limits.stall_timeout_ns, on_stalled);
		if (result < 0)
			orma_ipc_connection_close(connection, result);
	}
}

/* Bytes taken, 0 when the socket is full, or -errno. */
static ssize_t send_some(int socket_fd, struct iovec *pieces, size_t count, int fd)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(sizeof(int))];
	} control;
	struct msghdr message = {.msg_iov = pieces};
	ssize_t sent;

	/* An int in some C libraries; there are a few pieces at most. */
	message.msg_iovlen = (__typeof__(message.msg_iovlen))count;
	if (fd >= 0) {
		memset(&control, 0, sizeof(control));
		message.msg_control = &control;
		message.msg_controllen = sizeof(control);
		control.header.cmsg_level = SOL_SOCKET;
		control.header.cmsg_type = SCM_RIGHTS;
		control.header.cmsg_len = CMSG_LEN(sizeof(int));
		memcpy(CMSG_DATA(&control.header), &fd, sizeof(fd));
	}
	do
		sent = sendmsg(socket_fd, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
	while (sent < 0 && errno == EINTR);
	if (sent < 0)
		return errno == EAGAIN || errno == EWOULDBLOCK ? 0 : -errno;
	return sent;
}

/* Forgets `sent` bytes at the front of the queue. */
static void advance_queue(struct orma_ipc_connection *connection, size_t sent)
{
	connection->queued_bytes -= sent;
	while (sent > 0) {
		struct orma_ipc_queued *queued =
			ORMA_LIST_ENTRY(connection->queue.next, struct orma_ipc_queued, link);
		size_t part = ORMA_MIN(sent, queued->size - queued->sent);

		queued->fd = orma_base_fd_close(queued->fd);
		queued->sent += part;
		sent -= part;
		if (queued->sent == queued->size)
			free_queued(queued);
	}
}

/* One sendmsg() from the queue; as send_some(). */
static ssize_t send_queued(struct orma_ipc_connection *connection)
{
	struct iovec pieces[SEND_BATCH];
	struct orma_ipc_queued *queued;
	size_t count = 0;
	int fd = -1;

	ORMA_LIST_FOR_EACH (queued, &connection->queue, link) {
		if (count == SEND_BATCH || (count > 0 && queued->fd >= 0))
			break;
		if (count == 0)
			fd = queued->fd;
		pieces[count++] =
			(struct iovec){queued->data + queued->sent, queued->size - queued->sent};
	}
	ssize_t sent = send_some(connection->fd, pieces, count, fd);
	if (sent > 0)
		advance_queue(connection, (size_t)sent);
	return sent;
}

static void on_writable(struct orma_ipc_connection *connection)
{
	ssize_t sent = 1;
	bool has_progress = false;

	for (int i = 0; i < SENDS_PER_TURN && !orma_base_list_is_empty(&connection->queue); i++) {
		sent = send_queued(connection);
		if (sent <= 0)
			break;
		has_progress = true;
	}
	if (sent < 0) {
		orma_ipc_connection_close(connection, (int)sent);
		return;
	}
	if (has_progress)
		restart_stall_timer(connection);
	if (connection->is_closed)
		return;
	update_interest(connection);
	if (connection->wants_drained && !connection->is_closed &&
	    connection->queued_bytes <= connection->limits.queue_bytes / 4) {
		connection->wants_drained = false;
		connection->ops->drained(connection);
	}
}

/* Room for `size` bytes at the end of the queue. */
static int get_queued(struct orma_ipc_connection *connection, size_t size, int fd,
		      struct orma_ipc_queued **ret)
{
	struct orma_ipc_queued *queued =
		ORMA_LIST_ENTRY(connection->queue.prev, struct orma_ipc_queued, link);
	size_t capacity = ORMA_MAX(size, (size_t)QUEUED_GRAIN - sizeof(*queued));
	int own_fd = -1;

	if (fd < 0 && !orma_base_list_is_empty(&connection->queue) &&
	    size <= queued->capacity - queued->size) {
		*ret = queued;
		return 0;
	}
	queued = orma_base_alloc(sizeof(*queued) + capacity);
	if (!queued)
		return -ENOMEM;
	if (fd >= 0)
		own_fd = orma_base_fd_duplicate(fd);
	if (fd >= 0 && own_fd < 0) {
		orma_base_free(queued);
		return own_fd;
	}
	queued->size = 0;
	queued->sent = 0;
	queued->capacity = capacity;
	queued->fd = own_fd;
	orma_base_list_append(&connection->queue, &queued->link);
	*ret = queued;
	return 0;
}

/* Copies what follows the first `sent` bytes of the pieces to the end of the queue. */
static int enqueue(struct orma_ipc_connection *connection, const struct iovec *pieces, size_t count,
		   size_t total, size_t sent, int fd)
{
	struct orma_ipc_queued *queued = NULL;
	size_t skip = sent;
	int result = get_queued(connection, total - sent, fd, &queued);

	if (!queued)
		return result;
	for (size_t i = 0; i < count; i++) {
		size_t skipped = ORMA_MIN(skip, pieces[i].iov_len);
		size_t part = pieces[i].iov_len - skipped;

		skip -= skipped;
		if (part > 0)
			memcpy(queued->data + queued->size,
			       (const uint8_t *)pieces[i].iov_base + skipped, part);
		queued->size += part;
	}
	connection->queued_bytes += total - sent;
	return 0;
}

int orma_ipc_connection_send(struct orma_ipc_connection *connection, const struct iovec *pieces,
			     size_t count, int fd)
{
	bool was_idle = orma_base_list_is_empty(&connection->queue);
	size_t total = 0;
	ssize_t sent = 0;

	if (connection->is_closed)
		return -ECONNRESET;
	for (size_t i = 0; i < count; i++)
		total += pieces[i].iov_len;
	if (was_idle) {
		/* sendmsg() does not write to the pieces; its structure merely has no const. */
		sent = send_some(connection->fd, (struct iovec *)pieces, count, fd);
		if (sent < 0) {
			orma_ipc_connection_close(connection, (int)sent);
			return -ECONNRESET;
		}
		if ((size_t)sent == total)
			return 0;
	} else if (connection->queued_bytes + total > connection->limits.queue_bytes) {
		/* A single frame always fits, however small the limit. */
		return -ENOBUFS;
	}
	int result = enqueue(connection, pieces, count, total, (size_t)sent, sent > 0 ? -1 : fd);
	if (result < 0 && sent == 0)
		return result;
	if (result < 0) {
		/* Half a frame has left, and there is no memory for the other half. */
		orma_ipc_connection_close(connection, result);
		return -ECONNRESET;
	}
	if (was_idle) {
		restart_stall_timer(connection);
		if (!connection->is_closed)
			update_interest(connection);
	}
	return connection->is_closed ? -ECONNRESET : 0;
}

bool orma_ipc_connection_has_room(struct orma_ipc_connection *connection)
{
	if (connection->queued_bytes < connection->limits.queue_bytes / 2)
		return true;
	connection->wants_drained = connection->ops->drained != NULL;
	return false;
}

/* --- receiving -------------------------------------------------------------------------------- */

void orma_ipc_connection_close_fd(const struct orma_ipc_connection *connection, int fd)
{
	orma_base_fd_close_foreign(orma_base_loop_closer(connection->loop), fd, connection->owner);
}

/* Keeps the first descriptor of a message, replacing one that nobody took; closes the others. */
static void keep_fd(struct orma_ipc_connection *connection, struct msghdr *message)
{
	int first = -1;

	for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header;
	     header = CMSG_NXTHDR(message, header)) {
		if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS)
			continue;
		size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
		for (size_t i = 0; i < count; i++) {
			int fd;

			memcpy(&fd, CMSG_DATA(header) + i * sizeof(fd), sizeof(fd));
			if (first < 0)
				first = orma_base_fd_avoid_standard(fd);
			else
				orma_ipc_connection_close_fd(connection, fd);
		}
	}
	if (first >= 0) {
		orma_ipc_connection_close_fd(connection, connection->kept_fd);
		connection->kept_fd = first;
	}
}

/* As recv(), but -errno; -ENOTCONN is the end of the stream. */
static ssize_t receive_some(struct orma_ipc_connection *connection, uint8_t *data, size_t size)
{
	union {
		struct cmsghdr header;
		uint8_t bytes[CMSG_SPACE(RECEIVED_FDS * sizeof(int))];
	} control;
	struct iovec piece = {data, size};
	struct msghdr message = {.msg_iov = &piece,
				 .msg_iovlen = 1,
				 .msg_control = &control,
				 .msg_controllen = sizeof(control)};
	ssize_t received;

	do
		received = recvmsg(connection->fd, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
	while (received < 0 && errno == EINTR);
	if (received < 0)
		return -errno;
	if (message.msg_controllen > 0)
		keep_fd(connection, &message);
	if (message.msg_flags & MSG_CTRUNC)
		return -EPROTO;
	return received > 0 ? received : -ENOTCONN;
}

static void on_frames_task(struct orma_task *task);
static void defer_frames(struct orma_ipc_connection *connection);

struct turn {
	uint64_t wall_end_ns;
	uint64_t thread_end_ns; /* 0 = not looked at yet */
};

static struct turn begin_turn(void)
{
	return (struct turn){.wall_end_ns =
				     orma_base_clock_ns(CLOCK_MONOTONIC) + HANDLING_NS_PER_TURN};
}

static bool is_turn_over(struct turn *turn)
{
	uint64_t thread_ns;

	if (orma_base_clock_ns(CLOCK_MONOTONIC) < turn->wall_end_ns)
		return false;
	thread_ns = orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	if (turn->thread_end_ns == 0)
		turn->thread_end_ns = thread_ns + HANDLING_NS_PER_TURN;
	return thread_ns >= turn->thread_end_ns;
}

/* In another turn of the loop. */
static void wait_for_turn(struct orma_ipc_connection *connection, unsigned what)
{
	connection->waiting |= what;
	orma_ipc_turn_wait(&connection->turn);
	update_interest(connection);
}

static void defer_frames(struct orma_ipc_connection *connection)
{
	if (!connection->turn.turns) {
		orma_base_loop_defer(connection->loop, &connection->frames_task, on_frames_task);
		return;
	}
	connection->turn.is_costly = true;
	wait_for_turn(connection, FRAMES_LEFT);
}

/* False: the connection is gone. */
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

/* Hands out the whole frames that are there, as time allows; false when nothing more is to be
 * received in this turn, or the connection is gone. */
static bool dispatch_frames(struct orma_ipc_connection *connection, struct turn *turn,
			    const bool *is_gone)
{
	const uint8_t *data;
	size_t size;
	int result;

	while ((result = orma_ipc_assembler_next(&connection->assembler, &data, &size)) > 0) {
		if (!hand_out(connection, data, size, is_gone) || connection->is_closed ||
		    connection->is_paused)
			return false;
		if (connection->is_unfinished || is_turn_over(turn)) {
			defer_frames(connection);
			return false;
		}
	}
	if (result < 0)
		orma_ipc_connection_close(connection, result);
	return result == 0;
}

/* One recvmsg() and the frames that it completed; false when it is enough for this turn. */
static bool receive_once(struct orma_ipc_connection *connection, struct turn *turn,
			 const bool *is_gone)
{
	struct orma_fd_closer *closer = orma_base_loop_closer(connection->loop);
	uint8_t *window;
	size_t size;

	if (closer && closer->is_full(closer, connection->owner)) {
		orma_ipc_connection_close(connection, -EBUSY);
		return false;
	}
	int result = orma_ipc_assembler_window(&connection->assembler, &window, &size);

	if (result < 0) {
		orma_ipc_connection_close(connection, result);
		return false;
	}
	ssize_t received = receive_some(connection, window, size);
	if (received == -EAGAIN || received == -EWOULDBLOCK)
		return false;
	if (received < 0) {
		orma_ipc_connection_close(connection, received == -ENOTCONN ? 0 : (int)received);
		return false;
	}
	orma_ipc_assembler_fill(&connection->assembler, (size_t)received);
	return dispatch_frames(connection, turn, is_gone) && (size_t)received == size;
}

static void on_readable(struct orma_ipc_connection *connection, const bool *is_gone)
{
	struct turn turn;

	/* The window may be full of them. */
	if (connection->frames_task.is_queued || connection->turn.is_waiting)
		return;
	turn = begin_turn();
	for (int i = 0; i < RECEIVES_PER_TURN; i++)
		if (!receive_once(connection, &turn, is_gone))
			break;
	if (!*is_gone && !connection->is_closed)
		orma_ipc_assembler_trim(&connection->assembler);
}

static void on_frames_left(struct orma_ipc_connection *connection, const bool *is_gone)
{
	struct turn turn = begin_turn();

	if (connection->is_paused)
		return;
	(void)dispatch_frames(connection, &turn, is_gone);
	if (!*is_gone && !connection->is_closed)
		orma_ipc_assembler_trim(&connection->assembler);
}

static void handle_ready(struct orma_ipc_connection *connection, unsigned ready,
			 const bool *is_gone)
{
	if (ready & ORMA_LOOP_WRITE)
		on_writable(connection);
	if (*is_gone)
		return;
	/* After a hang-up there may still be frames to read; only the end of the stream ends it. */
	if (connection->is_closed)
		ready = 0;
	if (connection->is_paused) {
		/* That would be said again and again. */
		if (ready & ORMA_LOOP_HANGUP)
			orma_base_watch_remove(&connection->watch);
	} else if (ready & FRAMES_LEFT)
		on_frames_left(connection, is_gone);
	else if (ready & (ORMA_LOOP_READ | ORMA_LOOP_HANGUP))
		on_readable(connection, is_gone);
}

/* Of a connection that has ended: a step of the frame that was begun, else the callback. */
static bool is_over(struct orma_ipc_connection *connection, const bool *is_gone)
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

static void tell_closed(struct orma_ipc_connection *connection)
{
	struct orma_ipc_turns *turns = connection->turn.turns;
	uint64_t begin_ns = orma_ipc_turns_begin();
	bool is_gone = false;

	connection->is_gone = &is_gone;
	if (!is_over(connection, &is_gone)) {
		connection->turn.is_costly = true;
		defer_closed(connection);
	}
	if (!is_gone)
		connection->is_gone = NULL;
	orma_ipc_turns_end(turns, is_gone ? NULL : &connection->turn, begin_ns);
}

/* False: the connection is gone. */
static bool serve(struct orma_ipc_connection *connection, unsigned ready)
{
	struct orma_ipc_turns *turns = connection->turn.turns;
	uint64_t begin_ns = turns ? orma_ipc_turns_begin() : 0;
	bool is_gone = false;

	connection->is_gone = &is_gone;
	handle_ready(connection, ready, &is_gone);
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
	unsigned ready = connection->waiting;

	connection->waiting = 0;
	if (connection->is_closed)
		tell_closed(connection);
	else if (serve(connection, ready) && !connection->is_closed)
		update_interest(connection);
}

static void on_ready(struct orma_watch *watch, unsigned ready)
{
	struct orma_ipc_connection *connection =
		ORMA_CONTAINER_OF(watch, struct orma_ipc_connection, watch);

	/* A hang-up is said again and again, whatever the interest. */
	if (connection->turn.is_waiting)
		connection->waiting |= ready;
	else if (orma_ipc_turn_is_over(&connection->turn))
		wait_for_turn(connection, ready);
	else
		serve(connection, ready);
}

static int begin_watching(struct orma_ipc_connection *connection)
{
	return orma_base_loop_watch(connection->loop, &connection->watch, connection->fd,
				    ORMA_LOOP_READ, on_ready);
}

void orma_ipc_connection_pause(struct orma_ipc_connection *connection, bool is_paused)
{
	int result;

	if (connection->is_closed || connection->is_paused == is_paused)
		return;
	connection->is_paused = is_paused;
	if (!is_paused)
		orma_base_loop_defer(connection->loop, &connection->frames_task, on_frames_task);
	if (!is_paused && !connection->watch.loop) {
		result = begin_watching(connection);
		if (result < 0)
			orma_ipc_connection_close(connection, result);
		return;
	}
	update_interest(connection);
}

/* --- the rest --------------------------------------------------------------------------------- */

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
	orma_base_list_init(&connection->queue);
	int result = limits->turns ? orma_ipc_turn_init(&connection->turn, limits->turns,
							limits->uid, limits->is_uid_known, on_turn)
				   : 0;
	if (result < 0)
		return result;
	result = orma_base_loop_watch(loop, &connection->watch, fd, ORMA_LOOP_READ, on_ready);
	if (result < 0) {
		orma_ipc_turn_done(&connection->turn);
		return result;
	}
	connection->fd = fd;
	return 0;
}

int orma_ipc_connection_take_fd(struct orma_ipc_connection *connection)
{
	int fd = connection->kept_fd;

	connection->kept_fd = -1;
	return fd;
}

int orma_ipc_peer_credentials(int fd, struct orma_ipc_credentials *ret)
{
	struct orma_ipc_credentials credentials = {0};
	socklen_t size = sizeof(credentials.family);

	if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &credentials.family, &size) < 0)
		return -errno;
	if (credentials.family == AF_UNIX) {
		struct ucred peer;

		size = sizeof(peer);
		if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &size) < 0)
			return -errno;
		credentials.uid = peer.uid;
		credentials.gid = peer.gid;
		credentials.pid = peer.pid;
		credentials.is_known = true;
	}
	*ret = credentials;
	return 0;
}
