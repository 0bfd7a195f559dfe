/* SPDX-License-Identifier: Apache-2.0
 * countdown.c - the countdowns of a thread, one for each heap.
 *
 * The countdown of malloc() is thread-local. Most programs have no other heap. The countdowns of other heaps lie in a page that a
 * thread maps when it first reports to such a heap in a session, and unmaps when it ends. In the child of a fork, the pages of the
 * other threads stay mapped, because the fork may have interrupted the use of one.
 *
 * Rejected: all countdowns in thread-local memory, because that takes 2 KiB for each thread and does not fit into a program that
 * opens the library later; one countdown for all threads, because all of them would write to the same cache line; one countdown for
 * all heaps, because their intervals differ.
 */
#include "heap/countdown.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "heap/sampler.h"

void orma_heap_seed(struct orma_heap_thread *self)
{
	while (self->random == 0)
		if (getrandom(&self->random, sizeof(self->random), GRND_NONBLOCK) !=
		    sizeof(self->random))
			self->random = orma_base_clock_ns(CLOCK_MONOTONIC) ^ (uintptr_t)self;
}

void orma_heap_countdowns_forget(struct orma_heap_thread *self, uint32_t epoch)
{
	self->epoch = epoch;
	self->ends_at_point = false;
	if (self->own)
		memset(self->own, 0, sizeof(*self->own));
	/* The value during a visit. The end of the visit restores the countdown of malloc(). */
	self->left = ORMA_HEAP_STEP_BYTES;
}

/* --- memory ----------------------------------------------------------------------------------- */

static struct orma_heap_countdowns *new_countdowns(void)
{
	struct orma_heap_countdowns *own = mmap(NULL, sizeof(*own), PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	return own == MAP_FAILED ? NULL : own;
}

void orma_heap_countdowns_free(struct orma_heap_thread *self)
{
	struct orma_heap_countdowns *own = ORMA_TAKE(self->own);

	/* A signal handler from here on finds no page. */
	atomic_signal_fence(memory_order_seq_cst);
	if (own)
		munmap(own, sizeof(*own));
}

/* Returns NULL without memory, or if the thread has ended, because no destructor would unmap the page. */
static struct orma_heap_countdowns *countdowns_of(struct orma_heap_thread *self)
{
	if (!self->own && orma_heap_thread_register(self))
		self->own = new_countdowns();
	return self->own;
}

/* --- drawing ---------------------------------------------------------------------------------- */

void orma_heap_countdown_find(struct orma_heap_thread *self, struct orma_heap_visit *visit,
			      uint32_t heap, struct orma_heap_current *ret)
{
	struct orma_heap_countdowns *own = heap == ORMA_HEAP_MALLOC ? NULL : countdowns_of(self);

	*ret = (struct orma_heap_current){.left = &ret->own_left,
					  .ends_at_point = &ret->own_ends_at_point};
	if (heap == ORMA_HEAP_MALLOC) {
		ret->left = &visit->malloc_left;
		ret->ends_at_point = &self->ends_at_point;
	} else if (own) {
		ret->left = &own->left[heap];
		ret->ends_at_point = &own->ends_at_point[heap];
	}
}

uint64_t orma_heap_countdown_draw(struct orma_heap_thread *self,
				  const struct orma_heap_current *countdown, uint64_t mean,
				  uint64_t size)
{
	int64_t *left = countdown->left;
	uint64_t points = *countdown->ends_at_point, fresh;
	struct orma_heap_countdown next;

	/* The bytes beyond the end of the countdown. The first of them is hit if the countdown ended at a point. */
	fresh = *left < 0 ? 0 - (uint64_t)*left - points : size;
	if (fresh > size)
		fresh = size;
	*countdown->ends_at_point = false;
	if (mean == 0) {
		*left = orma_heap_tracker.idle_step;
		return 0;
	}
	if (mean == 1) {
		*left = -1;
		return size > 0 ? size : 1;
	}
	orma_heap_seed(self);
	points += orma_heap_draw(&self->random, mean, fresh, &next);
	*left = next.left;
	*countdown->ends_at_point = next.ends_at_point;
	return points;
}
