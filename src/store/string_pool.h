/* SPDX-License-Identifier: Apache-2.0
 * string_pool.h - each string once, under a small number.
 */
#ifndef ORMA_STORE_STRING_POOL_H
#define ORMA_STORE_STRING_POOL_H

#include <stdint.h>

#include "base/str.h"
#include "store/extents.h"

struct orma_string_slot;

/* {.text = {.fd = -1}} is empty. `seed` is set while it is: a secret number when strangers choose the strings. Ids are 1 and up, in the order of first use. */
struct orma_string_pool {
	struct orma_extents text;
	const char **strings; /* by id - 1; the size is in the four bytes before the text */
	struct orma_string_slot *slots;
	uint32_t count, capacity; /* how many strings there are, and fit */
	uint32_t slot_capacity;   /* a power of two, or 0 */
	uint64_t seed;
};

void orma_store_pool_done(struct orma_string_pool *pool);
/* 0, -ENOMEM, -EOVERFLOW (2^32 strings, or one of 4 GB), or an error of the file that the text is spilled to. */
int orma_store_pool_add(struct orma_string_pool *pool, struct orma_str text, uint32_t *ret);
/* Returns 0 when no string is like this one. */
uint32_t orma_store_pool_find(const struct orma_string_pool *pool, struct orma_str text);
/* `id` is one of the pool's. The text has a NUL behind its end, and lives as long as the pool. */
struct orma_str orma_store_pool_get(const struct orma_string_pool *pool, uint32_t id);

#endif
