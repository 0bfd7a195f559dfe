/* SPDX-License-Identifier: Apache-2.0
 * live_set.h - the sampled blocks that were not freed yet, and a filter that answers for most frees with one byte.
 *
 * Threads: any, at any time, also in signal handlers. Nothing locks or calls malloc().
 */
#ifndef ORMA_HEAP_LIVE_SET_H
#define ORMA_HEAP_LIVE_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* At most this many sampled blocks live at a time. */
#define ORMA_HEAP_LIVE_BLOCKS_MAX (UINT32_C(1) << 20)

/* A block that was sampled and not freed yet. */
struct orma_heap_block {
	uint64_t serial; /* below 2^40 */
	uint8_t heap;
	uint8_t instances; /* bit i: instance i of the data source has the sample */
};

/*
 * Numbers of sampled blocks in each page of 4 KiB, and in each range of 64 bytes. A number that has reached the maximum of its type
 * stays there. A free reads the first array, which stays in the cache, and the second one only if needed. Relaxed. The arrays are
 * static, so that a free needs no load for their addresses and sizes.
 */
#define ORMA_HEAP_PAGE_COUNT   ((size_t)1 << 12)
#define ORMA_HEAP_FILTER_COUNT ((size_t)1 << 20)
extern _Atomic uint16_t orma_heap_pages[ORMA_HEAP_PAGE_COUNT] __attribute__((visibility("hidden")));
extern _Atomic uint8_t orma_heap_filter[ORMA_HEAP_FILTER_COUNT]
	__attribute__((visibility("hidden")));

/* Not a hash: neighbouring blocks have neighbouring places, so that frees in one part of the heap find the filter in the cache. Blocks
 * that are 64 MiB apart share a place. The number of needless searches only depends on how many places are taken. */
static inline size_t orma_heap_filter_index(uint64_t id)
{
	return (size_t)(id >> 6) & (ORMA_HEAP_FILTER_COUNT - 1);
}

static inline size_t orma_heap_page_index(uint64_t id)
{
	return (size_t)(id >> 12) & (ORMA_HEAP_PAGE_COUNT - 1);
}

/* False if the block was not sampled. Relaxed, because the thread that frees a block got the address from the thread that allocated
 * it, and so sees what that thread wrote. */
static inline bool orma_heap_may_be_live(uint64_t id)
{
	return ORMA_UNLIKELY(atomic_load_explicit(&orma_heap_pages[orma_heap_page_index(id)],
						  memory_order_relaxed) != 0) &&
	       ORMA_UNLIKELY(atomic_load_explicit(&orma_heap_filter[orma_heap_filter_index(id)],
						  memory_order_relaxed) != 0);
}

/* Makes orma_heap_may_be_live() true for this id, for ever. */
void orma_heap_live_mark(uint64_t id);

/* Reserves a place for a block. It is not found until it is published. NULL if the set is full. */
struct orma_heap_place *orma_heap_live_reserve(uint64_t id);
void orma_heap_live_publish(struct orma_heap_place *place, uint64_t id,
			    const struct orma_heap_block *block);
void orma_heap_live_give_up(struct orma_heap_place *place);

/* Takes the block out of the set. False if it is not there. */
bool orma_heap_live_take(uint64_t id, uint8_t heap, struct orma_heap_block *ret);
/* Forgets the parent's blocks in the child of a fork. Async-signal-safe. */
void orma_heap_live_forget(void);

/*
 * Adds a block to the queue of deferred frees, whose packets the library's thread writes. Threads that cannot write packets use it:
 * signal handlers that interrupted the profiler, and threads whose destructors have run. False if the queue is full.
 */
bool orma_heap_deferred_push(const struct orma_heap_block *block);
/* Takes a block out of the queue. One thread at a time. */
bool orma_heap_deferred_pop(struct orma_heap_block *ret);

#endif
