/* SPDX-License-Identifier: Apache-2.0
 * loop.h - the event loop: descriptors (epoll), timers (binary heap on CLOCK_MONOTONIC), deferred
 * tasks.
 *
 * A loop belongs to one thread; only orma_base_loop_wake() may be called from others (and from
 * signal handlers). Watches and timers are embedded in their owners; the loop allocates nothing per
 * event. Every callback may remove any watch or timer, its own included, and may stop the loop.
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
	unsigned interest; /* ORMA_LOOP_READ | ORMA_LOOP_WRITE; HANGUP is always reported */
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

/* Runs once, at the next turn of the loop. */
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
void orma_base_watch_remove(struct orma_watch *watch); /* harmless when not added */

/* Arms or re-arms; -ENOMEM leaves it as before. */
int orma_base_loop_arm(struct orma_loop *loop, struct orma_timer *timer, uint64_t deadline_ns,
		       orma_timer_fn *fn);
int orma_base_loop_arm_in(struct orma_loop *loop, struct orma_timer *timer, uint64_t delay_ns,
			  orma_timer_fn *fn);
void orma_base_timer_disarm(struct orma_timer *timer);

void orma_base_loop_defer(struct orma_loop *loop, struct orma_task *task, orma_task_fn *fn);
void orma_base_task_cancel(struct orma_task *task);

/* Called on the loop's thread after a wake; several wakes may become one call. */
void orma_base_loop_set_wake_handler(struct orma_loop *loop, void (*fn)(void *ctx), void *ctx);
void orma_base_loop_wake(struct orma_loop *loop); /* any thread, async-signal-safe */

/* For whoever has descriptors of other processes on this loop; NULL (the default) = none. Borrowed.
 */
struct orma_fd_closer;
void orma_base_loop_set_closer(struct orma_loop *loop, struct orma_fd_closer *closer);
struct orma_fd_closer *orma_base_loop_closer(const struct orma_loop *loop);

/* One turn: waits until something is ready, at most timeout_ms (-1 = forever, 0 = poll). The number
 * of callbacks called, or -errno; -EBUSY inside of another turn. */
int orma_base_loop_turn(struct orma_loop *loop, int timeout_ms);
/* Differs from turn to turn. */
uint64_t orma_base_loop_turn_number(const struct orma_loop *loop);
/* Whether this is called from one of the loop's callbacks. */
bool orma_base_loop_is_in_turn(const struct orma_loop *loop);
/* Turns until orma_base_loop_stop(). */
int orma_base_loop_run(struct orma_loop *loop);
void orma_base_loop_stop(struct orma_loop *loop);
/* The child of a fork does not keep its descriptors: orma_base_fd_set_close_on_fork(). */
void orma_base_loop_set_close_on_fork(struct orma_loop *loop);
/* The epoll descriptor, for embedding in another loop: when it is readable, take a turn with
 * timeout 0. */
int orma_base_loop_fd(struct orma_loop *loop);

#endif
