/* SPDX-License-Identifier: Apache-2.0
 * self_walkers.c - the walkers of this process's stacks; self_space.c has the protocol.
 *
 * Walkers are not bound to threads. A thread begins its search for a free walker at a place that its
 * stack's address gives, so it usually gets the same walker and cache. Therefore 10,000 threads need no
 * more memory than WALKERS_MAX caches, and nothing is left to clean up when a thread ends.
 *
 * A signal handler that interrupts a walk takes another walker. It may also abandon the walk with
 * siglongjmp(), and then the walker would stay busy. `busy` is the mark of a walk. Its lower bits are the stack
 * pointer at the beginning of the walk, divided by 16. Its upper bits are a hash of the address where the stack ends.
 * If a later walk on the same stack begins at this address or above, it cannot have interrupted the earlier walk. So
 * the earlier walk was abandoned, and the later one takes over the walker.
 *
 * The mark is one word, so that a handler may jump at any time, even while a walker is taken or returned. The stack
 * pointer alone does not identify the stack. If the main thread's stack has no limit, other stacks may lie within its
 * bounds.
 *
 * Rejected: a cache in thread-local storage, because it takes 16 KiB for each thread, and libraries that
 * are opened later have room for only a few hundred bytes of initial-exec variables.
 */
#include "unwind/self_walkers.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock_ns.h"
#include "base/macros.h"

#define WALKERS_MAX 32u
/* Addresses of user space have 48 bits at most. */
#define HASH_BITS    20u
#define ADDRESS_BITS (sizeof(uintptr_t) * 8 - HASH_BITS)

static struct orma_self_walker *_Atomic walkers; /* WALKERS_MAX of them; never freed */

__attribute__((cold)) int orma_self_walkers_make(void)
{
	struct orma_self_walker *all = atomic_load_explicit(&walkers, memory_order_relaxed);

	if (all)
		return 0;
	/* Mapped, because pages that no thread uses take no memory then. */
	all = mmap(NULL, WALKERS_MAX * sizeof(*all), PROT_READ | PROT_WRITE,
		   MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (all == MAP_FAILED)
		return -ENOMEM;
	atomic_store_explicit(&walkers, all, memory_order_release);
	return 0;
}

/* --- borrowing -------------------------------------------------------------------------------- */

/* `sp` is an address in the stack that ends at `high`. Marks of one stack have the order of their addresses. */
static uintptr_t mark_of(uintptr_t sp, uint64_t high)
{
	uintptr_t hash = (uintptr_t)(high * UINT64_C(0x9e3779b97f4a7c15) >> (64 - HASH_BITS));

	return hash << ADDRESS_BITS | (sp >> 4 & (((uintptr_t)1 << ADDRESS_BITS) - 1));
}

/* `lowest` is the mark of the stack's lowest address. */
static bool take_walker(struct orma_self_walker *walker, uintptr_t mark, uintptr_t lowest)
{
	uintptr_t busy = atomic_load_explicit(&walker->busy, memory_order_acquire);
	bool was_left = busy >= lowest && busy <= mark;

	if ((busy != 0 && !was_left) || !atomic_compare_exchange_strong(&walker->busy, &busy, mark))
		return false;
	if (ORMA_UNLIKELY(was_left)) {
		/* The walk may have been abandoned while it wrote a slot. */
		memset(walker->cache, 0, sizeof(walker->cache));
		memset(&walker->memo, 0, sizeof(walker->memo));
	}
	return true;
}

int orma_self_walker_borrow(uintptr_t sp, uintptr_t low, uintptr_t high,
			    struct orma_self_walker **ret)
{
	struct orma_self_walker *all = atomic_load_explicit(&walkers, memory_order_acquire);
	uintptr_t mark = mark_of(sp, high), lowest = mark_of(low, high);
	uint32_t first = (uint32_t)((uint64_t)(high >> 12) * UINT64_C(0x9e3779b97f4a7c15) >> 32);

	for (uint32_t i = 0; all && i < WALKERS_MAX; i++) {
		struct orma_self_walker *walker = &all[(first + i) % WALKERS_MAX];

		if (take_walker(walker, mark, lowest)) {
			*ret = walker;
			return 0;
		}
	}
	return all ? -EBUSY : -ESTALE;
}

/* --- waiting ---------------------------------------------------------------------------------- */

__attribute__((cold)) bool orma_self_walkers_wait(unsigned wait_ms)
{
	struct orma_self_walker *all = atomic_load_explicit(&walkers, memory_order_relaxed);
	uint64_t deadline = orma_base_clock_ns(CLOCK_MONOTONIC) + wait_ms * ORMA_NS_PER_MS;

	for (uint32_t i = 0; all && i < WALKERS_MAX; i++) {
		uint32_t turn = atomic_load(&all[i].turn);

		while (atomic_load(&all[i].busy) != 0 && atomic_load(&all[i].turn) == turn) {
			if (orma_base_clock_ns(CLOCK_MONOTONIC) >= deadline)
				return false;
			clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = 50000},
					NULL);
		}
	}
	return true;
}

__attribute__((cold)) void orma_self_walkers_forked(void)
{
	struct orma_self_walker *all = atomic_load_explicit(&walkers, memory_order_relaxed);

	for (uint32_t i = 0; all && i < WALKERS_MAX; i++)
		atomic_store_explicit(&all[i].busy, 0, memory_order_relaxed);
}
