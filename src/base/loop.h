/* SPDX-License-Identifier: Apache-2.0
 * loop.h - the event loop: descriptors (epoll), timers (a binary heap on CLOCK_MONOTONIC), deferred
 * tasks.
 *
 * A loop belongs to one thread. Other threads and signal handlers may only call
 * orma_base_loop_wake(). Watches, timers and tasks are embedded in their owners, so the loop
 * allocates nothing per event. Every callback may remove any watch or timer, including its own, and
 * may stop the loop.
 */
#ifndef ORMA_BASE_LOOP_H
#define ORMA_BASE_LOOP_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct orma_loop;
struct orma_watch;
struct orma_timer;
struct orma_task;

enum { ORMA_LOOP_READ = 1, ORMA_LOOP_WRITE = 2, ORMA_LOOP_HANGUP = 4 };

/* ready: ORMA_LOOP_... bits */
typedef void orma_watch_fn(struct orma_watch *watch, unsigned ready);
typedef void orma_timer_fn(struct orma_timer *timer);
typedef void orma_task_fn(struct orma_task *task);

struct orma_watch {
	int fd;            /* borrowed: remove the watch before closing it */
	unsigned interest; /* ORMA_LOOP_READ | ORMA_LOOP_WRITE; a hang-up is always reported */
	orma_watch_fn *fn;
	struct orma_loop *loop; /* NULL = not added */
};

struct orma_timer {
	uint64_t deadline_ns; /* CLOCK_MONOTONIC */
	orma_timer_fn *fn;
	struct orma_loop *loop;
	uint32_t heap_idx; /* valid while armed */
	bool is_armed;
};

/* Runs once, in the next turn of the loop. */
struct orma_task {
	orma_task_fn *fn;
	struct orma_list link;
	bool is_queued;
};

int orma_base_loop_new(struct orma_loop **ret);
void orma_base_loop_free(struct orma_loop *loop);

int orma_base_loop_watch(struct orma_loop *loop, struct orma_watch *watch, int fd,
			 unsigned interest, orma_watch_fn *fn);
int orma_base_watch_set_interest(struct orma_watch *watch, unsigned interest);
void orma_base_watch_remove(struct orma_watch *watch); /* no effect when not added */

/* Arms or re-arms a timer. 0 or -ENOMEM, which leaves it as it was. */
int orma_base_loop_arm(struct orma_loop *loop, struct orma_timer *timer, uint64_t deadline_ns,
		       orma_timer_fn *fn);
int orma_base_loop_arm_in(struct orma_loop *loop, struct orma_timer *timer, uint64_t delay_ns,
			  orma_timer_fn *fn);
void orma_base_timer_disarm(struct orma_timer *timer);

void orma_base_loop_defer(struct orma_loop *loop, struct orma_task *task, orma_task_fn *fn);
void orma_base_task_cancel(struct orma_task *task);

/* The handler runs on the loop's thread after a wake. Several wakes may cause only one call. */
void orma_base_loop_set_wake_handler(struct orma_loop *loop, void (*fn)(void *ctx), void *ctx);
void orma_base_loop_wake(struct orma_loop *loop); /* any thread, async-signal-safe */

/* The closer for descriptors of other processes that are used on this loop; borrowed. NULL (the
 * default) = none. */
struct orma_fd_closer;
void orma_base_loop_set_closer(struct orma_loop *loop, struct orma_fd_closer *closer);
struct orma_fd_closer *orma_base_loop_closer(const struct orma_loop *loop);

/* One turn: waits until something is ready, at most timeout_ms (-1 = forever, 0 = poll), and runs
 * the callbacks. Returns how many ran, or -errno; -EBUSY inside of another turn. */
int orma_base_loop_turn(struct orma_loop *loop, int timeout_ms);
/* The number of turns begun so far, so it identifies the current turn. */
uint64_t orma_base_loop_turn_number(const struct orma_loop *loop);
/* The turns that have ended, and their times without waiting. */
struct orma_loop_times {
	uint64_t count, longest_ns;
};
/* Adds each turn to `times`, which the caller owns; NULL = none, as at first. */
void orma_base_loop_set_times(struct orma_loop *loop, struct orma_loop_times *times);
/* True when called from one of the loop's callbacks. */
bool orma_base_loop_is_in_turn(const struct orma_loop *loop);
/* Takes turns until orma_base_loop_stop(). 0 or -errno. */
int orma_base_loop_run(struct orma_loop *loop);
void orma_base_loop_stop(struct orma_loop *loop);
/* Calls orma_base_fd_set_close_on_fork() for the loop's descriptors. From then on a turn waits for a second at most, later for 16, and
 * returns -EBADF when a selected descriptor is not this process's own any more; when all are closed, at once. */
void orma_base_loop_set_close_on_fork(struct orma_loop *loop);
/* After that, and outside of a turn: gets other descriptors. The watches must be removed, and added again. 0 or -errno. */
int orma_base_loop_reopen(struct orma_loop *loop);
/* False: a wake does not arrive, as somebody has closed the loop's descriptors; it only ends the wait. Any thread,
 * async-signal-safe. */
bool orma_base_loop_can_wake(const struct orma_loop *loop);
/* The epoll descriptor, for embedding this loop in another one: when it is readable, take a turn
 * with timeout 0. */
int orma_base_loop_fd(struct orma_loop *loop);

#endif
