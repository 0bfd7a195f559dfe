/* SPDX-License-Identifier: Apache-2.0
 * encode.c - what is rarer in short events than integers: texts, flows, names of run time, tracks.
 *
 *   the site's bytes | 22 LL 08 key value | ... | 68 02 40 time
 *
 * A key is in the site already, as bytes that are copied; a value is its kind's tag and a varint,
 * eight bytes or a text. There is one comparison for room per argument, against the worst that may
 * come: a packet ends where its size would take two bytes, and longer ones go the long way, as do
 * dictionaries and keys that are no literals. Rejected: a table of functions by kind (most
 * arguments are integers, and a predicted branch is nothing).
 */
#include "track/encode.h"

#include "schema/gen/debug_annotation.pb.h"

const uint8_t orma_track_integer_tags[ORMA_ITEM_UINT + 1] = {
	[ORMA_ITEM_BOOL] = ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE << 3 | ORMA_PROTO_VARINT,
	[ORMA_ITEM_INT] = ORMA_PB_DEBUG_ANNOTATION_INT_VALUE << 3 | ORMA_PROTO_VARINT,
	[ORMA_ITEM_UINT] = ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE << 3 | ORMA_PROTO_VARINT,
};

/* --- arguments -------------------------------------------------------------------------------- */

static uint8_t *put_text(uint8_t *at, const uint8_t *limit, const char *text, size_t size)
{
	if (size > ORMA_SHM_RESERVE_BYTES_MAX || at + 2 + size > limit)
		return NULL;
	*at++ = ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE << 3 | ORMA_PROTO_BYTES;
	*at++ = (uint8_t)size;
	if (!orma_track_text_copy_ascii(at, text, size))
		orma_track_text_clean((char *)at, text, size);
	return at + size;
}

uint8_t *orma_track_encode_value(uint8_t *at, const uint8_t *limit, const struct orma_item *value)
{
	switch (value->kind) {
	case ORMA_ITEM_TEXT:
	case ORMA_ITEM_LITERAL:
		return value->value.text
			       ? put_text(at, limit, value->value.text,
					  strnlen(value->value.text, ORMA_SHM_RESERVE_BYTES_MAX))
			       : NULL;
	case ORMA_ITEM_TEXT_SIZED:
		return value->value.text ? put_text(at, limit, value->value.text, value->number)
					 : NULL;
	case ORMA_ITEM_DOUBLE:
		*at++ = ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE << 3 | ORMA_PROTO_FIXED64;
		memcpy(at, &value->value.real, sizeof(value->value.real));
		return at + sizeof(value->value.real);
	case ORMA_ITEM_POINTER:
		*at++ = ORMA_PB_DEBUG_ANNOTATION_POINTER_VALUE << 3 | ORMA_PROTO_VARINT;
		return orma_track_encode_varint(at, value->value.number);
	default:
		return NULL;
	}
}

static uint8_t *put_flow(uint8_t *at, const struct orma_item *item)
{
	const uint32_t field = item->kind == ORMA_ITEM_FLOW
				       ? ORMA_PB_TRACK_EVENT_FLOW_IDS
				       : ORMA_PB_TRACK_EVENT_TERMINATING_FLOW_IDS;
	uint64_t id = item->value.number ^ (item->number ? 0 : orma_track_process.uuid);

	at = orma_proto_put_varint(at, orma_proto_tag(field, ORMA_PROTO_FIXED64));
	memcpy(at, &id, sizeof(id));
	return at + sizeof(id);
}

/* NULL: the reader does not know it yet, or it is none that has an id. */
static uint8_t *put_name(const struct orma_track_sequence *sequence, uint8_t *at, const char *text)
{
	uint32_t id;

	if (!text)
		return NULL;
	id = orma_track_name_intern_size(text, strnlen(text, ORMA_TRACK_DYNAMIC_NAME_BYTES + 1),
					 true);
	if (id == 0 || !orma_track_has_bit(sequence->known.names, id))
		return NULL;
	*at++ = ORMA_PB_TRACK_EVENT_NAME_IID << 3 | ORMA_PROTO_VARINT;
	return orma_track_encode_varint(at, id);
}

uint8_t *orma_track_encode_special(struct orma_track_sequence *sequence, uint8_t *at,
				   const struct orma_call_site *site, const struct orma_item *item)
{
	switch (item->kind) {
	case ORMA_ITEM_FLOW:
	case ORMA_ITEM_TERMINATING_FLOW:
		return put_flow(at, item);
	case ORMA_ITEM_TRACK:
		return orma_track_put_described(sequence, at, item->value.track);
	case ORMA_ITEM_NAME:
		return site->name ? NULL : put_name(sequence, at, item->value.text);
	default:
		return NULL;
	}
}

/* --- counters --------------------------------------------------------------------------------- */

/* On a track that the event names. NULL: it is not described yet, or there is more to say. */
static uint8_t *encode_counter_on(struct orma_track_sequence *sequence, uint8_t *begin,
				  const struct orma_track_event *event)
{
	const struct orma_track *track = event->items[1].value.track;
	struct orma_item value = event->items[0];
	uint8_t *at = begin;

	if (event->count != 2 || event->items[1].kind != ORMA_ITEM_TRACK || !track)
		return NULL;
	*at++ = ORMA_PB_TRACE_PACKET_TRACK_EVENT << 3 | ORMA_PROTO_BYTES;
	*at++ = 0;
	*at++ = ORMA_PB_TRACK_EVENT_TYPE << 3 | ORMA_PROTO_VARINT;
	*at++ = ORMA_EVENT_COUNTER;
	at = orma_track_put_described(sequence, at, track);
	if (!at)
		return NULL;
	if (value.kind == ORMA_ITEM_DOUBLE) {
		if (track->is_incremental)
			value.value.real = orma_track_delta_double(
				sequence, track, orma_track_uuid_at(sequence, track),
				value.value.real);
		return orma_track_encode_double(sequence, begin, at, value.value.real,
						event->now_ns);
	}
	if (track->is_incremental)
		value.value.integer = orma_track_delta_int(
			sequence, track, orma_track_uuid_at(sequence, track), value.value.integer);
	return orma_track_encode_int(sequence, begin, at, value.value.integer, event->now_ns);
}

uint8_t *orma_track_encode(struct orma_track_sequence *sequence, uint8_t *begin,
			   const struct orma_track_event *event)
{
	uint8_t *at;

	if (!event->site)
		return orma_track_encode_end(sequence, begin, event->now_ns);
	if (event->type != ORMA_EVENT_COUNTER) {
		at = orma_track_encode_items(sequence, begin, begin + ORMA_TRACK_ITEMS_ROOM,
					     event->site, event->items, event->count);
		return at ? orma_track_encode_tail(sequence, begin, at, event->now_ns) : NULL;
	}
	if (event->count == 0 || event->items->kind >= ORMA_ITEM_TEXT)
		return NULL;
	return event->count == 1 ? orma_track_encode_counter(sequence, begin, event->site,
							     event->items[0], event->now_ns)
				 : encode_counter_on(sequence, begin, event);
}
