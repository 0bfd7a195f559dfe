/* SPDX-License-Identifier: Apache-2.0
 * next_allocator.h - the allocator that the program would use without the profiler: libc's, jemalloc, tcmalloc and others.
 */
#ifndef ORMA_HEAP_NEXT_ALLOCATOR_H
#define ORMA_HEAP_NEXT_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* The functions can be called at any time. The first call finds them. */
struct orma_heap_next {
	void *(*malloc)(size_t size);
	void (*free)(void *block);
	void *(*calloc)(size_t count, size_t size);
	void *(*realloc)(void *block, size_t size);
	int (*posix_memalign)(void **ret, size_t alignment, size_t size);
	void *(*aligned_alloc)(size_t alignment, size_t size);
	void *(*memalign)(size_t alignment, size_t size);
	void *(*valloc)(size_t size);
};

extern struct orma_heap_next orma_heap_next __attribute__((visibility("hidden")));

/* Finds the functions, if that has not been done yet. */
void orma_heap_next_find(void);
/* True if the block was allocated before the functions were found. It must not be passed to them. */
bool orma_heap_is_early(const void *block);
/* Returns a block of the next allocator with the content of an early one. */
void *orma_heap_early_realloc(void *block, size_t size);

#endif
