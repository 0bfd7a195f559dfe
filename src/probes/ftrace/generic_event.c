/* SPDX-License-Identifier: Apache-2.0
 * generic_event.c - describes generic events, and writes them in the legacy form.
 *
 * Owns nothing. A generic event usually is a message that the bundle describes: its plan (event_plan.c) numbers the
 * kernel's fields from 1, and the descriptor here is a DescriptorProto with the same numbers. The legacy form instead
 * repeats the names of the event and of its fields in every event, and knows strings and 64-bit integers only, so arrays
 * and bytes are left out. It is written for sessions that ask for it, by way of a plan of one field at a time; it is not
 * made to be fast. Rejected: a second list of steps in every plan for a form that hardly any session asks for.
 */
#include "probes/ftrace/generic_event.h"

#include <errno.h>

#include "base/macros.h"
#include "probes/ftrace/met.h"
#include "probes/ftrace/put.h"
#include "proto/writer.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/ftrace_generic.pb.h"

/* DescriptorProto and FieldDescriptorProto. */
enum { DESCRIPTOR_NAME = 1, DESCRIPTOR_FIELD = 2 };
enum { FIELD_NAME = 1, FIELD_NUMBER = 3, FIELD_LABEL = 4, FIELD_TYPE = 5 };
enum { LABEL_OPTIONAL = 1, LABEL_REPEATED = 3 };
enum { TYPE_INT64 = 3, TYPE_UINT64 = 4, TYPE_STRING = 9 };

static void describe_field(struct orma_proto_writer *writer, const struct orma_ftrace_field *field,
			   uint32_t id)
{
	bool is_repeated;
	int type = orma_event_plan_generic_type(field, &is_repeated);
	struct orma_proto_nested nested;

	if (type == 0)
		return;
	orma_proto_nested_begin(writer, &nested, DESCRIPTOR_FIELD);
	orma_proto_write_str(writer, FIELD_NAME, field->name);
	orma_proto_write_varint(writer, FIELD_NUMBER, id);
	orma_proto_write_varint(writer, FIELD_LABEL, is_repeated ? LABEL_REPEATED : LABEL_OPTIONAL);
	orma_proto_write_varint(writer, FIELD_TYPE, (uint64_t)type);
	orma_proto_nested_end(writer, &nested);
}

int orma_generic_event_describe(const struct orma_ftrace_format *format, const char *group,
				uint32_t field_id, struct orma_buf *buf)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested outer, type;
	struct orma_proto_writer *writer = &heap.writer;
	uint32_t id = 1;

	orma_proto_heap_writer_init(&heap, buf);
	orma_proto_nested_begin(writer, &outer,
				ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS);
	orma_proto_write_varint(
		writer, ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID, field_id);
	orma_proto_write_string(
		writer, ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_GROUP_NAME, group);
	orma_proto_nested_begin(
		writer, &type,
		ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR);
	orma_proto_write_str(writer, DESCRIPTOR_NAME, format->name);
	for (uint16_t i = format->common_count;
	     i < format->field_count && id <= ORMA_EVENT_GENERIC_FIELDS_MAX; i++, id++)
		describe_field(writer, &format->fields[i], id);
	orma_proto_nested_end(writer, &type);
	orma_proto_nested_end(writer, &outer);
	return orma_proto_heap_writer_finish(&heap);
}

/* --- the legacy form ------------------------------------------------------------------------ */

enum { LEGACY_LENGTH_BYTES = 4 };

/* The member of GenericFtraceEvent.Field for a field's value; 0 = it has none. */
static uint32_t legacy_value(const struct orma_ftrace_field *field)
{
	bool is_repeated;
	int type = orma_event_plan_generic_type(field, &is_repeated);

	if (is_repeated)
		return 0;
	return type == TYPE_STRING   ? ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE
	       : type == TYPE_INT64  ? ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE
	       : type == TYPE_UINT64 ? ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_UINT_VALUE
				     : 0;
}

static int copy_name(struct orma_str name, struct orma_arena *arena, struct orma_str *ret)
{
	const char *copy = orma_base_arena_strdup(arena, name);

	*ret = (struct orma_str){copy, name.size};
	return copy ? 0 : -ENOMEM;
}

int orma_legacy_event_plan(const struct orma_ftrace_format *format, struct orma_arena *arena,
			   struct orma_legacy_event **ret)
{
	struct orma_event_plan *plan;
	struct orma_legacy_event *event = orma_base_arena_alloc(arena, sizeof(*event));

	if (!event)
		return -ENOMEM;
	event->record_bytes = format->record_bytes;
	event->fields =
		orma_base_arena_alloc(arena, (format->field_count + 1u) * sizeof(*event->fields));
	int r = copy_name(format->name, arena, &event->name);
	if (r < 0 || !event->fields)
		return -ENOMEM;
	r = orma_event_plan_constant(format, ORMA_PB_FTRACE_EVENT_GENERIC, NULL, 0, arena, &plan);
	event->head = plan;
	for (uint16_t i = format->common_count; r == 0 && i < format->field_count; i++) {
		const struct orma_ftrace_field *field = &format->fields[i];
		uint32_t value = legacy_value(field);
		if (value == 0)
			continue;
		struct orma_legacy_field *to = &event->fields[event->field_count++];
		r = orma_event_plan_one_field(format, field, value, arena, &plan);
		to->plan = plan;
		if (r == 0)
			r = copy_name(field->name, arena, &to->name);
	}
	if (r == 0)
		*ret = event;
	return r;
}

/* The tags and lengths around a field and its name. */
#define LEGACY_FIELD_BYTES ((size_t)2 * (1 + LEGACY_LENGTH_BYTES))

size_t orma_legacy_event_bytes(const struct orma_legacy_event *event, size_t record_bytes)
{
	size_t bytes = ORMA_EVENT_HEAD_BYTES + event->name.size + LEGACY_FIELD_BYTES;

	for (uint16_t i = 0; i < event->field_count; i++)
		bytes += LEGACY_FIELD_BYTES + event->fields[i].name.size +
			 orma_event_plan_bytes(event->fields[i].plan, record_bytes);
	return bytes;
}

static uint8_t *put_str(uint8_t *at, uint32_t field_id, struct orma_str text)
{
	at = orma_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_BYTES));
	at = orma_put_varint(at, text.size);
	memcpy(at, text.data, text.size);
	return at + text.size;
}

/* A message's tag, and room for its length. Returns where its content begins. */
static uint8_t *begin_message(uint8_t *at, uint32_t field_id)
{
	return orma_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_BYTES)) +
	       LEGACY_LENGTH_BYTES;
}

static void end_message(uint8_t *content, const uint8_t *end)
{
	orma_put_length(content - LEGACY_LENGTH_BYTES, (uint32_t)(end - content),
			LEGACY_LENGTH_BYTES);
}

uint8_t *orma_legacy_event_encode(const struct orma_legacy_event *event,
				  const struct orma_ftrace_record *record, struct orma_met *met,
				  uint8_t *at)
{
	if (record->size < event->record_bytes)
		return NULL;
	uint8_t *outer = begin_message(at, ORMA_PB_FTRACE_EVENT_BUNDLE_EVENT);
	at = orma_event_plan_put_head(event->head, record, met, outer);
	uint8_t *inner = begin_message(at, ORMA_PB_FTRACE_EVENT_GENERIC);
	at = put_str(inner, ORMA_PB_GENERIC_FTRACE_EVENT_EVENT_NAME, event->name);
	for (uint16_t i = 0; i < event->field_count; i++) {
		const struct orma_legacy_field *field = &event->fields[i];
		uint8_t *content = begin_message(at, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD);
		at = put_str(content, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_NAME, field->name);
		at = orma_event_plan_put_fields(field->plan, record, met, at);
		end_message(content, at);
	}
	end_message(inner, at);
	end_message(outer, at);
	return at;
}
