/* SPDX-License-Identifier: Apache-2.0
 * self_walkers.h - what a walk of this process borrows: a cache of rules, and a sign that it walks.
 *
 * Threads: a walk may borrow on any thread, and in signal handlers. The others are called by one thread at a time.
 */
#ifndef ORMA_UNWIND_SELF_WALKERS_H
#define ORMA_UNWIND_SELF_WALKERS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "unwind/unwind_walk.h"

#define ORMA_SELF_CACHE_SLOTS 2048u

struct orma_self_walker {
	_Atomic uintptr_t busy; /* the stack pointer where the walk began; 0 = nobody has it */
	/* The end of the stack of the walk; 0 = no walk has it. Relaxed: `busy` publishes it. */
	_Atomic uintptr_t stack_high;
	_Atomic uint32_t turn;
	struct orma_unwind_cache_slot cache[ORMA_SELF_CACHE_SLOTS];
	struct orma_unwind_memo memo;
} __attribute__((aligned(64)));

/* Makes them, once. 0 or -ENOMEM. */
int orma_self_walkers_make(void);
/* `sp` and `high` are the stack pointer and the end of the stack of the walk. 0, -EBUSY (none is free) or -ESTALE (there are
 * none yet). */
int orma_self_walker_borrow(uintptr_t sp, uintptr_t high, struct orma_self_walker **ret);
/* Waits until each walk that is under way has ended. False when one has not ended in time. */
bool orma_self_walkers_wait(unsigned wait_ms);
/* In the child of a fork: the walks of other threads do not exist here. Async-signal-safe. */
void orma_self_walkers_forked(void);

static inline void orma_self_walker_return(struct orma_self_walker *walker)
{
	uint32_t turn = atomic_load_explicit(&walker->turn, memory_order_relaxed);

	atomic_store_explicit(&walker->turn, turn + 1, memory_order_release);
	/* Before the next walk has it, so that nobody takes this stack for that walk's. */
	atomic_store_explicit(&walker->stack_high, 0, memory_order_relaxed);
	atomic_store_explicit(&walker->busy, 0, memory_order_release);
}

#endif
