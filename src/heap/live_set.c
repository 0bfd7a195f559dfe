/* SPDX-License-Identifier: Apache-2.0
 * live_set.c - a hash table of sampled blocks without locks, the filter in front of it, and the queue of deferred frees.
 *
 *   free(p): pages[page(p)] == 0   -> not sampled: nothing else is read
 *            filter[index(p)] == 0 -> not sampled
 *            otherwise             -> look into each table
 *
 * A table consists of places of 16 bytes. A block lies in one of the 16 places that begin at its hash. So a search looks at 16
 * places, and removing a block needs no tombstone. If the 16 places of a new block are taken in all tables, a table of four times
 * the size is added. Blocks never move, so a search cannot miss one.
 *
 *   place:  EMPTY --reserve (CAS)--> RESERVED --publish (value, then release id)--> id --take (CAS)--> RESERVED --> EMPTY
 *
 * An id is in the set at most once per heap, because it is published before malloc() returns it and taken before free() passes it
 * on. If two threads free a block at the same time, the program has a bug, and the CAS lets one of them win.
 *
 * The counts of pages take 8 KiB, which stay in the cache. They suffice for nearly all frees while there are hundreds of live
 * samples, as in a program that is sampled every 512 KiB. The filter is large enough for a hundred thousand blocks. A program
 * touches one byte of it for each 64 bytes of its heap. The child of a fork clears only the parts of the filter that its parent has
 * written.
 *
 * Rejected: the filter alone, because a free in a heap of 50 MB misses the cache, and a compiler took 0.7 % longer; a filter whose
 * size depends on the interval, because each free would need two more loads; probing until an empty place, because that needs
 * tombstones, and rebuilding that stops all threads; one table that moves when it grows, because readers would need hazard pointers
 * or epochs; tags in the blocks, because the allocator is not ours.
 */
#include "heap/live_set.h"

#include <sys/mman.h>

#define WINDOW           16u
#define TABLES_MAX       5u
#define FIRST_TABLE_BITS 12u /* 4,096 places; each further table is four times as large */

#define FILTER_PART 4096u
#define PARTS       ((size_t)ORMA_HEAP_FILTER_COUNT / FILTER_PART)

#define DEFERRED_MAX 4096u

enum { EMPTY = 0, RESERVED = 1 }; /* no ids, because orma_heap_live_reserve() refuses them */

struct orma_heap_place {
	/* The id, EMPTY or RESERVED. Acquire and release, because it publishes `value`. */
	_Atomic uint64_t id;
	_Atomic uint64_t
		value; /* serial << 24 | heap << 8 | instances; written while reserved, relaxed */
};

_Atomic uint16_t orma_heap_pages[ORMA_HEAP_PAGE_COUNT];
_Atomic uint8_t orma_heap_filter[ORMA_HEAP_FILTER_COUNT];
/* The parts of the filter that were written. Relaxed. Set before the part is written. */
static _Atomic bool is_written[PARTS];

/* Published once with release, and read with acquire. */
static struct orma_heap_place *_Atomic tables[TABLES_MAX];
static _Atomic uint32_t live_count; /* relaxed, because the limit need not be exact */

/* The queue of deferred frees. Writers take a place with `deferred_head`, and one reader empties it. 0 = empty. */
static _Atomic uint64_t deferred[DEFERRED_MAX];
static _Atomic uint32_t deferred_head;
static uint32_t deferred_tail;

static uint64_t hash_of(uint64_t id)
{
	return (id >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

static uint64_t pack(const struct orma_heap_block *block)
{
	return block->serial << 24 | (uint64_t)block->heap << 8 | block->instances;
}

static struct orma_heap_block unpack(uint64_t value)
{
	return (struct orma_heap_block){value >> 24, (uint8_t)(value >> 8), (uint8_t)value};
}

static void *map(size_t bytes)
{
	void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
			    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	return memory == MAP_FAILED ? NULL : memory;
}

/* --- the filter ------------------------------------------------------------------------------- */

static _Atomic uint8_t *filter_to_write(uint64_t id)
{
	size_t index = orma_heap_filter_index(id);

	atomic_store_explicit(&is_written[index / FILTER_PART], true, memory_order_relaxed);
	return &orma_heap_filter[index];
}

void orma_heap_live_mark(uint64_t id)
{
	atomic_store_explicit(filter_to_write(id), UINT8_MAX, memory_order_relaxed);
	atomic_store_explicit(&orma_heap_pages[orma_heap_page_index(id)], UINT16_MAX,
			      memory_order_relaxed);
}

static void filter_change(uint64_t id, int change)
{
	_Atomic uint8_t *place = filter_to_write(id);
	uint8_t count = atomic_load_explicit(place, memory_order_relaxed);

	while (count != UINT8_MAX &&
	       !atomic_compare_exchange_weak_explicit(place, &count, (uint8_t)(count + change),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

static void page_change(uint64_t id, int change)
{
	_Atomic uint16_t *place = &orma_heap_pages[orma_heap_page_index(id)];
	uint16_t count = atomic_load_explicit(place, memory_order_relaxed);

	while (count != UINT16_MAX &&
	       !atomic_compare_exchange_weak_explicit(place, &count, (uint16_t)(count + change),
						      memory_order_relaxed, memory_order_relaxed))
		;
}

/* --- the tables ------------------------------------------------------------------------------- */

static size_t table_mask(size_t table)
{
	return ((size_t)1 << (FIRST_TABLE_BITS + 2 * table)) - 1;
}

/* Returns a table, which is made if it is new; NULL without memory. Any thread. */
static struct orma_heap_place *add_table(size_t table)
{
	size_t bytes = (table_mask(table) + 1) * sizeof(struct orma_heap_place);
	struct orma_heap_place *places = map(bytes), *other = NULL;

	if (!places)
		return NULL;
	if (atomic_compare_exchange_strong_explicit(&tables[table], &other, places,
						    memory_order_acq_rel, memory_order_acquire))
		return places;
	munmap(places, bytes);
	return other;
}

static struct orma_heap_place *reserve_in(struct orma_heap_place *places, size_t table, uint64_t id)
{
	size_t mask = table_mask(table), first = (size_t)(hash_of(id) >> 20);

	for (size_t i = 0; i < WINDOW; i++) {
		struct orma_heap_place *place = &places[(first + i) & mask];
		uint64_t empty = EMPTY;

		if (atomic_load_explicit(&place->id, memory_order_relaxed) == EMPTY &&
		    atomic_compare_exchange_strong_explicit(&place->id, &empty, RESERVED,
							    memory_order_acquire,
							    memory_order_relaxed))
			return place;
	}
	return NULL;
}

struct orma_heap_place *orma_heap_live_reserve(uint64_t id)
{
	struct orma_heap_place *place = NULL;

	if (id <= RESERVED ||
	    atomic_load_explicit(&live_count, memory_order_relaxed) >= ORMA_HEAP_LIVE_BLOCKS_MAX)
		return NULL;
	for (size_t i = 0; i < TABLES_MAX && !place; i++) {
		struct orma_heap_place *places =
			atomic_load_explicit(&tables[i], memory_order_acquire);

		if (!places)
			places = add_table(i);
		if (!places)
			return NULL;
		place = reserve_in(places, i, id);
	}
	if (place)
		atomic_fetch_add_explicit(&live_count, 1, memory_order_relaxed);
	return place;
}

void orma_heap_live_publish(struct orma_heap_place *place, uint64_t id,
			    const struct orma_heap_block *block)
{
	atomic_store_explicit(&place->value, pack(block), memory_order_relaxed);
	filter_change(id, 1);
	page_change(id, 1);
	atomic_store_explicit(&place->id, id, memory_order_release);
}

static void empty_place(struct orma_heap_place *place)
{
	atomic_store_explicit(&place->id, EMPTY, memory_order_release);
	atomic_fetch_sub_explicit(&live_count, 1, memory_order_relaxed);
}

void orma_heap_live_give_up(struct orma_heap_place *place)
{
	empty_place(place);
}

static bool take_from(struct orma_heap_place *places, size_t table, uint64_t id, uint8_t heap,
		      struct orma_heap_block *ret)
{
	size_t mask = table_mask(table), first = (size_t)(hash_of(id) >> 20);

	for (size_t i = 0; i < WINDOW; i++) {
		struct orma_heap_place *place = &places[(first + i) & mask];
		uint64_t expected = id;

		if (atomic_load_explicit(&place->id, memory_order_acquire) != id)
			continue;
		*ret = unpack(atomic_load_explicit(&place->value, memory_order_relaxed));
		if (ret->heap != heap || !atomic_compare_exchange_strong_explicit(
						 &place->id, &expected, RESERVED,
						 memory_order_acquire, memory_order_relaxed))
			continue;
		empty_place(place);
		filter_change(id, -1);
		page_change(id, -1);
		return true;
	}
	return false;
}

bool orma_heap_live_take(uint64_t id, uint8_t heap, struct orma_heap_block *ret)
{
	if (id <= RESERVED)
		return false;
	for (size_t i = 0; i < TABLES_MAX; i++) {
		struct orma_heap_place *places =
			atomic_load_explicit(&tables[i], memory_order_acquire);

		if (!places)
			return false;
		if (take_from(places, i, id, heap, ret))
			return true;
	}
	return false;
}

/* Clears the filter but for the marks of orma_heap_live_mark(). */
static void clear_part(_Atomic uint8_t *counts)
{
	for (size_t i = 0; i < FILTER_PART; i++) {
		uint8_t count = atomic_load_explicit(&counts[i], memory_order_relaxed);

		if (count != 0 && count != UINT8_MAX)
			atomic_store_explicit(&counts[i], 0, memory_order_relaxed);
	}
}

void orma_heap_live_forget(void)
{
	for (size_t i = 0; i < TABLES_MAX; i++) {
		struct orma_heap_place *places =
			atomic_exchange_explicit(&tables[i], NULL, memory_order_relaxed);

		if (places)
			munmap(places, (table_mask(i) + 1) * sizeof(*places));
	}
	for (size_t i = 0; i < PARTS; i++)
		if (atomic_load_explicit(&is_written[i], memory_order_relaxed))
			clear_part(&orma_heap_filter[i * FILTER_PART]);
	for (size_t i = 0; i < ORMA_HEAP_PAGE_COUNT; i++)
		if (atomic_load_explicit(&orma_heap_pages[i], memory_order_relaxed) != UINT16_MAX)
			atomic_store_explicit(&orma_heap_pages[i], 0, memory_order_relaxed);
	for (size_t i = 0; i < DEFERRED_MAX; i++)
		atomic_store_explicit(&deferred[i], 0, memory_order_relaxed);
	atomic_store_explicit(&deferred_head, 0, memory_order_relaxed);
	deferred_tail = 0;
	atomic_store_explicit(&live_count, 0, memory_order_relaxed);
}

/* --- deferred frees ------------------------------------------------------------------------------- */

bool orma_heap_deferred_push(const struct orma_heap_block *block)
{
	uint32_t head = atomic_load_explicit(&deferred_head, memory_order_relaxed);

	do {
		/* The queue is full, because the reader has not emptied this place since the last round. */
		if (atomic_load_explicit(&deferred[head % DEFERRED_MAX], memory_order_relaxed) != 0)
			return false;
	} while (!atomic_compare_exchange_weak_explicit(
		&deferred_head, &head, head + 1, memory_order_relaxed, memory_order_relaxed));
	atomic_store_explicit(&deferred[head % DEFERRED_MAX], pack(block), memory_order_release);
	return true;
}

bool orma_heap_deferred_pop(struct orma_heap_block *ret)
{
	uint64_t value = atomic_exchange_explicit(&deferred[deferred_tail % DEFERRED_MAX], 0,
						  memory_order_acquire);

	if (value == 0)
		return false;
	deferred_tail++;
	*ret = unpack(value);
	return true;
}
