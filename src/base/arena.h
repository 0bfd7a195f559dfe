/* SPDX-License-Identifier: Apache-2.0
 * arena.h - memory for objects that are freed together: a parsed config, a decoded message.
 */
#ifndef ORMA_BASE_ARENA_H
#define ORMA_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

#include "base/str.h"

struct orma_arena_block;

/* {0} is an empty arena. */
struct orma_arena {
	struct orma_arena_block *blocks; /* newest first */
	size_t used_bytes;               /* the sum of all allocations */
	size_t limit_bytes;              /* allocations beyond it fail; 0 = no limit */
	/* An allocation has failed since the arena was empty. For readers that go on without what was to be copied, and say so
	 * at the end. */
	bool has_failed;
};

void orma_base_arena_done(struct orma_arena *arena);
/* Returns zeroed memory, aligned for any type, or NULL when out of memory or over the limit. */
void *orma_base_arena_alloc(struct orma_arena *arena, size_t size);
void *orma_base_arena_memdup(struct orma_arena *arena, const void *data, size_t size);
char *orma_base_arena_strdup(struct orma_arena *arena, struct orma_str text); /* NUL-terminated */
/* Enlarges `old` in place if it was the last allocation, otherwise copies it. The new bytes are
 * zero. */
void *orma_base_arena_grow(struct orma_arena *arena, void *old, size_t old_size, size_t new_size);
/* Frees all allocations, but keeps one block for reuse. */
void orma_base_arena_clear(struct orma_arena *arena);

#endif
