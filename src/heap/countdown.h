/* SPDX-License-Identifier: Apache-2.0
 * countdown.h - the bytes that a thread allocates until its next sample, by heap.
 *
 * Everything here is called in a visit of the calling thread (heap/visit.h), unless it says otherwise.
 */
#ifndef ORMA_HEAP_COUNTDOWN_H
#define ORMA_HEAP_COUNTDOWN_H

#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_thread.h"
#include "heap/tracker.h"
#include "heap/visit.h"

/* Seeds the thread's generator, once. */
void orma_heap_seed(struct orma_heap_thread *self);

/* A countdown that has ended. */
struct orma_heap_current {
	int64_t *left;
	bool *ends_at_point;
	/* These are used without memory: a countdown for this allocation alone, which gives the same probabilities. */
	int64_t own_left;
	bool own_ends_at_point;
};

/* Makes the thread draw all countdowns again, because the intervals have changed. */
void orma_heap_countdowns_forget(struct orma_heap_thread *self, uint32_t epoch);
/* Finds the countdown of a heap. *ret may point into itself, so it must not be copied. */
void orma_heap_countdown_find(struct orma_heap_thread *self, struct orma_heap_visit *visit,
			      uint32_t heap, struct orma_heap_current *ret);
/* Returns how many sampling points hit the block, and draws the next countdown. */
uint64_t orma_heap_countdown_draw(struct orma_heap_thread *self,
				  const struct orma_heap_current *countdown, uint64_t mean,
				  uint64_t size);
/* Called at the end of the thread, outside of a visit. */
void orma_heap_countdowns_free(struct orma_heap_thread *self);

#endif
