/* SPDX-License-Identifier: Apache-2.0
 * visit.h - the time that a thread spends inside the profiler; see visit.c.
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

/* Prepares visits. Call it once, in the constructor. 0 or -errno. */
int orma_heap_visit_init(void);
/* False in the child of a bare clone() that has a copy of the memory. Async-signal-safe. */
bool orma_heap_is_own_process(void);
/* Ends visits in the child of a fork, and makes its thread an unregistered one. Async-signal-safe. */
void orma_heap_visit_forked(void);
/* Begins a visit. False if this process or this thread must not be sampled now. */
bool orma_heap_visit_enter(struct orma_heap_thread *self, uint64_t caller_sp,
			   struct orma_heap_visit *ret);
/* Ends the visit, and restores errno. */
void orma_heap_visit_leave(struct orma_heap_thread *self, const struct orma_heap_visit *visit);
/*
 * True if the thread's visit was abandoned, so that its functions do not run any more. `caller_sp` is the stack pointer of the function
 * that calls the profiler now: if a signal handler has interrupted the visit, it lies below the variables of the visit.
 */
bool orma_heap_visit_is_abandoned(const struct orma_heap_thread *self, uint64_t caller_sp);
/* Makes sure that the thread's destructor will run. False if the thread must not write packets. Called in a visit. */
bool orma_heap_thread_register(struct orma_heap_thread *self);
/* True if there are so many threads that each must return its chunk after each packet. */
bool orma_heap_threads_are_many(void);
/* Calls a function that takes a lock, with signals blocked: a handler that jumps out would leave it locked. */
void orma_heap_call_without_signals(void (*fn)(void));

#endif
