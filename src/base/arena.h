/* SPDX-License-Identifier: Apache-2.0
 * arena.h - memory for things that die together: a parsed config, a decoded message.
 */
#ifndef ORMA_BASE_ARENA_H
#define ORMA_BASE_ARENA_H

#include <stddef.h>

#include "base/str.h"

struct orma_arena_block;

/* {0} is an empty arena. */
struct orma_arena {
	struct orma_arena_block *blocks; /* newest first */
	size_t used_bytes;               /* sum of what was handed out */
	size_t limit_bytes;              /* 0 = none; allocations beyond it fail */
};

void orma_base_arena_done(struct orma_arena *arena);
/* Zeroed, aligned for any type; NULL without memory or over the limit. */
void *orma_base_arena_alloc(struct orma_arena *arena, size_t size);
void *orma_base_arena_memdup(struct orma_arena *arena, const void *data, size_t size);
char *orma_base_arena_strdup(struct orma_arena *arena, struct orma_str text); /* NUL-terminated */
/* A larger copy of an array of `count` items; grows in place when it was the last allocation. */
void *orma_base_arena_grow(struct orma_arena *arena, void *old, size_t old_size, size_t new_size);
/* Forgets everything but keeps the first block for reuse. */
void orma_base_arena_clear(struct orma_arena *arena);

#endif
