/* SPDX-License-Identifier: Apache-2.0
 * abi.h - the bytes that a producer and the service share: pages, chunks, fragments, and the word that
 * says who owns each chunk. Other programs depend on this layout: nothing here may change.
 *
 * Picture:   memory = page_count pages of one size (4, 8, 16 or 32 KiB)
 *
 *   page      [word u32|reserved u32][chunk 0][chunk 1]...[chunk n-1][up to 3 * n bytes unused]
 *   word       31    30..28   27..26           3..2     1..0
 *              0     layout   state of 13 ...  of 1     of 0
 *   chunk     [chunk_id u32|writer_id u16|packets u16][fragment][fragment]...[unused]
 *   packets    15..10 flags, 9..0 number of fragments
 *   fragment  [size: varint of 1 to 4 bytes][size bytes of a TracePacket]
 *
 * Vocabulary: a *page* is cut into n equal *chunks* by its *layout*. A chunk belongs to one *writer* at a
 * time. The *chunk_id* numbers a writer's chunks, and wraps. A packet is one *fragment*, or several if it
 * does not fit into the chunk: then the last fragment of the chunk continues in the first fragment of the
 * writer's next chunk.
 *
 * States of a chunk, and the move that each side makes (P producer, S service):
 *
 *        Free 0 --P: compare-exchange--> BeingWritten 1 --P: or 2--> Complete 3
 *          ^                                                             |
 *          +-----------S: and ~3----------- BeingRead 2 <--S: and ~1-----+
 *
 * Where the producer's memory is not shared at all (emulation), P also moves Complete -> Free.
 *
 * A page whose word is 0 has no layout. The thread that takes its first chunk sets one. The thread that
 * frees its last chunk clears the whole word, so that the page can be cut anew.
 *
 * Why it is safe: only the owner of a state leaves it. Every move except the first therefore has one
 * possible actor, and is a single atomic operation that cannot fail and does not affect the other chunks
 * of the page. Taking a free chunk has many possible actors, the threads of the producer. It is a
 * compare-exchange of the whole word, which also fails if the layout has changed meanwhile. Each move that
 * gives a chunk away is a release, and each move that takes one is an acquire; moves of other chunks in
 * between are read-modify-writes and continue the release sequence. A peer that breaks the rules harms
 * only its own memory: the other side reads each word once, checks the copy, and computes every address
 * from that copy and its own page count.
 *
 * While a chunk is being written, the service may *scrape* it: copy it without touching the page. The
 * number of fragments is therefore stored with release, after the bytes of a fragment, and always
 * includes the fragment under construction, which a scraper leaves out. If a chunk is given away without
 * such a fragment, an empty one (a zero byte) takes its place. The header of a free chunk is zero, so that
 * a scraper recognises a header that has not been written.
 */
#ifndef ORMA_SHM_ABI_H
#define ORMA_SHM_ABI_H

#include <assert.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define ORMA_SHM_PAGE_BYTES_MIN     4096u
#define ORMA_SHM_PAGE_BYTES_MAX     32768u
#define ORMA_SHM_PAGE_BYTES_DEFAULT 4096u
#define ORMA_SHM_BYTES_DEFAULT      ((size_t)256 * 1024)
#define ORMA_SHM_BYTES_MAX          ((size_t)32 * 1024 * 1024)
#define ORMA_SHM_EMULATED_BYTES     ((size_t)1024 * 1024)
#define ORMA_SHM_CHUNKS_PER_PAGE    14u
#define ORMA_SHM_WRITER_ID_MAX      32767u
#define ORMA_SHM_MEMFD_NAME         "perfetto_shmem"

enum orma_shm_layout {
	ORMA_SHM_LAYOUT_FREE = 0, /* the page is not cut */
	ORMA_SHM_LAYOUT_1 = 1,
	ORMA_SHM_LAYOUT_2 = 2,
	ORMA_SHM_LAYOUT_4 = 3,
	ORMA_SHM_LAYOUT_7 = 4,
	ORMA_SHM_LAYOUT_14 = 5,
	/*
	 * 6 and 7 are reserved: no program sees chunks in such a page. orma's producer sets 6 in
	 * the word of a free page while it clears the headers of the new chunks. Otherwise a
	 * scraper would take old payload for headers.
	 */
	ORMA_SHM_LAYOUT_BEING_CUT = 6,
};

enum orma_shm_state {
	ORMA_SHM_FREE = 0,
	ORMA_SHM_BEING_WRITTEN = 1,
	ORMA_SHM_BEING_READ = 2,
	ORMA_SHM_COMPLETE = 3,
};

#define ORMA_SHM_STATE_MASK   3u
#define ORMA_SHM_STATES_MASK  0x0fffffffu /* the states of all chunks */
#define ORMA_SHM_LAYOUT_SHIFT 28

/* Each page begins with this. The producer's threads and the service write the word; the preface
 * has the orders. */
struct orma_shm_page_header {
	_Atomic uint32_t word;
	uint32_t reserved; /* zero */
};

/*
 * Written by the chunk's owner, read by the service. The release store of `packets` pairs with the
 * acquire load of a scraper (orma_shm_view_next()). The ids are relaxed, because they are stored
 * before the first `packets`.
 */
struct orma_shm_chunk_header {
	_Atomic uint32_t chunk_id;
	_Atomic uint16_t writer_id;
	_Atomic uint16_t packets;
};

#define ORMA_SHM_FRAGMENT_COUNT_MASK 0x03ffu
#define ORMA_SHM_FLAGS_SHIFT         10

/* Flags of a chunk, in the upper bits of `packets`. */
/* The first fragment continues the last one of the previous chunk. */
#define ORMA_SHM_CONTINUES_FROM_PREVIOUS 1u
/* The last fragment continues in the next chunk. */
#define ORMA_SHM_CONTINUES_IN_NEXT 2u
/* The chunk is not readable before its patches have arrived. */
#define ORMA_SHM_NEEDS_PATCHING 4u

/* Writers stop one below the largest value of the field, like the reference implementation. */
#define ORMA_SHM_FRAGMENT_COUNT_MAX 1022u
/* A writer reserves four bytes for a fragment's size, which is a varint padded with zero groups. */
#define ORMA_SHM_FRAGMENT_SIZE_BYTES 4u
/* Replaces the size of a packet that the writer gave up. This is the last fragment of its chunk. */
#define ORMA_SHM_FRAGMENT_DROPPED 0x0fffffffu

static_assert(sizeof(struct orma_shm_page_header) == 8, "page header");
static_assert(offsetof(struct orma_shm_page_header, reserved) == 4, "page header");
static_assert(sizeof(struct orma_shm_chunk_header) == 8, "chunk header");
static_assert(offsetof(struct orma_shm_chunk_header, writer_id) == 4, "chunk header");
static_assert(offsetof(struct orma_shm_chunk_header, packets) == 6, "chunk header");
static_assert(sizeof(_Atomic uint32_t) == 4 && sizeof(_Atomic uint16_t) == 2, "plain words");
static_assert(ATOMIC_INT_LOCK_FREE == 2 && ATOMIC_SHORT_LOCK_FREE == 2, "no locks inside");
static_assert(ORMA_SHM_FREE == 0 && ORMA_SHM_LAYOUT_FREE == 0, "zeroed memory is free");
static_assert((ORMA_SHM_BEING_WRITTEN | 2) == ORMA_SHM_COMPLETE, "completing is an or");
static_assert((ORMA_SHM_COMPLETE & ~1) == ORMA_SHM_BEING_READ, "reading is an and");
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "the ABI is little-endian");

/* Number of chunks of a 3-bit layout value; 0 for a layout without chunks. */
static inline uint32_t orma_shm_layout_chunk_count(uint32_t layout)
{
	static const uint8_t counts[8] = {0, 1, 2, 4, 7, 14, 0, 0};
	return counts[layout & 7];
}

/* Bytes of one chunk, header included; 0 for a layout without chunks. */
static inline uint32_t orma_shm_layout_chunk_bytes(uint32_t layout, uint32_t page_bytes)
{
	uint32_t count = orma_shm_layout_chunk_count(layout);
	uint32_t usable = page_bytes - (uint32_t)sizeof(struct orma_shm_page_header);
	return count == 0 ? 0 : usable / count & ~3u;
}

static inline uint32_t orma_shm_word_layout(uint32_t word)
{
	return word >> ORMA_SHM_LAYOUT_SHIFT & 7;
}

/* chunk_idx < ORMA_SHM_CHUNKS_PER_PAGE */
static inline enum orma_shm_state orma_shm_word_state(uint32_t word, uint32_t chunk_idx)
{
	return (enum orma_shm_state)(word >> 2 * chunk_idx & ORMA_SHM_STATE_MASK);
}

/* Call before a chunk becomes free: a scraper takes a header without a writer for one that is not
 * yet written. */
static inline void orma_shm_chunk_clear(struct orma_shm_chunk_header *header)
{
	atomic_store_explicit(&header->chunk_id, 0, memory_order_relaxed);
	atomic_store_explicit(&header->writer_id, 0, memory_order_relaxed);
	atomic_store_explicit(&header->packets, 0, memory_order_relaxed);
}

/* The owner's move to Free. Release pairs with the acquire of the thread that takes the chunk next.
 */
static inline void orma_shm_page_free_chunk(_Atomic uint32_t *word, uint32_t chunk_idx)
{
	uint32_t mask = ORMA_SHM_STATE_MASK << 2 * chunk_idx;
	uint32_t left = atomic_fetch_and_explicit(word, ~mask, memory_order_release) & ~mask;

	/* If this fails, a chunk was taken meanwhile, and the thread that frees that one clears the
	 * word. */
	if (left != 0 && (left & ORMA_SHM_STATES_MASK) == 0)
		atomic_compare_exchange_strong_explicit(word, &left, 0, memory_order_acq_rel,
							memory_order_relaxed);
}

/* True for sizes that a service accepts: pages of 4 to 32 KiB, a power of two, and a whole number
 * of pages. */
static inline int orma_shm_sizes_are_valid(size_t size_bytes, uint32_t page_bytes)
{
	return page_bytes >= ORMA_SHM_PAGE_BYTES_MIN && page_bytes <= ORMA_SHM_PAGE_BYTES_MAX &&
	       (page_bytes & (page_bytes - 1)) == 0 && size_bytes >= page_bytes &&
	       size_bytes <= ORMA_SHM_BYTES_MAX && size_bytes % page_bytes == 0;
}

#endif
