/* SPDX-License-Identifier: Apache-2.0
 * packet_fields.c - one pass over a packet's fields.
 *
 * When several fields say what the packet is, the last one wins, as in a oneof.
 */
#include "trace/packet_fields.h"

#include <errno.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "trace/conversion_fields.h"
#include "trace/event_record.h"

enum { SEQUENCE_IS_CLEARED = 1, SEQUENCE_NEEDS_STATE = 2 };

#define NUMBER(id) ((uint32_t)(id) << 3 | ORMA_PROTO_VARINT)
#define BYTES(id)  ((uint32_t)(id) << 3 | ORMA_PROTO_BYTES)

static inline unsigned flags_of(uint64_t value)
{
	return (value & SEQUENCE_IS_CLEARED ? ORMA_PACKET_IS_CLEARED : 0u) |
	       (value & SEQUENCE_NEEDS_STATE ? ORMA_PACKET_NEEDS_STATE : 0u);
}

static void take_number(struct orma_packet *packet, uint32_t tag, uint64_t value)
{
	switch (tag) {
	case NUMBER(ORMA_PB_TRACE_PACKET_TIMESTAMP):
		packet->timestamp = value;
		packet->flags |= ORMA_PACKET_HAS_TIMESTAMP;
		break;
	case NUMBER(ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID):
		packet->sequence = (uint32_t)value;
		packet->flags |= ORMA_PACKET_HAS_SEQUENCE;
		break;
	case NUMBER(ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS):
		packet->flags |= flags_of(value);
		break;
	case NUMBER(ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID):
		packet->clock = (uint32_t)value;
		break;
	case NUMBER(ORMA_PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED):
		packet->flags |= value ? ORMA_PACKET_IS_CLEARED : 0;
		break;
	case NUMBER(ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED):
		packet->dropped = (uint32_t)value;
		break;
	case NUMBER(ORMA_PB_TRACE_PACKET_FIRST_PACKET_ON_SEQUENCE):
		packet->flags |= value ? ORMA_PACKET_IS_FIRST : 0;
		break;
	case NUMBER(ORMA_PB_TRACE_PACKET_MACHINE_ID):
		packet->machine = (uint32_t)value;
		break;
	case NUMBER(ORMA_PB_TRACE_PACKET_TRUSTED_PID):
		packet->pid = (int32_t)value;
		packet->flags |= ORMA_PACKET_HAS_PID;
		break;
	case NUMBER(ORMA_PACKET_EVENT_ORDER):
		packet->order = (uint32_t)value;
		break;
	default:
		break;
	}
}

static void take_bytes(struct orma_packet *packet, uint32_t tag, struct orma_str bytes)
{
	switch (tag) {
	case BYTES(ORMA_PB_TRACE_PACKET_INTERNED_DATA):
		packet->interned = bytes;
		packet->flags |= ORMA_PACKET_HAS_INTERNED;
		break;
	case BYTES(ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS):
		packet->defaults = bytes;
		packet->flags |= ORMA_PACKET_HAS_DEFAULTS;
		break;
	default:
		packet->kind = tag >> 3;
		packet->content = bytes;
		break;
	}
}

/* The bytes of tags, the first of them lowest, because all supported machines are little-endian. */
enum {
	TAG_BYTES = 3,
	ORDER_TAG = (NUMBER(ORMA_PACKET_EVENT_ORDER) & 0x7f) | 0x80 |
		    (NUMBER(ORMA_PACKET_EVENT_ORDER) >> 7 & 0x7f) << 8 | 0x8000 |
		    NUMBER(ORMA_PACKET_EVENT_ORDER) >> 14 << 16,
};

/* Says whether the bytes begin with a tag of TAG_BYTES bytes; a field of such a tag has at least one byte more. */
static inline bool begins_with_tag(const uint8_t *at, const uint8_t *end, uint32_t tag)
{
	uint32_t word;
	if (end - at < (ptrdiff_t)sizeof(word))
		return false;
	memcpy(&word, at, sizeof(word));
	return (word & 0xffffff) == tag;
}

/* Reads the order of an event, which each event that was converted has. Returns the address behind it, or NULL when it is something
 * else. */
static inline const uint8_t *take_order(struct orma_packet *packet, const uint8_t *at,
					const uint8_t *end)
{
	uint64_t value;
	if (!begins_with_tag(at, end, ORDER_TAG))
		return NULL;
	at = orma_proto_get_word_varint(at + TAG_BYTES, end, &value);
	if (at)
		packet->order = (uint32_t)value;
	return at;
}

enum {
	RECORD_TAG = (BYTES(ORMA_PACKET_EVENT_RECORD) & 0x7f) | 0x80 |
		     (BYTES(ORMA_PACKET_EVENT_RECORD) >> 7 & 0x7f) << 8 | 0x8000 |
		     BYTES(ORMA_PACKET_EVENT_RECORD) >> 14 << 16,
};

/* Reads the record that a packet begins with, but for what all records have in common. Returns the address behind it, or NULL when
 * the packet begins with something else. */
static inline const uint8_t *take_record(struct orma_packet *packet, const uint8_t *at,
					 const uint8_t *end)
{
	struct orma_event_record head;
	uint64_t size;
	if (!begins_with_tag(at, end, RECORD_TAG))
		return NULL;
	at = orma_proto_get_varint(at + TAG_BYTES, end, &size);
	if (!at || size < sizeof(head) || size > (uint64_t)(end - at))
		return NULL;
	memcpy(&head, at, sizeof(head));
	packet->timestamp = (uint64_t)head.ns;
	packet->sequence = head.sequence;
	packet->order = head.order;
	packet->record = (struct orma_str){(const char *)at, (size_t)size};
	return at + size;
}

/* Reads a field that few packets have. Returns the address behind it, or NULL. */
static __attribute__((noinline)) const uint8_t *take_field(struct orma_packet *packet,
							   const uint8_t *at, const uint8_t *end)
{
	uint64_t tag, value;
	at = orma_proto_get_varint(at, end, &tag);
	if (!at || tag >> 3 == 0 || tag > ((uint64_t)ORMA_PROTO_FIELD_ID_MAX << 3 | 7))
		return NULL;
	switch (tag & 7) {
	case ORMA_PROTO_VARINT:
		at = orma_proto_get_varint(at, end, &value);
		if (at)
			take_number(packet, (uint32_t)tag, value);
		return at;
	case ORMA_PROTO_BYTES:
		at = orma_proto_get_varint(at, end, &value);
		if (!at || value > (uint64_t)(end - at))
			return NULL;
		take_bytes(packet, (uint32_t)tag,
			   (struct orma_str){(const char *)at, (size_t)value});
		return at + value;
	case ORMA_PROTO_FIXED64:
		return end - at >= 8 ? at + 8 : NULL;
	case ORMA_PROTO_FIXED32:
		return end - at >= 4 ? at + 4 : NULL;
	default:
		return NULL;
	}
}

/* The fields that nearly all packets are made of have a branch of their own, in their usual order; see track_event_read.c. */
int orma_trace_packet_read(const void *data, size_t size, struct orma_packet *ret)
{
	const uint8_t *at = data, *end = at + size;
	/* Member by member: a compiler clears a structure of this size slowly, and this runs for each packet twice. */
	ret->bytes.data = data;
	ret->bytes.size = size;
	ret->content.data = ret->interned.data = ret->defaults.data = ret->record.data = NULL;
	ret->content.size = ret->interned.size = ret->defaults.size = ret->record.size = 0;
	ret->timestamp = 0;
	ret->kind = ret->clock = ret->sequence = ret->machine = ret->header = ret->dropped =
		ret->order = 0;
	ret->pid = 0;
	ret->is_record = false;
	unsigned flags = ret->flags = 0;
	/* Nearly all packets begin with their time. */
	const uint8_t *behind = size > 0 && *at == NUMBER(ORMA_PB_TRACE_PACKET_TIMESTAMP)
					? orma_proto_get_word_varint(at + 1, end, &ret->timestamp)
					: NULL;
	if (ORMA_LIKELY(behind != NULL)) {
		flags = ORMA_PACKET_HAS_TIMESTAMP;
		at = behind;
	} else if ((behind = take_record(ret, at, end)) != NULL) {
		flags = ORMA_PACKET_HAS_TIMESTAMP | ORMA_PACKET_HAS_SEQUENCE |
			ORMA_PACKET_NEEDS_STATE;
		ret->kind = ORMA_PB_TRACE_PACKET_TRACK_EVENT;
		ret->is_record = behind == end;
		at = behind;
	}
	while (end - at >= 2) {
		uint64_t value = at[1];
		uint8_t tag = at[0];
		if (tag == NUMBER(ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID)) {
			at = value < 0x80 ? at + 2 : orma_proto_get_varint(at + 1, end, &value);
			ret->sequence = (uint32_t)value;
			flags |= ORMA_PACKET_HAS_SEQUENCE;
		} else if (tag == NUMBER(ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS) && value < 0x80) {
			flags |= flags_of(value);
			at += 2;
		} else if (tag == BYTES(ORMA_PB_TRACE_PACKET_TRACK_EVENT)) {
			at = value < 0x80 ? at + 2 : orma_proto_get_varint(at + 1, end, &value);
			if (!at || value > (uint64_t)(end - at))
				return -EBADMSG;
			ret->kind = ORMA_PB_TRACE_PACKET_TRACK_EVENT;
			ret->content.data = (const char *)at;
			ret->content.size = (size_t)value;
			at += value;
		} else {
			const uint8_t *behind_order = take_order(ret, at, end);
			at = behind_order ? behind_order : take_field(ret, at, end);
		}
		if (ORMA_UNLIKELY(!at))
			return -EBADMSG;
	}
	/* No field has one byte. */
	if (at != end)
		return -EBADMSG;
	ret->flags |= flags;
	return 0;
}

int orma_trace_packet_read_next(const void *data, size_t size, struct orma_packet *packet)
{
	const uint8_t *end = (const uint8_t *)data + size;
	/* The other members are as the record before has left them. A packet that is more than a record is read again. */
	if (!packet->is_record || take_record(packet, data, end) != end)
		return orma_trace_packet_read(data, size, packet);
	packet->bytes = (struct orma_str){data, size};
	return 0;
}

struct orma_str orma_trace_packet_thread(const struct orma_packet *packet)
{
	struct orma_str none = {NULL, 0}, content = packet->content;
	struct orma_proto_field field;
	if (packet->kind == ORMA_PB_TRACE_PACKET_THREAD_DESCRIPTOR)
		return content;
	if (packet->kind != ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR ||
	    orma_proto_reader_find(content.data, content.size, ORMA_PB_TRACK_DESCRIPTOR_THREAD,
				   &field) <= 0 ||
	    field.type != ORMA_PROTO_BYTES)
		return none;
	struct orma_str thread = field.bytes;
	static const uint32_t needed[] = {ORMA_PB_THREAD_DESCRIPTOR_PID,
					  ORMA_PB_THREAD_DESCRIPTOR_TID};
	for (size_t i = 0; i < sizeof(needed) / sizeof(*needed); i++)
		if (orma_proto_reader_find(thread.data, thread.size, needed[i], &field) <= 0)
			return none;
	return thread;
}
