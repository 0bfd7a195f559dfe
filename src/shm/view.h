/* SPDX-License-Identifier: Apache-2.0
 * view.h - the service's side of the shared memory: taking complete chunks, and scraping those in
 * progress.
 *
 * The memory belongs to a producer that may write anything into it at any time. Addresses come from
 * the service's own page count and from words that were read once; a page that breaks the rules
 * yields an error and nothing else. No function here loops on a shared word.
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

/* A chunk as it was when one word of its page was read. Its bytes and the header's copy are
 * untrusted. */
struct orma_shm_chunk {
	uint32_t page_idx, chunk_idx;
	enum orma_shm_state state;
	const uint8_t *payload; /* behind the chunk's header */
	uint32_t payload_bytes;
	uint32_t chunk_id;
	uint16_t writer_id;      /* 0 while the producer is just taking the chunk */
	uint16_t fragment_count; /* the last one is unfinished while state is BeingWritten */
	uint8_t flags;           /* ORMA_SHM_CONTINUES_... */
};

/* 0 or -EINVAL (see orma_shm_sizes_are_valid(); misaligned). */
int orma_shm_view_init(struct orma_shm_view *view, void *start, size_t size_bytes,
		       uint32_t page_bytes);

/*
 * Complete -> BeingRead. 0, or -EPROTO: no such page or chunk, or it is not complete; the page is
 * then as before. The bytes are quiet (unless the producer cheats) until orma_shm_view_end_read().
 */
int orma_shm_view_begin_read(const struct orma_shm_view *view, uint32_t page_idx_untrusted,
			     uint32_t chunk_idx_untrusted, struct orma_shm_chunk *ret);
/* BeingRead -> Free. 0, or -EPROTO: the producer has taken the chunk away meanwhile; nothing is
 * touched. */
int orma_shm_view_end_read(const struct orma_shm_view *view, const struct orma_shm_chunk *chunk);

/* {0} starts at the first page. */
struct orma_shm_view_position {
	uint32_t page_idx, chunk_idx;
	uint32_t word; /* of page_idx, read once when chunk_idx was 0 */
};

/*
 * The next chunk that is Complete or BeingWritten, leaving the page untouched: for scraping. False
 * at the end. A later call of begin_read may yield the same chunk again, with more in it.
 */
bool orma_shm_view_next(const struct orma_shm_view *view, struct orma_shm_view_position *position,
			struct orma_shm_chunk *ret);
/* The same within position->page_idx, which exists. False when the page has no more: the position is
 * then at the beginning of the next page. Other pages are not read. */
bool orma_shm_view_next_in_page(const struct orma_shm_view *view,
				struct orma_shm_view_position *position,
				struct orma_shm_chunk *ret);

/*
 * Copies the first `size` bytes (<= payload_bytes) of a chunk that may be written to at the same
 * time. What was finished when the chunk's header was read is copied as it was then; anything
 * behind that may be torn.
 */
void orma_shm_chunk_copy(const struct orma_shm_chunk *chunk, uint8_t *to, uint32_t size);

#endif
