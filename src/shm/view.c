/* SPDX-License-Identifier: Apache-2.0
 * view.c - the service's moves on the page words, Complete -> BeingRead -> Free, and scraping
 * without moves.
 *
 * Owns nothing; the producer and the service share the memory. abi.h has the picture, and says why
 * single atomic operations are enough. Invariant: every address is computed from page_count and
 * from one local copy of a page's word, whose layout and chunk index were checked against each
 * other. So every address is inside of the mapping, whatever the producer writes. The content of
 * the memory is input: it is checked, never asserted.
 *
 * Rejected: a compare-exchange per move, because a producer could make it fail as often as it
 * likes; copying whole pages before reading them, because that reads bytes that are being written,
 * and costs a second copy.
 *
 * The caller copies the bytes out of the producer's chunk once.
 */
#include "shm/view.h"

#include <errno.h>
#include <string.h>

static _Atomic uint32_t *page_word(const struct orma_shm_view *view, uint32_t page_idx)
{
	uint8_t *page = view->start + (size_t)page_idx * view->page_bytes;

	return &((struct orma_shm_page_header *)(void *)page)->word;
}

/* The header of a chunk that exists under `word`. */
static struct orma_shm_chunk_header *chunk_header(const struct orma_shm_view *view, uint32_t word,
						  uint32_t page_idx, uint32_t chunk_idx)
{
	uint32_t bytes = orma_shm_layout_chunk_bytes(orma_shm_word_layout(word), view->page_bytes);
	size_t offset = (size_t)page_idx * view->page_bytes + sizeof(struct orma_shm_page_header) +
			(size_t)chunk_idx * bytes;

	return (struct orma_shm_chunk_header *)(void *)(view->start + offset);
}

static void snapshot(const struct orma_shm_view *view, uint32_t word, uint32_t page_idx,
		     uint32_t chunk_idx, struct orma_shm_chunk *ret)
{
	struct orma_shm_chunk_header *header = chunk_header(view, word, page_idx, chunk_idx);
	uint32_t bytes = orma_shm_layout_chunk_bytes(orma_shm_word_layout(word), view->page_bytes);
	/* Load this first. It pairs with the release stores of the writer, so the ids are at least
	 * as new. */
	uint32_t packets = atomic_load_explicit(&header->packets, memory_order_acquire);

	*ret = (struct orma_shm_chunk){
		.page_idx = page_idx,
		.chunk_idx = chunk_idx,
		.state = orma_shm_word_state(word, chunk_idx),
		.payload = (const uint8_t *)(header + 1),
		.payload_bytes = bytes - (uint32_t)sizeof(*header),
		.chunk_id = atomic_load_explicit(&header->chunk_id, memory_order_relaxed),
		.writer_id = atomic_load_explicit(&header->writer_id, memory_order_relaxed),
		.fragment_count = (uint16_t)(packets & ORMA_SHM_FRAGMENT_COUNT_MASK),
		.flags = (uint8_t)(packets >> ORMA_SHM_FLAGS_SHIFT),
	};
}

int orma_shm_view_init(struct orma_shm_view *view, void *start, size_t size_bytes,
		       uint32_t page_bytes)
{
	if (!orma_shm_sizes_are_valid(size_bytes, page_bytes) || !start ||
	    (uintptr_t)start % 8 != 0)
		return -EINVAL;
	*view = (struct orma_shm_view){
		.start = start,
		.size_bytes = size_bytes,
		.page_bytes = page_bytes,
		.page_count = (uint32_t)(size_bytes / page_bytes),
	};
	return 0;
}

static bool has_state(uint32_t word, uint32_t chunk_idx, enum orma_shm_state state)
{
	return chunk_idx < orma_shm_layout_chunk_count(orma_shm_word_layout(word)) &&
	       orma_shm_word_state(word, chunk_idx) == state;
}

int orma_shm_view_begin_read(const struct orma_shm_view *view, uint32_t page_idx_untrusted,
			     uint32_t chunk_idx_untrusted, struct orma_shm_chunk *ret)
{
	_Atomic uint32_t *shared;
	uint32_t word;

	if (page_idx_untrusted >= view->page_count ||
	    chunk_idx_untrusted >= ORMA_SHM_CHUNKS_PER_PAGE)
		return -EPROTO;
	shared = page_word(view, page_idx_untrusted);
	word = atomic_load_explicit(shared, memory_order_relaxed);
	if (!has_state(word, chunk_idx_untrusted, ORMA_SHM_COMPLETE))
		return -EPROTO;
	/* Acquire pairs with the release of the producer's move to Complete. The word may have
	 * changed since the load, but an honest producer does not change the bits of this chunk. */
	word = atomic_fetch_and_explicit(shared, ~(1u << 2 * chunk_idx_untrusted),
					 memory_order_acquire);
	if (!has_state(word, chunk_idx_untrusted, ORMA_SHM_COMPLETE))
		return -EPROTO;
	snapshot(view, word, page_idx_untrusted, chunk_idx_untrusted, ret);
	ret->state = ORMA_SHM_BEING_READ;
	return 0;
}

int orma_shm_view_end_read(const struct orma_shm_view *view, const struct orma_shm_chunk *chunk)
{
	_Atomic uint32_t *shared = page_word(view, chunk->page_idx);
	uint32_t word = atomic_load_explicit(shared, memory_order_relaxed);
	struct orma_shm_chunk_header *header;

	if (!has_state(word, chunk->chunk_idx, ORMA_SHM_BEING_READ))
		return -EPROTO;
	header = chunk_header(view, word, chunk->page_idx, chunk->chunk_idx);
	if ((const uint8_t *)(header + 1) != chunk->payload)
		return -EPROTO; /* the layout has changed */
	orma_shm_chunk_clear(header);
	orma_shm_page_free_chunk(shared, chunk->chunk_idx);
	return 0;
}

bool orma_shm_view_next_in_page(const struct orma_shm_view *view,
				struct orma_shm_view_position *position, struct orma_shm_chunk *ret)
{
	if (position->chunk_idx == 0)
		/* Acquire, so that all bytes of a Complete chunk are visible. */
		position->word = atomic_load_explicit(page_word(view, position->page_idx),
						      memory_order_acquire);
	while (position->chunk_idx < ORMA_SHM_CHUNKS_PER_PAGE) {
		uint32_t chunk_idx = position->chunk_idx++;

		if (!has_state(position->word, chunk_idx, ORMA_SHM_COMPLETE) &&
		    !has_state(position->word, chunk_idx, ORMA_SHM_BEING_WRITTEN))
			continue;
		snapshot(view, position->word, position->page_idx, chunk_idx, ret);
		return true;
	}
	position->page_idx++;
	position->chunk_idx = 0;
	return false;
}

bool orma_shm_view_next(const struct orma_shm_view *view, struct orma_shm_view_position *position,
			struct orma_shm_chunk *ret)
{
	while (position->page_idx < view->page_count)
		if (orma_shm_view_next_in_page(view, position, ret))
			return true;
	return false;
}

/*
 * Copies whole words through volatile, because a writer may be storing to them: the compiler must
 * neither tear nor repeat the loads. The caller uses nothing after the last finished fragment. In
 * C11 this is a data race; the ABI is designed that way, and the attribute tells ThreadSanitizer
 * so. memcpy() would not do, because ThreadSanitizer intercepts it.
 */
__attribute__((no_sanitize("thread"))) void orma_shm_chunk_copy(const struct orma_shm_chunk *chunk,
								uint8_t *to, uint32_t size)
{
	const uint8_t *from = chunk->payload;
	uint32_t at = 0;

	for (; size - at >= 4; at += 4) {
		uint32_t word = *(const volatile uint32_t *)(const void *)(from + at);

		__builtin_memcpy(to + at, &word, 4);
	}
	for (; at < size; at++)
		to[at] = *(const volatile uint8_t *)(from + at);
}
