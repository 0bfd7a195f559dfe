/* SPDX-License-Identifier: Apache-2.0
 * arena.c - a chain of blocks, of which the newest is filled from its front.
 *
 * Invariant: in every block used <= capacity, and both are multiples of the strictest alignment, so
 * the next allocation is aligned. Blocks double in size up to 64 KiB; a larger allocation gets a
 * block of its own size. Rejected: one region that grows with realloc(), because it moves earlier
 * allocations; reserving address space with mmap(), because each small message would then cost a
 * system call and a page.
 */
#include "base/arena.h"

#include <stdalign.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

enum { ALIGNMENT = alignof(max_align_t), FIRST_BLOCK_BYTES = 1024, LARGEST_BLOCK_BYTES = 65536 };

struct orma_arena_block {
	struct orma_arena_block *older;
	size_t used, capacity;
	alignas(max_align_t) uint8_t data[];
};

static bool round_up(size_t size, size_t *ret)
{
	if (size == 0)
		size = 1;
	if (__builtin_add_overflow(size, ALIGNMENT - 1, ret))
		return false;
	*ret &= ~(size_t)(ALIGNMENT - 1);
	return true;
}

static bool is_over_limit(const struct orma_arena *arena, size_t extra)
{
	size_t total;
	if (__builtin_add_overflow(arena->used_bytes, extra, &total))
		return true;
	return arena->limit_bytes > 0 && total > arena->limit_bytes;
}

static bool add_block(struct orma_arena *arena, size_t least)
{
	size_t capacity = FIRST_BLOCK_BYTES;
	if (arena->blocks)
		capacity = ORMA_MIN(arena->blocks->capacity * 2, (size_t)LARGEST_BLOCK_BYTES);
	capacity = ORMA_MAX(capacity, least);
	size_t size;
	if (__builtin_add_overflow(capacity, sizeof(struct orma_arena_block), &size))
		return false;
	struct orma_arena_block *block = orma_base_alloc(size);
	if (!block)
		return false;
	*block = (struct orma_arena_block){.older = arena->blocks, .capacity = capacity};
	arena->blocks = block;
	return true;
}

void *orma_base_arena_alloc(struct orma_arena *arena, size_t size)
{
	size_t rounded;
	bool fits = round_up(size, &rounded) && !is_over_limit(arena, rounded);
	if (fits && (!arena->blocks || arena->blocks->capacity - arena->blocks->used < rounded))
		fits = add_block(arena, rounded);
	if (!fits) {
		arena->has_failed = true;
		return NULL;
	}
	struct orma_arena_block *block = arena->blocks;
	void *memory = block->data + block->used;
	ORMA_ASSERT(block->used % ALIGNMENT == 0 && rounded <= block->capacity - block->used);
	block->used += rounded;
	arena->used_bytes += rounded;
	return memset(memory, 0, rounded);
}

void *orma_base_arena_memdup(struct orma_arena *arena, const void *data, size_t size)
{
	void *copy = orma_base_arena_alloc(arena, size);
	if (copy && size > 0)
		memcpy(copy, data, size);
	return copy;
}

char *orma_base_arena_strdup(struct orma_arena *arena, struct orma_str text)
{
	size_t size;
	if (__builtin_add_overflow(text.size, 1, &size))
		return NULL;
	char *copy = orma_base_arena_alloc(arena, size);
	if (copy && text.size > 0)
		memcpy(copy, text.data, text.size);
	return copy;
}

/* Extends the last allocation if its block has room. */
static bool grow_in_place(struct orma_arena *arena, const uint8_t *old, size_t old_rounded,
			  size_t new_rounded)
{
	struct orma_arena_block *block = arena->blocks;
	size_t extra = new_rounded - old_rounded;
	if (!block || old + old_rounded != block->data + block->used)
		return false;
	if (block->capacity - block->used < extra || is_over_limit(arena, extra))
		return false;
	block->used += extra;
	arena->used_bytes += extra;
	return true;
}

void *orma_base_arena_grow(struct orma_arena *arena, void *old, size_t old_size, size_t new_size)
{
	if (!old)
		return orma_base_arena_alloc(arena, new_size);
	ORMA_ASSERT(arena->blocks && arena->used_bytes >= old_size);
	if (new_size <= old_size)
		return old;
	size_t old_rounded, new_rounded;
	if (!round_up(old_size, &old_rounded) || !round_up(new_size, &new_rounded))
		return NULL;
	if (grow_in_place(arena, old, old_rounded, new_rounded)) {
		memset((uint8_t *)old + old_size, 0, new_size - old_size);
		return old;
	}
	void *copy = orma_base_arena_alloc(arena, new_size);
	if (copy)
		memcpy(copy, old, old_size);
	return copy;
}

static void free_blocks(struct orma_arena_block *block)
{
	while (block) {
		struct orma_arena_block *older = block->older;
		orma_base_free(block);
		block = older;
	}
}

void orma_base_arena_clear(struct orma_arena *arena)
{
	struct orma_arena_block *kept = arena->blocks;
	if (kept) {
		/* Keep the newest block of at most the ordinary size. An oversized block that is
		 * kept would stay for as long as the arena is in use. */
		while (kept->older && kept->capacity > LARGEST_BLOCK_BYTES) {
			struct orma_arena_block *older = kept->older;
			orma_base_free(kept);
			kept = older;
		}
		free_blocks(kept->older);
		kept->older = NULL;
		kept->used = 0;
	}
	arena->blocks = kept;
	arena->used_bytes = 0;
}

void orma_base_arena_done(struct orma_arena *arena)
{
	free_blocks(arena->blocks);
	arena->blocks = NULL;
	arena->used_bytes = 0;
	arena->has_failed = false;
}
