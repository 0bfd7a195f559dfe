/* SPDX-License-Identifier: Apache-2.0
 * loop_guard.c - notices that a program has closed the descriptors of a loop.
 *
 * If somebody closes an epoll set during epoll_wait(), the call never returns. Therefore a guarded loop waits in poll() for its epoll
 * set and for one end of a pair of sockets. poll() keeps that end open, so it hangs up when the other end is closed. The wait thus ends
 * at once when a program closes all descriptors, as daemons do when they begin. It does not end when only some are closed or replaced.
 * Each wait therefore has a time limit, and the loop looks for lost descriptors afterwards.
 *
 * Rejected: a pipe, whose ends a thread cannot shut down when the loop's event descriptor is gone; a wait that is always short,
 * because each idle program would wake every second.
 */
#include "base/loop_guard.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>

#include "base/fd.h"
#include "base/macros.h"

enum { WAIT_MS_MIN = 1000, WAIT_MS_MAX = 16000 };

static int get_peer_fd(const struct orma_loop_guard *guard)
{
	return atomic_load_explicit(&guard->peer_fd, memory_order_relaxed);
}

void orma_loop_guard_init(struct orma_loop_guard *guard)
{
	guard->is_on = false;
	guard->fd = -1;
	atomic_init(&guard->peer_fd, -1);
}

void orma_loop_guard_start(struct orma_loop_guard *guard)
{
	int fds[2];

	guard->is_on = true;
	guard->wait_ms = WAIT_MS_MIN;
	if (orma_base_socketpair(fds) < 0)
		return;
	orma_base_fd_set_close_on_fork(fds[0]);
	orma_base_fd_set_close_on_fork(fds[1]);
	guard->fd = fds[0];
	atomic_store_explicit(&guard->peer_fd, fds[1], memory_order_relaxed);
}

void orma_loop_guard_close(struct orma_loop_guard *guard)
{
	guard->fd = orma_base_fd_close(guard->fd);
	orma_base_fd_close(get_peer_fd(guard));
	atomic_store_explicit(&guard->peer_fd, -1, memory_order_relaxed);
}

void orma_loop_guard_hang_up(struct orma_loop_guard *guard)
{
	int saved_errno = errno, fd = get_peer_fd(guard);

	if (orma_base_fd_is_own(fd))
		(void)shutdown(fd, SHUT_RDWR);
	errno = saved_errno;
}

bool orma_loop_guard_has_lost_fds(const struct orma_loop_guard *guard)
{
	return guard->is_on && !orma_base_fds_are_own();
}

void orma_loop_guard_wait(struct orma_loop_guard *guard, int fd, int timeout_ms)
{
	/* A file that somebody has put there is mostly readable, too. */
	struct pollfd fds[] = {{fd, POLLIN, 0}, {guard->fd, POLLIN, 0}};
	int count = poll(fds, ORMA_ARRAY_SIZE(fds), timeout_ms < 0 ? guard->wait_ms : timeout_ms);

	if (count == 0 && timeout_ms < 0)
		guard->wait_ms = ORMA_MIN(2 * guard->wait_ms, WAIT_MS_MAX);
}
