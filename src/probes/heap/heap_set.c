/* SPDX-License-Identifier: Apache-2.0
 * heap_set.c - an array with a hash table of indices beside it.
 *
 * Frames, nodes of stacks and call sites are looked up for each sample, and are never removed one by one. So an item keeps its index
 * for as long as the process is known, and an index of 4 bytes replaces a pointer. Linear probing, at most half full. The seed is
 * secret, because the process chooses the keys.
 *
 * Rejected: src/base/map.h, because a key of 64 bits, a pointer and an allocation for each item take three times the memory.
 */
#include "probes/heap/heap_set.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

#define FIRST_CAPACITY 64u

void orma_heap_set_init(struct orma_heap_set *set, uint32_t item_bytes, uint32_t key_words,
			uint32_t count_max, uint64_t seed)
{
	ORMA_ASSERT(item_bytes % 8 == 0 && item_bytes >= key_words * 8);
	ORMA_ASSERT(key_words == 1 || key_words == 2);
	*set = (struct orma_heap_set){
		.item_bytes = item_bytes,
		.key_words = key_words,
		.count_max = count_max,
		.seed = seed,
	};
}

void orma_heap_set_done(struct orma_heap_set *set)
{
	orma_base_free(set->items);
	orma_base_free(set->slots);
	set->items = NULL;
	set->slots = NULL;
	set->count = set->capacity = set->slot_count = 0;
}

static uint64_t hash(const struct orma_heap_set *set, const void *item)
{
	uint64_t result = set->seed;

	for (uint32_t i = 0; i < set->key_words; i++) {
		uint64_t word;

		memcpy(&word, (const uint8_t *)item + (size_t)i * sizeof(word), sizeof(word));
		result = (result ^ word) * UINT64_C(0x9e3779b97f4a7c15);
		result ^= result >> 32;
	}
	return result;
}

/* Keys have one or two words. */
static bool is_equal(const struct orma_heap_set *set, const void *item, const void *other)
{
	uint64_t words[2], other_words[2];

	memcpy(words, item, 8);
	memcpy(other_words, other, 8);
	if (words[0] != other_words[0] || set->key_words == 1)
		return words[0] == other_words[0];
	memcpy(&words[1], (const uint8_t *)item + 8, 8);
	memcpy(&other_words[1], (const uint8_t *)other + 8, 8);
	return words[1] == other_words[1];
}

/* Returns the slot of the item, or the empty one where it belongs. */
static uint32_t *find_slot(const struct orma_heap_set *set, const void *item)
{
	uint32_t mask = set->slot_count - 1;

	for (uint32_t i = (uint32_t)hash(set, item) & mask;; i = (i + 1) & mask) {
		uint32_t *slot = &set->slots[i];
		if (*slot == 0 || is_equal(set, orma_heap_set_item(set, *slot - 1), item))
			return slot;
	}
}

static int grow(struct orma_heap_set *set)
{
	uint32_t capacity = ORMA_MAX(set->capacity * 2, FIRST_CAPACITY);
	uint32_t *slots = orma_base_alloc_array((size_t)capacity * 2, sizeof(*slots));
	uint8_t *items =
		slots ? orma_base_realloc_array(set->items, capacity, set->item_bytes) : NULL;

	if (!items) {
		orma_base_free(slots);
		return -ENOMEM;
	}
	orma_base_free(set->slots);
	set->slots = slots;
	set->items = items;
	set->capacity = capacity;
	set->slot_count = capacity * 2;
	for (uint32_t i = 0; i < set->count; i++)
		*find_slot(set, orma_heap_set_item(set, i)) = i + 1;
	return 0;
}

int orma_heap_set_take(struct orma_heap_set *set, const void *item, uint32_t *ret_idx)
{
	uint32_t *slot = set->count > 0 ? find_slot(set, item) : NULL;

	if (slot && *slot) {
		*ret_idx = *slot - 1;
		return 0;
	}
	if (set->count >= set->count_max)
		return -ENOBUFS;
	if (set->count == set->capacity) {
		int r = grow(set);
		if (r < 0)
			return r;
		slot = NULL;
	}
	if (!slot)
		slot = find_slot(set, item);
	memcpy(orma_heap_set_item(set, set->count), item, set->item_bytes);
	*ret_idx = set->count;
	*slot = ++set->count;
	return 1;
}
