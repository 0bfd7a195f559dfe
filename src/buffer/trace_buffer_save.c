/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_save.c - saves what copies and holds still need, before it changes.
 *
 * Both work in blocks, and the first change to a block saves all of it: later changes to the same
 * block then test only one bit or pointer. A copy saves a block into its own ring; a hold saves
 * it on the heap, and only if bytes of it are still held.
 */
#include "buffer/trace_buffer_save.h"

#include <string.h>

#include "base/alloc.h"

void orma_trace_buffer_copy_block(struct orma_trace_buffer_copy *copy, uint32_t block)
{
	uint32_t begin = block * copy->block_bytes;
	uint32_t size = ORMA_MIN(copy->copy->used - begin, copy->block_bytes);

	ORMA_ASSERT(block < copy->block_count);
	memcpy(copy->copy->ring + begin, copy->source->ring + begin, size);
	copy->done[block / 64] |= UINT64_C(1) << block % 64;
}

void orma_trace_buffer_copy_sequences(struct orma_trace_buffer_copy *copy, uint32_t block)
{
	const struct orma_trace_buffer_sequence *from = copy->source->sequences.slots;
	struct orma_trace_buffer_sequence *to = copy->copy->sequences.slots;
	uint32_t begin = block * ORMA_TRACE_BUFFER_SEQUENCES_PER_BLOCK;
	uint32_t end =
		ORMA_MIN(begin + ORMA_TRACE_BUFFER_SEQUENCES_PER_BLOCK, copy->sequence_count);

	for (uint32_t i = begin; i < end; i++) {
		to[i] = from[i];
		to[i].records = (struct orma_trace_buffer_record_list){0};
		to[i].stalled_in_pass = 0;
		to[i].is_hashed = false;
	}
	copy->sequences_done[block / 64] |= UINT64_C(1) << block % 64;
}

void orma_trace_buffer_save(const struct orma_trace_buffer *buffer, uint32_t offset, uint32_t size)
{
	for (struct orma_trace_buffer_copy *copy = buffer->copies; copy; copy = copy->next) {
		uint32_t block = offset / copy->block_bytes;
		uint32_t last = (offset + size - 1) / copy->block_bytes;

		ORMA_ASSERT(copy->source == buffer);
		for (; block <= last && block < copy->block_count; block++)
			if (!orma_trace_buffer_block_is_done(copy->done, block))
				orma_trace_buffer_copy_block(copy, block);
	}
}

void orma_trace_buffer_save_sequence(const struct orma_trace_buffer *buffer, uint32_t sequence)
{
	uint32_t block = (sequence - 1) / ORMA_TRACE_BUFFER_SEQUENCES_PER_BLOCK;

	for (struct orma_trace_buffer_copy *copy = buffer->copies; copy; copy = copy->next)
		if (sequence <= copy->sequence_count &&
		    !orma_trace_buffer_block_is_done(copy->sequences_done, block))
			orma_trace_buffer_copy_sequences(copy, block);
}

static void save_held_block(struct orma_trace_buffer_hold *hold, uint32_t block)
{
	const struct orma_trace_buffer *buffer = hold->buffer;
	size_t begin = (size_t)block * ORMA_TRACE_BUFFER_HOLD_BLOCK_BYTES;

	hold->saved[block] = orma_base_alloc(ORMA_TRACE_BUFFER_HOLD_BLOCK_BYTES);
	if (hold->saved[block])
		memcpy(hold->saved[block], buffer->ring + begin,
		       ORMA_MIN((size_t)ORMA_TRACE_BUFFER_HOLD_BLOCK_BYTES, buffer->used - begin));
	else
		hold->has_lost = true;
}

void orma_trace_buffer_save_held(const struct orma_trace_buffer *buffer, uint32_t offset,
				 uint32_t size)
{
	for (struct orma_trace_buffer_hold *hold = buffer->holds; hold; hold = hold->next) {
		uint32_t block = offset / ORMA_TRACE_BUFFER_HOLD_BLOCK_BYTES;
		uint32_t last = (offset + size - 1) / ORMA_TRACE_BUFFER_HOLD_BLOCK_BYTES;

		ORMA_ASSERT(hold->buffer == buffer);
		for (; block <= last && block < hold->block_count; block++)
			if (hold->held_bytes[block] && !hold->saved[block])
				save_held_block(hold, block);
	}
}
