/* SPDX-License-Identifier: Apache-2.0
 * live_set.h - the sampled blocks that were not freed yet, and a filter that answers most frees with one byte.
 *
 * Any thread, any time, also in signal handlers: nothing locks or allocates with malloc().
 */
#ifndef ORMA_HEAP_LIVE_SET_H
#define ORMA_HEAP_LIVE_SET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"

/* At most this many sampled blocks live at a time. */
#define ORMA_HEAP_LIVE_MAX (UINT32_C(1) << 20)

/* A block that was sampled and not freed yet. */
struct orma_heap_block {
	uint64_t serial; /* below 2^40 */
	uint8_t heap;
	uint8_t instances; /* bit i: instance i of the data source was told */
};

/*
 * How many sampled blocks lie in a page of 4 KiB, and how many at 64 bytes. The highest number of each stays. Frees ask the first, which
 * stays in the cache, and only behind that the second. Relaxed. Frees read both, so their addresses and sizes are constant.
 */
#define ORMA_HEAP_PAGE_COUNT   ((size_t)1 << 12)
#define ORMA_HEAP_FILTER_COUNT ((size_t)1 << 20)
extern _Atomic uint16_t orma_heap_pages[ORMA_HEAP_PAGE_COUNT] __attribute__((visibility("hidden")));
extern _Atomic uint8_t orma_heap_filter[ORMA_HEAP_FILTER_COUNT]
	__attribute__((visibility("hidden")));

/* Neighbours in memory are neighbours here, so that frees of a program that works in one place of its heap find both in the
 * cache. Blocks that are 64 MiB apart share a place: how many blocks are asked about in vain depends on how many places are
 * taken, and not on which. */
static inline size_t orma_heap_filter_index(uint64_t id)
{
	return (size_t)(id >> 6) & (ORMA_HEAP_FILTER_COUNT - 1);
}

static inline size_t orma_heap_page_index(uint64_t id)
{
	return (size_t)(id >> 12) & (ORMA_HEAP_PAGE_COUNT - 1);
}

/* False: the block was not sampled. Relaxed, because the thread that frees a block has got it from the thread that
 * allocated it. */
static inline bool orma_heap_may_be_live(uint64_t id)
{
	return ORMA_UNLIKELY(atomic_load_explicit(&orma_heap_pages[orma_heap_page_index(id)],
						  memory_order_relaxed) != 0) &&
	       ORMA_UNLIKELY(atomic_load_explicit(&orma_heap_filter[orma_heap_filter_index(id)],
						  memory_order_relaxed) != 0);
}

/* Makes the filter say "maybe" for this id, for ever. */
void orma_heap_live_mark(uint64_t id);

/* A block's place, which is reserved and not found until it is published or given up. NULL: the set is full. */
struct orma_heap_place *orma_heap_live_reserve(uint64_t id);
void orma_heap_live_publish(struct orma_heap_place *place, uint64_t id,
			    const struct orma_heap_block *block);
void orma_heap_live_give_up(struct orma_heap_place *place);

/* Takes the block out of the set. False: it is not there. */
bool orma_heap_live_take(uint64_t id, uint8_t heap, struct orma_heap_block *ret);
/* In the child of a fork: the parent's blocks are no longer known. Async-signal-safe. */
void orma_heap_live_forget(void);

/*
 * Blocks that were freed by threads that cannot write packets now: signal handlers that interrupted the profiler, and
 * threads whose destructors have run. Later the library's thread writes the packets. False: there is no room.
 */
bool orma_heap_late_push(const struct orma_heap_block *block);
/* One thread at a time. */
bool orma_heap_late_pop(struct orma_heap_block *ret);

#endif
