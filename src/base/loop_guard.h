/* SPDX-License-Identifier: Apache-2.0
 * loop_guard.h - the wait of a loop whose descriptors a program may close without its knowledge.
 *
 * Threads: that of the loop, unless a function says otherwise.
 */
#ifndef ORMA_BASE_LOOP_GUARD_H
#define ORMA_BASE_LOOP_GUARD_H

#include <stdatomic.h>
#include <stdbool.h>

struct orma_loop_guard {
	bool is_on;
	int fd; /* hangs up when peer_fd is closed; -1 = none */
	_Atomic int
		peer_fd; /* relaxed: a hang-up of the one before is lost, and finds the loop awake */
	/* Programs close descriptors when they begin, so this rises, and an idle program hardly wakes. */
	int wait_ms;
};

/* A guard that is off. */
void orma_loop_guard_init(struct orma_loop_guard *guard);
/* Switches the guard on. Without memory or descriptors for it, closed descriptors are noticed late. */
void orma_loop_guard_start(struct orma_loop_guard *guard);
/* Closes the descriptors. The guard stays on, until orma_loop_guard_start() makes others. */
void orma_loop_guard_close(struct orma_loop_guard *guard);
/* Ends the wait. Any thread, async-signal-safe. */
void orma_loop_guard_hang_up(struct orma_loop_guard *guard);
/* True if the guard is on and a descriptor of close_on_fork (base/fd.h) is not this process's own any more. */
bool orma_loop_guard_has_lost_fds(const struct orma_loop_guard *guard);
/* Waits until `fd` is readable or the guard hangs up, for the time of the guard if timeout_ms is negative. The guard must be on. */
void orma_loop_guard_wait(struct orma_loop_guard *guard, int fd, int timeout_ms);

#endif
