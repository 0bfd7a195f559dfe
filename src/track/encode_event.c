/* SPDX-License-Identifier: Apache-2.0
 * encode_event.c - the packet of an event, of any size, with the ids that are new in it.
 *
 *   head | TrackEvent { type, category, name, track, arguments, flows... } | InternedData
 *
 * Names, keys and categories that the sequence's reader does not know yet are collected while the
 * event is encoded and declared behind it, in the same packet (new_ids.h). A name that has no id,
 * or no room in that list, is written out.
 */
#include "track/encode_event.h"

#include "base/assert.h"
#include "proto/writer.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/call_site.h"
#include "track/category_id.h"
#include "track/category_rule.h"
#include "track/encode_items.h"
#include "track/interned_name.h"
#include "track/sanitize_text.h"

/* Replaces names known only at run time if the config filters them. */
#define FILTERED "FILTERED"

static bool use_id(struct orma_track_encoder *encoder, enum orma_track_id_kind kind, uint32_t id,
		   const char *category)
{
	return orma_track_new_ids_use(&encoder->ids, encoder->sequence, kind, id, category);
}

/* --- fields of the TrackEvent ----------------------------------------------------------------- */

/* The members of a group. Categories that an event names itself are not interned. */
static void write_categories(struct orma_track_encoder *encoder, const char *names,
			     bool are_interned)
{
	struct orma_str member;
	const char *text;

	while (orma_track_list_next(&names, &member)) {
		uint32_t id = are_interned ? orma_track_category_id(member, &text)
					   : ORMA_TRACK_CATEGORIES_MAX;

		if (id < ORMA_TRACK_CATEGORIES_MAX &&
		    use_id(encoder, ORMA_TRACK_ID_CATEGORY, id, text))
			orma_proto_write_varint(encoder->writer, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS,
						id);
		else
			orma_track_write_text(encoder->writer, ORMA_PB_TRACK_EVENT_CATEGORIES,
					      member.data, member.size);
	}
}

static void write_category(struct orma_track_encoder *encoder)
{
	const struct orma_category *category = encoder->event->category;
	const char *tags, *name = category->name;

	if (encoder->lookup->category)
		name = orma_track_item_category(encoder->lookup->category, &tags);
	else if (category->id < ORMA_TRACK_CATEGORIES_MAX &&
		 use_id(encoder, ORMA_TRACK_ID_CATEGORY, category->id, name)) {
		orma_proto_write_varint(encoder->writer, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS,
					category->id);
		return;
	}
	if (name && strchr(name, ','))
		write_categories(encoder, name, !encoder->lookup->category);
	else
		orma_track_write_string(encoder->writer, ORMA_PB_TRACK_EVENT_CATEGORIES, name);
}

static void write_name(struct orma_track_encoder *encoder)
{
	const struct orma_track_lookup *lookup = encoder->lookup;
	struct orma_str name = lookup->name;
	uint32_t id = 0;

	if (!name.data)
		return;
	if (lookup->is_name_dynamic && encoder->sequence->filters_names)
		name = ORMA_STR(FILTERED);
	if (!lookup->is_name_inline)
		id = orma_track_name_intern_size(name.data, name.size, lookup->is_name_dynamic);
	if (id != 0 && use_id(encoder, ORMA_TRACK_ID_NAME, id, NULL))
		orma_proto_write_varint(encoder->writer, ORMA_PB_TRACK_EVENT_NAME_IID, id);
	else
		orma_track_write_text(encoder->writer, ORMA_PB_TRACK_EVENT_NAME, name.data,
				      name.size);
}

static void write_counter_value(struct orma_track_encoder *encoder)
{
	const struct orma_track_lookup *lookup = encoder->lookup;
	const struct orma_item *value = lookup->value;
	struct orma_track_set *tracks = &encoder->sequence->tracks;

	if (!value)
		return;
	if (value->kind == ORMA_ITEM_DOUBLE)
		orma_proto_write_double(encoder->writer, ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE,
					orma_track_set_delta_double(tracks, lookup->track,
								    lookup->track_uuid,
								    value->value.real));
	else
		orma_proto_write_int(encoder->writer, ORMA_PB_TRACK_EVENT_COUNTER_VALUE,
				     orma_track_set_delta_int(tracks, lookup->track,
							      lookup->track_uuid,
							      value->value.integer));
}

static void write_thread_time(struct orma_track_encoder *encoder)
{
	uint8_t field[ORMA_TRACK_TIME_BYTES];
	const uint8_t *end;

	if (!encoder->sequence->samples_time || encoder->lookup->track || encoder->lookup->time)
		return;
	end = orma_track_put_thread_time(encoder->sequence, field, encoder->event->now_ns);
	orma_proto_write_raw(encoder->writer, field, (size_t)(end - field));
}

static void write_event(struct orma_track_encoder *encoder)
{
	const struct orma_track_event *event = encoder->event;
	struct orma_proto_nested nested;

	orma_proto_nested_begin(encoder->writer, &nested, ORMA_PB_TRACE_PACKET_TRACK_EVENT);
	orma_proto_write_varint(encoder->writer, ORMA_PB_TRACK_EVENT_TYPE, event->type);
	if (event->type != ORMA_EVENT_END && event->type != ORMA_EVENT_COUNTER) {
		write_category(encoder);
		write_name(encoder);
	}
	if (encoder->lookup->track)
		orma_proto_write_varint(encoder->writer, ORMA_PB_TRACK_EVENT_TRACK_UUID,
					encoder->lookup->track_uuid);
	if (event->type == ORMA_EVENT_COUNTER)
		write_counter_value(encoder);
	if (!encoder->sequence->filters_arguments)
		orma_track_encode_arguments(encoder);
	orma_track_encode_special_items(encoder);
	if (event->encoded_size > 0)
		orma_proto_write_raw(encoder->writer, event->encoded, event->encoded_size);
	write_thread_time(encoder);
	orma_proto_nested_end(encoder->writer, &nested);
}

/* --- the packet ------------------------------------------------------------------------------- */

/* Begins the packet. An event with a time of its own does not move the sequence's time. */
static void write_head(struct orma_track_encoder *encoder, struct orma_packet *slot)
{
	const struct orma_item *time = encoder->lookup->time;
	uint64_t clock = time ? time->number : 0;

	if (!time) {
		encoder->writer = orma_track_packet_begin(slot, encoder->event->now_ns);
		return;
	}
	encoder->writer = orma_shm_writer_packet_begin(slot->writer);
	orma_proto_write_varint(encoder->writer, ORMA_PB_TRACE_PACKET_TIMESTAMP,
				time->value.number);
	orma_proto_write_varint(encoder->writer, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
				clock ? clock : orma_track_clock_id());
	orma_proto_write_varint(encoder->writer, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS,
				ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE);
}

/* Declares the keys in the site's pre-encoded bytes, also those that this event does not have. */
static bool use_site(struct orma_track_encoder *encoder)
{
	const struct orma_call_site *site = encoder->event->site;
	bool is_complete = true;

	for (uint32_t i = 0; i < site->key_count; i++)
		if (__atomic_load_n(&site->keys[i].text, __ATOMIC_ACQUIRE))
			is_complete &= use_id(encoder, ORMA_TRACK_ID_KEY,
					      orma_track_key_id(&site->keys[i]), NULL);
	return is_complete;
}

static void encoder_init(struct orma_track_encoder *encoder, struct orma_track_sequence *sequence,
			 const struct orma_track_event *event,
			 const struct orma_track_lookup *lookup)
{
	encoder->sequence = sequence;
	encoder->writer = NULL;
	encoder->event = event;
	encoder->lookup = lookup;
	encoder->writes_names_out = encoder->has_location = encoder->has_callstack =
		encoder->is_site_known = false;
	/* The list itself is large and need not be cleared. */
	encoder->ids.count = 0;
	encoder->ids.location = NULL;
	encoder->ids.callstack = 0;
}

void orma_track_encode_event(struct orma_track_encoder *encoder, struct orma_packet *slot,
			     const struct orma_track_event *event,
			     const struct orma_track_lookup *lookup)
{
	encoder_init(encoder, slot->state, event, lookup);
	ORMA_ASSERT(encoder->sequence->unit_ns > 0);
	write_head(encoder, slot);
	write_event(encoder);
	if (event->site)
		encoder->is_site_known = use_site(encoder);
	orma_track_new_ids_write(&encoder->ids, encoder->sequence, encoder->writer);
}

bool orma_track_encoder_commit(struct orma_track_encoder *encoder, struct orma_packet *slot)
{
	if (!orma_track_packet_end(slot))
		return false;
	orma_track_new_ids_commit(&encoder->ids, encoder->sequence);
	return true;
}

/* --- items of a pending end ------------------------------------------------------------------- */

struct bounded {
	struct orma_proto_writer writer;
	uint8_t scrap[256];
	bool is_full;
};

/* The memory is full: the rest is written over and over into `scrap`. */
static void use_scrap(struct orma_proto_writer *writer)
{
	struct bounded *bounded = ORMA_CONTAINER_OF(writer, struct bounded, writer);

	bounded->is_full = true;
	writer->begin = writer->cursor = bounded->scrap;
	writer->end = bounded->scrap + sizeof(bounded->scrap);
}

size_t orma_track_encode_end_items(struct orma_track_sequence *sequence,
				   const struct orma_track_event *event,
				   const struct orma_track_lookup *lookup, uint8_t *data,
				   size_t size)
{
	struct bounded bounded = {.is_full = false};
	struct orma_track_encoder encoder;

	encoder_init(&encoder, sequence, event, lookup);
	encoder.writer = &bounded.writer;
	encoder.writes_names_out = true;
	orma_proto_writer_init(&bounded.writer, data, data + size, use_scrap);
	if (!sequence->filters_arguments)
		orma_track_encode_arguments(&encoder);
	orma_track_encode_special_items(&encoder);
	ORMA_ASSERT(encoder.ids.count == 0);
	return bounded.is_full ? size + 1 : (size_t)orma_proto_writer_written(&bounded.writer);
}
