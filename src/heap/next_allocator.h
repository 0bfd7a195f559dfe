/* SPDX-License-Identifier: Apache-2.0
 * next_allocator.h - the allocator that the program would use without us: libc's, jemalloc, tcmalloc, ...
 */
#ifndef ORMA_HEAP_NEXT_ALLOCATOR_H
#define ORMA_HEAP_NEXT_ALLOCATOR_H

#include <stdbool.h>
#include <stddef.h>

/* All are callable at any time; the first call finds the functions. */
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
/* True: the block is from the time before the functions were found. It must not be given to them. */
bool orma_heap_is_early(const void *block);
/* A block that replaces an early one, with its content. */
void *orma_heap_early_realloc(void *block, size_t size);

#endif
