/* SPDX-License-Identifier: Apache-2.0
 * view.h - the service's side of the shared memory: takes complete chunks, and scrapes those that
 * are being written.
 *
 * The memory belongs to a producer that may write anything into it at any time. Addresses are
 * computed from the service's own page count and from words that are read once. A page that breaks
 * the rules causes an error and nothing else. No function here loops on a shared word.
 *
 * Threads: any; the service uses one.
 */
#ifndef ORMA_SHM_VIEW_H
#define ORMA_SHM_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "shm/abi.h"

struct orma_shm_view {
	uint8_t *start; /* borrowed for the view's life, at least 8-byte aligned */
	size_t size_bytes;
	uint32_t page_bytes, page_count;
};

/* A chunk as it was when the word of its page was read. Its bytes and the copy of its header are
 * untrusted. */
struct orma_shm_chunk {
	uint32_t page_idx, chunk_idx;
	enum orma_shm_state state;
	const uint8_t *payload; /* after the chunk's header */
	uint32_t payload_bytes;
	uint32_t chunk_id;
	uint16_t writer_id;      /* 0 until the producer has written the header */
	uint16_t fragment_count; /* the last one is not finished if the state is BeingWritten */
	uint8_t flags;           /* ORMA_SHM_CONTINUES_... */
};

/* 0, or -EINVAL if the sizes are not valid (orma_shm_sizes_are_valid()) or start is not aligned. */
int orma_shm_view_init(struct orma_shm_view *view, void *start, size_t size_bytes,
		       uint32_t page_bytes);

/*
 * Complete -> BeingRead. Returns 0, or -EPROTO if there is no such page or chunk, or it is not
 * complete; the page is then unchanged. An honest producer does not change the bytes until
 * orma_shm_view_end_read().
 */
int orma_shm_view_begin_read(const struct orma_shm_view *view, uint32_t page_idx_untrusted,
			     uint32_t chunk_idx_untrusted, struct orma_shm_chunk *ret);
/* BeingRead -> Free. Returns 0, or -EPROTO if the producer has changed the state or the layout
 * meanwhile; then nothing is written. */
int orma_shm_view_end_read(const struct orma_shm_view *view, const struct orma_shm_chunk *chunk);

/* {0} starts at the first page. */
struct orma_shm_view_position {
	uint32_t page_idx, chunk_idx;
	uint32_t word; /* the page's word, read once when chunk_idx was 0 */
};

/*
 * Finds the next chunk that is Complete or BeingWritten, for scraping. Writes nothing to the page.
 * False at the end. A later orma_shm_view_begin_read() may return the same chunk with more in it.
 */
bool orma_shm_view_next(const struct orma_shm_view *view, struct orma_shm_view_position *position,
			struct orma_shm_chunk *ret);
/* The same within one page, position->page_idx, which must exist. Reads no other page. Returns
 * false when the page has no more chunks; the position is then the beginning of the next page. */
bool orma_shm_view_next_in_page(const struct orma_shm_view *view,
				struct orma_shm_view_position *position,
				struct orma_shm_chunk *ret);

/*
 * Copies the first `size` bytes (<= payload_bytes) of a chunk that may be written to at the same
 * time. Fragments that were finished when the chunk's header was read are copied as they were then.
 * Bytes after those may be torn.
 */
void orma_shm_chunk_copy(const struct orma_shm_chunk *chunk, uint8_t *to, uint32_t size);

#endif
