/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_layout.h - what the files trace_buffer*.c share: the records and the three objects.
 * See trace_buffer.c.
 */
#ifndef ORMA_BUFFER_TRACE_BUFFER_LAYOUT_H
#define ORMA_BUFFER_TRACE_BUFFER_LAYOUT_H

#include "base/macros.h"
#include "buffer/trace_buffer.h"

/* Beside the ABI's three flags. */
enum {
	ORMA_TRACE_BUFFER_RECORD_ABI_FLAGS = 7,
	ORMA_TRACE_BUFFER_RECORD_PADDING = 0x08, /* a gap that padding_bytes_written counts */
	ORMA_TRACE_BUFFER_RECORD_CORRUPT = 0x10, /* fragments behind the last one were malformed */
	ORMA_TRACE_BUFFER_RECORD_ABORT =
		0x20, /* the writer gave up the packet behind the last one */
	ORMA_TRACE_BUFFER_RECORD_ENTERED =
		0x40, /* a walk has compared its id with its predecessor's */
	ORMA_TRACE_BUFFER_RECORD_INCOMPLETE = 0x80,   /* scraped: may grow up to its capacity */
	ORMA_TRACE_BUFFER_RECORD_OVERWRITTEN = 0x100, /* overwriting took a fragment out of it */
	ORMA_TRACE_BUFFER_RECORD_UNCOMMITTED =
		0x200 /* scraped whole: its commit is still to come */
};

/* A record of the ring: 16 bytes, then `capacity` bytes of room, then alignment to 16. */
struct orma_trace_buffer_record {
	uint32_t chunk_id;
	uint32_t sequence; /* slot + 1 in the table of sequences; 0: a gap */
	uint16_t capacity;
	uint16_t payload;  /* <= capacity */
	uint16_t consumed; /* <= payload; where the next fragment begins */
	uint16_t flags;
};
#define ORMA_TRACE_BUFFER_RECORD_BYTES ((uint32_t)sizeof(struct orma_trace_buffer_record))
_Static_assert(sizeof(struct orma_trace_buffer_record) == 16,
	       "records are aligned to their header's size");

/* What the index knows of a record. */
struct orma_trace_buffer_record_entry {
	uint32_t offset;
	/* Where the last fragment begins, when the one before it is not empty and no patch came
	 * since; else 0. Overwriting goes there in one step, without a look at bytes long out of
	 * the cache. */
	uint32_t last_fragment;
};

/* The records of a sequence in order of chunk id: a deque in a ring of a power of two. */
struct orma_trace_buffer_record_list {
	struct orma_trace_buffer_record_entry *entries;
	uint32_t head, count, capacity;
	uint32_t newest_id; /* the id at the back, when count > 0 */
};

struct orma_trace_buffer_sequence {
	struct orma_trace_buffer_writer writer;
	struct orma_trace_buffer_record_list records;
	uint64_t stalled_in_pass;   /* no more to read in the pass of this number */
	uint32_t loss;              /* for the next packet */
	uint32_t last_id;           /* the record that left last, when has_last */
	uint32_t uncommitted_count; /* records that left before their commit came */
	uint16_t last_payload;
	bool has_last, last_was_incomplete;
	bool is_used;   /* false: the slot is free */
	bool is_hashed; /* false: its key now belongs to another sequence */
	/* Empty sequences, oldest first; free slots use next. Slot + 1, 0 ends. */
	uint32_t previous, next;
};

struct orma_trace_buffer_sequence_table {
	struct orma_trace_buffer_sequence *slots;
	uint32_t count, capacity, free;
	uint32_t empty_first, empty_last, empty_count;
	struct orma_trace_buffer_sequence_key {
		uint32_t key, slot; /* slot + 1; 0: unused */
	} * keys;                   /* open addressing, at most half full */
	uint32_t key_count, key_capacity;
};

/* Reads one sequence from its first record to the record `target`. Everything else is in the
 * records themselves. */
struct orma_trace_buffer_walk {
	uint32_t sequence; /* slot + 1; 0: no walk */
	uint32_t target, at;
	bool erase;
};

struct orma_trace_buffer {
	uint8_t *ring;    /* mapped: size bytes, then ORMA_TRACE_BUFFER_STAGING_BYTES */
	uint8_t *staging; /* a chunk is copied here and checked before it enters the ring */
	uint32_t size;
	uint32_t used;   /* [0, used) holds records, end to end */
	uint32_t write;  /* where the next record goes; <= used */
	uint32_t oldest; /* all records from write round to oldest are gaps */
	uint32_t chunk_count;
	enum orma_trace_buffer_policy policy;
	bool is_full; /* DISCARD reached the end */

	struct orma_trace_buffer_sequence_table sequences;
	struct orma_trace_buffer_stats stats;

	struct orma_trace_buffer_copy *copies; /* being made; see trace_buffer_copy.c */
	struct orma_trace_buffer_hold *holds;  /* see trace_buffer_hold.c */
	bool is_abandoned;                     /* freed with the last of them */

	/* The read pass: no part of what a clone copies. */
	uint64_t pass;
	bool pass_is_open;
	uint32_t read;
	uint32_t steps_left; /* records and fragments to look at before the caller is asked again */
	unsigned patience;   /* passes in a row that were cut short and begun anew */
	bool is_cut_short;
	struct orma_trace_buffer_walk walk;
	uint32_t refusable_sequence, refusable_loss;
	struct orma_trace_buffer_slice slice, *slices;
	size_t slice_capacity;
};
#define ORMA_TRACE_BUFFER_STAGING_BYTES 0x10000u

struct orma_trace_buffer_fragment {
	const uint8_t *data;
	uint32_t size;
	uint32_t end; /* offset behind it */
};

enum orma_trace_buffer_fragment_kind {
	ORMA_TRACE_BUFFER_FRAGMENT_FOUND,
	ORMA_TRACE_BUFFER_FRAGMENT_NONE,
	ORMA_TRACE_BUFFER_FRAGMENT_ABORT,
	ORMA_TRACE_BUFFER_FRAGMENT_CORRUPT
};

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

/* True when a comes before b on the circle of ids. */
static inline bool orma_trace_buffer_chunk_id_is_before(uint32_t a, uint32_t b)
{
	return (int32_t)(a - b) < 0;
}

/* trace_buffer_copy.c */
void orma_trace_buffer_save(const struct orma_trace_buffer *buffer, uint32_t offset, uint32_t size);
void orma_trace_buffer_save_sequence(const struct orma_trace_buffer *buffer, uint32_t sequence);
/* trace_buffer_hold.c */
void orma_trace_buffer_save_held(const struct orma_trace_buffer *buffer, uint32_t offset,
				 uint32_t size);
/* trace_buffer.c: frees a buffer that was freed while it was copied or held, if it was the last. */
void orma_trace_buffer_free_abandoned(struct orma_trace_buffer *buffer);

/* To be read, and to be changed at once: not to be kept. */
static inline struct orma_trace_buffer_sequence *
orma_trace_buffer_sequence_get(const struct orma_trace_buffer *buffer, uint32_t sequence)
{
	if (ORMA_UNLIKELY(buffer->copies))
		orma_trace_buffer_save_sequence(buffer, sequence);
	return &buffer->sequences.slots[sequence - 1];
}

/* To be called before bytes of the ring change. */
static inline void orma_trace_buffer_will_change(const struct orma_trace_buffer *buffer,
						 uint32_t offset, uint32_t size)
{
	if (ORMA_UNLIKELY(buffer->copies))
		orma_trace_buffer_save(buffer, offset, size);
	if (ORMA_UNLIKELY(buffer->holds))
		orma_trace_buffer_save_held(buffer, offset, size);
}

/* Of a header alone, in which nothing can be held. */
static inline void
orma_trace_buffer_will_change_header(const struct orma_trace_buffer *buffer,
				     const struct orma_trace_buffer_record *record)
{
	if (ORMA_UNLIKELY(buffer->copies))
		orma_trace_buffer_save(buffer, (uint32_t)((const uint8_t *)record - buffer->ring),
				       ORMA_TRACE_BUFFER_RECORD_BYTES);
}

static inline void
orma_trace_buffer_will_change_record(const struct orma_trace_buffer *buffer,
				     const struct orma_trace_buffer_record *record)
{
	orma_trace_buffer_will_change(buffer, (uint32_t)((const uint8_t *)record - buffer->ring),
				      orma_trace_buffer_record_outer_bytes(record->capacity));
}

/* trace_buffer_index.c */
uint32_t orma_trace_buffer_sequence_find(const struct orma_trace_buffer_sequence_table *table,
					 uint16_t producer_id,
					 uint16_t writer_id); /* slot + 1, 0: none */
int orma_trace_buffer_sequence_open(struct orma_trace_buffer *buffer,
				    const struct orma_trace_buffer_writer *writer,
				    uint32_t *ret_sequence);
/* A sequence lost its last record, or got its first. */
void orma_trace_buffer_sequence_emptied(struct orma_trace_buffer *buffer, uint32_t sequence);
void orma_trace_buffer_sequence_filled(struct orma_trace_buffer *buffer, uint32_t sequence);
void orma_trace_buffer_sequence_forget_oldest(struct orma_trace_buffer *buffer);
/* Frees what some of the sequences of a buffer that ends own; false when there is none left. */
bool orma_trace_buffer_sequences_shrink(struct orma_trace_buffer_sequence_table *table,
					uint32_t count);
void orma_trace_buffer_sequences_done(struct orma_trace_buffer_sequence_table *table);

int orma_trace_buffer_record_list_reserve(struct orma_trace_buffer_record_list *list);
/* 1: *ret_position has that id; 0: that is where it belongs; -EPROTO: not within half a circle of
 * the others. */
int orma_trace_buffer_record_list_find(const struct orma_trace_buffer *buffer,
				       const struct orma_trace_buffer_record_list *list,
				       uint32_t chunk_id, uint32_t *ret_position);
void orma_trace_buffer_record_list_insert(struct orma_trace_buffer_record_list *list,
					  uint32_t position,
					  struct orma_trace_buffer_record_entry entry,
					  uint32_t chunk_id); /* after a reserve */
void orma_trace_buffer_record_list_pop(struct orma_trace_buffer_record_list *list);

/* trace_buffer_read.c */
void orma_trace_buffer_walk_begin(struct orma_trace_buffer *buffer,
				  struct orma_trace_buffer_walk *walk, uint32_t target, bool erase);
/* 1 a packet (ret may be NULL), 0 the walk is over: an erasing one has erased the target. */
int orma_trace_buffer_walk_next(struct orma_trace_buffer *buffer,
				struct orma_trace_buffer_walk *walk,
				struct orma_trace_buffer_packet *ret);
/* Takes the first record of its sequence out of the sequence and makes it a gap. */
void orma_trace_buffer_close_first(struct orma_trace_buffer *buffer, uint32_t sequence);

#endif
