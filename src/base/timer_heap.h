/* SPDX-License-Identifier: Apache-2.0
 * timer_heap.h - the armed timers of a loop, the earliest first. Private to base.
 */
#ifndef ORMA_BASE_TIMER_HEAP_H
#define ORMA_BASE_TIMER_HEAP_H

#include <stdint.h>

#include "base/loop.h"

/* {0} is empty. Nothing is owned but the array. */
struct orma_timer_heap {
	struct orma_timer **timers; /* timers[0] is due first */
	uint32_t count, capacity;
};

void orma_timer_heap_done(struct orma_timer_heap *heap);
/* Makes room for one more timer: 0 or -ENOMEM. */
int orma_timer_heap_reserve_one(struct orma_timer_heap *heap);
/* Adds a timer, for which there is room. */
void orma_timer_heap_add(struct orma_timer_heap *heap, struct orma_timer *timer);
/* Moves a timer whose deadline has changed to its new place. */
void orma_timer_heap_update(struct orma_timer_heap *heap, struct orma_timer *timer);
void orma_timer_heap_remove(struct orma_timer_heap *heap, struct orma_timer *timer);

#endif
