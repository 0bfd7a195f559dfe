/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_save.h - what has to be called before a trace buffer changes: it saves the bytes
 * that an unfinished copy (trace_buffer_copy.c) or a hold (trace_buffer_hold.c) still needs.
 */
#ifndef ORMA_BUFFER_TRACE_BUFFER_SAVE_H
#define ORMA_BUFFER_TRACE_BUFFER_SAVE_H

#include "buffer/trace_buffer_layout.h"

#define ORMA_TRACE_BUFFER_SEQUENCES_PER_BLOCK 256u
#define ORMA_TRACE_BUFFER_HOLD_BLOCK_BYTES    ORMA_TRACE_BUFFER_COPY_BLOCK_BYTES

/* Invariant: a block is either marked as done, or the same in the source as when the copy began. */
struct orma_trace_buffer_copy {
	struct orma_trace_buffer_copy *next; /* in the source's list */
	struct orma_trace_buffer *source;    /* NULL = all blocks are done */
	struct orma_trace_buffer *copy;
	uint64_t *done; /* a bit per block of the ring */
	uint32_t block_bytes, block_count;
	uint32_t block; /* all blocks before this one are done */
	/* The same for the table of sequences. Sequences that the source opens later are not
	 * copied. */
	uint64_t *sequences_done;
	uint32_t sequence_count, sequence_block;
	/* The search for records goes from the write position round to it. */
	uint32_t at;
	bool has_wrapped;
};

struct orma_trace_buffer_hold {
	struct orma_trace_buffer_hold *next; /* in the buffer's list */
	struct orma_trace_buffer *buffer;
	bool has_lost; /* there was no memory to save a block that changed */
	uint32_t block_count;
	uint32_t *held_bytes; /* in each block, not yet released */
	uint8_t **saved;      /* each block's bytes as they were; NULL = still in the ring */
};

static inline bool orma_trace_buffer_block_is_done(const uint64_t *done, uint32_t block)
{
	return done[block / 64] >> block % 64 & 1;
}

void orma_trace_buffer_copy_block(struct orma_trace_buffer_copy *copy, uint32_t block);
void orma_trace_buffer_copy_sequences(struct orma_trace_buffer_copy *copy, uint32_t block);

/* The parts of the functions below that run while there is a copy or a hold. */
void orma_trace_buffer_save(const struct orma_trace_buffer *buffer, uint32_t offset, uint32_t size);
void orma_trace_buffer_save_held(const struct orma_trace_buffer *buffer, uint32_t offset,
				 uint32_t size);
void orma_trace_buffer_save_sequence(const struct orma_trace_buffer *buffer, uint32_t sequence);

/* Call before bytes of the ring change. */
static inline void orma_trace_buffer_will_change(const struct orma_trace_buffer *buffer,
						 uint32_t offset, uint32_t size)
{
	if (ORMA_UNLIKELY(buffer->copies))
		orma_trace_buffer_save(buffer, offset, size);
	if (ORMA_UNLIKELY(buffer->holds))
		orma_trace_buffer_save_held(buffer, offset, size);
}

/* The same for a header alone: nothing in a header is ever held. */
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

/* A sequence that may be changed. Do not keep the pointer: a copy that begins later would not be
 * saved from changes through it, and the table may move. */
static inline struct orma_trace_buffer_sequence *
orma_trace_buffer_sequence_get(const struct orma_trace_buffer *buffer, uint32_t sequence)
{
	ORMA_ASSERT(sequence >= 1 && sequence <= buffer->sequences.count);
	if (ORMA_UNLIKELY(buffer->copies))
		orma_trace_buffer_save_sequence(buffer, sequence);
	return &buffer->sequences.slots[sequence - 1];
}

#endif
