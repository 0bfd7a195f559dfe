/* SPDX-License-Identifier: Apache-2.0
 * packet_cursor.c - follows the runs of a sequence; if its times go back, over a sorted list of its packets.
 */
#include "trace/packet_cursor.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/wire.h"
#include "schema/gen/trace_packet.pb.h"
#include "store/grow.h"

/* Reads the entry at the cursor's address, and moves behind it. 1, 0 (not a packet), -EIO (the file has changed since the
 * first pass), -ENOMEM or an error of reading. */
static int read_entry(struct orma_packet_cursor *cursor, uint64_t end)
{
	size_t left = (size_t)(end - cursor->address),
	       wanted = ORMA_MIN(left, (size_t)2 * ORMA_PROTO_VARINT_MAX);
	const uint8_t *data;
	struct orma_str bytes;
	uint64_t size;
	int r;
	for (;;) {
		r = orma_trace_window_read(&cursor->window, cursor->index->input, cursor->address,
					   wanted, ORMA_MIN(left, cursor->ahead_bytes), &data);
		if (r <= 0)
			return r < 0 ? r : -EIO;
		size_t have =
			cursor->window.size - (size_t)(cursor->address - cursor->window.address);
		r = orma_trace_entry_read(data, ORMA_MIN(have, left), &bytes, &size);
		if (r != -EAGAIN || size == 0 || size > left)
			break;
		wanted = (size_t)size;
	}
	if (r < 0)
		return -EIO;
	cursor->address += size;
	if (r == 0 || orma_trace_packet_read_next(bytes.data, bytes.size, &cursor->packet) < 0)
		return 0;
	cursor->packet.address = cursor->address - bytes.size;
	cursor->packet.header = (uint32_t)(size - bytes.size);
	return 1;
}

/* Brings the state up to the packet just read, and finds its time. 1, 0 (it has none) or -ENOMEM. */
static int take_packet(struct orma_packet_cursor *cursor, uint32_t snapshots)
{
	const struct orma_packet *packet = &cursor->packet;
	int r = orma_sequence_time_take(&cursor->time, packet);
	if (r < 0)
		return r;
	if (packet->kind == 0 || packet->kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT ||
	    !orma_sequence_time_accepts(&cursor->time, packet) ||
	    orma_sequence_time_source(&cursor->time, packet) != ORMA_TIME_IS_KNOWN)
		return 0;
	bool is_event = packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT;
	cursor->rank = orma_packet_rank(packet, is_event);
	return orma_sequence_time_of(&cursor->time, &cursor->index->clocks,
				     cursor->index->trace_default_clock, packet, snapshots,
				     &cursor->ns) == ORMA_CLOCK_CONVERTED;
}

/* Goes to the next packet in the order of the file that has a time. */
static int next_in_file(struct orma_packet_cursor *cursor)
{
	const struct orma_sequence *sequence = cursor->sequence;
	while (cursor->run_idx < sequence->run_count) {
		const struct orma_run *run = &sequence->runs[cursor->run_idx];
		if (cursor->address >= run->address + run->size) {
			if (++cursor->run_idx < sequence->run_count)
				cursor->address = sequence->runs[cursor->run_idx].address;
			continue;
		}
		int r = read_entry(cursor, run->address + run->size);
		if (r > 0)
			r = take_packet(cursor, run->snapshots);
		if (r != 0)
			return r;
	}
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct orma_packet_place *x = a, *y = b;
	if (x->ns != y->ns)
		return x->ns < y->ns ? -1 : 1;
	if (x->rank != y->rank)
		return x->rank < y->rank ? -1 : 1;
	return x->address < y->address ? -1 : x->address > y->address;
}

static int sort_packets(struct orma_packet_cursor *cursor)
{
	int r;
	while ((r = next_in_file(cursor)) > 0) {
		r = orma_store_grow(&cursor->places, (uint64_t)cursor->place_count + 1,
				    &cursor->place_capacity, sizeof(*cursor->places));
		if (r < 0)
			return r;
		cursor->places[cursor->place_count++] = (struct orma_packet_place){
			.ns = cursor->ns,
			.address = cursor->packet.address & ((UINT64_C(1) << 56) - 1),
			.rank = cursor->rank,
			.size = (uint32_t)cursor->packet.bytes.size,
			.header = (uint8_t)cursor->packet.header};
	}
	if (r == 0 && cursor->place_count > 0)
		qsort(cursor->places, cursor->place_count, sizeof(*cursor->places), compare_places);
	return r;
}

static int next_in_list(struct orma_packet_cursor *cursor)
{
	const uint8_t *data;
	if (cursor->place_idx == cursor->place_count)
		return 0;
	const struct orma_packet_place *place = &cursor->places[cursor->place_idx++];
	int r = orma_trace_window_read(&cursor->window, cursor->index->input, place->address,
				       place->size, place->size, &data);
	if (r <= 0 || orma_trace_packet_read(data, place->size, &cursor->packet) < 0)
		return r < 0 ? r : -EIO;
	cursor->packet.address = place->address;
	cursor->packet.header = place->header;
	cursor->ns = place->ns;
	cursor->rank = place->rank;
	return 1;
}

int orma_packet_cursor_init(struct orma_packet_cursor *cursor,
			    const struct orma_packet_index *index,
			    const struct orma_sequence *sequence, size_t ahead_bytes,
			    struct orma_trace_blocks *blocks, uint64_t *read_bytes)
{
	*cursor = (struct orma_packet_cursor){.index = index,
					      .sequence = sequence,
					      .ahead_bytes = ahead_bytes,
					      .window = {.read_bytes = read_bytes}};
	cursor->time.sequence = sequence->id;
	cursor->time.machine_idx = sequence->machine_idx;
	cursor->address = sequence->run_count > 0 ? sequence->runs[0].address : 0;
	int r = sequence->is_disordered ? sort_packets(cursor) : 0;
	/* Sorting reads the whole file for one sequence, so it has no use for blocks of others. */
	cursor->window.blocks = blocks;
	return r;
}

void orma_packet_cursor_done(struct orma_packet_cursor *cursor)
{
	orma_sequence_time_done(&cursor->time);
	orma_trace_window_done(&cursor->window);
	orma_base_free(cursor->places);
}

int orma_packet_cursor_next(struct orma_packet_cursor *cursor)
{
	return cursor->sequence->is_disordered ? next_in_list(cursor) : next_in_file(cursor);
}
