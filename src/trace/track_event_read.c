/* SPDX-License-Identifier: Apache-2.0
 * track_event_read.c - one pass over the fields of a TrackEvent.
 *
 * An event is read once for each slice edge of a trace, so this is a switch on the tag's bytes and not a table. The fields
 * that nearly all events are made of are read where they are met, without a call for each. Fields
 * that few events have are only noted, and read by name afterwards.
 */
#include "trace/track_event_read.h"

#include <errno.h>
#include <string.h>

#include "proto/reader.h"
#include "schema/gen/track_event.pb.h"
#include "trace/conversion_fields.h"

/* Fields that describe the event itself; any other becomes an argument. */
enum {
	THREAD_TIME_DELTA_US = 2,
	THREAD_INSTRUCTIONS_DELTA = 8,
	THREAD_TIME_ABSOLUTE_US = 17,
	THREAD_INSTRUCTIONS_ABSOLUTE = 20,
	TIMESTAMP_DELTA_US = 1,
	TIMESTAMP_ABSOLUTE_US = 16,
	FLOW_IDS_OLD = 36,
	TERMINATING_FLOW_IDS_OLD = 42,
};

static void take_other(struct orma_track_event *event, uint32_t id)
{
	event->flags |= ORMA_EVENT_HAS_ARGS | ORMA_EVENT_HAS_OTHER_ARGS;
	if (id >= ORMA_EVENT_EXTENSION_FIRST)
		event->flags |= ORMA_EVENT_HAS_EXTENSIONS;
}

static void take_thread_number(struct orma_track_event *event, uint32_t id, uint64_t value)
{
	bool is_time = id == THREAD_TIME_DELTA_US || id == THREAD_TIME_ABSOLUTE_US;
	bool is_delta = id == THREAD_TIME_DELTA_US || id == THREAD_INSTRUCTIONS_DELTA;
	if (is_time) {
		event->thread_time_us = (int64_t)value;
		event->flags |= ORMA_EVENT_HAS_THREAD_TIME |
				(is_delta ? ORMA_EVENT_IS_THREAD_TIME_DELTA : 0u);
	} else {
		event->instructions = (int64_t)value;
		event->flags |= ORMA_EVENT_HAS_INSTRUCTIONS |
				(is_delta ? ORMA_EVENT_IS_INSTRUCTIONS_DELTA : 0u);
	}
}

static void take_number(struct orma_track_event *event, uint32_t id, uint64_t value)
{
	switch (id) {
	case ORMA_PB_TRACK_EVENT_TYPE:
		event->type = (uint32_t)value;
		event->flags |= value ? ORMA_EVENT_HAS_TYPE : 0;
		break;
	case ORMA_PB_TRACK_EVENT_NAME_IID:
		event->name_iid = value;
		break;
	case ORMA_PB_TRACK_EVENT_CATEGORY_IIDS:
		event->category_iid = value;
		event->categories++;
		break;
	case ORMA_PB_TRACK_EVENT_TRACK_UUID:
		event->track_uuid = value;
		event->flags |= ORMA_EVENT_HAS_TRACK;
		break;
	case ORMA_PB_TRACK_EVENT_COUNTER_VALUE:
		event->value = (double)(int64_t)value;
		event->flags |= ORMA_EVENT_HAS_VALUE;
		break;
	case ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_VALUES:
	case ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS:
	case ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS:
	case FLOW_IDS_OLD:
	case TERMINATING_FLOW_IDS_OLD:
		event->flags |= ORMA_EVENT_HAS_MORE;
		break;
	case THREAD_TIME_DELTA_US:
	case THREAD_TIME_ABSOLUTE_US:
	case THREAD_INSTRUCTIONS_DELTA:
	case THREAD_INSTRUCTIONS_ABSOLUTE:
		take_thread_number(event, id, value);
		break;
	case ORMA_PB_TRACK_EVENT_CALLSTACK_IID:
		event->flags |= ORMA_EVENT_HAS_CALLSTACK;
		break;
	case TIMESTAMP_DELTA_US:
	case TIMESTAMP_ABSOLUTE_US:
		break;
	default:
		take_other(event, id);
		break;
	}
}

static void take_bytes(struct orma_track_event *event, uint32_t id, struct orma_str bytes)
{
	switch (id) {
	case ORMA_PB_TRACK_EVENT_NAME:
		event->name = bytes;
		event->flags |= ORMA_EVENT_HAS_NAME;
		break;
	case ORMA_PB_TRACK_EVENT_LEGACY_EVENT:
		event->legacy = bytes;
		break;
	case ORMA_PB_TRACK_EVENT_CALLSTACK:
		event->flags |= ORMA_EVENT_HAS_CALLSTACK;
		break;
	case ORMA_PB_TRACK_EVENT_CATEGORIES:
	case ORMA_PB_TRACK_EVENT_CATEGORY_IIDS:
		/* Two, so that the categories are read again. */
		event->categories += 2;
		break;
	case ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_VALUES:
	case ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS:
	case ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS:
	case ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
	case ORMA_PB_TRACK_EVENT_FLOW_IDS:
	case ORMA_PB_TRACK_EVENT_TERMINATING_FLOW_IDS:
	case FLOW_IDS_OLD:
	case TERMINATING_FLOW_IDS_OLD:
		event->flags |= ORMA_EVENT_HAS_MORE;
		break;
	default:
		take_other(event, id);
		break;
	}
}

static void take_fixed(struct orma_track_event *event, uint32_t id, uint64_t bits)
{
	switch (id) {
	case ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE:
		memcpy(&event->value, &bits, sizeof(event->value));
		event->flags |= ORMA_EVENT_HAS_VALUE;
		break;
	case ORMA_PB_TRACK_EVENT_FLOW_IDS:
	case ORMA_PB_TRACK_EVENT_TERMINATING_FLOW_IDS:
	case ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES:
		event->flags |= ORMA_EVENT_HAS_MORE;
		break;
	case ORMA_PB_TRACK_EVENT_CALLSTACK_WEIGHT:
		break;
	default:
		take_other(event, id);
		break;
	}
}

/* Reads a field of any kind. 0 or -EBADMSG. */
static int take_field(struct orma_track_event *event, struct orma_proto_reader *reader)
{
	struct orma_proto_field field;
	int r = orma_proto_reader_step(reader, &field);
	if (r < 0)
		return r;
	if (field.type == ORMA_PROTO_VARINT)
		take_number(event, field.id, field.value);
	else if (field.type == ORMA_PROTO_BYTES)
		take_bytes(event, field.id, field.bytes);
	else
		take_fixed(event, field.id, field.value);
	return 0;
}

#define NUMBER(id) ((uint32_t)(id) << 3 | ORMA_PROTO_VARINT)
#define BYTES(id)  ((uint32_t)(id) << 3 | ORMA_PROTO_BYTES)

/* Reads a length and as many bytes, from behind their tag. Returns the address behind them, or NULL. */
static inline const uint8_t *get_bytes(const uint8_t *at, const uint8_t *end, struct orma_str *ret)
{
	uint64_t size;
	at = orma_proto_get_varint(at, end, &size);
	if (!at || size > (uint64_t)(end - at))
		return NULL;
	*ret = (struct orma_str){(const char *)at, (size_t)size};
	return at + size;
}

int orma_track_event_read(struct orma_str bytes, struct orma_track_event *ret)
{
	struct orma_proto_reader reader;
	uint64_t value;
	ret->bytes = bytes;
	ret->name = ret->legacy = (struct orma_str){NULL, 0};
	ret->name_iid = ret->category_iid = ret->track_uuid = 0;
	ret->type = ret->categories = ret->annotations = 0;
	ret->flags = 0;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (reader.at < reader.end) {
		const uint8_t *at = reader.at + 1;
		switch (reader.at[0]) {
		case NUMBER(ORMA_PB_TRACK_EVENT_TYPE):
			at = orma_proto_get_varint(at, reader.end, &value);
			if (at)
				take_number(ret, ORMA_PB_TRACK_EVENT_TYPE, value);
			break;
		case NUMBER(ORMA_PB_TRACK_EVENT_NAME_IID):
			at = orma_proto_get_varint(at, reader.end, &ret->name_iid);
			break;
		case NUMBER(ORMA_PB_TRACK_EVENT_TRACK_UUID):
			at = orma_proto_get_varint(at, reader.end, &ret->track_uuid);
			ret->flags |= ORMA_EVENT_HAS_TRACK;
			break;
		case NUMBER(ORMA_PB_TRACK_EVENT_CATEGORY_IIDS):
			at = orma_proto_get_varint(at, reader.end, &ret->category_iid);
			ret->categories++;
			break;
		case BYTES(ORMA_PB_TRACK_EVENT_LEGACY_EVENT):
			at = get_bytes(at, reader.end, &ret->legacy);
			break;
		case BYTES(ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS):
			at = get_bytes(at, reader.end, &ret->annotation);
			ret->annotations++;
			ret->flags |= ORMA_EVENT_HAS_ARGS;
			break;
		default:
			if (take_field(ret, &reader) < 0)
				return -EBADMSG;
			continue;
		}
		if (!at)
			return -EBADMSG;
		reader.at = at;
	}
	return 0;
}

bool orma_plain_event_make(const struct orma_track_event *event, struct orma_plain_event *ret)
{
	const unsigned allowed = ORMA_EVENT_HAS_TYPE | ORMA_EVENT_HAS_TRACK | ORMA_EVENT_HAS_ARGS |
				 ORMA_EVENT_HAS_OTHER_ARGS;
	if (event->flags & ~allowed || event->type < ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN ||
	    event->type > ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT || event->categories > 1 ||
	    event->legacy.data)
		return false;
	ret->name_iid = event->name_iid;
	ret->category_iid = event->category_iid;
	ret->track_uuid = event->track_uuid;
	ret->args = 0;
	ret->flags = (uint16_t)event->flags;
	ret->type = (uint8_t)event->type;
	ret->categories = (uint8_t)event->categories;
	return true;
}

void orma_plain_event_expand(const struct orma_plain_event *plain, struct orma_track_event *ret)
{
	ret->bytes.data = ret->name.data = ret->legacy.data = NULL;
	ret->bytes.size = ret->name.size = ret->legacy.size = 0;
	ret->name_iid = plain->name_iid;
	ret->category_iid = plain->category_iid;
	ret->track_uuid = plain->track_uuid;
	ret->annotations = 0;
	ret->flags = plain->flags;
	ret->type = plain->type;
	ret->categories = plain->categories;
}

void orma_legacy_event_read(struct orma_str bytes, struct orma_legacy_event *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	*ret = (struct orma_legacy_event){0};
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_step(&reader, &field) > 0) {
		switch (field.id) {
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_NAME_IID:
			ret->name_iid = field.value;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_PHASE:
			ret->phase = (int32_t)field.value;
			ret->has_phase = true;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_DURATION_US:
			if (__builtin_mul_overflow((int64_t)field.value, 1000, &ret->duration_ns))
				ret->duration_ns = -1;
			break;
		case ORMA_LEGACY_EVENT_DURATION_NS:
			ret->duration_ns = (int64_t)field.value;
			break;
		case ORMA_LEGACY_EVENT_STYLE:
			ret->style = (uint32_t)field.value;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_THREAD_DURATION_US:
			ret->thread_duration_ns = (int64_t)(field.value * 1000);
			ret->has_thread_duration = true;
			break;
		case ORMA_LEGACY_EVENT_THREAD_DURATION_NS:
			ret->thread_duration_ns = (int64_t)field.value;
			ret->has_thread_duration = true;
			break;
		case ORMA_LEGACY_EVENT_THREAD_TIME_NS:
			ret->thread_time_ns = (int64_t)field.value;
			ret->has_thread_time = true;
			break;
		case ORMA_LEGACY_EVENT_TEXT:
			ret->text = field.bytes;
			break;
		case ORMA_LEGACY_EVENT_NUMBER:
			ret->number = (int64_t)field.value;
			ret->has_number = true;
			break;
		case ORMA_LEGACY_EVENT_IO_WAIT:
			ret->io_wait = (int64_t)field.value;
			ret->has_io_wait = true;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_THREAD_INSTRUCTION_DELTA:
			ret->thread_instruction_delta = (int64_t)field.value;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_UNSCOPED_ID:
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_LOCAL_ID:
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_GLOBAL_ID:
			ret->id = field.value;
			ret->has_id = true;
			ret->is_local_id = field.id == ORMA_PB_TRACK_EVENT_LEGACY_EVENT_LOCAL_ID;
			ret->has_unscoped_id =
				field.id == ORMA_PB_TRACK_EVENT_LEGACY_EVENT_UNSCOPED_ID;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_ID_SCOPE:
			ret->id_scope = field.bytes;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_BIND_ID:
			ret->bind_id = field.value;
			ret->has_bind_id = true;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_FLOW_DIRECTION:
			ret->flow_direction = (uint32_t)field.value;
			ret->has_direction = true;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_BIND_TO_ENCLOSING:
			ret->binds_enclosing = field.value != 0;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_INSTANT_EVENT_SCOPE:
			ret->instant_scope = (uint32_t)field.value;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_PID_OVERRIDE:
			ret->pid_override = (int32_t)field.value;
			ret->has_pid_override = true;
			break;
		case ORMA_PB_TRACK_EVENT_LEGACY_EVENT_TID_OVERRIDE:
			ret->tid_override = (int32_t)field.value;
			ret->has_tid_override = true;
			break;
		default:
			break;
		}
	}
}

void orma_repeated_init(struct orma_repeated *numbers, struct orma_str message, uint32_t field)
{
	const uint8_t *at = (const uint8_t *)message.data;
	/* An empty message may have no address, which nothing may be added to. */
	*numbers = (struct orma_repeated){
		.at = at, .end = message.size > 0 ? at + message.size : at, .field = field};
}

bool orma_repeated_next(struct orma_repeated *numbers, uint64_t *ret)
{
	/* Packed doubles and fixed64 are eight bytes each; of the repeated numbers of a TrackEvent these are packed so. */
	bool is_fixed = numbers->field == ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES ||
			numbers->field == ORMA_PB_TRACK_EVENT_FLOW_IDS ||
			numbers->field == ORMA_PB_TRACK_EVENT_TERMINATING_FLOW_IDS;
	for (;;) {
		if (numbers->packed_at < numbers->packed_end && is_fixed) {
			if (numbers->packed_end - numbers->packed_at < 8)
				return false;
			memcpy(ret, numbers->packed_at, 8);
			numbers->packed_at += 8;
			return true;
		}
		if (numbers->packed_at < numbers->packed_end) {
			numbers->packed_at =
				orma_proto_get_varint(numbers->packed_at, numbers->packed_end, ret);
			return numbers->packed_at != NULL;
		}
		struct orma_proto_reader reader = {numbers->at, numbers->end};
		struct orma_proto_field field;
		if (orma_proto_reader_next(&reader, &field) <= 0)
			return false;
		numbers->at = reader.at;
		if (field.id != numbers->field)
			continue;
		if (field.type != ORMA_PROTO_BYTES) {
			*ret = field.value;
			return true;
		}
		numbers->packed_at = (const uint8_t *)field.bytes.data;
		numbers->packed_end = numbers->packed_at + field.bytes.size;
	}
}
