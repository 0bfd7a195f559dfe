/* SPDX-License-Identifier: Apache-2.0
 * new_ids.c - names, keys, categories and locations whose ids are new to the reader of a sequence.
 *
 * They are declared in the packet that uses them, so that both arrive or neither does. When the
 * list is full the encoder writes further names out.
 *
 * Rejected: declaring in a packet of its own, before the event's (twice the packets at the first
 * events of each thread).
 */
#include "track/new_ids.h"

#include "base/assert.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/source_location.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/callstacks.h"
#include "track/event_items.h"
#include "track/interned_name.h"
#include "track/sanitize_text.h"

static uint64_t *known_words(struct orma_track_sequence *sequence, enum orma_track_id_kind kind)
{
	switch (kind) {
	case ORMA_TRACK_ID_CATEGORY:
		return sequence->known.categories;
	case ORMA_TRACK_ID_NAME:
		return sequence->known.names;
	case ORMA_TRACK_ID_KEY:
		return sequence->known.keys;
	case ORMA_TRACK_ID_LOCATION:
		break;
	}
	return sequence->known.locations;
}

bool orma_track_new_ids_use(struct orma_track_new_ids *ids, struct orma_track_sequence *sequence,
			    enum orma_track_id_kind kind, uint32_t id, const char *category)
{
	ORMA_ASSERT(id < (kind == ORMA_TRACK_ID_CATEGORY ? ORMA_TRACK_CATEGORIES_MAX
							 : ORMA_TRACK_NAMES_MAX));
	if (orma_track_has_bit(known_words(sequence, kind), id))
		return true;
	for (uint32_t i = 0; i < ids->count; i++)
		if (ids->list[i].kind == kind && ids->list[i].id == id)
			return true;
	if (ids->count == ORMA_TRACK_NEW_IDS_MAX)
		return false;
	ids->list[ids->count++] = (struct orma_track_new_id){kind, id, category};
	return true;
}

void orma_track_write_string(struct orma_proto_writer *writer, uint32_t field_id, const char *text)
{
	text = text ? text : ORMA_TRACK_NO_TEXT;
	orma_track_write_text(writer, field_id, text, strlen(text));
}

void orma_track_write_location(struct orma_proto_writer *writer,
			       const struct orma_source_location *location)
{
	if (location->file)
		orma_track_write_string(writer, ORMA_PB_SOURCE_LOCATION_FILE_NAME, location->file);
	if (location->function)
		orma_track_write_string(writer, ORMA_PB_SOURCE_LOCATION_FUNCTION_NAME,
					location->function);
	orma_proto_write_varint(writer, ORMA_PB_SOURCE_LOCATION_LINE_NUMBER, location->line);
}

static void write_one(struct orma_proto_writer *writer, const struct orma_track_new_id *new_id,
		      const struct orma_source_location *location)
{
	static const uint32_t fields[] = {
		[ORMA_TRACK_ID_CATEGORY] = ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES,
		[ORMA_TRACK_ID_NAME] = ORMA_PB_INTERNED_DATA_EVENT_NAMES,
		[ORMA_TRACK_ID_KEY] = ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
		[ORMA_TRACK_ID_LOCATION] = ORMA_PB_INTERNED_DATA_SOURCE_LOCATIONS,
	};
	struct orma_proto_nested nested;
	const char *text;

	orma_proto_nested_begin(writer, &nested, fields[new_id->kind]);
	/* The messages of categories, names and keys have the same two fields, and that of a
	 * location has the same id. */
	orma_proto_write_varint(writer, ORMA_PB_EVENT_NAME_IID, new_id->id);
	if (new_id->kind == ORMA_TRACK_ID_LOCATION) {
		orma_track_write_location(writer, location);
	} else {
		text = new_id->kind == ORMA_TRACK_ID_CATEGORY
			       ? new_id->category
			       : orma_track_name_get(new_id->id)->clean;
		orma_track_write_text(writer, ORMA_PB_EVENT_NAME_NAME, text, strlen(text));
	}
	orma_proto_nested_end(writer, &nested);
}

void orma_track_new_ids_write(const struct orma_track_new_ids *ids,
			      const struct orma_track_sequence *sequence,
			      struct orma_proto_writer *writer)
{
	struct orma_proto_nested data;

	if (ids->count == 0 && ids->callstack == 0)
		return;
	orma_proto_nested_begin(writer, &data, ORMA_PB_TRACE_PACKET_INTERNED_DATA);
	for (uint32_t i = 0; i < ids->count; i++)
		write_one(writer, &ids->list[i], ids->location);
	if (ids->callstack > 0)
		orma_track_stack_write(sequence, ids->callstack, writer);
	orma_proto_nested_end(writer, &data);
}

void orma_track_new_ids_commit(const struct orma_track_new_ids *ids,
			       struct orma_track_sequence *sequence)
{
	for (uint32_t i = 0; i < ids->count; i++)
		orma_track_set_bit(known_words(sequence, ids->list[i].kind), ids->list[i].id);
	if (ids->callstack > 0)
		orma_track_stack_commit(sequence, ids->callstack);
}
