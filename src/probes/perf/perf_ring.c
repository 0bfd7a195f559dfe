/* SPDX-License-Identifier: Apache-2.0
 * perf_ring.c - one CPU's ring of records.
 *
 *   [page: data_head, data_tail][...free...|record|record|record|...free...]
 *                                          ^tail                ^head
 *
 * The kernel writes data_head, and reads data_tail to see what it may overwrite. This file does the opposite. Positions only
 * grow, and are taken modulo the size. Records are read in place. A record that begins at the end of the ring and continues at
 * its start is copied. There is one in each round, which does not justify the addresses for a second mapping of the ring.
 *
 * The kernel is trusted, but each size is checked, because a bug in this file must not lead to a read outside of the ring.
 */
#include "probes/perf/perf_ring.h"

#include <linux/perf_event.h>

#include "base/macros.h"
#include "probes/perf/perf_parse.h"

/* A read of many records gives room back after each such part of the ring, so that the kernel never waits for
 * the end of the read. */
#define RELEASE_PARTS 8u

void orma_perf_ring_init(struct orma_perf_ring *ring, void *memory, size_t page_size, size_t size)
{
	*ring = (struct orma_perf_ring){
		.page = memory, .data = (const uint8_t *)memory + page_size, .size = size};
	ring->tail = ring->head = ring->released = ring->page->data_tail;
}

void orma_perf_ring_done(struct orma_perf_ring *ring)
{
	orma_base_buf_done(&ring->straight);
	*ring = (struct orma_perf_ring){0};
}

void orma_perf_ring_refresh(struct orma_perf_ring *ring)
{
	/* Pairs with the kernel's barrier between its records and its store of data_head. */
	if (ring->page)
		ring->head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
}

static const void *make_straight(struct orma_perf_ring *ring, size_t offset, size_t size)
{
	size_t first = ring->size - offset;

	ring->straight.size = 0;
	if (orma_base_buf_append(&ring->straight, ring->data + offset, first) < 0 ||
	    orma_base_buf_append(&ring->straight, ring->data, size - first) < 0)
		return NULL;
	return ring->straight.data;
}

static void drop_all(struct orma_perf_ring *ring)
{
	ring->tail = ring->head;
	ring->damaged_count++;
}

const void *orma_perf_ring_peek(struct orma_perf_ring *ring, size_t *ret_size)
{
	uint64_t filled = ring->head - ring->tail;

	if (filled == 0)
		return NULL;
	/* A header never wraps, because records are aligned. */
	size_t offset = (size_t)(ring->tail & (ring->size - 1));
	size_t size = filled >= ORMA_PERF_HEADER_BYTES && filled <= ring->size &&
				      offset % ORMA_PERF_HEADER_BYTES == 0
			      ? orma_perf_ring_record_size(ring->data + offset)
			      : 0;
	if (size == 0 || size > filled) {
		drop_all(ring);
		return NULL;
	}
	const void *record = ring->data + offset;
	if (size > ring->size - offset)
		record = make_straight(ring, offset, size);
	if (!record) {
		drop_all(ring);
		return NULL;
	}
	*ret_size = size;
	return record;
}

void orma_perf_ring_advance(struct orma_perf_ring *ring, size_t size)
{
	ring->tail += size;
	if (ring->tail - ring->released >= ring->size / RELEASE_PARTS)
		orma_perf_ring_release(ring);
}

void orma_perf_ring_release(struct orma_perf_ring *ring)
{
	if (!ring->page || ring->released == ring->tail)
		return;
	/* Pairs with the kernel's load of data_tail before it overwrites records. */
	__atomic_store_n(&ring->page->data_tail, ring->tail, __ATOMIC_RELEASE);
	ring->released = ring->tail;
}
