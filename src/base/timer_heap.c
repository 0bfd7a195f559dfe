/* SPDX-License-Identifier: Apache-2.0
 * timer_heap.c - a binary heap of timers by deadline.
 *
 * Each timer knows its place, so that it can be removed or moved without a search.
 *
 * Invariant: no timer is due before its parent, timers[(idx - 1) / 2], and timers[timer->heap_idx] == timer for every timer.
 *
 * Rejected: a timer wheel, because there are few timers and their times differ by orders of magnitude.
 */
#include "base/timer_heap.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"

#define FIRST_CAPACITY 8u

/* True if the timer is in its place, and in order with its parent and its children. */
static inline bool is_in_order(const struct orma_timer_heap *heap, const struct orma_timer *timer)
{
	uint32_t idx = timer->heap_idx, child = 2 * idx + 1;

	if (idx >= heap->count || heap->timers[idx] != timer)
		return false;
	if (idx > 0 && heap->timers[(idx - 1) / 2]->deadline_ns > timer->deadline_ns)
		return false;
	for (uint32_t i = child; i < child + 2 && i < heap->count; i++)
		if (heap->timers[i]->deadline_ns < timer->deadline_ns)
			return false;
	return true;
}

static void put(struct orma_timer_heap *heap, uint32_t idx, struct orma_timer *timer)
{
	heap->timers[idx] = timer;
	timer->heap_idx = idx;
}

static void sift_up(struct orma_timer_heap *heap, struct orma_timer *timer)
{
	uint32_t idx = timer->heap_idx;
	while (idx > 0) {
		uint32_t parent = (idx - 1) / 2;
		if (heap->timers[parent]->deadline_ns <= timer->deadline_ns)
			break;
		put(heap, idx, heap->timers[parent]);
		idx = parent;
	}
	put(heap, idx, timer);
}

static void sift_down(struct orma_timer_heap *heap, struct orma_timer *timer)
{
	uint32_t idx = timer->heap_idx;
	for (;;) {
		uint32_t child = 2 * idx + 1;
		if (child >= heap->count)
			break;
		if (child + 1 < heap->count &&
		    heap->timers[child + 1]->deadline_ns < heap->timers[child]->deadline_ns)
			child++;
		if (timer->deadline_ns <= heap->timers[child]->deadline_ns)
			break;
		put(heap, idx, heap->timers[child]);
		idx = child;
	}
	put(heap, idx, timer);
}

int orma_timer_heap_reserve_one(struct orma_timer_heap *heap)
{
	if (heap->count < heap->capacity)
		return 0;
	uint32_t capacity = heap->capacity > 0 ? heap->capacity * 2 : FIRST_CAPACITY;
	struct orma_timer **timers =
		orma_base_realloc_array(heap->timers, capacity, sizeof(*timers));
	if (!timers)
		return -ENOMEM;
	heap->timers = timers;
	heap->capacity = capacity;
	return 0;
}

void orma_timer_heap_done(struct orma_timer_heap *heap)
{
	orma_base_free(heap->timers);
}

void orma_timer_heap_update(struct orma_timer_heap *heap, struct orma_timer *timer)
{
	sift_up(heap, timer);
	sift_down(heap, timer);
	ORMA_ASSERT(is_in_order(heap, timer));
}

void orma_timer_heap_add(struct orma_timer_heap *heap, struct orma_timer *timer)
{
	put(heap, heap->count++, timer);
	orma_timer_heap_update(heap, timer);
}

void orma_timer_heap_remove(struct orma_timer_heap *heap, struct orma_timer *timer)
{
	ORMA_ASSERT(is_in_order(heap, timer));
	struct orma_timer *last = heap->timers[--heap->count];
	if (last == timer)
		return;
	put(heap, timer->heap_idx, last);
	orma_timer_heap_update(heap, last);
}
