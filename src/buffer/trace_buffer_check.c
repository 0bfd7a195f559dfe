/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_check.c - checks the invariants that trace_buffer.c lists.
 *
 * Compiled for developers only (base/assert.h): every write, patch and read of a packet ends with
 * orma_trace_buffer_check_call().
 *
 * A walk over a ring of 32 MB after every call would make the tests a thousand times slower, so
 * there are two checks. The near check runs after every call. It looks at what the call may have
 * changed: the positions, a few records behind each of them, and a few entries at both ends of the
 * call's sequence. The full check visits every record and every entry of every list. It runs when
 * the calls since the last one have paid for it: each call pays for CALL_PAYS records. A full check
 * therefore follows almost every call while a buffer is small, and costs a constant per call when
 * it is large. A buffer with more than CHUNKS_MAX chunks gets the near check only, because a single
 * full one would then take longer than a turn of the service may.
 *
 * The checks use no function of the index or the walk, so they do not repeat the errors of those
 * functions. They write nothing, so they need not save anything for copies and holds.
 *
 * Rejected: a full check that advances by a few records with every call, because the sums of
 * invariants 3 and 6 are only comparable when nothing changes between the first record and the
 * last.
 */
#include "buffer/trace_buffer_check.h"

#ifdef ORMA_ASSERTS
#include "base/assert.h"

enum {
	NEAR_RECORDS = 4,
	NEAR_ENTRIES = 2,
	CALL_PAYS = 8,
	CHUNKS_MAX = 1 << 16,
	/* The invariants, by their numbers in trace_buffer.c. */
	HOLDS = 0,
	RECORDS_WITHOUT_HOLES = 1,
	GAPS_BEFORE_OLDEST = 2,
	LISTS_MATCH_RECORDS = 3,
	LISTS_ASCEND = 4,
	SIZES_NEST = 5,
	STATISTICS_MATCH = 6,
};

/* Sums over all records of the ring. */
struct census {
	uint32_t record_count, live_count;
	uint64_t live_offsets; /* the sum of their offsets */
	uint64_t live_bytes, padding_bytes;
};

/* Checks one record alone. */
static int check_record(const struct orma_trace_buffer *buffer, uint32_t at)
{
	const struct orma_trace_buffer_record *record = orma_trace_buffer_record_at(buffer, at);

	if (at % ORMA_TRACE_BUFFER_RECORD_BYTES != 0 ||
	    buffer->used - at < orma_trace_buffer_record_outer_bytes(record->capacity))
		return RECORDS_WITHOUT_HOLES;
	if (record->consumed > record->payload || record->payload > record->capacity)
		return SIZES_NEST;
	if (record->sequence > buffer->sequences.count ||
	    (record->sequence > 0 && !buffer->sequences.slots[record->sequence - 1].is_used))
		return LISTS_MATCH_RECORDS;
	return HOLDS;
}

/* True in the part of the ring that invariant 2 is about. */
static bool is_before_oldest(const struct orma_trace_buffer *buffer, uint32_t at)
{
	if (buffer->write < buffer->oldest)
		return at >= buffer->write && at < buffer->oldest;
	return buffer->write > buffer->oldest && (at >= buffer->write || at < buffer->oldest);
}

static int check_place(const struct orma_trace_buffer *buffer, uint32_t at)
{
	bool has_to_be_gap = buffer->chunk_count == 0 || is_before_oldest(buffer, at);

	return has_to_be_gap && orma_trace_buffer_record_at(buffer, at)->sequence != 0
		       ? GAPS_BEFORE_OLDEST
		       : HOLDS;
}

static int check_positions(const struct orma_trace_buffer *buffer)
{
	if (buffer->used > buffer->size || buffer->write > buffer->used ||
	    buffer->oldest > buffer->used)
		return RECORDS_WITHOUT_HOLES;
	return HOLDS;
}

/* The bytes that chunks and padding occupy, by the statistics. */
static uint64_t live_bytes(const struct orma_trace_buffer *buffer)
{
	const struct orma_trace_buffer_stats *stats = &buffer->stats;

	return stats->bytes_written - buffer->bytes_read_before_copy - stats->bytes_read -
	       stats->bytes_overwritten;
}

static uint64_t padding_bytes(const struct orma_trace_buffer *buffer)
{
	return buffer->stats.padding_bytes_written - buffer->stats.padding_bytes_cleared;
}

/* ---- one sequence ---- */

static const struct orma_trace_buffer_record *
listed_record(const struct orma_trace_buffer *buffer,
	      const struct orma_trace_buffer_record_list *list, uint32_t position)
{
	return orma_trace_buffer_record_at(buffer,
					   orma_trace_buffer_record_list_get(list, position));
}

/* Checks an entry, its record, and the order of its id and the one before. */
static int check_entry(const struct orma_trace_buffer *buffer, uint32_t sequence, uint32_t position)
{
	const struct orma_trace_buffer_record_list *list =
		&buffer->sequences.slots[sequence - 1].records;
	const struct orma_trace_buffer_record *record;
	uint32_t offset = orma_trace_buffer_record_list_get(list, position);
	int broken;

	if (offset >= buffer->used)
		return LISTS_MATCH_RECORDS;
	broken = check_record(buffer, offset);
	if (broken != HOLDS)
		return broken;
	record = orma_trace_buffer_record_at(buffer, offset);
	if (record->sequence != sequence)
		return LISTS_MATCH_RECORDS;
	if (position == 0)
		return HOLDS;
	if (!orma_trace_buffer_chunk_id_is_before(
		    listed_record(buffer, list, position - 1)->chunk_id, record->chunk_id))
		return LISTS_ASCEND;
	/* Only a continuation can have been taken out of the middle of a sequence. */
	if (record->consumed > 0 && !(record->flags & ORMA_TRACE_BUFFER_CHUNK_CONTINUES_PREVIOUS))
		return LISTS_ASCEND;
	return HOLDS;
}

/* Checks the first and the last id of a list against what the list and its sequence know of
 * them. */
static int check_list_ends(const struct orma_trace_buffer *buffer, uint32_t sequence)
{
	const struct orma_trace_buffer_sequence *slot = &buffer->sequences.slots[sequence - 1];
	const struct orma_trace_buffer_record_list *list = &slot->records;
	uint32_t first, newest;

	if (list->count > list->capacity || (list->capacity & (list->capacity - 1)) != 0)
		return LISTS_MATCH_RECORDS;
	if (list->count == 0)
		return HOLDS;
	first = listed_record(buffer, list, 0)->chunk_id;
	newest = listed_record(buffer, list, list->count - 1)->chunk_id;
	if (list->newest_id != newest || newest - first > INT32_MAX)
		return LISTS_ASCEND;
	if (slot->has_last && !orma_trace_buffer_chunk_id_is_before(slot->last_id, first) &&
	    !(slot->last_id == first && slot->last_was_incomplete))
		return LISTS_ASCEND;
	return HOLDS;
}

static int check_list(const struct orma_trace_buffer *buffer, uint32_t sequence,
		      uint32_t entries_from_each_end)
{
	const struct orma_trace_buffer_record_list *list =
		&buffer->sequences.slots[sequence - 1].records;
	uint32_t at_begin = ORMA_MIN(list->count, entries_from_each_end);
	uint32_t at_end = ORMA_MIN(list->count - at_begin, entries_from_each_end);
	int broken = HOLDS;

	for (uint32_t i = 0; i < at_begin && broken == HOLDS; i++)
		broken = check_entry(buffer, sequence, i);
	for (uint32_t i = list->count - at_end; i < list->count && broken == HOLDS; i++)
		broken = check_entry(buffer, sequence, i);
	return broken != HOLDS ? broken : check_list_ends(buffer, sequence);
}

/* ---- the near check ---- */

static int check_records_from(const struct orma_trace_buffer *buffer, uint32_t at)
{
	int broken = HOLDS;

	for (int i = 0; i < NEAR_RECORDS && at < buffer->used && broken == HOLDS; i++) {
		broken = check_record(buffer, at);
		if (broken == HOLDS)
			broken = check_place(buffer, at);
		at += orma_trace_buffer_record_outer_bytes(
			orma_trace_buffer_record_at(buffer, at)->capacity);
	}
	return broken;
}

int orma_trace_buffer_check_near(const struct orma_trace_buffer *buffer, uint32_t sequence)
{
	int broken = check_positions(buffer);

	if (broken == HOLDS)
		broken = check_records_from(buffer, buffer->write);
	if (broken == HOLDS)
		broken = check_records_from(buffer, buffer->oldest);
	if (broken == HOLDS && sequence > 0)
		broken = check_list(buffer, sequence, NEAR_ENTRIES);
	if (broken == HOLDS && live_bytes(buffer) + padding_bytes(buffer) > buffer->used)
		broken = STATISTICS_MATCH;
	return broken;
}

/* ---- the full check ---- */

static int check_ring(const struct orma_trace_buffer *buffer, struct census *census)
{
	uint32_t at = 0;
	bool write_is_boundary = false, oldest_is_boundary = false;

	while (at < buffer->used) {
		const struct orma_trace_buffer_record *record =
			orma_trace_buffer_record_at(buffer, at);
		uint32_t outer = orma_trace_buffer_record_outer_bytes(record->capacity);
		int broken = check_record(buffer, at);

		if (broken == HOLDS)
			broken = check_place(buffer, at);
		if (broken != HOLDS)
			return broken;
		write_is_boundary |= at == buffer->write;
		oldest_is_boundary |= at == buffer->oldest;
		census->record_count++;
		if (record->sequence > 0) {
			census->live_count++;
			census->live_offsets += at;
			census->live_bytes += outer;
		} else if (record->flags & ORMA_TRACE_BUFFER_RECORD_PADDING) {
			census->padding_bytes += outer;
		}
		at += outer;
	}
	write_is_boundary |= at == buffer->write;
	oldest_is_boundary |= at == buffer->oldest;
	return write_is_boundary && oldest_is_boundary ? HOLDS : RECORDS_WITHOUT_HOLES;
}

static uint64_t sum_offsets(const struct orma_trace_buffer_record_list *list)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; i < list->count; i++)
		sum += orma_trace_buffer_record_list_get(list, i);
	return sum;
}

/* The entries of a list have different ids, hence different records. So when there are as many
 * entries as live records, and their offsets have the same sum, each record is listed once. */
static int check_lists(const struct orma_trace_buffer *buffer, const struct census *census)
{
	uint64_t listed_count = 0, listed_offsets = 0;

	for (uint32_t i = 1; i <= buffer->sequences.count; i++) {
		int broken = check_list(buffer, i, UINT32_MAX);

		if (broken != HOLDS)
			return broken;
		listed_count += buffer->sequences.slots[i - 1].records.count;
		listed_offsets += sum_offsets(&buffer->sequences.slots[i - 1].records);
	}
	if (listed_count != census->live_count || listed_offsets != census->live_offsets ||
	    buffer->chunk_count != census->live_count)
		return LISTS_MATCH_RECORDS;
	return HOLDS;
}

int orma_trace_buffer_check(const struct orma_trace_buffer *buffer, uint32_t *ret_visited)
{
	struct census census = {0};
	int broken = check_positions(buffer);

	if (broken == HOLDS)
		broken = check_ring(buffer, &census);
	if (broken == HOLDS)
		broken = check_lists(buffer, &census);
	if (broken == HOLDS && (live_bytes(buffer) != census.live_bytes ||
				padding_bytes(buffer) != census.padding_bytes))
		broken = STATISTICS_MATCH;
	*ret_visited = census.record_count + buffer->sequences.count;
	return broken;
}

void orma_trace_buffer_check_call(struct orma_trace_buffer *buffer, uint32_t sequence)
{
	uint32_t visited;
	int broken = orma_trace_buffer_check_near(buffer, sequence);

	ORMA_ASSERT(broken == HOLDS);
	buffer->check_paid += CALL_PAYS;
	if (buffer->check_paid < buffer->check_price || buffer->chunk_count > CHUNKS_MAX)
		return;
	broken = orma_trace_buffer_check(buffer, &visited);
	ORMA_ASSERT(broken == HOLDS);
	buffer->check_price = visited;
	buffer->check_paid = 0;
}
#endif
