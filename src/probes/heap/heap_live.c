/* SPDX-License-Identifier: Apache-2.0
 * heap_live.c - an open-addressed table of blocks.
 *
 * The packets of two threads come in any order, so the free of a block may come before its sample. Then the free waits in the
 * block's slot. If everything that was written before the free has been read and there is still no sample, the sample was lost,
 * and the free is forgotten.
 *
 * Linear probing, at most 3/4 full, with backward-shift deletion. The seed is secret, because the process chooses the numbers.
 */
#include "probes/heap/heap_live.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "probes/heap/heap_limits.h"

#define FIRST_CAPACITY 256u

void orma_heap_live_done(struct orma_heap_live *live)
{
	orma_base_free(live->slots);
	*live = (struct orma_heap_live){.seed = live->seed};
}

static size_t home(const struct orma_heap_live *live, uint64_t serial)
{
	uint64_t hash = (serial ^ live->seed) * UINT64_C(0x9e3779b97f4a7c15);

	return (size_t)(hash ^ hash >> 32) & (live->capacity - 1);
}

/* Returns the slot of the number, or the empty one where it belongs. */
static struct orma_heap_live_block *find_slot(const struct orma_heap_live *live, uint64_t serial)
{
	size_t i = home(live, serial);

	while (live->slots[i].serial != 0 && live->slots[i].serial != serial)
		i = (i + 1) & (live->capacity - 1);
	return &live->slots[i];
}

static int grow(struct orma_heap_live *live)
{
	struct orma_heap_live larger = {
		.capacity = ORMA_MAX(live->capacity * 2, (size_t)FIRST_CAPACITY),
		.count = live->count,
		.waiting_count = live->waiting_count,
		.seed = live->seed,
	};

	larger.slots = orma_base_alloc_array(larger.capacity, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < live->capacity; i++)
		if (live->slots[i].serial)
			*find_slot(&larger, live->slots[i].serial) = live->slots[i];
	orma_base_free(live->slots);
	*live = larger;
	return 0;
}

static int insert(struct orma_heap_live *live, struct orma_heap_live_block *slot,
		  const struct orma_heap_live_block *block)
{
	if (live->count >= ORMA_HEAP_LIVE_MAX)
		return -ENOBUFS;
	if (live->count >= live->capacity / 4 * 3) {
		int r = grow(live);
		if (r < 0)
			return r;
		slot = find_slot(live, block->serial);
	}
	*slot = *block;
	live->count++;
	live->waiting_count += block->epoch != 0;
	return 0;
}

/* Fills the emptied slot with a later block of the same run, and so on to the end of the run. */
static void take_out(struct orma_heap_live *live, struct orma_heap_live_block *slot)
{
	size_t mask = live->capacity - 1, hole = (size_t)(slot - live->slots);

	live->count--;
	live->waiting_count -= slot->epoch != 0;
	for (size_t i = (hole + 1) & mask; live->slots[i].serial; i = (i + 1) & mask) {
		if (((i - home(live, live->slots[i].serial)) & mask) < ((i - hole) & mask))
			continue;
		live->slots[hole] = live->slots[i];
		hole = i;
	}
	live->slots[hole] = (struct orma_heap_live_block){0};
}

int orma_heap_live_add(struct orma_heap_live *live, const struct orma_heap_live_block *block)
{
	struct orma_heap_live_block *slot = live->capacity ? find_slot(live, block->serial) : NULL;

	if (slot && slot->serial) {
		if (slot->epoch == 0)
			return -EEXIST;
		take_out(live, slot);
		return 0;
	}
	int r = insert(live, slot, block);
	return r < 0 ? r : 1;
}

int orma_heap_live_remove(struct orma_heap_live *live, uint64_t serial, uint32_t epoch,
			  struct orma_heap_live_block *ret)
{
	struct orma_heap_live_block *slot = live->capacity ? find_slot(live, serial) : NULL;

	if (slot && slot->serial) {
		if (slot->epoch != 0)
			return -EEXIST;
		*ret = *slot;
		take_out(live, slot);
		return 1;
	}
	return insert(live, slot, &(struct orma_heap_live_block){.serial = serial, .epoch = epoch});
}

const struct orma_heap_live_block *orma_heap_live_next(const struct orma_heap_live *live,
						       size_t *position)
{
	while (*position < live->capacity) {
		const struct orma_heap_live_block *slot = &live->slots[(*position)++];
		if (slot->serial && slot->epoch == 0)
			return slot;
	}
	return NULL;
}

size_t orma_heap_live_expire(struct orma_heap_live *live, uint32_t epoch)
{
	size_t expired = 0;

	if (live->waiting_count == 0)
		return 0;
	/* A removal may move another block into the slot, so the slot is visited again. A block that moves from the front of the table
	 * to its end was visited before. */
	for (size_t i = 0; i < live->capacity;) {
		struct orma_heap_live_block *slot = &live->slots[i];
		if (slot->serial && slot->epoch != 0 && slot->epoch < epoch) {
			take_out(live, slot);
			expired++;
		} else {
			i++;
		}
	}
	return expired;
}
