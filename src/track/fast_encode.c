/* SPDX-License-Identifier: Apache-2.0
 * fast_encode.c - the rarer items of events on the fast path: texts, flows, tracks, dynamic names.
 *
 *   the site's bytes | 22 LL 08 key value | ... | 68 02 40 time
 *
 * The bytes of a key are copied from the site. A value is the tag of its kind followed by a varint,
 * eight bytes or a text. Room is compared once per argument, against the largest that it may be. A
 * packet whose size would take two bytes takes the slow path, as do dictionaries, arrays, and keys
 * that are not literals.
 *
 * Rejected: a table of functions by kind (most arguments are integers, and a predicted branch costs
 * nothing).
 */
#include "track/fast_encode.h"

#include "schema/gen/debug_annotation.pb.h"
#include "track/callstacks.h"
#include "track/interned_name.h"
#include "track/process_info.h"
#include "track/sanitize_text.h"
#include "track/track_uuid.h"

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
		orma_track_text_sanitize((char *)at, text, size);
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

/* NULL: the name has no id, or the reader does not know it yet. */
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

/* NULL: the sequence has not described the track. */
static uint8_t *put_track(struct orma_track_sequence *sequence, uint8_t *at,
			  const struct orma_track *track)
{
	uint64_t uuid;

	if (!track)
		return at;
	uuid = orma_track_uuid_at(sequence->tid, track);
	if (!orma_track_set_find(&sequence->tracks, uuid))
		return NULL;
	*at++ = ORMA_PB_TRACK_EVENT_TRACK_UUID << 3 | ORMA_PROTO_VARINT;
	return orma_proto_put_varint(at, uuid);
}

/* NULL: the reader does not know the stack yet. */
static uint8_t *put_callstack(const struct orma_track_sequence *sequence, uint8_t *at, uint64_t id)
{
	if (id == 0)
		return at;
	if (id >= ORMA_TRACK_STACKS_MAX || !orma_track_stack_is_known(sequence, id))
		return NULL;
	at = orma_proto_put_varint(
		at, orma_proto_tag(ORMA_PB_TRACK_EVENT_CALLSTACK_IID, ORMA_PROTO_VARINT));
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
		return put_track(sequence, at, item->value.track);
	case ORMA_ITEM_CALLSTACK:
		return put_callstack(sequence, at, item->value.number);
	case ORMA_ITEM_NAME:
		return site->name ? NULL : put_name(sequence, at, item->value.text);
	default:
		return NULL;
	}
}

/* --- counters --------------------------------------------------------------------------------- */

/* A counter with a track and no other item. NULL: the slow path. */
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
	at = put_track(sequence, at, track);
	if (!at)
		return NULL;
	if (value.kind == ORMA_ITEM_DOUBLE) {
		if (track->is_incremental)
			value.value.real = orma_track_set_delta_double(
				&sequence->tracks, track, orma_track_uuid_at(sequence->tid, track),
				value.value.real);
		return orma_track_encode_double(sequence, begin, at, value.value.real,
						event->now_ns);
	}
	if (track->is_incremental)
		value.value.integer = orma_track_set_delta_int(
			&sequence->tracks, track, orma_track_uuid_at(sequence->tid, track),
			value.value.integer);
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
