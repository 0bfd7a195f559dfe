/* SPDX-License-Identifier: Apache-2.0
 * alloc.c - malloc with overflow checks and one planned failure.
 *
 * Owns two process-wide words: how many allocations remain until the planned failure, and whether
 * it happened. They are the only atomics of base: the library allocates from application threads
 * and from its own, so a test that arms the failure while those run would race on plain words. The
 * check costs one relaxed load of a word that nobody writes outside of tests. Rejected: an
 * allocator handed down through every constructor, because no user has asked for one and each
 * signature would carry it; malloc hooks by symbol interposition, because a sanitizer build already
 * interposes there.
 */
#include "base/alloc.h"

#include <stdlib.h>
#include <string.h>

static uint64_t fail_countdown; /* 0 = off; written by tests, read by every thread; relaxed, guards
				   no data */
static bool fail_happened;      /* written by the failing thread, read by tests; relaxed as above */

void orma_base_alloc_fail_nth(uint64_t nth)
{
	__atomic_store_n(&fail_happened, false, __ATOMIC_RELAXED);
	__atomic_store_n(&fail_countdown, nth, __ATOMIC_RELAXED);
}

bool orma_base_alloc_has_failed(void)
{
	return __atomic_load_n(&fail_happened, __ATOMIC_RELAXED);
}

static bool is_planned_failure(void)
{
	uint64_t left = __atomic_load_n(&fail_countdown, __ATOMIC_RELAXED);
	if (ORMA_LIKELY(left == 0))
		return false;
	while (!__atomic_compare_exchange_n(&fail_countdown, &left, left - 1, true,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
		if (left == 0)
			return false;
	if (left != 1)
		return false;
	__atomic_store_n(&fail_happened, true, __ATOMIC_RELAXED);
	return true;
}

/* malloc(0) may return NULL, which callers could not tell from a failure. */
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
