/* SPDX-License-Identifier: Apache-2.0
 * alloc.c - malloc with overflow checks and one planned failure.
 *
 * Owns two process-wide words: how many allocations remain until the planned failure, and whether
 * it has happened. They are atomic, because the library allocates on application threads and on its
 * own, and a test may plan a failure while those run. The check costs one relaxed load of a word
 * that only tests write. Rejected: passing an allocator to every constructor, because no user has
 * asked for it and every signature would have to carry it; interposing malloc(), because sanitizers
 * do that already.
 */
#include "base/alloc.h"

#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* 0 = off. Written by tests and counted down by every thread; relaxed, because it guards no
 * data. */
static _Atomic uint64_t fail_countdown;
/* Written by the thread whose allocation fails, read by tests; relaxed as above. */
static atomic_bool fail_happened;

void orma_base_alloc_fail_nth(uint64_t nth)
{
	atomic_store_explicit(&fail_happened, false, memory_order_relaxed);
	atomic_store_explicit(&fail_countdown, nth, memory_order_relaxed);
}

bool orma_base_alloc_has_failed(void)
{
	return atomic_load_explicit(&fail_happened, memory_order_relaxed);
}

static bool is_planned_failure(void)
{
	uint64_t left = atomic_load_explicit(&fail_countdown, memory_order_relaxed);
	if (ORMA_LIKELY(left == 0))
		return false;
	while (!atomic_compare_exchange_weak_explicit(&fail_countdown, &left, left - 1,
						      memory_order_relaxed, memory_order_relaxed))
		if (left == 0)
			return false;
	if (left != 1)
		return false;
	atomic_store_explicit(&fail_happened, true, memory_order_relaxed);
	return true;
}

/* malloc(0) may return NULL, which a caller would take for a failure. */
static size_t non_zero(size_t size)
{
	return size > 0 ? size : 1;
}

void *orma_base_alloc(size_t size)
{
	if (is_planned_failure())
		return NULL;
	return malloc(non_zero(size));
}

void *orma_base_zalloc(size_t size)
{
	if (is_planned_failure())
		return NULL;
	return calloc(1, non_zero(size));
}

void *orma_base_alloc_array(size_t count, size_t item_size)
{
	size_t size;
	if (__builtin_mul_overflow(count, item_size, &size))
		return NULL;
	return orma_base_zalloc(size);
}

void *orma_base_realloc(void *old, size_t size)
{
	if (is_planned_failure())
		return NULL;
	return realloc(old, non_zero(size));
}

void *orma_base_realloc_array(void *old, size_t count, size_t item_size)
{
	size_t size;
	if (__builtin_mul_overflow(count, item_size, &size))
		return NULL;
	return orma_base_realloc(old, size);
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
	free(memory);
}

void orma_base_freep(void *pointer_to_pointer)
{
	void *memory;
	memcpy(&memory, pointer_to_pointer, sizeof(memory));
	orma_base_free(memory);
}
