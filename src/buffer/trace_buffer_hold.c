/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_hold.c - bytes of a trace buffer that stay readable while the buffer goes on.
 *
 * A packet that has been read lies in the ring until new chunks overwrite it. A large one is sent in
 * many turns of the loop, so its bytes are held: before the ring changes in a block of
 * ORMA_TRACE_BUFFER_COPY_BLOCK_BYTES that has held bytes, the block is saved, and is read from there. The
 * same calls serve copies of the whole buffer (trace_buffer_copy.c). So a hold costs nothing at the
 * beginning but a table of blocks, and later at most one block per change.
 *
 * Rejected: copying the packet at once (a quarter of a gigabyte takes a tenth of a second, in which
 * nobody else is served), making writers wait (they would stall, or lose data).
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "buffer/trace_buffer_layout.h"

enum { BLOCK_BYTES = ORMA_TRACE_BUFFER_COPY_BLOCK_BYTES };

struct orma_trace_buffer_hold {
	struct orma_trace_buffer_hold *next; /* in the buffer's list */
	struct orma_trace_buffer *buffer;
	bool has_lost; /* there was no memory for a block that changed */
	uint32_t block_count;
	uint32_t *held_bytes; /* of each block, not yet released */
	uint8_t **saved;      /* each block's bytes as they were; NULL = still in the ring */
};

/* The block of a piece; pieces end where their block does. */
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

static void save_block(struct orma_trace_buffer_hold *hold, uint32_t block)
{
	const struct orma_trace_buffer *buffer = hold->buffer;
	size_t begin = (size_t)block * BLOCK_BYTES;

	hold->saved[block] = orma_base_alloc(BLOCK_BYTES);
	if (hold->saved[block])
		memcpy(hold->saved[block], buffer->ring + begin,
		       ORMA_MIN((size_t)BLOCK_BYTES, buffer->used - begin));
	else
		hold->has_lost = true;
}

void orma_trace_buffer_save_held(const struct orma_trace_buffer *buffer, uint32_t offset,
				 uint32_t size)
{
	for (struct orma_trace_buffer_hold *hold = buffer->holds; hold; hold = hold->next) {
		uint32_t block = offset / BLOCK_BYTES, last = (offset + size - 1) / BLOCK_BYTES;

		for (; block <= last && block < hold->block_count; block++)
			if (hold->held_bytes[block] && !hold->saved[block])
				save_block(hold, block);
	}
}

const uint8_t *orma_trace_buffer_hold_piece(const struct orma_trace_buffer_hold *hold,
					    const uint8_t *data, size_t *size)
{
	size_t offset;
	uint32_t block = find_block(hold, data, &offset);

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
