/* SPDX-License-Identifier: Apache-2.0
 * heap_model.c - a model of the client of Perfetto's heapprofd, for bench_heap: the steps of its hooks, without its daemon.
 *
 * An allocation takes a global lock and counts down. A free takes the global lock, the process's id (a system call with
 * glibc), a number and the lock of the ring, and copies a record of 40 bytes. Nobody reads the ring, which costs nothing
 * here: the positions simply wrap.
 */
#include <dlfcn.h>
#include <stdatomic.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#define RING_BYTES ((size_t)8 << 20)
#define EXPORT     __attribute__((visibility("default")))

static atomic_flag client_lock = ATOMIC_FLAG_INIT, ring_lock = ATOMIC_FLAG_INIT;
static uint8_t ring[RING_BYTES];
static uint64_t write_position, countdown;
static _Atomic uint64_t sequence;

static void lock(atomic_flag *flag)
{
	while (atomic_flag_test_and_set_explicit(flag, memory_order_acquire))
		;
}

static void unlock(atomic_flag *flag)
{
	atomic_flag_clear_explicit(flag, memory_order_release);
}

static void note_allocation(size_t size)
{
	lock(&client_lock);
	countdown -= size;
	unlock(&client_lock);
}

static void note_free(void *block)
{
	uint64_t record[5] = {32, 1, 0, (uintptr_t)block, 0};
	uint8_t *at;

	lock(&client_lock);
	unlock(&client_lock);
	record[4] = (uint64_t)getpid();
	record[2] = atomic_fetch_add(&sequence, 1);
	lock(&ring_lock);
	at = &ring[write_position % (RING_BYTES - 64)];
	write_position += sizeof(record);
	unlock(&ring_lock);
	memcpy(at, record, sizeof(record));
}

EXPORT void *malloc(size_t size)
{
	static void *(*next)(size_t);

	if (!next) {
		void *address = dlsym(RTLD_NEXT, "malloc");

		memcpy(&next, &address, sizeof(next));
	}
	note_allocation(size);
	return next(size);
}

EXPORT void free(void *block)
{
	static void (*next)(void *);

	if (!next) {
		void *address = dlsym(RTLD_NEXT, "free");

		memcpy(&next, &address, sizeof(next));
	}
	if (block)
		note_free(block);
	next(block);
}
