/* SPDX-License-Identifier: Apache-2.0
 * next_allocator.c - finds the next allocator with dlsym(RTLD_NEXT), and serves calls that come before it is found.
 *
 * dlsym() itself may allocate. Such calls get memory from a small arena, which is never freed. The filter of sampled blocks is
 * marked for these blocks, so that the fast path of free() needs no other check.
 *
 * Rejected: libc's inner names, such as __libc_malloc, because musl has none, and because a program with jemalloc or tcmalloc would
 * then get blocks of libc, and ask jemalloc for their size.
 */
#include "heap/next_allocator.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "heap/live_set.h"

#define ARENA_BYTES 65536u
#define ALIGNMENT   16u

enum { NOT_FOUND = 0, SEARCHING, FOUND };

static _Alignas(ALIGNMENT) uint8_t arena[ARENA_BYTES];
static _Atomic size_t arena_used; /* relaxed, because each caller gets other bytes */
static _Atomic uint32_t state;    /* acq_rel: the thread that finds the functions publishes them */

/* --- the arena -------------------------------------------------------------------------------- */

bool orma_heap_is_early(const void *block)
{
	return (uintptr_t)block - (uintptr_t)arena < ARENA_BYTES;
}

/* The size of the block is stored before it. */
static void *early_alloc(size_t alignment, size_t size)
{
	size_t start, end, used = atomic_load_explicit(&arena_used, memory_order_relaxed);

	if (size > ARENA_BYTES || alignment > ARENA_BYTES)
		return NULL;
	alignment = alignment < ALIGNMENT ? ALIGNMENT : alignment;
	do {
		uintptr_t address = (uintptr_t)arena + used + ALIGNMENT + alignment - 1;

		start = (size_t)(address / alignment * alignment - (uintptr_t)arena);
		end = (start + size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
		if (end > ARENA_BYTES)
			return NULL;
	} while (!atomic_compare_exchange_weak_explicit(
		&arena_used, &used, end, memory_order_relaxed, memory_order_relaxed));
	memcpy(&arena[start - sizeof(size)], &size, sizeof(size));
	orma_heap_live_mark((uintptr_t)&arena[start]);
	return &arena[start];
}

void *orma_heap_early_realloc(void *block, size_t size)
{
	void *copy = orma_heap_next.malloc(size);
	size_t old;

	memcpy(&old, (uint8_t *)block - sizeof(old), sizeof(old));
	if (copy)
		memcpy(copy, block, old < size ? old : size);
	return copy;
}

/* --- the first calls -------------------------------------------------------------------------- */

/* True if the functions are known. False inside of dlsym(). */
static bool find(void)
{
	orma_heap_next_find();
	return atomic_load_explicit(&state, memory_order_acquire) == FOUND;
}

static void *first_malloc(size_t size)
{
	return find() ? orma_heap_next.malloc(size) : early_alloc(ALIGNMENT, size);
}

static void first_free(void *block)
{
	if (find())
		orma_heap_next.free(block);
}

static void *first_calloc(size_t count, size_t size)
{
	size_t bytes;

	if (find())
		return orma_heap_next.calloc(count, size);
	return __builtin_mul_overflow(count, size, &bytes) ? NULL : early_alloc(ALIGNMENT, bytes);
}

static void *first_realloc(void *block, size_t size)
{
	if (find())
		return orma_heap_next.realloc(block, size);
	return block ? NULL : early_alloc(ALIGNMENT, size);
}

static int first_posix_memalign(void **ret, size_t alignment, size_t size)
{
	if (find())
		return orma_heap_next.posix_memalign(ret, alignment, size);
	*ret = early_alloc(alignment, size);
	return *ret ? 0 : ENOMEM;
}

static void *first_aligned_alloc(size_t alignment, size_t size)
{
	return find() ? orma_heap_next.aligned_alloc(alignment, size)
		      : early_alloc(alignment, size);
}

static void *first_memalign(size_t alignment, size_t size)
{
	return find() ? orma_heap_next.memalign(alignment, size) : early_alloc(alignment, size);
}

static void *first_valloc(size_t size)
{
	return find() ? orma_heap_next.valloc(size)
		      : early_alloc((size_t)sysconf(_SC_PAGESIZE), size);
}

struct orma_heap_next orma_heap_next = {
	first_malloc,         first_free,          first_calloc,   first_realloc,
	first_posix_memalign, first_aligned_alloc, first_memalign, first_valloc,
};

/* --- finding ---------------------------------------------------------------------------------- */

/* Stands in for functions that an allocator lacks. Some releases of musl have no valloc(). */
static void *valloc_by_memalign(size_t size)
{
	return orma_heap_next.memalign((size_t)sysconf(_SC_PAGESIZE), size);
}

static void give_up(void)
{
	static const char text[] = "orma: liborma-heap cannot find the C library's malloc(): the "
				   "program is linked statically. "
				   "Link it dynamically, or without liborma-heap.\n";

	/* Without these functions the program cannot run. */
	if (write(STDERR_FILENO, text, sizeof(text) - 1) < 0)
		abort(); /* calls: allow abort, because the program has no allocator */
	abort();         /* calls: allow abort, because the program has no allocator */
}

/* POSIX guarantees that a pointer to a function fits into a pointer to data. ISO C does not. */
static void look_up(const char *name, void *ret_function)
{
	void *address = dlsym(RTLD_NEXT, name);

	if (address)
		memcpy(ret_function, &address, sizeof(address));
}

void orma_heap_next_find(void)
{
	uint32_t expected = NOT_FOUND;
	int saved_errno = errno;
	struct orma_heap_next found = {.valloc = valloc_by_memalign};

	if (!atomic_compare_exchange_strong_explicit(&state, &expected, SEARCHING,
						     memory_order_acq_rel, memory_order_acquire))
		return;
	look_up("malloc", &found.malloc);
	look_up("free", &found.free);
	look_up("calloc", &found.calloc);
	look_up("realloc", &found.realloc);
	look_up("posix_memalign", &found.posix_memalign);
	look_up("aligned_alloc", &found.aligned_alloc);
	look_up("memalign", &found.memalign);
	look_up("valloc", &found.valloc);
	if (!found.malloc || !found.free || !found.calloc || !found.realloc ||
	    !found.posix_memalign || !found.aligned_alloc || !found.memalign)
		give_up();
	orma_heap_next = found;
	atomic_store_explicit(&state, FOUND, memory_order_release);
	errno = saved_errno;
}
