/* SPDX-License-Identifier: Apache-2.0
 * map.c - open addressing with linear probing.
 *
 * Invariant: from the home slot of a key up to its slot there is no empty slot. Removal therefore
 * moves later entries back. It leaves no tombstones, so a map does not get slower with age. Keys
 * are mixed, because ids come in runs and a peer may choose them. Rejected: chaining, because it
 * takes an allocation per entry. Also rejected: storing the hash in the slot. It would save mixing
 * the key again, but the larger slots cost more time than the mixing.
 */
#include "base/map.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"

enum { FIRST_SLOTS = 8 };

/* The finalizer of MurmurHash3: every key bit reaches every index bit. */
static uint64_t mix(uint64_t key)
{
	key ^= key >> 33;
	key *= UINT64_C(0xff51afd7ed558ccd);
	key ^= key >> 33;
	key *= UINT64_C(0xc4ceb9fe1a85ec53);
	return key ^ (key >> 33);
}

static size_t home_of(const struct orma_map *map, uint64_t key)
{
	return (size_t)mix(key ^ map->seed) & (map->capacity - 1);
}

/* The slot that holds the key, or the empty one where it belongs; capacity is not 0. */
static size_t find_slot(const struct orma_map *map, uint64_t key)
{
	ORMA_ASSERT(map->count < map->capacity && (map->capacity & (map->capacity - 1)) == 0);
	size_t idx = home_of(map, key);
	while (map->slots[idx].value && map->slots[idx].key != key)
		idx = (idx + 1) & (map->capacity - 1);
	return idx;
}

static int grow(struct orma_map *map)
{
	struct orma_map bigger = {.count = map->count, .seed = map->seed};
	if (__builtin_mul_overflow(map->capacity, 2, &bigger.capacity))
		return -ENOMEM;
	bigger.capacity = ORMA_MAX(bigger.capacity, (size_t)FIRST_SLOTS);
	bigger.slots = orma_base_alloc_array(bigger.capacity, sizeof(*bigger.slots));
	if (!bigger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < map->capacity; i++)
		if (map->slots[i].value)
			bigger.slots[find_slot(&bigger, map->slots[i].key)] = map->slots[i];
	orma_base_free(map->slots);
	*map = bigger;
	return 0;
}

void orma_base_map_done(struct orma_map *map)
{
	orma_base_free(map->slots);
	*map = (struct orma_map){.seed = map->seed};
}

void *orma_base_map_get(const struct orma_map *map, uint64_t key)
{
	return map->capacity > 0 ? map->slots[find_slot(map, key)].value : NULL;
}

int orma_base_map_put(struct orma_map *map, uint64_t key, void *value)
{
	if (!value)
		return -EINVAL;
	if (map->capacity > 0) {
		size_t idx = find_slot(map, key);
		if (map->slots[idx].value) {
			map->slots[idx].value = value;
			return 0;
		}
	}
	if (map->count + 1 > map->capacity / 4 * 3) {
		int r = grow(map);
		if (r < 0)
			return r;
	}
	map->slots[find_slot(map, key)] = (struct orma_map_slot){key, value};
	map->count++;
	ORMA_ASSERT(map->count <= map->capacity / 4 * 3);
	return 0;
}

void *orma_base_map_remove(struct orma_map *map, uint64_t key)
{
	if (map->capacity == 0)
		return NULL;
	size_t mask = map->capacity - 1;
	size_t hole = find_slot(map, key);
	void *value = map->slots[hole].value;
	if (!value)
		return NULL;
	for (size_t i = (hole + 1) & mask; map->slots[i].value; i = (i + 1) & mask) {
		/* An entry may move back into the hole unless its home is behind the hole. */
		size_t home = home_of(map, map->slots[i].key);
		if (((i - home) & mask) < ((i - hole) & mask))
			continue;
		map->slots[hole] = map->slots[i];
		hole = i;
	}
	ORMA_ASSERT(map->count > 0);
	map->slots[hole] = (struct orma_map_slot){0};
	map->count--;
	return value;
}

struct orma_map_slot *orma_base_map_next(const struct orma_map *map, size_t *position)
{
	ORMA_ASSERT(*position <= map->capacity);
	while (*position < map->capacity) {
		struct orma_map_slot *slot = &map->slots[(*position)++];
		if (slot->value)
			return slot;
	}
	return NULL;
}

uint64_t orma_base_fnv1a(uint64_t hash, const void *data, size_t size)
{
	const uint8_t *bytes = data;
	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * UINT64_C(0x100000001b3);
	return hash;
}

uint64_t orma_base_hash_words(const uint64_t *words, size_t count)
{
	uint64_t hash = ORMA_FNV1A_INIT ^ count;
	for (size_t i = 0; i < count; i++) {
		hash = (hash ^ words[i]) * UINT64_C(0xff51afd7ed558ccd);
		hash = (hash ^ hash >> 32) * UINT64_C(0xc4ceb9fe1a85ec53);
		hash ^= hash >> 29;
	}
	return hash;
}
