/* SPDX-License-Identifier: Apache-2.0
 * trace_packet.c - reads the protobuf of a trace file, and what the checks need of each packet.
 *
 * A span is a borrowed piece of the mapped file. Invariant: at <= end, and a field lies inside the
 * span that it was taken from. Rejected: src/proto (trace_packet.h gives the reason), code generated
 * by protoc (compiling C++ would double the build time of the tests).
 */
#include "trace_packet.h"

#include <errno.h>
#include <string.h>

int wire_take_varint(struct wire_span *span, uint64_t *ret_value)
{
	uint64_t value = 0;
	unsigned int shift;

	for (shift = 0; shift < 64 && span->at < span->end; shift += 7) {
		uint8_t byte = *span->at++;

		value |= (uint64_t)(byte & 0x7f) << shift;
		if (byte < 0x80) {
			*ret_value = value;
			return 0;
		}
	}
	return -EBADMSG;
}

static int take_fixed(struct wire_span *span, size_t size, uint64_t *ret_value)
{
	uint64_t value = 0;
	size_t i;

	if ((size_t)(span->end - span->at) < size)
		return -EBADMSG;
	for (i = 0; i < size; i++)
		value |= (uint64_t)span->at[i] << (8 * i);
	span->at += size;
	*ret_value = value;
	return 0;
}

static int take_bytes(struct wire_span *span, struct wire_span *ret_bytes)
{
	uint64_t size;

	if (wire_take_varint(span, &size) < 0 || size > (uint64_t)(span->end - span->at))
		return -EBADMSG;
	ret_bytes->at = span->at;
	ret_bytes->end = span->at + size;
	span->at += size;
	return 0;
}

int wire_next(struct wire_span *span, struct wire_field *ret_field)
{
	struct wire_field field = {0};
	uint64_t tag;
	int r;

	if (span->at == span->end)
		return 0;
	if (wire_take_varint(span, &tag) < 0 || tag >> 3 == 0 || tag >> 3 > 0x1fffffff)
		return -EBADMSG;
	field.id = (uint32_t)(tag >> 3);
	field.type = (enum wire_type)(tag & 7);
	switch (field.type) {
	case WIRE_VARINT:
		r = wire_take_varint(span, &field.value);
		break;
	case WIRE_FIXED64:
		r = take_fixed(span, 8, &field.value);
		break;
	case WIRE_FIXED32:
		r = take_fixed(span, 4, &field.value);
		break;
	case WIRE_BYTES:
		r = take_bytes(span, &field.bytes);
		break;
	default:
		r = -EBADMSG;
		break;
	}
	if (r < 0)
		return r;
	*ret_field = field;
	return 1;
}

uint64_t wire_get(struct wire_span message, uint32_t id, uint64_t fallback)
{
	struct wire_field field;

	while (wire_next(&message, &field) > 0) {
		if (field.id == id && field.type != WIRE_BYTES)
			fallback = field.value;
	}
	return fallback;
}

bool wire_get_bytes(struct wire_span message, uint32_t id, struct wire_span *ret_bytes)
{
	struct wire_field field;
	bool found = false;

	while (wire_next(&message, &field) > 0) {
		if (field.id == id && field.type == WIRE_BYTES) {
			*ret_bytes = field.bytes;
			found = true;
		}
	}
	return found;
}

int wire_check(struct wire_span message)
{
	struct wire_field field;
	int r;

	do {
		r = wire_next(&message, &field);
	} while (r > 0);
	return r;
}

static void decode_number(const struct wire_field *field, struct packet *packet)
{
	switch (field->id) {
	case PACKET_TRUSTED_UID:
		packet->uid = (int32_t)field->value;
		packet->uid_count++;
		break;
	case PACKET_TRUSTED_PID:
		packet->pid = (int32_t)field->value;
		packet->pid_count++;
		break;
	case PACKET_SEQUENCE_ID:
		packet->sequence_id = field->value;
		packet->sequence_count++;
		break;
	case PACKET_TIMESTAMP:
		packet->timestamp = field->value;
		packet->has_timestamp = true;
		break;
	case PACKET_TIMESTAMP_CLOCK:
		packet->clock = field->value;
		packet->has_clock = true;
		break;
	case PACKET_SEQUENCE_FLAGS:
		packet->flags |= field->value;
		break;
	case PACKET_STATE_CLEARED:
		packet->flags |= field->value ? SEQUENCE_STATE_CLEARED : 0;
		break;
	case PACKET_DROPPED:
		packet->dropped = field->value;
		packet->has_dropped = true;
		break;
	case PACKET_FIRST_ON_SEQUENCE:
		packet->first_on_sequence = field->value != 0;
		break;
	default:
		break;
	}
}

int packet_decode(struct wire_span body, struct packet *ret_packet)
{
	struct packet packet = {.body = body};
	struct wire_field field;
	int r;

	while ((r = wire_next(&body, &field)) > 0) {
		if (field.type != WIRE_BYTES)
			decode_number(&field, &packet);
		else if (field.id == PACKET_DEFAULTS)
			packet.defaults = field.bytes;
		else if (field.id == PACKET_INTERNED_DATA)
			packet.interned = field.bytes;
		else if (field.id == PACKET_CLOCK_SNAPSHOT)
			packet.clock_snapshot = field.bytes;
	}
	if (r < 0)
		return r;
	*ret_packet = packet;
	return 0;
}
