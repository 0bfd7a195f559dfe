/* SPDX-License-Identifier: Apache-2.0
 * packet_check.c - is a producer's packet one whole message, and free of the fields that only the
 * service may set?
 *
 * The service appends its own fields to each packet, and the last value of a field wins. That is
 * only safe when the producer's part ends exactly between two fields and sets none that the service
 * leaves out. One field belongs to both: what was lost before the packet. The writer's part of it
 * is handed out, so that what the service appends can hold both. One walk over the top level of the
 * packet, which lies in one or more slices; nested messages are not looked into. Rejected:
 * stripping reserved fields (a packet that has them is forged or corrupt), the reader of src/proto
 * (one piece of memory only).
 */
#include <string.h>

#include "proto/wire.h"
#include "schema/gen/trace_packet.pb.h"
#include "service/state.h"

struct cursor {
	const uint8_t *at, *end;                    /* what is left of the current slice */
	const struct orma_trace_slice *next, *last; /* slices that follow */
};

enum { FIELD_LOSS = ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED };

/* Fields of TracePacket below 192 that are the service's, or the writer's and the service's. */
static const uint64_t noted[3] = {
	UINT64_C(1) << 3 | UINT64_C(1) << 10 | UINT64_C(1) << 33 | UINT64_C(1) << 35 |
		UINT64_C(1) << 36 | UINT64_C(1) << FIELD_LOSS | UINT64_C(1) << 50,
	UINT64_C(1) << (69 - 64) | UINT64_C(1) << (79 - 64) | UINT64_C(1) << (98 - 64) |
		UINT64_C(1) << (124 - 64) | UINT64_C(1) << (125 - 64),
	UINT64_C(1) << (133 - 128),
};

static bool next_slice(struct cursor *cursor)
{
	while (cursor->at == cursor->end) {
		if (cursor->next == cursor->last)
			return false;
		cursor->at = cursor->next->data;
		cursor->end = cursor->at + cursor->next->size;
		cursor->next++;
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

bool orma_service_packet_is_valid(const struct orma_trace_slice *slices, size_t count,
				  uint32_t *ret_loss)
{
	struct cursor cursor = {NULL, NULL, slices, slices + count};
	uint32_t loss = 0;

	while (next_slice(&cursor)) {
		uint64_t tag, field_id, value;

		if (!get_varint(&cursor, &tag) || tag > UINT32_MAX)
			return false;
		field_id = tag >> 3;
		if (field_id == 0)
			return false;
		if (ORMA_UNLIKELY(field_id < 192 && (noted[field_id / 64] >> field_id % 64 & 1))) {
			if (tag != orma_proto_tag(FIELD_LOSS, ORMA_PROTO_VARINT) ||
			    !get_varint(&cursor, &value))
				return false;
			loss |= (uint32_t)value;
		} else if (!skip_value(&cursor, tag & 7)) {
			return false;
		}
	}
	*ret_loss = loss;
	return true;
}
