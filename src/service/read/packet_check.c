/* SPDX-License-Identifier: Apache-2.0
 * packet_check.c - checks that a producer's packet is one whole message, and free of the fields that
 * only the service may set.
 *
 * The service appends its own fields to each packet, and the last value of a field wins. That is
 * only safe when the producer's part ends exactly between two fields and has none of the fields
 * that the service sets in some packets only. One field belongs to both: what was lost before the
 * packet. The writer's part of it is returned, so that the appended field can combine both. The
 * check is one walk over the top level of the packet, which lies in one or more slices; nested
 * messages are not entered. The walk over a large packet is done in steps, which end between two
 * fields. Rejected: stripping reserved fields (a packet that has them is forged or corrupt), the
 * reader of src/proto (it needs one contiguous piece of memory).
 */
#include "service/read/packet_check.h"

#include <errno.h>

#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "proto/wire.h"
#include "schema/gen/trace_packet.pb.h"

struct cursor {
	const uint8_t *at, *end; /* rest of the current piece of a slice */
	const struct orma_trace_slice *slices;
	size_t count, next, next_offset;           /* slice and offset of the next piece */
	const struct orma_trace_buffer_hold *hold; /* NULL: slices are pieces */
	bool has_lost;                             /* a piece of a held packet was lost */
};

enum {
	FIELD_LOSS = ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED,
	STATE_CLEARED = ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED,
};

/* Fields of TracePacket below 192 that only the service sets, or the writer and the service. */
static const uint64_t reserved_fields[3] = {
	UINT64_C(1) << 3 | UINT64_C(1) << 10 | UINT64_C(1) << 33 | UINT64_C(1) << 35 |
		UINT64_C(1) << 36 | UINT64_C(1) << FIELD_LOSS | UINT64_C(1) << 50,
	UINT64_C(1) << (69 - 64) | UINT64_C(1) << (79 - 64) | UINT64_C(1) << (98 - 64) |
		UINT64_C(1) << (124 - 64) | UINT64_C(1) << (125 - 64),
	UINT64_C(1) << (133 - 128),
};

static bool next_slice(struct cursor *cursor)
{
	while (cursor->at == cursor->end) {
		const struct orma_trace_slice *slice = &cursor->slices[cursor->next];
		size_t size;

		if (cursor->next == cursor->count)
			return false;
		size = slice->size - cursor->next_offset;
		cursor->at = (const uint8_t *)slice->data + cursor->next_offset;
		if (cursor->hold)
			cursor->at = orma_trace_buffer_hold_piece(cursor->hold, cursor->at, &size);
		cursor->has_lost = !cursor->at;
		if (cursor->has_lost) {
			cursor->end = cursor->at;
			return false;
		}
		cursor->end = cursor->at + size;
		cursor->next_offset += size;
		if (cursor->next_offset == slice->size) {
			cursor->next++;
			cursor->next_offset = 0;
		}
	}
	return true;
}

static bool get_varint(struct cursor *cursor, uint64_t *ret)
{
	uint64_t value = 0;

	for (unsigned shift = 0; shift < 64; shift += 7) {
		uint8_t byte;

		if (cursor->at == cursor->end && !next_slice(cursor))
			return false;
		byte = *cursor->at++;
		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret = value;
			return true;
		}
	}
	return false;
}

static bool skip(struct cursor *cursor, uint64_t size)
{
	while (size > (uint64_t)(cursor->end - cursor->at)) {
		size -= (uint64_t)(cursor->end - cursor->at);
		cursor->at = cursor->end;
		if (!next_slice(cursor))
			return false;
	}
	cursor->at += size;
	return true;
}

static bool skip_value(struct cursor *cursor, unsigned type)
{
	uint64_t value;

	switch (type) {
	case ORMA_PROTO_VARINT:
		return get_varint(cursor, &value);
	case ORMA_PROTO_FIXED64:
		return skip(cursor, 8);
	case ORMA_PROTO_FIXED32:
		return skip(cursor, 4);
	case ORMA_PROTO_BYTES:
		return get_varint(cursor, &value) && value <= ORMA_PROTO_LENGTH_MAX &&
		       skip(cursor, value);
	default:
		return false;
	}
}

static bool check_field(struct cursor *cursor, uint32_t *loss)
{
	uint64_t tag, field_id, value;

	if (!get_varint(cursor, &tag) || tag > UINT32_MAX)
		return false;
	field_id = tag >> 3;
	if (field_id == 0)
		return false;
	if (ORMA_LIKELY(field_id >= 192 || !(reserved_fields[field_id / 64] >> field_id % 64 & 1)))
		return skip_value(cursor, tag & 7);
	if (tag != orma_proto_tag(FIELD_LOSS, ORMA_PROTO_VARINT) || !get_varint(cursor, &value))
		return false;
	*loss |= (uint32_t)value;
	return true;
}

bool orma_service_packet_is_valid(const struct orma_trace_slice *slices, size_t count,
				  uint32_t *ret_loss)
{
	struct cursor cursor = {.slices = slices, .count = count};
	uint32_t loss = 0;

	while (next_slice(&cursor))
		if (!check_field(&cursor, &loss))
			return false;
	*ret_loss = loss;
	return true;
}

int orma_service_packet_check_step(struct orma_service_packet_check *check,
				   const struct orma_trace_slice *slices, size_t count,
				   const struct orma_trace_buffer_hold *hold, size_t max_fields)
{
	struct cursor cursor = {.slices = slices,
				.count = count,
				.next = check->slice,
				.next_offset = check->offset,
				.hold = hold};
	bool is_valid = true;
	size_t left;

	for (; is_valid && max_fields > 0 && next_slice(&cursor); max_fields--)
		is_valid = check_field(&cursor, &check->loss);
	if (cursor.has_lost)
		return -ENOMEM;
	if (!is_valid)
		return -EBADMSG;
	if (max_fields > 0)
		return 0;
	/* The next field begins in the rest of the current piece, before the cursor's next
	 * piece. */
	left = (size_t)(cursor.end - cursor.at);
	check->slice = cursor.next;
	check->offset = cursor.next_offset;
	if (left > 0 && check->offset == 0)
		check->offset = slices[--check->slice].size;
	check->offset -= left;
	return 1;
}

bool orma_service_packet_begins_state(const struct orma_trace_slice *slices, size_t count)
{
	struct cursor cursor = {.slices = slices, .count = count};
	uint64_t tag, value;
	bool begins = false;

	while (next_slice(&cursor) && get_varint(&cursor, &tag)) {
		if ((tag & 7) != ORMA_PROTO_VARINT) {
			if (!skip_value(&cursor, tag & 7))
				break;
			continue;
		}
		if (!get_varint(&cursor, &value))
			break;
		if (tag >> 3 == ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS)
			begins |= value & STATE_CLEARED;
		else if (tag >> 3 == ORMA_PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED)
			begins |= value != 0;
	}
	return begins;
}
