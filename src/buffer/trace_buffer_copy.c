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
 * At the beginning what is small is copied at once: positions and statistics. The table of
 * sequences and the ring follow in blocks, a few per step. Whoever is about to change bytes of the
 * source's ring (a header, a payload, a patch) calls orma_trace_buffer_will_change() first, which copies
 * the block concerned if it was not yet, and so does orma_trace_buffer_sequence_get() for its part of the table;
 * so every block arrives as it was at the beginning. Once all have, the source is left alone, and
 * the copy finds its records again: one walk over its ring, from the oldest on, files each under
 * its sequence.
 *
 * Invariant: a block is either marked as done, or the same in the source as at the beginning. A
 * source that is freed before that stays until its last copy has left it.
 *
 * A copy is there to be read: its sequences are not in the table of keys, so writes and patches do
 * not find them.
 *
 * Rejected: copying the index too (its deques are where a hostile producer makes most of the
 * memory; found again, they cost bounded steps), the kernel's copy on write (a private mapping of
 * the ring's file: a second copy would have to copy what the first has made private), stopping the
 * source's writes (producers would stall or lose), a thread (the ring would need locks).
 */
#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "buffer/trace_buffer_layout.h"

/* What finding one record's place costs beside moving offsets, in bytes copied. */
enum { RECORD_COST = 128 };
enum { SEQUENCES_PER_BLOCK = 256 };

struct orma_trace_buffer_copy {
	struct orma_trace_buffer_copy *next; /* in the source's list */
	struct orma_trace_buffer *source;    /* NULL: all blocks are done */
	struct orma_trace_buffer *copy;
	uint64_t *done; /* a bit per block */
	uint32_t block_bytes, block_count;
	uint32_t block; /* all before it are done */
	/* The same for sequences; those that the source gets later are not copied. */
	uint64_t *sequences_done;
	uint32_t sequence_count, sequence_block;
	/* Finding records: from the oldest, at `write`, round to it. */
	uint32_t at;
	bool has_wrapped;
};

static bool is_done(const uint64_t *done, uint32_t block)
{
	return done[block / 64] >> block % 64 & 1;
}

static void copy_block(struct orma_trace_buffer_copy *copy, uint32_t block)
{
	uint32_t begin = block * copy->block_bytes;
	uint32_t size = ORMA_MIN(copy->copy->used - begin, copy->block_bytes);

	memcpy(copy->copy->ring + begin, copy->source->ring + begin, size);
	copy->done[block / 64] |= UINT64_C(1) << block % 64;
}

void orma_trace_buffer_save(const struct orma_trace_buffer *buffer, uint32_t offset, uint32_t size)
{
	for (struct orma_trace_buffer_copy *copy = buffer->copies; copy; copy = copy->next) {
		uint32_t block = offset / copy->block_bytes;
		uint32_t last = (offset + size - 1) / copy->block_bytes;

		for (; block <= last && block < copy->block_count; block++)
			if (!is_done(copy->done, block))
				copy_block(copy, block);
	}
}

static void copy_sequences(struct orma_trace_buffer_copy *copy, uint32_t block)
{
	const struct orma_trace_buffer_sequence *from = copy->source->sequences.slots;
	struct orma_trace_buffer_sequence *to = copy->copy->sequences.slots;
	uint32_t begin = block * SEQUENCES_PER_BLOCK;
	uint32_t end = ORMA_MIN(begin + SEQUENCES_PER_BLOCK, copy->sequence_count);

	for (uint32_t i = begin; i < end; i++) {
		to[i] = from[i];
		to[i].records = (struct orma_trace_buffer_record_list){0};
		to[i].stalled_in_pass = 0;
		to[i].is_hashed = false;
	}
	copy->sequences_done[block / 64] |= UINT64_C(1) << block % 64;
}

void orma_trace_buffer_save_sequence(const struct orma_trace_buffer *buffer, uint32_t sequence)
{
	uint32_t block = (sequence - 1) / SEQUENCES_PER_BLOCK;

	for (struct orma_trace_buffer_copy *copy = buffer->copies; copy; copy = copy->next)
		if (sequence <= copy->sequence_count && !is_done(copy->sequences_done, block))
			copy_sequences(copy, block);
}

static int begin_sequences(struct orma_trace_buffer_copy *copy,
			   const struct orma_trace_buffer_sequence_table *from)
{
	struct orma_trace_buffer_sequence_table *to = &copy->copy->sequences;
	uint32_t count = from->count;

	copy->sequences_done = orma_base_alloc_array(count / SEQUENCES_PER_BLOCK / 64 + 1,
						     sizeof(*copy->sequences_done));
	if (!copy->sequences_done)
		return -ENOMEM;
	if (count == 0)
		return 0;
	/* Memory for as many as there are, which comes as it is written to. */
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
	to->stats.bytes_read = to->stats.chunks_read = 0;
	to->stats.readaheads_succeeded = to->stats.readaheads_failed = 0;
}

int orma_trace_buffer_copy_begin(struct orma_trace_buffer *source, uint32_t block_bytes,
				 struct orma_trace_buffer_copy **ret)
{
	struct orma_trace_buffer_copy *copy = orma_base_zalloc(sizeof(*copy));
	int result;

	if (!copy)
		return -ENOMEM;
	copy->block_bytes = block_bytes ? block_bytes : ORMA_TRACE_BUFFER_COPY_BLOCK_BYTES;
	copy->block_count = source->used / copy->block_bytes;
	copy->block_count += source->used % copy->block_bytes != 0;
	copy->done = orma_base_alloc_array(copy->block_count / 64 + 1, sizeof(*copy->done));
	result = copy->done ? orma_trace_buffer_new(source->size, source->policy, &copy->copy)
			    : -ENOMEM;
	if (result == 0)
		result = begin_sequences(copy, &source->sequences);
	if (result < 0) {
		orma_trace_buffer_copy_free(copy);
		return result;
	}
	/* A huge page costs several steps at once, and pays off only when it is used for long. */
	(void)madvise(copy->copy->ring, copy->copy->size, MADV_NOHUGEPAGE);
	copy_state(source, copy->copy);
	copy->at = copy->copy->write;
	copy->source = source;
	copy->next = source->copies;
	source->copies = copy;
	*ret = copy;
	return 0;
}

/* The source is not needed any more. */
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

/* What it cost, in bytes. */
static uint64_t copy_blocks(struct orma_trace_buffer_copy *copy, uint64_t budget_bytes)
{
	uint32_t *at = &copy->sequence_block;
	uint64_t spent = 0;

	for (; *at * SEQUENCES_PER_BLOCK < copy->sequence_count && spent < budget_bytes; ++*at) {
		if (is_done(copy->sequences_done, *at))
			continue;
		copy_sequences(copy, *at);
		spent += SEQUENCES_PER_BLOCK * sizeof(struct orma_trace_buffer_sequence);
	}
	for (; copy->block < copy->block_count && spent < budget_bytes; copy->block++) {
		if (is_done(copy->done, copy->block))
			continue;
		copy_block(copy, copy->block);
		spent += copy->block_bytes;
	}
	if (copy->block == copy->block_count && *at * SEQUENCES_PER_BLOCK >= copy->sequence_count)
		leave_source(copy);
	return spent;
}

/* Files the record at `offset` under its sequence; the cost in bytes, or a negative error. */
static int64_t find_record_place(struct orma_trace_buffer *buffer, uint32_t offset)
{
	const struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(buffer, offset);
	struct orma_trace_buffer_record_list *list;
	uint32_t position, moved;
	int result;

	if (!record->sequence)
		return RECORD_COST / 4;
	list = &orma_trace_buffer_sequence_get(buffer, record->sequence)->records;
	result = orma_trace_buffer_record_list_find(buffer, list, record->chunk_id, &position);
	if (result == 0)
		result = orma_trace_buffer_record_list_reserve(list);
	if (result != 0)
		return result == -ENOMEM ? result : -EPROTO;
	moved = ORMA_MIN(position, list->count - position);
	orma_trace_buffer_record_list_insert(
		list, position, (struct orma_trace_buffer_record_entry){.offset = offset},
		record->chunk_id);
	return RECORD_COST + (int64_t)moved * (int64_t)sizeof(*list->entries);
}

/* 1 = more to do, 0 = all records are found. */
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
		cost = find_record_place(buffer, copy->at);
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

int orma_trace_buffer_clone(struct orma_trace_buffer *buffer, struct orma_trace_buffer **ret)
{
	struct orma_trace_buffer_copy *copy;
	int result = orma_trace_buffer_copy_begin(buffer, 0, &copy);

	if (result < 0)
		return result;
	do
		result = orma_trace_buffer_copy_step(copy, UINT64_MAX);
	while (result > 0);
	if (result < 0)
		orma_trace_buffer_copy_free(copy);
	else
		*ret = orma_trace_buffer_copy_take(copy);
	return result;
}
