/* SPDX-License-Identifier: Apache-2.0
 * heap_floor.c - what every preloaded profiler costs, for bench_heap_programs: hooks that only jump to the next allocator
 * (bench_heap_jumps.so), a thread that only sleeps (bench_heap_thread.so), or both (bench_heap_floor.so).
 *
 * The thread counts because glibc's allocator and streams take no locks while a program has one thread.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define EXPORT __attribute__((visibility("default")))

#ifdef BENCH_HAS_JUMPS
/* Calls from inside of dlsym() get memory from here, which is never freed. */
static _Alignas(16) uint8_t early[4096];
static size_t early_used;

static void *early_malloc(size_t size)
{
	void *block = &early[early_used];

	early_used += (size + 15) & ~(size_t)15;
	return early_used <= sizeof(early) ? block : NULL;
}

static void *early_calloc(size_t count, size_t size)
{
	return early_malloc(count * size);
}

static void *(*next_malloc)(size_t) = early_malloc;
static void *(*next_calloc)(size_t, size_t) = early_calloc;
static void *(*next_realloc)(void *, size_t);
static void (*next_free)(void *);

static void find(void *function, const char *name)
{
	void *address = dlsym(RTLD_NEXT, name);

	memcpy(function, &address, sizeof(address));
}

/* Other constructors may allocate, but this library is initialised before the program. */
__attribute__((constructor)) static void find_next(void)
{
	find(&next_free, "free");
	find(&next_realloc, "realloc");
	find(&next_calloc, "calloc");
	find(&next_malloc, "malloc");
}

EXPORT void *malloc(size_t size)
{
	return next_malloc(size);
}

EXPORT void free(void *block)
{
	if ((uintptr_t)block - (uintptr_t)early >= sizeof(early) && next_free)
		next_free(block);
}

EXPORT void *calloc(size_t count, size_t size)
{
	return next_calloc(count, size);
}

EXPORT void *realloc(void *block, size_t size)
{
	return next_realloc(block, size);
}
#endif

#ifdef BENCH_HAS_THREAD
static void *sleep_for_ever(void *argument)
{
	for (;;)
		pause();
	return argument;
}

__attribute__((constructor)) static void start_thread(void)
{
	pthread_t thread;

	(void)pthread_create(&thread, NULL, sleep_for_ever, NULL);
}
#endif
