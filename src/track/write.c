/* SPDX-License-Identifier: Apache-2.0
 * write.c - the long way of an event: a packet of any size, with whatever it has to declare.
 *
 *   head | TrackEvent { type, category, name, track, arguments, flows... } | InternedData
 *
 * Names, keys and categories that the sequence does not know yet are collected while the event is
 * written and declared behind it, in the same packet: so both arrive or neither does, and only when
 * the packet is whole are they noted as known. What finds no place in that list, or has no id, is
 * written out.
 *
 * Arguments may hold dictionaries and arrays; they are walked with a stack of limited depth.
 * Rejected: declaring in a packet of its own, before (twice the packets at the first events of each
 * thread).
 */
#include <stdio.h>

#include "proto/writer.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/source_location.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/event.h"

#define NEW_MAX  48
#define TOO_DEEP "(nested too deep)"

enum new_kind { NEW_CATEGORY, NEW_NAME, NEW_KEY, NEW_LOCATION };

struct new_id {
	enum new_kind kind;
	uint32_t id;
	const char *category; /* its name, NULL = of another kind */
};

/* One packet being written. */
struct pass {
	struct orma_packet *slot;
	struct orma_track_sequence *sequence;
	struct orma_proto_writer *writer;
	const struct orma_track_event *event;
	struct new_id news[NEW_MAX];
	uint32_t news_count;
	const struct orma_source_location *location; /* the only one that is declared */
	/* The items with a meaning of their own, at most one of each. */
	const struct orma_track *track;
	const struct orma_item *time, *category, *value;
	bool is_not_interned, is_apart;
	size_t first; /* the first item behind the value of a state */
};

/* --- ids -------------------------------------------------------------------------------------- */

static uint64_t *known_words(struct orma_track_sequence *sequence, enum new_kind kind)
{
	switch (kind) {
	case NEW_CATEGORY:
		return sequence->known.categories;
	case NEW_NAME:
		return sequence->known.names;
	case NEW_KEY:
		return sequence->known.keys;
	case NEW_LOCATION:
		break;
	}
	return sequence->known.locations;
}

/* True when the id will mean something to the reader. */
static bool use_id_of(struct pass *pass, enum new_kind kind, uint32_t id, const char *category)
{
	if (orma_track_has_bit(known_words(pass->sequence, kind), id))
		return true;
	for (uint32_t i = 0; i < pass->news_count; i++)
		if (pass->news[i].kind == kind && pass->news[i].id == id)
			return true;
	if (pass->news_count == NEW_MAX)
		return false;
	pass->news[pass->news_count++] = (struct new_id){kind, id, category};
	return true;
}

static bool use_id(struct pass *pass, enum new_kind kind, uint32_t id)
{
	return use_id_of(pass, kind, id, NULL);
}

static void note_known(struct pass *pass)
{
	for (uint32_t i = 0; i < pass->news_count; i++)
		orma_track_set_bit(known_words(pass->sequence, pass->news[i].kind),
				   pass->news[i].id, true);
}

static void write_str(struct orma_proto_writer *writer, uint32_t field_id, struct orma_str text)
{
	orma_track_write_text(writer, field_id, text.data, text.size);
}

static void write_string(struct orma_proto_writer *writer, uint32_t field_id, const char *text)
{
	write_str(writer, field_id, orma_base_str(text ? text : ORMA_TRACK_NO_TEXT));
}

static void write_place(struct orma_proto_writer *writer,
			const struct orma_source_location *location)
{
	if (location->file)
		write_string(writer, ORMA_PB_SOURCE_LOCATION_FILE_NAME, location->file);
	if (location->function)
		write_string(writer, ORMA_PB_SOURCE_LOCATION_FUNCTION_NAME, location->function);
	orma_proto_write_varint(writer, ORMA_PB_SOURCE_LOCATION_LINE_NUMBER, location->line);
}

static void declare(struct pass *pass)
{
	static const uint32_t fields[] = {
		[NEW_CATEGORY] = ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES,
		[NEW_NAME] = ORMA_PB_INTERNED_DATA_EVENT_NAMES,
		[NEW_KEY] = ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
		[NEW_LOCATION] = ORMA_PB_INTERNED_DATA_SOURCE_LOCATIONS,
	};
	struct orma_proto_nested data, one;

	if (pass->news_count == 0)
		return;
	orma_proto_nested_begin(pass->writer, &data, ORMA_PB_TRACE_PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < pass->news_count; i++) {
		struct new_id new_id = pass->news[i];
		const char *text = new_id.kind == NEW_CATEGORY
					   ? new_id.category
					   : orma_track_name_get(new_id.id)->clean;

		/* All interned texts have the same two fields. */
		orma_proto_nested_begin(pass->writer, &one, fields[new_id.kind]);
		orma_proto_write_varint(pass->writer, ORMA_PB_EVENT_NAME_IID, new_id.id);
		if (new_id.kind == NEW_LOCATION) {
			write_place(pass->writer, pass->location);
			orma_proto_nested_end(pass->writer, &one);
			continue;
		}
		orma_track_write_text(pass->writer, ORMA_PB_EVENT_NAME_NAME, text, strlen(text));
		orma_proto_nested_end(pass->writer, &one);
	}
	orma_proto_nested_end(pass->writer, &data);
}

/* --- arguments -------------------------------------------------------------------------------- */

static void write_key(struct pass *pass, const struct orma_item *key)
{
	struct orma_str text = orma_track_item_text(key);
	uint32_t id = 0;

	if (!pass->is_apart)
		id = orma_track_name_intern_size(text.data, text.size,
						 key->kind != ORMA_ITEM_LITERAL);

	if (id != 0 && use_id(pass, NEW_KEY, id))
		orma_proto_write_varint(pass->writer, ORMA_PB_DEBUG_ANNOTATION_NAME_IID, id);
	else
		write_str(pass->writer, ORMA_PB_DEBUG_ANNOTATION_NAME, text);
}

static void write_scalar(struct orma_proto_writer *writer, const struct orma_item *value)
{
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
		write_str(writer, ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE,
			  orma_track_item_text(value));
		break;
	default:
		break;
	}
}

/* A list of arguments, dictionary entries or array values that is being written. */
struct level {
	const struct orma_item *items;
	size_t count, at;
	uint32_t field_id;
	struct orma_proto_nested nested; /* the annotation that holds it; none at the outermost */
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

static void write_arguments(struct pass *pass)
{
	struct level levels[ORMA_TRACK_NESTING_MAX + 1], *level = levels;
	struct orma_track_pair pair;

	levels[0] = (struct level){.items = pass->event->items,
				   .count = pass->event->count,
				   .at = pass->first,
				   .field_id = ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS};
	for (;;) {
		struct orma_proto_nested one, *nested = &one;
		bool is_deeper;

		if (!level_next(level, &pair)) {
			if (level == levels)
				return;
			orma_proto_nested_end(pass->writer, &level->nested);
			level--;
			continue;
		}
		is_deeper = is_list(pair.value) && level < levels + ORMA_TRACK_NESTING_MAX;
		if (is_deeper)
			nested = &level[1].nested;
		orma_proto_nested_begin(pass->writer, nested, level->field_id);
		if (pair.key)
			write_key(pass, pair.key);
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
			write_string(pass->writer, ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE, TOO_DEEP);
		else if (pair.value)
			write_scalar(pass->writer, pair.value);
		orma_proto_nested_end(pass->writer, nested);
	}
}

/* --- fields of TrackEvent --------------------------------------------------------------------- */

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
		write_string(writer, item->number, item->value.text);
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

/* A field and, when it is a message, all that is in it. */
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

/* A place has the id of its text; 0 = too long, or too many. */
static uint32_t location_id(const struct orma_source_location *location)
{
	char text[ORMA_TRACK_DYNAMIC_NAME_BYTES];
	int size = snprintf(text, sizeof(text), "%s:%u:%s", location->file ? location->file : "",
			    (unsigned)location->line, location->function ? location->function : "");

	if (size < 0 || (size_t)size >= sizeof(text))
		return 0;
	return orma_track_name_intern_size(text, (size_t)size, true);
}

static void write_location(struct pass *pass, const struct orma_source_location *location)
{
	struct orma_proto_nested nested;
	uint32_t id;

	if (!location || pass->location)
		return;
	pass->location = location;
	id = pass->is_apart ? 0 : location_id(location);
	if (id != 0 && use_id(pass, NEW_LOCATION, id)) {
		orma_proto_write_varint(pass->writer, ORMA_PB_TRACK_EVENT_SOURCE_LOCATION_IID, id);
		return;
	}
	orma_proto_nested_begin(pass->writer, &nested, ORMA_PB_TRACK_EVENT_SOURCE_LOCATION);
	write_place(pass->writer, location);
	orma_proto_nested_end(pass->writer, &nested);
}

static void write_flow(struct orma_proto_writer *writer, uint32_t field_id,
		       const struct orma_item *item)
{
	orma_proto_write_fixed64(writer, field_id,
				 item->value.number ^ (item->number ? 0 : orma_track_process.uuid));
}

static void write_special(struct pass *pass, const struct orma_item *item)
{
	struct orma_proto_writer *writer = pass->writer;

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
		write_string(writer, ORMA_PB_TRACK_EVENT_CORRELATION_ID_STR, item->value.text);
		break;
	case ORMA_ITEM_SOURCE_LOCATION:
		write_location(pass, item->value.location);
		break;
	default:
		if (item->kind >= ORMA_ITEM_FIELD_VARINT && item->kind <= ORMA_ITEM_FIELD_NESTED)
			write_fields(writer, item);
		break;
	}
}

static void write_specials(struct pass *pass)
{
	struct orma_track_pair pair;
	size_t at = pass->first;

	while (orma_track_items_next(pass->event->items, pass->event->count, &at, &pair))
		if (!pair.key)
			write_special(pass, pair.value);
}

/* --- the event -------------------------------------------------------------------------------- */

static void look_through(struct pass *pass)
{
	const struct orma_track_event *event = pass->event;
	struct orma_track_pair pair;
	size_t at = 0;

	if (event->type == ORMA_EVENT_STATE) {
		at = event->count > 0 && event->items[0].kind == ORMA_ITEM_NAME;
		if (at < event->count)
			pass->value = &event->items[at++];
	}
	pass->first = at;
	while (orma_track_items_next(event->items, event->count, &at, &pair)) {
		if (pair.key)
			continue;
		if (pair.value->kind == ORMA_ITEM_TRACK)
			pass->track = pair.value->value.track;
		else if (pair.value->kind == ORMA_ITEM_TIME)
			pass->time = pair.value;
		else if (pair.value->kind == ORMA_ITEM_CATEGORY)
			pass->category = pair.value;
		else if (pair.value->kind == ORMA_ITEM_NO_INTERN)
			pass->is_not_interned = true;
		else if (pair.value->kind < ORMA_ITEM_DICT && !pass->value)
			pass->value = pair.value;
	}
}

static void write_head(struct pass *pass)
{
	uint64_t clock = pass->time ? pass->time->number : 0;

	if (!pass->time) {
		pass->writer = orma_track_packet_begin(pass->slot, pass->event->now_ns);
		return;
	}
	/* Its time is absolute, and the sequence's stays where it is. */
	pass->writer = orma_shm_writer_packet_begin(pass->slot->writer);
	orma_proto_write_varint(pass->writer, ORMA_PB_TRACE_PACKET_TIMESTAMP,
				pass->time->value.number);
	orma_proto_write_varint(pass->writer, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
				clock ? clock : orma_track_clock_id());
	orma_proto_write_varint(pass->writer, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS,
				ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE);
}

/* Those of a group; an event that brings its own has none of the ids. */
static void write_categories(struct pass *pass, const char *names, bool are_interned)
{
	struct orma_str member;
	const char *text;

	while (orma_track_list_next(&names, &member)) {
		uint32_t id = are_interned ? orma_track_member_id(member, &text)
					   : ORMA_TRACK_CATEGORIES_MAX;

		if (id < ORMA_TRACK_CATEGORIES_MAX && use_id_of(pass, NEW_CATEGORY, id, text))
			orma_proto_write_varint(pass->writer, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS,
						id);
		else
			orma_track_write_text(pass->writer, ORMA_PB_TRACK_EVENT_CATEGORIES,
					      member.data, member.size);
	}
}

static void write_category(struct pass *pass)
{
	const struct orma_category *category = pass->event->category;
	const char *tags, *name = category->name;

	if (pass->category)
		name = orma_track_item_category(pass->category, &tags);
	else if (category->id < ORMA_TRACK_CATEGORIES_MAX &&
		 use_id_of(pass, NEW_CATEGORY, category->id, name)) {
		orma_proto_write_varint(pass->writer, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS,
					category->id);
		return;
	}
	if (name && strchr(name, ','))
		write_categories(pass, name, !pass->category);
	else
		write_string(pass->writer, ORMA_PB_TRACK_EVENT_CATEGORIES, name);
}

/* No name: its data is NULL. */
static void write_name(struct pass *pass, struct orma_str name, bool is_dynamic)
{
	uint32_t id = 0;

	if (!name.data)
		return;
	if (is_dynamic && pass->sequence->filters_names)
		name = ORMA_STR(ORMA_TRACK_FILTERED);
	if (!pass->is_not_interned)
		id = orma_track_name_intern_size(name.data, name.size, is_dynamic);
	if (id != 0 && use_id(pass, NEW_NAME, id))
		orma_proto_write_varint(pass->writer, ORMA_PB_TRACK_EVENT_NAME_IID, id);
	else
		write_str(pass->writer, ORMA_PB_TRACK_EVENT_NAME, name);
}

static void write_counter_value(struct pass *pass, uint64_t uuid)
{
	const struct orma_item *value = pass->value;
	const struct orma_track *track = pass->track;

	if (!value)
		return;
	if (value->kind == ORMA_ITEM_DOUBLE)
		orma_proto_write_double(
			pass->writer, ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE,
			orma_track_delta_double(pass->sequence, track, uuid, value->value.real));
	else
		orma_proto_write_int(
			pass->writer, ORMA_PB_TRACK_EVENT_COUNTER_VALUE,
			orma_track_delta_int(pass->sequence, track, uuid, value->value.integer));
}

static void write_thread_time(struct pass *pass)
{
	uint8_t field[ORMA_TRACK_TIME_BYTES];
	const uint8_t *end;

	if (!pass->sequence->samples_time || pass->track || pass->time)
		return;
	end = orma_track_put_thread_time(pass->sequence, field, pass->event->now_ns);
	orma_proto_write_raw(pass->writer, field, (size_t)(end - field));
}

static void write_event(struct pass *pass, struct orma_str name, bool is_dynamic, uint64_t uuid)
{
	const struct orma_track_event *event = pass->event;
	struct orma_proto_nested nested;

	orma_proto_nested_begin(pass->writer, &nested, ORMA_PB_TRACE_PACKET_TRACK_EVENT);
	orma_proto_write_varint(pass->writer, ORMA_PB_TRACK_EVENT_TYPE, event->type);
	if (event->type != ORMA_EVENT_END && event->type != ORMA_EVENT_COUNTER) {
		write_category(pass);
		write_name(pass, name, is_dynamic);
	}
	if (pass->track)
		orma_proto_write_varint(pass->writer, ORMA_PB_TRACK_EVENT_TRACK_UUID, uuid);
	if (event->type == ORMA_EVENT_COUNTER)
		write_counter_value(pass, uuid);
	if (!pass->sequence->filters_arguments)
		write_arguments(pass);
	write_specials(pass);
	if (event->encoded_size > 0)
		orma_proto_write_raw(pass->writer, event->encoded, event->encoded_size);
	write_thread_time(pass);
	orma_proto_nested_end(pass->writer, &nested);
}

/* What the site's pre-encoded bytes refer to, also where this event does not. */
static bool use_site(struct pass *pass)
{
	const struct orma_call_site *site = pass->event->site;
	bool is_complete = true;

	for (uint32_t i = 0; i < site->key_count; i++)
		if (__atomic_load_n(&site->keys[i].text, __ATOMIC_ACQUIRE))
			is_complete &= use_id(pass, NEW_KEY, orma_track_key_id(&site->keys[i]));
	return is_complete;
}

/* The state that a track is in from now on: a text, or none. */
static struct orma_str state_of(const struct orma_item *value)
{
	if (!value || !orma_track_item_is_text(value) ||
	    (value->kind != ORMA_ITEM_TEXT_SIZED && !value->value.text))
		return (struct orma_str){0};
	return orma_track_item_text(value);
}

bool orma_track_write(struct orma_packet *slot, const struct orma_track_event *event,
		      bool *ret_knows_site)
{
	struct pass pass = {.slot = slot, .sequence = slot->state, .event = event};
	struct orma_track named;
	const char *name;
	struct orma_str said;
	uint64_t uuid = 0;
	bool is_dynamic;

	*ret_knows_site = false;
	name = orma_track_event_name(event, &is_dynamic);
	look_through(&pass);
	if (event->type >= ORMA_EVENT_COUNTER && !pass.track) {
		named = (struct orma_track){.name = name,
					    .kind = event->type == ORMA_EVENT_COUNTER
							    ? ORMA_TRACK_COUNTER
							    : ORMA_TRACK_STATE};
		pass.track = &named;
	}
	if (pass.track) {
		if (!orma_track_declare(slot, pass.track, event->now_ns))
			return false;
		uuid = orma_track_uuid_at(pass.sequence, pass.track);
	}
	said = name ? orma_base_str(name) : (struct orma_str){0};
	if (event->type == ORMA_EVENT_STATE) {
		said = state_of(pass.value);
		is_dynamic = pass.value && pass.value->kind != ORMA_ITEM_LITERAL;
	}
	write_head(&pass);
	write_event(&pass, said, is_dynamic, uuid);
	if (event->site)
		*ret_knows_site = use_site(&pass);
	declare(&pass);
	if (!orma_track_packet_end(slot))
		return false;
	note_known(&pass);
	return true;
}

/* --- apart from any packet -------------------------------------------------------------------- */

struct apart {
	struct orma_proto_writer writer;
	uint8_t scrap[256];
	bool is_full;
};

/* What has no room is written nowhere. */
static void use_scrap(struct orma_proto_writer *writer)
{
	struct apart *apart = ORMA_CONTAINER_OF(writer, struct apart, writer);

	apart->is_full = true;
	writer->begin = writer->cursor = apart->scrap;
	writer->end = apart->scrap + sizeof(apart->scrap);
}

size_t orma_track_write_apart(struct orma_track_sequence *sequence,
			      const struct orma_track_event *event, uint8_t *data, size_t size)
{
	struct apart apart = {.is_full = false};
	struct pass pass = {
		.sequence = sequence, .event = event, .writer = &apart.writer, .is_apart = true};

	orma_proto_writer_init(&apart.writer, data, data + size, use_scrap);
	if (!sequence->filters_arguments)
		write_arguments(&pass);
	write_specials(&pass);
	return apart.is_full ? size + 1 : (size_t)orma_proto_writer_written(&apart.writer);
}
