/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_layout.h - the records of the ring, the sequences, and the buffer that has both.
 * Shared by the files trace_buffer*.c; trace_buffer.c describes the whole.
 */
#ifndef ORMA_BUFFER_TRACE_BUFFER_LAYOUT_H
#define ORMA_BUFFER_TRACE_BUFFER_LAYOUT_H

#include "base/assert.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"

/* The flags of a record. The lowest three are those of the chunk (ABI). */
enum {
	ORMA_TRACE_BUFFER_RECORD_ABI_FLAGS = 7,
	/* A gap that padding_bytes_written counts. */
	ORMA_TRACE_BUFFER_RECORD_PADDING = 0x08,
	/* The fragment behind the last one was malformed. */
	ORMA_TRACE_BUFFER_RECORD_CORRUPT = 0x10,
	/* The writer gave up the packet behind the last fragment. */
	ORMA_TRACE_BUFFER_RECORD_ABORT = 0x20,
	/* A walk has compared the chunk's id with the id before it. */
	ORMA_TRACE_BUFFER_RECORD_ENTERED = 0x40,
	/* Scraped while being written: the payload may grow up to the capacity. */
	ORMA_TRACE_BUFFER_RECORD_INCOMPLETE = 0x80,
	/* Overwriting has consumed a fragment. */
	ORMA_TRACE_BUFFER_RECORD_OVERWRITTEN = 0x100,
	/* Scraped when it was complete: its commit is still to come. */
	ORMA_TRACE_BUFFER_RECORD_UNCOMMITTED = 0x200,
};

/* The header of a record. `capacity` bytes of room follow it, then alignment to 16. */
struct orma_trace_buffer_record {
	uint32_t chunk_id;
	uint32_t sequence; /* slot + 1 in the table of sequences; 0 = a gap */
	uint16_t capacity;
	uint16_t payload;  /* bytes of whole fragments, <= capacity */
	uint16_t consumed; /* <= payload; the offset of the next fragment */
	uint16_t flags;
};
#define ORMA_TRACE_BUFFER_RECORD_BYTES ((uint32_t)sizeof(struct orma_trace_buffer_record))
_Static_assert(sizeof(struct orma_trace_buffer_record) == 16,
	       "records are aligned to their header's size");

/* A record, as a list refers to it. */
struct orma_trace_buffer_record_entry {
	uint32_t offset;
	/* Offset of the last fragment, if the one before it is not empty and the record was not
	 * patched; otherwise 0. Overwriting jumps there without reading bytes that have long left
	 * the cache. */
	uint32_t last_fragment;
};

/* The records of a sequence in the order of their chunk ids: a deque in an array whose capacity is
 * a power of two. */
struct orma_trace_buffer_record_list {
	struct orma_trace_buffer_record_entry *entries;
	uint32_t head, count, capacity;
	uint32_t newest_id; /* the last record's; valid while count > 0 */
};

struct orma_trace_buffer_sequence {
	struct orma_trace_buffer_writer writer;
	struct orma_trace_buffer_record_list records;
	uint64_t stalled_in_pass;   /* the pass in which a walk stalled here last */
	uint32_t loss;              /* enum orma_trace_buffer_loss, for the next packet */
	uint32_t uncommitted_count; /* records that left before they were committed */
	/* The record that left the sequence last; valid if has_last. */
	uint32_t last_id;
	uint16_t last_payload;
	bool has_last, last_was_incomplete;
	bool is_used;   /* false = a free slot */
	bool is_hashed; /* false = its key now belongs to another sequence */
	/* Links of the queue of empty sequences, as slot + 1; 0 = none. Free slots are linked by
	 * next. */
	uint32_t previous, next;
};

struct orma_trace_buffer_sequence_table {
	struct orma_trace_buffer_sequence *slots;
	uint32_t count, capacity;
	uint32_t free;                                 /* first free slot + 1; 0 = none */
	uint32_t empty_first, empty_last, empty_count; /* the queue, oldest first */
	struct orma_trace_buffer_sequence_key {
		uint32_t key, slot; /* slot + 1; 0 = unused */
	} * keys;                   /* open addressing, at most half full */
	uint32_t key_count, key_capacity;
};

/* A walk through a sequence from its first record to the record at `target`. How far it has come is
 * in the records themselves. */
struct orma_trace_buffer_walk {
	uint32_t sequence;   /* slot + 1; 0 = no walk */
	uint32_t target, at; /* offsets; `at` is the sequence's first record */
	bool erase;
};

struct orma_trace_buffer {
	uint8_t *ring;    /* mapped: size bytes, then ORMA_TRACE_BUFFER_STAGING_BYTES */
	uint8_t *staging; /* where a chunk is copied and checked before it enters the ring */
	uint32_t size;
	/* Offsets: see the invariants in trace_buffer.c. */
	uint32_t used;   /* [0, used) holds records, end to end */
	uint32_t write;  /* the place of the next record; <= used */
	uint32_t oldest; /* all records from write round to oldest are gaps */
	uint32_t chunk_count;
	enum orma_trace_buffer_policy policy;
	bool is_full; /* DISCARD reached the end */

	struct orma_trace_buffer_sequence_table sequences;
	struct orma_trace_buffer_stats stats;

	struct orma_trace_buffer_copy *copies; /* unfinished copies: trace_buffer_copy.c */
	struct orma_trace_buffer_hold *holds;  /* trace_buffer_hold.c */
	bool is_abandoned;                     /* to be freed with the last of these */

	/* The read pass, which a clone does not copy. */
	uint64_t pass;
	bool pass_is_open;
	uint32_t read;
	uint32_t steps_left; /* records and fragments to visit before the caller gets -EAGAIN */
	unsigned patience;   /* successive passes that ran out of steps, and were started anew */
	bool is_cut_short;   /* the last read ran out of steps */
	bool gaps_wait;      /* a reading walk stalls where chunk ids are missing */
	struct orma_trace_buffer_walk walk;
	uint32_t refusable_sequence, refusable_loss; /* refer to the packet that was read last */
	struct orma_trace_buffer_slice slice, *slices;
	size_t slice_capacity;

#ifdef ORMA_ASSERTS
	/* trace_buffer_check.c uses these. */
	uint64_t bytes_read_before_copy;  /* statistics of reading start at 0 in a copy */
	uint64_t check_paid, check_price; /* for the next full check, in records */
#endif
};
#define ORMA_TRACE_BUFFER_STAGING_BYTES 0x10000u

struct orma_trace_buffer_fragment {
	const uint8_t *data;
	uint32_t size;
	uint32_t end; /* offset of the next fragment */
};

enum orma_trace_buffer_fragment_kind {
	ORMA_TRACE_BUFFER_FRAGMENT_FOUND,
	ORMA_TRACE_BUFFER_FRAGMENT_NONE,
	ORMA_TRACE_BUFFER_FRAGMENT_ABORT,
	ORMA_TRACE_BUFFER_FRAGMENT_CORRUPT
};

/* The fragment at offset `at` of a payload. Its framing comes from a producer: sizes are
 * checked. */
static inline enum orma_trace_buffer_fragment_kind
orma_trace_buffer_fragment_at(const uint8_t *payload, uint32_t payload_size, uint32_t at,
			      struct orma_trace_buffer_fragment *ret)
{
	const uint32_t abort_marker = 0x0fffffff;
	if (at >= payload_size)
		return ORMA_TRACE_BUFFER_FRAGMENT_NONE;
	uint32_t size = payload[at++];
	if (size >= 0x80) {
		size &= 0x7f;
		for (unsigned shift = 7;; shift += 7) {
			if (shift > 21 || at >= payload_size)
				return ORMA_TRACE_BUFFER_FRAGMENT_CORRUPT;
			uint8_t byte = payload[at++];
			size |= (uint32_t)(byte & 0x7f) << shift;
			if (byte < 0x80)
				break;
		}
		if (size == abort_marker)
			return ORMA_TRACE_BUFFER_FRAGMENT_ABORT;
	}
	if (size > payload_size - at)
		return ORMA_TRACE_BUFFER_FRAGMENT_CORRUPT;
	ret->data = payload + at;
	ret->size = size;
	ret->end = at + size;
	return ORMA_TRACE_BUFFER_FRAGMENT_FOUND;
}

static inline uint32_t orma_trace_buffer_record_outer_bytes(uint32_t capacity)
{
	return (ORMA_TRACE_BUFFER_RECORD_BYTES + capacity + 15u) & ~15u;
}

static inline struct orma_trace_buffer_record *
orma_trace_buffer_record_at(const struct orma_trace_buffer *buffer, uint32_t offset)
{
	return (struct orma_trace_buffer_record *)(void *)(buffer->ring + offset);
}

static inline uint8_t *orma_trace_buffer_record_payload(struct orma_trace_buffer_record *record)
{
	return (uint8_t *)(record + 1);
}

static inline struct orma_trace_buffer_record_entry *
orma_trace_buffer_record_list_entry(const struct orma_trace_buffer_record_list *list,
				    uint32_t position)
{
	return &list->entries[(list->head + position) & (list->capacity - 1)];
}

static inline uint32_t
orma_trace_buffer_record_list_get(const struct orma_trace_buffer_record_list *list,
				  uint32_t position)
{
	return orma_trace_buffer_record_list_entry(list, position)->offset;
}

/* True when a comes before b; ids wrap round. */
static inline bool orma_trace_buffer_chunk_id_is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

static inline void orma_trace_buffer_sequence_add_loss(struct orma_trace_buffer_sequence *sequence,
						       uint32_t reason)
{
	sequence->loss |= ORMA_TRACE_BUFFER_LOSS_PRESENT | reason;
}

/* Frees a buffer whose owner has freed it while it was copied or held, once no copy and no hold is
 * left (trace_buffer.c). */
void orma_trace_buffer_free_abandoned(struct orma_trace_buffer *buffer);

#endif
