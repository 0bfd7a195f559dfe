/* SPDX-License-Identifier: Apache-2.0
 * intern_table.c - items in the order of their numbers, and an open-addressed hash table of the numbers.
 *
 * An item is found by its hash and then compared. Its bytes lie in an arena that several tables share, and whose
 * limit counts the items, too. Items are never removed one by one, so slots need no marks of what was there.
 */
#include "profile/intern_table.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"

static int grow_slots(struct orma_intern_table *table)
{
	uint32_t slot_count = table->slot_count ? table->slot_count * 2 : 64;
	uint32_t *slots = orma_base_alloc_array(slot_count, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (uint32_t i = 0; i < table->count; i++) {
		uint32_t at = table->items[i].hash & (slot_count - 1);

		while (slots[at] > 0)
			at = (at + 1) & (slot_count - 1);
		slots[at] = i + 1;
	}
	orma_base_free(table->slots);
	table->slots = slots;
	table->slot_count = slot_count;
	return 0;
}

static int reserve(struct orma_intern_table *table)
{
	if (table->count == table->capacity) {
		uint32_t capacity = table->capacity ? table->capacity * 2 : 32;
		struct orma_intern_item *items =
			orma_base_realloc_array(table->items, capacity, sizeof(*items));

		if (!items)
			return -ENOMEM;
		table->items = items;
		table->capacity = capacity;
	}
	return table->count * 2 >= table->slot_count ? grow_slots(table) : 0;
}

static uint64_t hash_of(uint64_t seed, const uint8_t *bytes, size_t size)
{
	uint64_t hash = seed ^ size, word;

	for (; size >= sizeof(word); bytes += sizeof(word), size -= sizeof(word)) {
		memcpy(&word, bytes, sizeof(word));
		hash = orma_intern_mix(hash, word, UINT64_C(0xff51afd7ed558ccd));
	}
	word = 0;
	if (size > 0)
		memcpy(&word, bytes, size);
	return orma_intern_mix(hash, word, UINT64_C(0xc4ceb9fe1a85ec53));
}

uint32_t orma_intern_table_put(struct orma_intern_table *table, struct orma_arena *arena,
			       const void *bytes, size_t size, size_t key_size)
{
	uint32_t hash = (uint32_t)hash_of(table->seed, bytes, key_size);

	if (reserve(table) < 0)
		return 0;
	uint32_t at = hash & (table->slot_count - 1);
	for (; table->slots[at] > 0; at = (at + 1) & (table->slot_count - 1)) {
		const struct orma_intern_item *item = &table->items[table->slots[at] - 1];

		if (item->hash == hash && item->size == size &&
		    (key_size == 0 || memcmp(item->bytes, bytes, key_size) == 0))
			return table->slots[at];
	}
	/* The arena's limit counts items too. */
	const void *copy = orma_base_arena_alloc(arena, size + sizeof(struct orma_intern_item));
	if (!copy)
		return 0;
	if (size > 0)
		memcpy((void *)(uintptr_t)copy, bytes, size);
	table->items[table->count++] = (struct orma_intern_item){copy, (uint32_t)size, hash};
	table->slots[at] = table->count;
	return table->count;
}

void orma_intern_table_clear(struct orma_intern_table *table)
{
	if (table->slots)
		memset(table->slots, 0, table->slot_count * sizeof(*table->slots));
	table->count = table->written = 0;
}

void orma_intern_table_done(struct orma_intern_table *table)
{
	orma_base_free(table->items);
	orma_base_free(table->slots);
	*table = (struct orma_intern_table){0};
}
