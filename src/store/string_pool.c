/* SPDX-License-Identifier: Apache-2.0
 * string_pool.c - an open-addressed table of (hash, id), and the texts one after the other in extents.
 *
 * A string costs its text, five bytes, its pointer and about eleven bytes of the table. The slot has half of the hash,
 * so that a probe reads the text of an equal string only. Invariant: the table is at most three quarters full, and the
 * strings are in it under all ids from 1 to `count`. Strings are never removed, so there are no gaps to keep.
 *
 * The hash takes eight bytes at a time. It is seeded, because the strings of a trace may have been chosen to collide.
 */
#include "store/string_pool.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

enum { FIRST_SLOTS = 1024 };

struct orma_string_slot {
	uint32_t hash; /* the upper half */
	uint32_t id;   /* 0 = an empty slot */
};

static uint64_t hash_of(const struct orma_string_pool *pool, struct orma_str text)
{
	const char *at = text.data;
	size_t left = text.size;
	uint64_t hash = pool->seed ^ text.size, word;
	for (; left >= 8; at += 8, left -= 8) {
		memcpy(&word, at, 8);
		hash = (hash ^ word) * UINT64_C(0xff51afd7ed558ccd);
		hash ^= hash >> 32;
	}
	word = 0;
	if (left > 0)
		memcpy(&word, at, left);
	hash = (hash ^ word) * UINT64_C(0xc4ceb9fe1a85ec53);
	hash ^= hash >> 29;
	hash *= UINT64_C(0xff51afd7ed558ccd);
	return hash ^ hash >> 32;
}

void orma_store_pool_done(struct orma_string_pool *pool)
{
	orma_store_extents_done(&pool->text);
	orma_base_free(pool->strings);
	orma_base_free(pool->slots);
	*pool = (struct orma_string_pool){.text = pool->text, .seed = pool->seed};
}

struct orma_str orma_store_pool_get(const struct orma_string_pool *pool, uint32_t id)
{
	ORMA_ASSERT(id > 0 && id <= pool->count);
	const char *text = pool->strings[id - 1];
	uint32_t size;
	memcpy(&size, text - sizeof(size), sizeof(size));
	return (struct orma_str){text, size};
}

/* Returns the slot of the string, or the empty one where it belongs. */
static struct orma_string_slot *find_slot(const struct orma_string_pool *pool, struct orma_str text,
					  uint64_t hash)
{
	uint32_t mask = pool->slot_capacity - 1, upper = (uint32_t)(hash >> 32);
	for (uint32_t idx = (uint32_t)hash & mask;; idx = (idx + 1) & mask) {
		struct orma_string_slot *slot = &pool->slots[idx];
		if (slot->id == 0 ||
		    (slot->hash == upper &&
		     orma_base_str_is_equal(orma_store_pool_get(pool, slot->id), text)))
			return slot;
	}
}

static int grow_slots(struct orma_string_pool *pool)
{
	struct orma_string_pool bigger = *pool;
	bigger.slot_capacity = pool->slot_capacity ? pool->slot_capacity * 2 : FIRST_SLOTS;
	if (bigger.slot_capacity == 0)
		return -EOVERFLOW;
	bigger.slots = orma_base_alloc_array(bigger.slot_capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	uint32_t mask = bigger.slot_capacity - 1;
	for (uint32_t id = 1; id <= pool->count; id++) {
		uint64_t hash = hash_of(pool, orma_store_pool_get(pool, id));
		uint32_t idx = (uint32_t)hash & mask;
		while (bigger.slots[idx].id != 0)
			idx = (idx + 1) & mask;
		bigger.slots[idx] =
			(struct orma_string_slot){.hash = (uint32_t)(hash >> 32), .id = id};
	}
	orma_base_free(pool->slots);
	*pool = bigger;
	return 0;
}

static int add_text(struct orma_string_pool *pool, struct orma_str text)
{
	if (pool->count == pool->capacity) {
		uint32_t capacity = pool->capacity ? pool->capacity * 2 : FIRST_SLOTS;
		const char **strings = capacity == 0
					       ? NULL
					       : orma_base_realloc_array(pool->strings, capacity,
									 sizeof(*strings));
		if (!strings)
			return -ENOMEM;
		pool->strings = strings;
		pool->capacity = capacity;
	}
	uint32_t size = (uint32_t)text.size;
	uint8_t small[256], *copy = small;
	size_t bytes = sizeof(size) + text.size + 1;
	if (bytes > sizeof(small) && !(copy = orma_base_alloc(bytes)))
		return -ENOMEM;
	memcpy(copy, &size, sizeof(size));
	if (size > 0)
		memcpy(copy + sizeof(size), text.data, size);
	copy[bytes - 1] = '\0';
	const void *at;
	int r = orma_store_extents_add(&pool->text, copy, bytes, &at);
	if (copy != small)
		orma_base_free(copy);
	if (r < 0)
		return r;
	pool->strings[pool->count++] = (const char *)at + sizeof(size);
	return 0;
}

int orma_store_pool_add(struct orma_string_pool *pool, struct orma_str text, uint32_t *ret)
{
	if (text.size >= UINT32_MAX - 8 || pool->count == UINT32_MAX - 1)
		return -EOVERFLOW;
	if ((uint64_t)pool->count * 4 >= (uint64_t)pool->slot_capacity * 3) {
		int r = grow_slots(pool);
		if (r < 0)
			return r;
	}
	uint64_t hash = hash_of(pool, text);
	struct orma_string_slot *slot = find_slot(pool, text, hash);
	if (slot->id == 0) {
		int r = add_text(pool, text);
		if (r < 0)
			return r;
		*slot = (struct orma_string_slot){.hash = (uint32_t)(hash >> 32),
						  .id = pool->count};
	}
	*ret = slot->id;
	return 0;
}

uint32_t orma_store_pool_find(const struct orma_string_pool *pool, struct orma_str text)
{
	return pool->slot_capacity > 0 ? find_slot(pool, text, hash_of(pool, text))->id : 0;
}
