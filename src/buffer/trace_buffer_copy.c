/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_copy.c - a copy of a trace buffer as it was at one moment, made in small steps while
 * the source goes on.
 *
 *    the source's ring   |##########|##########|..........|#########W|..........|
 *    the copy's ring     |##########|##########|          |##########|          |
 *                          by steps   by steps      still    saved     to copy
 *                                                  to copy  before W
 *                                                           was written
 *
 * Positions and statistics are copied when the copy begins. The table of sequences and the ring
 * follow in blocks, a few per step. Before bytes of the source's ring change (a header, a payload,
 * a patch), the code that changes them calls orma_trace_buffer_will_change(), which copies the
 * block if it was not copied yet; orma_trace_buffer_sequence_get() does the same for the table
 * (trace_buffer_save.c). So every block arrives as it was at the beginning. When all blocks are
 * done, the copy leaves its source and finds its records again: one walk over its ring, starting at
 * the write position, adds each record to the list of its sequence.
 *
 * Invariant: a block is either marked as done, or the same in the source as at the beginning. A
 * source that is freed earlier stays in memory until its last copy has left it.
 *
 * A copy can only be read. Its sequences are not in the table of keys, so writes and patches do not
 * find them.
 *
 * Rejected: copying the lists too, because a hostile producer can make them most of the memory,
 * while finding the records again takes bounded steps; the kernel's copy on write (a private
 * mapping of the ring's file), because a second copy would have to copy what the first has made
 * private; stopping writes to the source, because producers would stall or lose data; a thread,
 * because the ring would need locks.
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "buffer/trace_buffer_index.h"
#include "buffer/trace_buffer_save.h"

/* The cost of adding one record to its list, apart from moving entries, in bytes copied. */
enum { RECORD_COST = 128 };

static int begin_sequences(struct orma_trace_buffer_copy *copy,
			   const struct orma_trace_buffer_sequence_table *from)
{
	struct orma_trace_buffer_sequence_table *to = &copy->copy->sequences;
	uint32_t count = from->count;

	copy->sequences_done =
		orma_base_alloc_array(count / ORMA_TRACE_BUFFER_SEQUENCES_PER_BLOCK / 64 + 1,
				      sizeof(*copy->sequences_done));
	if (!copy->sequences_done)
		return -ENOMEM;
	if (count == 0)
		return 0;
	/* The kernel supplies the memory as it is written to. */
	to->slots = orma_base_alloc_array(count, sizeof(*to->slots));
	if (!to->slots)
		return -ENOMEM;
	to->count = to->capacity = copy->sequence_count = count;
	to->free = from->free;
	to->empty_first = from->empty_first;
	to->empty_last = from->empty_last;
	to->empty_count = from->empty_count;
	return 0;
}

static void copy_state(const struct orma_trace_buffer *from, struct orma_trace_buffer *to)
{
	to->used = from->used;
	to->write = from->write;
	to->oldest = from->oldest;
	to->chunk_count = from->chunk_count;
	to->is_full = from->is_full;
	to->stats = from->stats;
#ifdef ORMA_ASSERTS
	to->bytes_read_before_copy = from->bytes_read_before_copy + from->stats.bytes_read;
#endif
	to->stats.bytes_read = to->stats.chunks_read = 0;
	to->stats.readaheads_succeeded = to->stats.readaheads_failed = 0;
}

int orma_trace_buffer_copy_begin(struct orma_trace_buffer *source, uint32_t block_bytes,
				 struct orma_trace_buffer_copy **ret)
{
	struct orma_trace_buffer_copy *copy = orma_base_zalloc(sizeof(*copy));
	int r;

	if (!copy)
		return -ENOMEM;
	copy->block_bytes = block_bytes ? block_bytes : ORMA_TRACE_BUFFER_COPY_BLOCK_BYTES;
	copy->block_count = source->used / copy->block_bytes;
	copy->block_count += source->used % copy->block_bytes != 0;
	copy->done = orma_base_alloc_array(copy->block_count / 64 + 1, sizeof(*copy->done));
	r = copy->done ? orma_trace_buffer_new(source->size, source->policy, &copy->copy) : -ENOMEM;
	if (r == 0)
		r = begin_sequences(copy, &source->sequences);
	if (r < 0) {
		orma_trace_buffer_copy_free(copy);
		return r;
	}
	/* Filling a huge page takes as long as several steps, which a short-lived copy does not
	 * repay. */
	(void)madvise(copy->copy->ring, copy->copy->size, MADV_NOHUGEPAGE);
	copy_state(source, copy->copy);
	copy->at = copy->copy->write;
	copy->source = source;
	copy->next = source->copies;
	source->copies = copy;
	*ret = copy;
	return 0;
}

/* Removes the copy from its source's list, because it no longer needs the source. */
static void leave_source(struct orma_trace_buffer_copy *copy)
{
	struct orma_trace_buffer *source = ORMA_TAKE(copy->source);
	struct orma_trace_buffer_copy **at;

	if (!source)
		return;
	for (at = &source->copies; *at != copy; at = &(*at)->next)
		;
	*at = copy->next;
	orma_trace_buffer_free_abandoned(source);
}

/* Returns the cost in bytes. */
static uint64_t copy_blocks(struct orma_trace_buffer_copy *copy, uint64_t budget_bytes)
{
	uint32_t *at = &copy->sequence_block;
	uint64_t spent = 0;

	for (; *at * ORMA_TRACE_BUFFER_SEQUENCES_PER_BLOCK < copy->sequence_count &&
	       spent < budget_bytes;
	     ++*at) {
		if (orma_trace_buffer_block_is_done(copy->sequences_done, *at))
			continue;
		orma_trace_buffer_copy_sequences(copy, *at);
		spent += ORMA_TRACE_BUFFER_SEQUENCES_PER_BLOCK *
			 sizeof(struct orma_trace_buffer_sequence);
	}
	for (; copy->block < copy->block_count && spent < budget_bytes; copy->block++) {
		if (orma_trace_buffer_block_is_done(copy->done, copy->block))
			continue;
		orma_trace_buffer_copy_block(copy, copy->block);
		spent += copy->block_bytes;
	}
	if (copy->block == copy->block_count &&
	    *at * ORMA_TRACE_BUFFER_SEQUENCES_PER_BLOCK >= copy->sequence_count)
		leave_source(copy);
	return spent;
}

/* Adds the record at `offset` to the list of its sequence. Returns the cost in bytes or -errno. */
static int64_t add_record(struct orma_trace_buffer *buffer, uint32_t offset)
{
	const struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(buffer, offset);
	struct orma_trace_buffer_record_list *list;
	uint32_t position, moved;
	int r;

	if (!record->sequence)
		return RECORD_COST / 4;
	list = &orma_trace_buffer_sequence_get(buffer, record->sequence)->records;
	r = orma_trace_buffer_record_list_find(buffer, list, record->chunk_id, &position);
	if (r == 0)
		r = orma_trace_buffer_record_list_reserve(list);
	if (r != 0)
		return r == -ENOMEM ? r : -EPROTO;
	moved = ORMA_MIN(position, list->count - position);
	orma_trace_buffer_record_list_insert(
		list, position, (struct orma_trace_buffer_record_entry){.offset = offset},
		record->chunk_id);
	return RECORD_COST + (int64_t)moved * (int64_t)sizeof(*list->entries);
}

/* Returns 1 (more to do), 0 (all records are found) or -errno. */
static int find_records(struct orma_trace_buffer_copy *copy, uint64_t budget_bytes)
{
	struct orma_trace_buffer *buffer = copy->copy;

	for (uint64_t spent = 0; spent < budget_bytes;) {
		uint32_t end = copy->has_wrapped ? buffer->write : buffer->used;
		int64_t cost;

		if (copy->at >= end) {
			if (copy->has_wrapped)
				return 0;
			copy->has_wrapped = true;
			copy->at = 0;
			continue;
		}
		cost = add_record(buffer, copy->at);
		if (cost < 0)
			return (int)cost;
		spent += (uint64_t)cost;
		copy->at += orma_trace_buffer_record_outer_bytes(
			orma_trace_buffer_record_at(buffer, copy->at)->capacity);
	}
	return 1;
}

int orma_trace_buffer_copy_step(struct orma_trace_buffer_copy *copy, uint64_t budget_bytes)
{
	uint64_t spent = 0;

	if (copy->source)
		spent = copy_blocks(copy, budget_bytes);
	if (copy->source || spent >= budget_bytes)
		return 1;
	return find_records(copy, budget_bytes - spent);
}

struct orma_trace_buffer *orma_trace_buffer_copy_take(struct orma_trace_buffer_copy *copy)
{
	struct orma_trace_buffer *buffer = ORMA_TAKE(copy->copy);

	orma_trace_buffer_copy_free(copy);
	return buffer;
}

void orma_trace_buffer_copy_free(struct orma_trace_buffer_copy *copy)
{
	if (!copy)
		return;
	leave_source(copy);
	orma_trace_buffer_free(copy->copy);
	orma_base_free(copy->sequences_done);
	orma_base_free(copy->done);
	orma_base_free(copy);
}
