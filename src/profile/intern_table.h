/* SPDX-License-Identifier: Apache-2.0
 * intern_table.h - gives runs of bytes numbers.
 *
 * Threads: a table belongs to one thread.
 */
#ifndef ORMA_PROFILE_INTERN_TABLE_H
#define ORMA_PROFILE_INTERN_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"

struct orma_intern_item {
	const void *bytes; /* in the arena */
	uint32_t size;
	uint32_t hash;
};

/* {0} is an empty table; `seed` is secret if a peer chooses the bytes. */
struct orma_intern_table {
	struct orma_intern_item *items; /* [0] has the number 1 */
	uint32_t *slots;                /* numbers; 0 = empty; at most half full */
	uint32_t count, capacity, slot_count;
	uint32_t written; /* items that the reader of the trace knows */
	uint64_t seed;
};

/* One step of a hash over words. */
static inline uint64_t orma_intern_mix(uint64_t hash, uint64_t word, uint64_t factor)
{
	hash = (hash ^ word) * factor;
	return hash ^ hash >> 32;
}

void orma_intern_table_done(struct orma_intern_table *table);
/* Forgets all items, and keeps the memory. The caller clears the arena. */
void orma_intern_table_clear(struct orma_intern_table *table);
/* The number of the item whose size and whose first key_size bytes are these. If there is none, one is added. 0
 * without memory, and when the arena is full. */
uint32_t orma_intern_table_put(struct orma_intern_table *table, struct orma_arena *arena,
			       const void *bytes, size_t size, size_t key_size);

#endif
