/* SPDX-License-Identifier: Apache-2.0
 * visit.h - a thread is inside the profiler; see visit.c.
 *
 * Threads: everything here may be called on any thread and in signal handlers, unless it says otherwise.
 */
#ifndef ORMA_HEAP_VISIT_H
#define ORMA_HEAP_VISIT_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_thread.h"
#include "heap/tracker.h"

/* The hooks of this thread do nothing between the entry and the end of a visit. It lies on the thread's stack. */
struct orma_heap_visit {
	uint64_t mark; /* see orma_heap_thread.visit_mark */
	int64_t malloc_left;
	int saved_errno;
};

static inline void orma_heap_add(_Atomic uint64_t *counter)
{
	atomic_fetch_add_explicit(counter, 1, memory_order_relaxed);
}

/* Makes what the threads need. Call it once, in the constructor. 0 or -errno. */
int orma_heap_visit_init(void);
/* False: this is the child of a bare clone(), whose memory is a copy. Async-signal-safe. */
bool orma_heap_is_own_process(void);
/* In the child of a fork: the thread is outside, and not registered. Async-signal-safe. */
void orma_heap_visit_forked(void);
/* False: this process or this thread must not be sampled now. */
bool orma_heap_visit_enter(struct orma_heap_thread *self, uint64_t caller_sp,
			   struct orma_heap_visit *ret);
/* Restores errno. */
void orma_heap_visit_leave(struct orma_heap_thread *self, const struct orma_heap_visit *visit);
/*
 * True: the functions that have begun the thread's visit run no longer. `caller_sp` is the stack pointer of who calls the
 * profiler now: a signal handler that has interrupted the visit is below its variables.
 */
bool orma_heap_visit_is_left(const struct orma_heap_thread *self, uint64_t caller_sp);
/* False: the thread must not write packets. It is called in a visit. */
bool orma_heap_thread_register(struct orma_heap_thread *self);
/* True: threads hand their chunks over after each packet. */
bool orma_heap_threads_are_many(void);
/* Calls a function that waits for a lock, which a jump must not leave locked. */
void orma_heap_call_without_signals(void (*fn)(void));

#endif
