/* SPDX-License-Identifier: Apache-2.0
 * heap_live.h - the sampled blocks of a process that are not freed, by their serial numbers.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_LIVE_H
#define ORMA_PROBES_HEAP_LIVE_H

#include <stddef.h>
#include <stdint.h>

struct orma_heap_live_block {
	uint64_t serial; /* from 1; 0 = an empty slot */
	uint64_t address;
	uint64_t bytes; /* the weight of the sample */
	uint32_t site;
	uint32_t epoch; /* when a free began to wait for its sample; 0 = a block that lives */
};

/* {.seed = ...} is empty. */
struct orma_heap_live {
	struct orma_heap_live_block *slots;
	size_t count, capacity; /* capacity is 0 or a power of two */
	size_t waiting_count;   /* frees that wait; they are in the count, too */
	uint64_t seed;
};

void orma_heap_live_done(struct orma_heap_live *live);
/* Adds an allocation. 1 = the block is live; 0 = its free came before it; -EEXIST (the number is taken), -ENOBUFS (full), -ENOMEM. */
int orma_heap_live_add(struct orma_heap_live *live, const struct orma_heap_live_block *block);
/* Takes a free. 1 = the block was live, and is removed; 0 = the free waits for its sample; -EEXIST (one waits already), -ENOBUFS,
 * -ENOMEM. */
int orma_heap_live_remove(struct orma_heap_live *live, uint64_t serial, uint32_t epoch,
			  struct orma_heap_live_block *ret);
/* Returns the next live block from *position on, or NULL. The table must not change between the calls. */
const struct orma_heap_live_block *orma_heap_live_next(const struct orma_heap_live *live,
						       size_t *position);
/* Forgets the frees that have waited since before `epoch`, and returns how many there were. */
size_t orma_heap_live_expire(struct orma_heap_live *live, uint32_t epoch);

#endif
