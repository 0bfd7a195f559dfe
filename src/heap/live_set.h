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

/* Written once, counts first; read mask first, so that the index fits the array. */
struct orma_heap_filter {
	_Atomic uint8_t *_Atomic counts; /* blocks with this index; 255 stays. Relaxed. */
	_Atomic size_t mask;             /* limits the index; release and acquire */
};

extern struct orma_heap_filter orma_heap_filter __attribute__((visibility("hidden")));

/* Neighbours in memory are neighbours in the filter, so that frees of a program that works in one place of its heap find
 * the filter in the cache. The bits above make a difference, too. */
static inline _Atomic uint8_t *orma_heap_filter_place(uint64_t id)
{
	size_t mask = atomic_load_explicit(&orma_heap_filter.mask, memory_order_acquire);
	_Atomic uint8_t *counts =
		atomic_load_explicit(&orma_heap_filter.counts, memory_order_relaxed);

	return &counts[(size_t)(id >> 4 ^ id >> 20) & mask];
}

/* False: the block was not sampled. Relaxed, because the thread that frees a block has got it from the thread that
 * allocated it. */
static inline bool orma_heap_may_be_live(uint64_t id)
{
	return ORMA_UNLIKELY(
		atomic_load_explicit(orma_heap_filter_place(id), memory_order_relaxed) != 0);
}

/* Chooses a larger filter for small intervals, where many blocks are sampled. Call it while nothing is sampled. */
void orma_heap_live_prepare(uint64_t interval_bytes);
/* Makes the filter say "maybe" for this id, for ever. */
void orma_heap_live_mark(uint64_t id);

/* A block's place, which is reserved and not found until it is published or given up. NULL: the set is full. */
struct orma_heap_place *orma_heap_live_reserve(uint64_t id);
void orma_heap_live_publish(struct orma_heap_place *place, uint64_t id,
			    const struct orma_heap_block *block);
void orma_heap_live_give_up(struct orma_heap_place *place);

/* Takes the block out of the set. False: it is not there. */
bool orma_heap_live_take(uint64_t id, uint8_t heap, struct orma_heap_block *ret);
size_t orma_heap_live_count(void);
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
