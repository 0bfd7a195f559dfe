/* SPDX-License-Identifier: Apache-2.0
 * extents.h - memory that is written once and read at random, and that may lie in a file when it is much.
 */
#ifndef ORMA_STORE_EXTENTS_H
#define ORMA_STORE_EXTENTS_H

#include <stddef.h>
#include <stdint.h>

#include "store/memory_budget.h"

struct orma_extent;

/* {.fd = -1, .budget = ...} is empty; without a budget it stays in memory. */
struct orma_extents {
	struct orma_extent *items;
	size_t count, capacity;
	size_t used;                       /* bytes in use in the last extent */
	size_t spilled;                    /* extents at the start that lie in the file */
	size_t memory_bytes;               /* size of the extents that lie in memory */
	struct orma_memory_budget *budget; /* beyond it the oldest extents go to the file */
	uint64_t file_bytes;
	int fd; /* unlinked; -1 = none */
};

void orma_store_extents_done(struct orma_extents *extents);
/*
 * Copies `size` bytes to a place that stays valid, and cannot be changed later. 0 or -ENOMEM, and when older memory
 * has to make room the errors of writing a file: -ENOSPC, -EACCES and others.
 */
int orma_store_extents_add(struct orma_extents *extents, const void *data, size_t size,
			   const void **ret);

#endif
