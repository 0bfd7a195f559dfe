/* SPDX-License-Identifier: Apache-2.0
 * encode_items.c - arguments, and items with a meaning of their own, as fields of a TrackEvent.
 *
 * Arguments may hold dictionaries and arrays, and fields of the program's own may hold messages.
 * Both are walked with a stack of limited depth, without recursion. An argument that is nested
 * deeper is replaced by a text; a field that is nested deeper is left out.
 */
#include "track/encode_items.h"

#include <stdio.h>

#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/callstacks.h"
#include "track/interned_name.h"
#include "track/process_info.h"
#include "track/sanitize_text.h"

#define TOO_DEEP "(nested too deep)"

/* --- arguments -------------------------------------------------------------------------------- */

static void write_key(struct orma_track_encoder *encoder, const struct orma_item *key)
{
	struct orma_str text = orma_track_item_text(key);
	uint32_t id = 0;

	if (!encoder->writes_names_out)
		id = orma_track_name_intern_size(text.data, text.size,
						 key->kind != ORMA_ITEM_LITERAL);
	if (id != 0 &&
	    orma_track_new_ids_use(&encoder->ids, encoder->sequence, ORMA_TRACK_ID_KEY, id, NULL))
		orma_proto_write_varint(encoder->writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID, id);
	else
		orma_track_write_text(encoder->writer, ORMA_PB_DEBUG_ANNOTATION_NAME, text.data,
				      text.size);
}

static void write_scalar(struct orma_proto_writer *writer, const struct orma_item *value)
{
	struct orma_str text;

	switch (value->kind) {
	case ORMA_ITEM_BOOL:
		orma_proto_write_bool(writer, ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE,
				      value->value.number != 0);
		break;
	case ORMA_ITEM_INT:
		orma_proto_write_int(writer, ORMA_PB_DEBUG_ANNOTATION_INT_VALUE,
				     value->value.integer);
		break;
	case ORMA_ITEM_UINT:
		orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE,
					value->value.number);
		break;
	case ORMA_ITEM_POINTER:
		orma_proto_write_varint(writer, ORMA_PB_DEBUG_ANNOTATION_POINTER_VALUE,
					value->value.number);
		break;
	case ORMA_ITEM_DOUBLE:
		orma_proto_write_double(writer, ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE,
					value->value.real);
		break;
	case ORMA_ITEM_TEXT:
	case ORMA_ITEM_LITERAL:
	case ORMA_ITEM_TEXT_SIZED:
		text = orma_track_item_text(value);
		orma_track_write_text(writer, ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE, text.data,
				      text.size);
		break;
	default:
		break;
	}
}

/* A list of arguments, dictionary entries, array values or fields that is being written. */
struct level {
	const struct orma_item *items;
	size_t count, at;
	uint32_t field_id;
	struct orma_proto_nested nested; /* the annotation around the list; unused at the top */
};

static bool level_next(struct level *level, struct orma_track_pair *ret)
{
	while (level->at < level->count) {
		if (level->field_id == ORMA_PB_DEBUG_ANNOTATION_ARRAY_VALUES) {
			*ret = (struct orma_track_pair){.value = &level->items[level->at++]};
			if (ret->value->kind > ORMA_ITEM_NONE && ret->value->kind < ORMA_ITEM_FLOW)
				return true;
		} else if (!orma_track_items_next(level->items, level->count, &level->at, ret)) {
			return false;
		} else if (ret->key) {
			return true;
		}
	}
	return false;
}

static bool is_list(const struct orma_item *value)
{
	return value && (value->kind == ORMA_ITEM_DICT || value->kind == ORMA_ITEM_ARRAY);
}

void orma_track_encode_arguments(struct orma_track_encoder *encoder)
{
	struct level levels[ORMA_TRACK_NESTING_MAX + 1], *level = levels;
	struct orma_track_pair pair;

	levels[0] = (struct level){.items = encoder->event->items,
				   .count = encoder->event->count,
				   .at = encoder->lookup->first,
				   .field_id = ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS};
	for (;;) {
		struct orma_proto_nested one, *nested = &one;
		bool is_deeper;

		if (!level_next(level, &pair)) {
			if (level == levels)
				return;
			orma_proto_nested_end(encoder->writer, &level->nested);
			level--;
			continue;
		}
		is_deeper = is_list(pair.value) && level < levels + ORMA_TRACK_NESTING_MAX;
		if (is_deeper)
			nested = &level[1].nested;
		orma_proto_nested_begin(encoder->writer, nested, level->field_id);
		if (pair.key)
			write_key(encoder, pair.key);
		if (is_deeper) {
			level++;
			level->items = pair.value->value.items;
			level->count = level->items ? pair.value->number : 0;
			level->at = 0;
			level->field_id = pair.value->kind == ORMA_ITEM_DICT
						  ? ORMA_PB_DEBUG_ANNOTATION_DICT_ENTRIES
						  : ORMA_PB_DEBUG_ANNOTATION_ARRAY_VALUES;
			continue;
		}
		if (is_list(pair.value))
			orma_track_write_string(encoder->writer,
						ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE, TOO_DEEP);
		else if (pair.value)
			write_scalar(encoder->writer, pair.value);
		orma_proto_nested_end(encoder->writer, nested);
	}
}

/* --- items with a meaning of their own -------------------------------------------------------- */

static void write_field(struct orma_proto_writer *writer, const struct orma_item *item)
{
	const struct orma_bytes *bytes = item->value.bytes;

	switch (item->kind) {
	case ORMA_ITEM_FIELD_VARINT:
		orma_proto_write_varint(writer, item->number, item->value.number);
		break;
	case ORMA_ITEM_FIELD_FIXED64:
		orma_proto_write_fixed64(writer, item->number, item->value.number);
		break;
	case ORMA_ITEM_FIELD_FIXED32:
		orma_proto_write_fixed32(writer, item->number, (uint32_t)item->value.number);
		break;
	case ORMA_ITEM_FIELD_TEXT:
		orma_track_write_string(writer, item->number, item->value.text);
		break;
	case ORMA_ITEM_FIELD_BYTES:
		if (bytes)
			orma_proto_write_bytes(writer, item->number, bytes->data,
					       bytes->data ? bytes->size : 0);
		break;
	default:
		break;
	}
}

/* A field and, when it is a message, everything in it. */
static void write_fields(struct orma_proto_writer *writer, const struct orma_item *item)
{
	struct level levels[ORMA_TRACK_NESTING_MAX + 1], *level = levels;

	levels[0] = (struct level){.items = item, .count = 1};
	for (;;) {
		if (level->at == level->count) {
			if (level == levels)
				return;
			orma_proto_nested_end(writer, &level->nested);
			level--;
			continue;
		}
		item = &level->items[level->at++];
		if (item->number == 0 || item->number > ORMA_PROTO_FIELD_ID_MAX)
			continue;
		if (item->kind != ORMA_ITEM_FIELD_NESTED) {
			write_field(writer, item);
		} else if (level < levels + ORMA_TRACK_NESTING_MAX && item->value.nested) {
			level++;
			orma_proto_nested_begin(writer, &level->nested, item->number);
			level->items = item->value.nested->items;
			level->count = level->items ? item->value.nested->count : 0;
			level->at = 0;
		}
	}
}

/* A location has the id of its text. 0: the text is too long, or there are too many. */
static uint32_t location_id(const struct orma_source_location *location)
{
	char text[ORMA_TRACK_DYNAMIC_NAME_BYTES];
	int size = snprintf(text, sizeof(text), "%s:%u:%s", location->file ? location->file : "",
			    (unsigned)location->line, location->function ? location->function : "");

	if (size < 0 || (size_t)size >= sizeof(text))
		return 0;
	return orma_track_name_intern_size(text, (size_t)size, true);
}

static void write_location(struct orma_track_encoder *encoder,
			   const struct orma_source_location *location)
{
	struct orma_proto_nested nested;
	uint32_t id;

	if (!location || encoder->has_location)
		return;
	encoder->has_location = true;
	encoder->ids.location = location;
	id = encoder->writes_names_out ? 0 : location_id(location);
	if (id != 0 && orma_track_new_ids_use(&encoder->ids, encoder->sequence,
					      ORMA_TRACK_ID_LOCATION, id, NULL)) {
		orma_proto_write_varint(encoder->writer, ORMA_PB_TRACK_EVENT_SOURCE_LOCATION_IID,
					id);
		return;
	}
	orma_proto_nested_begin(encoder->writer, &nested, ORMA_PB_TRACK_EVENT_SOURCE_LOCATION);
	orma_track_write_location(encoder->writer, location);
	orma_proto_nested_end(encoder->writer, &nested);
}

/* A pending end is written without, because its reader may not know the stack by then. */
static void write_callstack(struct orma_track_encoder *encoder, uint64_t id)
{
	if (encoder->writes_names_out || encoder->has_callstack || !orma_track_stack_exists(id))
		return;
	encoder->has_callstack = true;
	orma_proto_write_varint(encoder->writer, ORMA_PB_TRACK_EVENT_CALLSTACK_IID, id);
	if (!orma_track_stack_is_known(encoder->sequence, id))
		encoder->ids.callstack = id;
}

static void write_flow(struct orma_proto_writer *writer, uint32_t field_id,
		       const struct orma_item *item)
{
	orma_proto_write_fixed64(writer, field_id,
				 item->value.number ^ (item->number ? 0 : orma_track_process.uuid));
}

static void write_special(struct orma_track_encoder *encoder, const struct orma_item *item)
{
	struct orma_proto_writer *writer = encoder->writer;

	switch (item->kind) {
	case ORMA_ITEM_FLOW:
		write_flow(writer, ORMA_PB_TRACK_EVENT_FLOW_IDS, item);
		break;
	case ORMA_ITEM_TERMINATING_FLOW:
		write_flow(writer, ORMA_PB_TRACK_EVENT_TERMINATING_FLOW_IDS, item);
		break;
	case ORMA_ITEM_CORRELATION:
		orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_CORRELATION_ID,
					item->value.number);
		break;
	case ORMA_ITEM_CORRELATION_TEXT:
		orma_track_write_string(writer, ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR,
					item->value.text);
		break;
	case ORMA_ITEM_CALLSTACK:
		write_callstack(encoder, item->value.number);
		break;
	case ORMA_ITEM_SOURCE_LOCATION:
		write_location(encoder, item->value.location);
		break;
	default:
		if (item->kind >= ORMA_ITEM_FIELD_VARINT && item->kind <= ORMA_ITEM_FIELD_NESTED)
			write_fields(writer, item);
		break;
	}
}

void orma_track_encode_special_items(struct orma_track_encoder *encoder)
{
	struct orma_track_pair pair;
	size_t at = encoder->lookup->first;

	while (orma_track_items_next(encoder->event->items, encoder->event->count, &at, &pair))
		if (!pair.key)
			write_special(encoder, pair.value);
}
