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
	_Atomic uintptr_t
		busy; /* the mark of the walk, see self_walkers.c; 0 = the walker is free */
	_Atomic uint32_t turn;
	struct orma_unwind_cache_slot cache[ORMA_SELF_CACHE_SLOTS];
	struct orma_unwind_memo memo;
} __attribute__((aligned(64)));

/* Makes the walkers, unless they exist. 0 or -ENOMEM. */
int orma_self_walkers_make(void);
/* `sp` is the stack pointer of the walk; the stack lies from `low` to `high`. 0, -EBUSY (no walker is free) or -ESTALE (there are no
 * walkers yet). */
int orma_self_walker_borrow(uintptr_t sp, uintptr_t low, uintptr_t high,
			    struct orma_self_walker **ret);
/* Waits until each walk that is under way has ended. False if one has not ended in time. */
bool orma_self_walkers_wait(unsigned wait_ms);
/* Ends the walks of threads that the child of a fork does not have. Async-signal-safe. */
void orma_self_walkers_forked(void);

static inline void orma_self_walker_return(struct orma_self_walker *walker)
{
	uint32_t turn = atomic_load_explicit(&walker->turn, memory_order_relaxed);

	atomic_store_explicit(&walker->turn, turn + 1, memory_order_release);
	atomic_store_explicit(&walker->busy, 0, memory_order_release);
}

#endif
