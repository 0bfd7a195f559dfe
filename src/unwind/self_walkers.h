/* SPDX-License-Identifier: Apache-2.0
 * self_walkers.h - a walker is what a walk of this process borrows: a cache of rules, and a mark that the walk is under way.
 *
 * Threads: a walk may borrow and return a walker on any thread and in a signal handler. The other functions are called by one
 * thread at a time.
 */
#ifndef ORMA_UNWIND_SELF_WALKERS_H
#define ORMA_UNWIND_SELF_WALKERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind_walk.h"

#define ORMA_SELF_CACHE_SLOTS 2048u

struct orma_self_walker {
	_Atomic uintptr_t busy; /* the stack pointer where the walk began; 0 = the walker is free */
	/* The end of the walk's stack; 0 = the walker is free. Relaxed, because `busy` publishes it. */
	_Atomic uintptr_t stack_high;
	_Atomic uint32_t turn;
	struct orma_unwind_cache_slot cache[ORMA_SELF_CACHE_SLOTS];
	struct orma_unwind_memo memo;
} __attribute__((aligned(64)));

/* Makes the walkers, unless they exist. 0 or -ENOMEM. */
int orma_self_walkers_make(void);
/* `sp` and `high` are the stack pointer and the end of the stack of the walk. 0, -EBUSY (no walker is free) or -ESTALE (there are
 * no walkers yet). */
int orma_self_walker_borrow(uintptr_t sp, uintptr_t high, struct orma_self_walker **ret);
/* Waits until each walk that is under way has ended. False if one has not ended in time. */
bool orma_self_walkers_wait(unsigned wait_ms);
/* Ends the walks of threads that the child of a fork does not have. Async-signal-safe. */
void orma_self_walkers_forked(void);

static inline void orma_self_walker_return(struct orma_self_walker *walker)
{
	uint32_t turn = atomic_load_explicit(&walker->turn, memory_order_relaxed);

	atomic_store_explicit(&walker->turn, turn + 1, memory_order_release);
	/* Before `busy`, so that no thread takes this stack for that of the next walk. */
	atomic_store_explicit(&walker->stack_high, 0, memory_order_relaxed);
	atomic_store_explicit(&walker->busy, 0, memory_order_release);
}

#endif
