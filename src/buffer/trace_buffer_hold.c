/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_hold.c - keeps bytes of a trace buffer readable while the buffer changes.
 *
 * A packet that has been read lies in the ring until new chunks overwrite it. A large packet is
 * sent over many turns of the loop, so its bytes are held: before the ring changes in a block of
 * ORMA_TRACE_BUFFER_HOLD_BLOCK_BYTES that has held bytes, the block is saved (trace_buffer_save.c),
 * and is read from there afterwards. Beginning a hold therefore costs no more than a table of
 * blocks, and a change costs at most one block.
 *
 * Rejected: copying the packet at once, because a quarter of a gigabyte takes a tenth of a second,
 * in which no other client is served; making writers wait, because they would stall or lose data.
 */
#include <errno.h>

#include "base/alloc.h"
#include "buffer/trace_buffer_save.h"

enum { BLOCK_BYTES = ORMA_TRACE_BUFFER_HOLD_BLOCK_BYTES };

/* The block that a piece lies in. A piece never crosses the end of its block. */
static uint32_t find_block(const struct orma_trace_buffer_hold *hold, const uint8_t *data,
			   size_t *ret_offset)
{
	size_t offset = (size_t)(data - hold->buffer->ring);

	*ret_offset = offset % BLOCK_BYTES;
	return (uint32_t)(offset / BLOCK_BYTES);
}

static void hold_slice(struct orma_trace_buffer_hold *hold, const uint8_t *data, size_t size)
{
	while (size > 0) {
		size_t offset, part;
		uint32_t block = find_block(hold, data, &offset);

		part = ORMA_MIN(size, BLOCK_BYTES - offset);
		hold->held_bytes[block] += (uint32_t)part;
		data += part;
		size -= part;
	}
}

int orma_trace_buffer_hold_new(struct orma_trace_buffer *buffer,
			       const struct orma_trace_buffer_slice *slices, size_t count,
			       struct orma_trace_buffer_hold **ret)
{
	struct orma_trace_buffer_hold *hold = orma_base_zalloc(sizeof(*hold));

	if (!hold)
		return -ENOMEM;
	hold->buffer = buffer;
	hold->block_count = buffer->used / BLOCK_BYTES + (buffer->used % BLOCK_BYTES != 0);
	hold->held_bytes = orma_base_alloc_array(hold->block_count, sizeof(*hold->held_bytes));
	hold->saved = orma_base_alloc_array(hold->block_count, sizeof(*hold->saved));
	hold->next = buffer->holds;
	buffer->holds = hold;
	if (!hold->held_bytes || !hold->saved) {
		hold->block_count = 0;
		orma_trace_buffer_hold_free(hold);
		return -ENOMEM;
	}
	for (size_t i = 0; i < count; i++)
		hold_slice(hold, slices[i].data, slices[i].size);
	*ret = hold;
	return 0;
}

const uint8_t *orma_trace_buffer_hold_piece(const struct orma_trace_buffer_hold *hold,
					    const uint8_t *data, size_t *size)
{
	size_t offset;
	uint32_t block = find_block(hold, data, &offset);

	ORMA_ASSERT(block < hold->block_count && hold->held_bytes[block] > 0);
	*size = ORMA_MIN(*size, BLOCK_BYTES - offset);
	if (hold->has_lost)
		return NULL;
	return hold->saved[block] ? hold->saved[block] + offset : data;
}

void orma_trace_buffer_hold_release(struct orma_trace_buffer_hold *hold, const uint8_t *data,
				    size_t size)
{
	size_t offset;
	uint32_t block = find_block(hold, data, &offset);

	ORMA_ASSERT(size <= hold->held_bytes[block] && size <= BLOCK_BYTES - offset);
	hold->held_bytes[block] -= (uint32_t)size;
	if (hold->held_bytes[block] == 0)
		orma_base_free(ORMA_TAKE(hold->saved[block]));
}

void orma_trace_buffer_hold_free(struct orma_trace_buffer_hold *hold)
{
	struct orma_trace_buffer *buffer;
	struct orma_trace_buffer_hold **at;

	if (!hold)
		return;
	buffer = hold->buffer;
	for (at = &buffer->holds; *at != hold; at = &(*at)->next)
		;
	*at = hold->next;
	for (uint32_t i = 0; i < hold->block_count; i++)
		orma_base_free(hold->saved[i]);
	orma_base_free(hold->saved);
	orma_base_free(hold->held_bytes);
	orma_base_free(hold);
	orma_trace_buffer_free_abandoned(buffer);
}
