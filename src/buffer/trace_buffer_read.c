/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_read.c - the read pass: takes packets out of a trace buffer, roughly in the order in
 * which they were written.
 *
 * A pass visits the records in the order of the ring, from the oldest to the write position, and at
 * each live record it walks that record's sequence up to it (trace_buffer_walk.c). A read returns
 * after a limited number of steps, with or without a packet, so that one client cannot keep the
 * service from its others; the caller resumes the pass in a later turn.
 */
#include <errno.h>

#include "buffer/trace_buffer_check.h"
#include "buffer/trace_buffer_index.h"
#include "buffer/trace_buffer_save.h"
#include "buffer/trace_buffer_walk.h"

enum {
	STEPS_PER_PACKET = 16, /* added to the limit for each packet that is found */
};
/* How often the limit may double for a pass that is started anew. */
#define PATIENCE_MAX 5u

/* A packet was found: the caller may read on. */
static void earn_steps(struct orma_trace_buffer *buffer)
{
	buffer->steps_left = ORMA_MIN(buffer->steps_left + STEPS_PER_PACKET,
				      ORMA_TRACE_BUFFER_STEPS_PER_READ << buffer->patience);
	buffer->is_cut_short = false;
}

static int cut_short(struct orma_trace_buffer *buffer)
{
	buffer->is_cut_short = true;
	return -EAGAIN;
}

void orma_trace_buffer_read_begin(struct orma_trace_buffer *buffer)
{
	buffer->pass++;
	buffer->steps_left = ORMA_TRACE_BUFFER_STEPS_PER_READ;
	buffer->walk.sequence = 0;
	buffer->refusable_sequence = 0;
	buffer->pass_is_open = buffer->chunk_count > 0;
	buffer->read = buffer->oldest;
}

void orma_trace_buffer_read_resume(struct orma_trace_buffer *buffer, uint32_t max_steps)
{
	if (!buffer->pass_is_open) {
		/* When writes end every pass early, a pass that always started with the same limit
		 * would never get past many chunks that wait for data. */
		buffer->patience =
			buffer->is_cut_short ? ORMA_MIN(buffer->patience + 1, PATIENCE_MAX) : 0;
		orma_trace_buffer_read_begin(buffer);
	}
	buffer->steps_left = max_steps << buffer->patience;
}

void orma_trace_buffer_let_gaps_wait(struct orma_trace_buffer *buffer, bool wait)
{
	if (buffer->gaps_wait == wait)
		return;
	buffer->gaps_wait = wait;
	buffer->pass_is_open = false;
}

uint32_t orma_trace_buffer_steps_left(const struct orma_trace_buffer *buffer)
{
	return buffer->steps_left >> buffer->patience;
}

/* Advances to the next record in the ring. False at the write position, where the pass ends. */
static bool pass_advance(struct orma_trace_buffer *buffer)
{
	const struct orma_trace_buffer_record *record =
		orma_trace_buffer_record_at(buffer, buffer->read);
	uint32_t next = buffer->read + orma_trace_buffer_record_outer_bytes(record->capacity);
	uint32_t end = buffer->write < buffer->used ? buffer->write : 0;
	if (next >= buffer->used)
		next = 0;
	if (buffer->read == buffer->oldest && record->sequence == 0)
		buffer->oldest = next;
	buffer->read = next;
	return next != end && buffer->chunk_count > 0;
}

static int read_packet(struct orma_trace_buffer *buffer, struct orma_trace_buffer_packet *ret)
{
	while (buffer->pass_is_open) {
		if (!buffer->walk.sequence &&
		    orma_trace_buffer_record_at(buffer, buffer->read)->sequence)
			orma_trace_buffer_walk_begin(buffer, &buffer->walk, buffer->read, false);
		int r = buffer->walk.sequence
				? orma_trace_buffer_walk_next(buffer, &buffer->walk, ret)
				: 0;
		if (r > 0) {
			struct orma_trace_buffer_sequence *sequence =
				orma_trace_buffer_sequence_get(buffer, buffer->walk.sequence);
			ret->writer = &sequence->writer;
			ret->loss = buffer->refusable_loss = sequence->loss;
			sequence->loss = 0;
			buffer->refusable_sequence = buffer->walk.sequence;
			earn_steps(buffer);
			return 1;
		}
		if (r < 0 || !orma_trace_buffer_take_step(buffer))
			return cut_short(buffer);
		buffer->walk.sequence = 0;
		buffer->pass_is_open = pass_advance(buffer);
	}
	buffer->is_cut_short = false;
	return 0;
}

int orma_trace_buffer_read_packet(struct orma_trace_buffer *buffer,
				  struct orma_trace_buffer_packet *ret)
{
	int r = read_packet(buffer, ret);

	orma_trace_buffer_check_call(buffer, buffer->walk.sequence);
	return r;
}

void orma_trace_buffer_packet_refused(struct orma_trace_buffer *buffer)
{
	if (!buffer->refusable_sequence)
		return;
	orma_trace_buffer_sequence_add_loss(
		orma_trace_buffer_sequence_get(buffer, buffer->refusable_sequence),
		buffer->refusable_loss | ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
	buffer->refusable_sequence = 0;
}

void orma_trace_buffer_held_packet_refused(struct orma_trace_buffer *buffer,
					   const struct orma_trace_buffer_writer *writer,
					   uint32_t loss)
{
	uint32_t number = orma_trace_buffer_sequence_find(&buffer->sequences, writer->producer_id,
							  writer->writer_id);

	/* If the ids now belong to another writer, no next packet can carry the loss. */
	if (number && orma_trace_buffer_sequence_get(buffer, number)->writer.sequence_id ==
			      writer->sequence_id)
		orma_trace_buffer_sequence_add_loss(orma_trace_buffer_sequence_get(buffer, number),
						    loss | ORMA_TRACE_BUFFER_LOSS_CHUNK_CORRUPTED);
}
