/* SPDX-License-Identifier: Apache-2.0
 * perf_ring.h - the ring that the kernel fills with records, read in place.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_RING_H
#define ORMA_PROBES_PERF_PERF_RING_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

struct perf_event_mmap_page;

/* {0} is a ring without memory, which is always empty. */
struct orma_perf_ring {
	struct perf_event_mmap_page *page; /* shared with the kernel; the memory is the caller's */
	const uint8_t *data;
	size_t size; /* a power of two */
	uint64_t tail, head;
	uint64_t released;        /* the tail that the kernel knows */
	struct orma_buf straight; /* a copy of a record that wraps */
	uint64_t
		damaged_count; /* how often a size was invalid, and the rest of the ring was dropped */
};

/* `memory` is a page, followed by `size` bytes, a power of two. */
void orma_perf_ring_init(struct orma_perf_ring *ring, void *memory, size_t page_size, size_t size);
void orma_perf_ring_done(struct orma_perf_ring *ring);
/* Reads how far the kernel has written. */
void orma_perf_ring_refresh(struct orma_perf_ring *ring);
/* Returns the first record, or NULL. It is valid until the next call. */
const void *orma_perf_ring_peek(struct orma_perf_ring *ring, size_t *ret_size);
/* Drops the record that orma_perf_ring_peek() has returned. */
void orma_perf_ring_advance(struct orma_perf_ring *ring, size_t size);
/* Gives the room of the dropped records back to the kernel. */
void orma_perf_ring_release(struct orma_perf_ring *ring);

#endif
