/* SPDX-License-Identifier: Apache-2.0
 * heap_alloc.c - base/alloc.h for liborma-heap. The library's own memory comes from the next allocator and bypasses the hooks, so
 * that the profiler does not profile itself.
 */
#include <string.h>

#include "base/alloc.h"
#include "heap/next_allocator.h"

static size_t non_zero(size_t size)
{
	return size > 0 ? size : 1;
}

void *orma_base_alloc(size_t size)
{
	return orma_heap_next.malloc(non_zero(size));
}

void *orma_base_zalloc(size_t size)
{
	return orma_heap_next.calloc(1, non_zero(size));
}

void *orma_base_alloc_array(size_t count, size_t item_size)
{
	size_t size;

	return __builtin_mul_overflow(count, item_size, &size) ? NULL : orma_base_zalloc(size);
}

void *orma_base_realloc(void *old, size_t size)
{
	return orma_heap_next.realloc(old, non_zero(size));
}

void *orma_base_realloc_array(void *old, size_t count, size_t item_size)
{
	size_t size;

	return __builtin_mul_overflow(count, item_size, &size) ? NULL
							       : orma_base_realloc(old, size);
}

void *orma_base_memdup(const void *data, size_t size)
{
	void *copy = orma_base_alloc(size);

	if (copy && size > 0)
		memcpy(copy, data, size);
	return copy;
}

char *orma_base_strdup(const char *text)
{
	return orma_base_memdup(text, strlen(text) + 1);
}

void orma_base_free(void *memory)
{
	orma_heap_next.free(memory);
}

void orma_base_freep(void *pointer_to_pointer)
{
	void *memory;

	memcpy(&memory, pointer_to_pointer, sizeof(memory));
	orma_base_free(memory);
}
