/* SPDX-License-Identifier: Apache-2.0
 * heap_set.h - a set of items of one size, in an array, with different keys.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_SET_H
#define ORMA_PROBES_HEAP_SET_H

#include <stddef.h>
#include <stdint.h>

/* An item begins with its key: `key_words` (1 or 2) words of 8 bytes, without padding. An item keeps its index. */
struct orma_heap_set {
	uint8_t *items;
	uint32_t *slots; /* index + 1 of an item; 0 = empty */
	uint32_t count, capacity, slot_count, count_max;
	uint32_t item_bytes, key_words;
	uint64_t seed;
};

void orma_heap_set_init(struct orma_heap_set *set, uint32_t item_bytes, uint32_t key_words,
			uint32_t count_max, uint64_t seed);
void orma_heap_set_done(struct orma_heap_set *set);
/* Finds the item with the key of `item`, or adds `item`, and returns its index in *ret_idx. 1 (added), 0 (found), -ENOBUFS (the set is
 * full) or -ENOMEM. */
int orma_heap_set_take(struct orma_heap_set *set, const void *item, uint32_t *ret_idx);
/* The item; valid until the next one is added. */
static inline void *orma_heap_set_item(const struct orma_heap_set *set, uint32_t idx)
{
	return set->items + (size_t)idx * set->item_bytes;
}

#endif
