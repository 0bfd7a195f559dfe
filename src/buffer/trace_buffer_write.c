/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_write.c - writes chunks and patches into a trace buffer.
 *
 * Writing a chunk takes three steps:
 *   1. The chunk is copied out of shared memory into the staging area, where nobody else can change
 *      it, and its fragments are counted there.
 *   2. Its place in its sequence is looked up, which tells a new chunk from a re-commit.
 *   3. Room is made at the write position by walking over what is there (trace_buffer_walk.c), and
 *      the record is written.
 *
 * Step 2 precedes step 3, because a re-commit must find the copy that making room might destroy.
 *
 * Rejected: copying straight into the ring and shrinking the record after the check, because every
 * half-empty chunk would then destroy enough of the oldest data for a whole one. The second copy of
 * a few KiB reads from the first-level cache.
 */
#include <errno.h>
#include <string.h>

#include "buffer/trace_buffer_check.h"
#include "buffer/trace_buffer_index.h"
#include "buffer/trace_buffer_save.h"
#include "buffer/trace_buffer_walk.h"

enum { CACHE_LINE_BYTES = 64 };

struct staged_chunk {
	const struct orma_trace_buffer_chunk *chunk;
	uint32_t payload;       /* bytes of whole fragments */
	uint32_t capacity;      /* room to keep: a scraped chunk may grow */
	uint32_t consumed;      /* bytes of it that were already read from an earlier copy */
	uint32_t last_fragment; /* as in struct orma_trace_buffer_record_entry */
	uint32_t packet_count;  /* that begin in it */
	uint16_t flags;
};

/* The bytes that the chunk will overwrite were written a whole ring ago, so they have left the
 * cache. Fetching them takes as long as copying the chunk; a prefetch lets both run at once. The
 * last cache line that is fetched holds the header of the record behind these bytes. */
static void prefetch_room(const struct orma_trace_buffer *buffer, uint32_t size)
{
	uint32_t end =
		ORMA_MIN(buffer->write + size + ORMA_TRACE_BUFFER_RECORD_BYTES + CACHE_LINE_BYTES,
			 buffer->size);
	for (uint32_t at = buffer->write; at < end; at += CACHE_LINE_BYTES)
		__builtin_prefetch(buffer->ring + at, 1);
}

static int stage_chunk(struct orma_trace_buffer *buffer,
		       const struct orma_trace_buffer_chunk *chunk, struct staged_chunk *ret)
{
	if (chunk->payload_size_bytes > ORMA_TRACE_BUFFER_PAYLOAD_MAX_BYTES ||
	    orma_trace_buffer_record_outer_bytes((uint32_t)chunk->payload_size_bytes) >
		    buffer->size) {
		buffer->stats.abi_violations++;
		return -EMSGSIZE;
	}
	uint32_t size = (uint32_t)chunk->payload_size_bytes;
	prefetch_room(buffer, size);
	if (size)
		memcpy(buffer->staging, chunk->payload_untrusted, size);

	uint32_t count = chunk->fragment_count, end = 0, size_before = 0;
	*ret = (struct staged_chunk){.chunk = chunk,
				     .flags = chunk->flags & ORMA_TRACE_BUFFER_RECORD_ABI_FLAGS};
	if (!chunk->is_complete) {
		/* The last fragment may be half written. The other flags are about that
		 * fragment. */
		count -= count > 0;
		ret->flags &= ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS;
		ret->flags |= ORMA_TRACE_BUFFER_RECORD_INCOMPLETE;
	} else if (chunk->is_scraped) {
		ret->flags |= ORMA_TRACE_BUFFER_RECORD_UNCOMMITTED;
	}
	for (; count > 0; count--) {
		struct orma_trace_buffer_fragment fragment;
		enum orma_trace_buffer_fragment_kind kind =
			orma_trace_buffer_fragment_at(buffer->staging, size, end, &fragment);
		if (ORMA_UNLIKELY(kind != ORMA_TRACE_BUFFER_FRAGMENT_FOUND)) {
			bool is_abort = kind == ORMA_TRACE_BUFFER_FRAGMENT_ABORT;
			ret->flags &= (uint16_t)~ORMA_TRACE_BUFFER_CHUNK_CONTINUES_ON_NEXT;
			ret->flags |= is_abort ? ORMA_TRACE_BUFFER_RECORD_ABORT
					       : ORMA_TRACE_BUFFER_RECORD_CORRUPT;
			buffer->stats.abi_violations += !is_abort;
			break;
		}
		ret->last_fragment = size_before ? end : 0;
		size_before = fragment.size;
		end = fragment.end;
		ret->packet_count++;
	}
	if (ret->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS && ret->packet_count > 0)
		ret->packet_count--;
	ret->payload = end;
	ret->capacity = chunk->is_complete ? end : size;
	return 0;
}

/* An incomplete chunk comes again. */
static void count_packets(struct orma_trace_buffer *buffer, const struct staged_chunk *staged)
{
	if (staged->chunk->is_complete)
		buffer->stats.packets_written += staged->packet_count;
}

/* Tells whether the sequence has already passed this chunk. A scraped chunk that was consumed may
 * come again with more in it. Returns 0 (place the chunk), 1 (nothing to do) or -EPROTO. */
static int check_not_consumed(struct orma_trace_buffer *buffer,
			      struct orma_trace_buffer_sequence *sequence,
			      struct staged_chunk *staged)
{
	uint32_t id = staged->chunk->chunk_id;
	if (!sequence->has_last || orma_trace_buffer_chunk_id_is_before(sequence->last_id, id))
		return 0;
	if (id == sequence->last_id && sequence->last_was_incomplete) {
		if (staged->payload > sequence->last_payload) {
			staged->consumed = sequence->last_payload;
			return 0;
		}
		if (staged->chunk->is_complete && staged->payload == sequence->last_payload) {
			/* The scrape had already copied all of it. */
			count_packets(buffer, staged);
			sequence->last_was_incomplete = false;
			sequence->uncommitted_count += staged->chunk->is_scraped;
			return 1;
		}
	}
	/* A scrape copied it and a reader has read it since: nothing is lost. */
	if (staged->chunk->is_scraped)
		return 1;
	if (sequence->uncommitted_count > 0) {
		sequence->uncommitted_count--;
		return 1;
	}
	buffer->stats.chunks_discarded++;
	return -EPROTO;
}

static int count_violation(struct orma_trace_buffer *buffer)
{
	buffer->stats.abi_violations++;
	return -EPROTO;
}

/* A chunk that is in the ring comes again. Returns 1 (its record is up to date), 0 (its record was
 * closed: write the chunk as a new one) or -EPROTO (it does not extend what is there). */
static int recommit_chunk(struct orma_trace_buffer *buffer, uint32_t sequence_number,
			  uint32_t position, struct staged_chunk *staged)
{
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, sequence_number);
	uint32_t offset = orma_trace_buffer_record_list_get(&sequence->records, position);
	struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(buffer, offset);
	bool was_incomplete = record->flags & ORMA_TRACE_BUFFER_RECORD_INCOMPLETE;
	bool grows = staged->payload > record->payload;
	if (staged->payload < record->payload || staged->payload > record->capacity ||
	    (grows && !was_incomplete) ||
	    record->flags & ORMA_TRACE_BUFFER_RECORD_ABI_FLAGS & ~staged->flags)
		return count_violation(buffer);
	if (!was_incomplete) {
		orma_trace_buffer_will_change_header(buffer, record);
		if (!staged->chunk->is_scraped)
			record->flags &= (uint16_t)~ORMA_TRACE_BUFFER_RECORD_UNCOMMITTED;
		return 1;
	}
	/* A chunk that was read to its end moves to the write position: its old place may be about
	 * to be overwritten, and the new part would be lost before it is read. */
	if (grows && staged->chunk->is_complete && position == 0 &&
	    record->consumed == record->payload && buffer->policy == ORMA_TRACE_BUFFER_RING) {
		staged->consumed = record->payload;
		orma_trace_buffer_close_first(buffer, sequence_number);
		buffer->stats.chunks_relocated++;
		return 0;
	}
	orma_trace_buffer_will_change_record(buffer, record);
	uint16_t kept = record->flags &
			(ORMA_TRACE_BUFFER_RECORD_ENTERED | ORMA_TRACE_BUFFER_RECORD_OVERWRITTEN);
	buffer->stats.trace_writer_packet_loss += staged->flags & ORMA_TRACE_BUFFER_RECORD_ABORT &&
						  !(record->flags & ORMA_TRACE_BUFFER_RECORD_ABORT);
	record->flags = staged->flags | kept;
	count_packets(buffer, staged);
	if (grows) {
		memcpy(orma_trace_buffer_record_payload(record), buffer->staging, staged->payload);
		record->payload = (uint16_t)staged->payload;
		orma_trace_buffer_record_list_entry(&sequence->records, position)->last_fragment =
			staged->last_fragment;
		buffer->stats.chunks_rewritten++;
	}
	return 1;
}

/* Makes gaps of the live record at `offset` and of all records that its sequence has before it. */
static void overwrite_record(struct orma_trace_buffer *buffer, uint32_t offset)
{
	struct orma_trace_buffer_walk walk;
	bool has_lost_packets = false;
	orma_trace_buffer_walk_begin(buffer, &walk, offset, true);
	while (orma_trace_buffer_walk_next(buffer, &walk, NULL))
		has_lost_packets = true;
	if (has_lost_packets)
		orma_trace_buffer_sequence_get(buffer, walk.sequence)->loss |=
			ORMA_TRACE_BUFFER_LOSS_PRESENT | ORMA_TRACE_BUFFER_LOSS_OVERWRITE;
}

static void write_padding(struct orma_trace_buffer *buffer, uint32_t offset, uint32_t size)
{
	orma_trace_buffer_will_change(buffer, offset, ORMA_TRACE_BUFFER_RECORD_BYTES);
	*orma_trace_buffer_record_at(buffer, offset) = (struct orma_trace_buffer_record){
		.capacity = (uint16_t)(size - ORMA_TRACE_BUFFER_RECORD_BYTES),
		.flags = ORMA_TRACE_BUFFER_RECORD_PADDING};
	buffer->stats.padding_bytes_written += size;
	if (offset + size > buffer->used)
		buffer->used = offset + size;
}

/* Clears [write, write + size) of records. The rest of the last record that lies in it becomes
 * padding. */
static void clear_ahead(struct orma_trace_buffer *buffer, uint32_t size)
{
	uint32_t at = buffer->write, end = buffer->write + size;
	ORMA_ASSERT(end <= buffer->size);
	while (at < end && at < buffer->used) {
		struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(buffer, at);
		if (record->sequence)
			overwrite_record(buffer, at);
		else if (record->flags & ORMA_TRACE_BUFFER_RECORD_PADDING)
			buffer->stats.padding_bytes_cleared +=
				orma_trace_buffer_record_outer_bytes(record->capacity);
		at += orma_trace_buffer_record_outer_bytes(record->capacity);
	}
	if (at > end)
		write_padding(buffer, end, at - end);
}

/* Moves the write position over `size` bytes that now hold a record. */
static void advance_write(struct orma_trace_buffer *buffer, uint32_t size)
{
	uint32_t from = buffer->write, to = from + size;
	ORMA_ASSERT(to <= buffer->size);
	if (to > buffer->used)
		buffer->used = to;
	if (buffer->oldest >= from && buffer->oldest < to)
		buffer->oldest = to < buffer->used ? to : 0;
	buffer->write = to;
}

/* Makes room for `size` bytes at the write position: 0 or -ENOBUFS. */
static int make_room(struct orma_trace_buffer *buffer, uint32_t size)
{
	uint32_t rest = buffer->size - buffer->write;
	if (buffer->is_full)
		return -ENOBUFS;
	if (size > rest) {
		if (buffer->policy == ORMA_TRACE_BUFFER_DISCARD) {
			buffer->is_full = true;
			return -ENOBUFS;
		}
		if (rest) {
			clear_ahead(buffer, rest);
			write_padding(buffer, buffer->write, rest);
			advance_write(buffer, rest);
		}
		buffer->write = 0;
		buffer->stats.write_wrap_count++;
	}
	clear_ahead(buffer, size);
	return 0;
}

/* Counts a chunk that is not written, and turns the room that was made for it into padding. Returns
 * `r`. */
static int drop_chunk(struct orma_trace_buffer *buffer, uint32_t room, int r)
{
	if (room) {
		write_padding(buffer, buffer->write, room);
		advance_write(buffer, room);
	}
	buffer->stats.chunks_discarded++;
	return r;
}

static void write_record(struct orma_trace_buffer *buffer, uint32_t sequence_number,
			 uint32_t position, const struct staged_chunk *staged)
{
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, sequence_number);
	struct orma_trace_buffer_record *record =
		orma_trace_buffer_record_at(buffer, buffer->write);
	uint32_t outer = orma_trace_buffer_record_outer_bytes(staged->capacity);
	bool is_only_chunk = buffer->chunk_count == 0;
	orma_trace_buffer_will_change(buffer, buffer->write, outer);
	*record = (struct orma_trace_buffer_record){
		.chunk_id = staged->chunk->chunk_id,
		.sequence = sequence_number,
		.capacity = (uint16_t)staged->capacity,
		.payload = (uint16_t)staged->payload,
		.consumed = (uint16_t)staged->consumed,
		.flags = staged->flags,
	};
	memcpy(orma_trace_buffer_record_payload(record), buffer->staging, staged->payload);

	if (!sequence->records.count)
		orma_trace_buffer_sequence_filled(buffer, sequence_number);
	buffer->stats.chunks_committed_out_of_order += position != sequence->records.count;
	orma_trace_buffer_record_list_insert(
		&sequence->records, position,
		(struct orma_trace_buffer_record_entry){.offset = buffer->write,
							.last_fragment = staged->last_fragment},
		record->chunk_id);
	buffer->chunk_count++;
	buffer->stats.chunks_written++;
	buffer->stats.bytes_written += outer;
	count_packets(buffer, staged);
	buffer->stats.trace_writer_packet_loss +=
		(staged->flags & ORMA_TRACE_BUFFER_RECORD_ABORT) != 0;
	uint32_t offset = buffer->write;
	advance_write(buffer, outer);
	if (is_only_chunk)
		buffer->oldest = offset;
}

/* Writes a chunk that is not in the ring; it belongs at `position` of its sequence. */
static int insert_chunk(struct orma_trace_buffer *buffer, uint32_t sequence_number,
			uint32_t position, const struct staged_chunk *staged)
{
	struct orma_trace_buffer_record_list *list =
		&orma_trace_buffer_sequence_get(buffer, sequence_number)->records;
	uint32_t outer = orma_trace_buffer_record_outer_bytes(staged->capacity),
		 count_before = list->count;
	if (make_room(buffer, outer) < 0)
		return drop_chunk(buffer, 0, -ENOBUFS);
	/* Making room may have closed the first records of this very sequence. If the chunk belongs
	 * before one of those, it comes too late. */
	uint32_t lost_count = count_before - list->count;
	if (lost_count > position)
		return drop_chunk(buffer, outer, -EPROTO);
	if (orma_trace_buffer_record_list_reserve(list) < 0)
		return drop_chunk(buffer, outer, -ENOMEM);
	write_record(buffer, sequence_number, position - lost_count, staged);
	return 0;
}

static int place_chunk(struct orma_trace_buffer *buffer, uint32_t sequence_number,
		       struct staged_chunk *staged)
{
	struct orma_trace_buffer_sequence *sequence =
		orma_trace_buffer_sequence_get(buffer, sequence_number);
	const struct orma_trace_buffer_record_list *list = &sequence->records;
	uint32_t position;
	int r = check_not_consumed(buffer, sequence, staged);
	if (r != 0)
		return r;
	r = orma_trace_buffer_record_list_find(buffer, list, staged->chunk->chunk_id, &position);
	if (r == 1) {
		r = recommit_chunk(buffer, sequence_number, position, staged);
		if (r != 0)
			return r;
	} else if (r < 0 ||
		   ORMA_MIN(position, list->count - position) > ORMA_TRACE_BUFFER_LATE_MAX) {
		return count_violation(buffer);
	} else if (position == 0 && list->count > 0 &&
		   orma_trace_buffer_record_at(buffer, orma_trace_buffer_record_list_get(list, 0))
				   ->consumed > 0) {
		/* Its successor was partly read: the trace would have them in the wrong order. */
		buffer->stats.chunks_discarded++;
		return -EPROTO;
	}
	return insert_chunk(buffer, sequence_number, position, staged);
}

/* *ret_sequence stays 0 when the chunk gets no sequence. */
static int write_chunk(struct orma_trace_buffer *buffer,
		       const struct orma_trace_buffer_chunk *chunk, uint32_t *ret_sequence)
{
	struct staged_chunk staged;
	int r = stage_chunk(buffer, chunk, &staged);
	if (r < 0)
		return r;
	if (orma_trace_buffer_sequence_open(buffer, &chunk->writer, ret_sequence) < 0)
		return drop_chunk(buffer, 0, -ENOMEM);
	r = place_chunk(buffer, *ret_sequence, &staged);
	orma_trace_buffer_sequence_forget_oldest(buffer);
	return r < 0 ? r : (int)staged.payload;
}

int orma_trace_buffer_write_chunk(struct orma_trace_buffer *buffer,
				  const struct orma_trace_buffer_chunk *chunk)
{
	uint32_t sequence_number = 0;
	buffer->pass_is_open = false;
	buffer->refusable_sequence = 0;
	int r = write_chunk(buffer, chunk, &sequence_number);
	orma_trace_buffer_check_call(buffer, sequence_number);
	return r;
}

bool orma_trace_buffer_has_sequence(const struct orma_trace_buffer *buffer, uint16_t producer_id,
				    uint16_t writer_id, uint32_t sequence_id)
{
	uint32_t number =
		orma_trace_buffer_sequence_find(&buffer->sequences, producer_id, writer_id);

	return number && buffer->sequences.slots[number - 1].writer.sequence_id == sequence_id;
}

void orma_trace_buffer_patches_failed(struct orma_trace_buffer *buffer, size_t count)
{
	buffer->stats.patches_failed += count;
}

static struct orma_trace_buffer_record_entry *find_record(const struct orma_trace_buffer *buffer,
							  uint16_t producer_id, uint16_t writer_id,
							  uint32_t chunk_id)
{
	uint32_t position, number = orma_trace_buffer_sequence_find(&buffer->sequences, producer_id,
								    writer_id);
	if (!number)
		return NULL;
	const struct orma_trace_buffer_record_list *list =
		&orma_trace_buffer_sequence_get(buffer, number)->records;
	if (orma_trace_buffer_record_list_find(buffer, list, chunk_id, &position) != 1)
		return NULL;
	return orma_trace_buffer_record_list_entry(list, position);
}

int orma_trace_buffer_patch(struct orma_trace_buffer *buffer, uint16_t producer_id,
			    uint16_t writer_id, uint32_t chunk_id,
			    const struct orma_trace_buffer_patch *patches, size_t patch_count,
			    bool has_more)
{
	struct orma_trace_buffer_record_entry *entry =
		find_record(buffer, producer_id, writer_id, chunk_id);
	struct orma_trace_buffer_record *record;
	buffer->pass_is_open = false;
	buffer->refusable_sequence = 0;
	if (!entry) {
		buffer->stats.patches_failed += patch_count;
		return -ENOENT;
	}
	record = orma_trace_buffer_record_at(buffer, entry->offset);
	for (size_t i = 0; i < patch_count; i++) {
		if (record->payload < sizeof(patches[i].data) ||
		    patches[i].offset_untrusted > record->payload - sizeof(patches[i].data)) {
			buffer->stats.patches_failed += patch_count;
			return -EPROTO;
		}
	}
	orma_trace_buffer_will_change_record(buffer, record);
	for (size_t i = 0; i < patch_count; i++)
		memcpy(orma_trace_buffer_record_payload(record) + patches[i].offset_untrusted,
		       patches[i].data, sizeof(patches[i].data));
	/* A patch may have changed a fragment's size. */
	entry->last_fragment = 0;
	buffer->stats.patches_succeeded += patch_count;
	if (!has_more)
		record->flags &= (uint16_t)~ORMA_TRACE_BUFFER_CHUNK_NEEDS_PATCHING;
	orma_trace_buffer_check_call(buffer, record->sequence);
	return 0;
}
