/* SPDX-License-Identifier: Apache-2.0
 * map.h - open-addressed hash table from a 64-bit key to a pointer; and FNV-1a.
 */
#ifndef ORMA_BASE_MAP_H
#define ORMA_BASE_MAP_H

#include <stddef.h>
#include <stdint.h>

struct orma_map_slot {
	uint64_t key;
	void *value; /* NULL = an empty slot */
};

/*
 * {0} is an empty map. Linear probing, at most 3/4 full, backward-shift deletion (no tombstones).
 * If a peer chooses the keys, set a secret seed while the map is empty; then the peer cannot choose
 * keys that collide.
 */
struct orma_map {
	struct orma_map_slot *slots;
	size_t count, capacity; /* capacity is 0 or a power of two */
	uint64_t seed;
};

void orma_base_map_done(struct orma_map *map);
void *orma_base_map_get(const struct orma_map *map, uint64_t key); /* NULL = absent */
/* Adds or replaces; value is not NULL. 0 or -ENOMEM. */
int orma_base_map_put(struct orma_map *map, uint64_t key, void *value);
void *orma_base_map_remove(struct orma_map *map, uint64_t key); /* the old value or NULL */
/* Iterates in no particular order. *position starts at 0; NULL is the end. The map must not change
 * meanwhile. */
struct orma_map_slot *orma_base_map_next(const struct orma_map *map, size_t *position);

#define ORMA_FNV1A_INIT UINT64_C(0xcbf29ce484222325)
uint64_t orma_base_fnv1a(uint64_t hash, const void *data, size_t size);
/* A hash of words, for keys: five times faster than FNV-1a over their bytes. */
uint64_t orma_base_hash_words(const uint64_t *words, size_t count);

#endif
