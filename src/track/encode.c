/* SPDX-License-Identifier: Apache-2.0
 * encode.c - the bytes of short events with arguments.
 *
 *   the site's bytes | 22 LL key value | ... | 68 02 40 time
 *
 * A key is in the site already, as bytes that are copied; a value is its kind's tag and a varint,
 * eight bytes or a text. There is one comparison for room per argument, against the worst that may
 * come: a packet ends where its size would take two bytes, and longer ones go the long way, as do
 * dictionaries and keys that are no literals. Rejected: a table of functions by kind (most arguments
 * are integers, and a predicted branch is nothing).
 */
#include "track/encode.h"

#include "schema/gen/debug_annotation.pb.h"

#define TAIL_BYTES 13
#define ITEM_BYTES 20 /* an argument of any number, or what stands for itself */
/* Where the arguments of a packet end at the latest, and where the last of those may begin. */
#define LIMIT        (ORMA_SHM_RESERVE_BYTES_MAX - TAIL_BYTES)
#define LAST_ITEM_AT (LIMIT - ITEM_BYTES)

#define KINDS(first, second, third, fourth)                                                        \
	(1u << (first) | 1u << (second) | 1u << (third) | 1u << (fourth))

/* Kinds that are a tag and a varint. */
#define VARINT_KINDS KINDS(ORMA_ITEM_BOOL, ORMA_ITEM_INT, ORMA_ITEM_UINT, ORMA_ITEM_POINTER)

static const uint8_t value_tags[] = {
	[ORMA_ITEM_BOOL] = ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE << 3 | ORMA_PROTO_VARINT,
	[ORMA_ITEM_INT] = ORMA_PB_DEBUG_ANNOTATION_INT_VALUE << 3 | ORMA_PROTO_VARINT,
	[ORMA_ITEM_UINT] = ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE << 3 | ORMA_PROTO_VARINT,
	[ORMA_ITEM_DOUBLE] = ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE << 3 | ORMA_PROTO_FIXED64,
	[ORMA_ITEM_POINTER] = ORMA_PB_DEBUG_ANNOTATION_POINTER_VALUE << 3 | ORMA_PROTO_VARINT,
};

/* --- arguments -------------------------------------------------------------------------------- */

static inline uint8_t *put_text(uint8_t *at, const uint8_t *limit, const char *text)
{
	size_t size;

	if (!text)
		return NULL;
	size = strnlen(text, ORMA_SHM_RESERVE_BYTES_MAX);
	if (at + 2 + size > limit)
		return NULL;
	*at++ = ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE << 3 | ORMA_PROTO_BYTES;
	*at++ = (uint8_t)size;
	if (!orma_track_text_copy_ascii(at, text, size))
		orma_track_text_clean((char *)at, text, size);
	return at + size;
}

/* NULL: a value, or a size, for the long way. */
static inline uint8_t *put_value(uint8_t *at, const uint8_t *limit, const struct orma_item *value)
{
	if (ORMA_LIKELY(value->kind <= ORMA_ITEM_POINTER && VARINT_KINDS >> value->kind & 1)) {
		*at = value_tags[value->kind];
		return orma_track_encode_varint(at + 1, value->value.number);
	}
	if (value->kind == ORMA_ITEM_TEXT || value->kind == ORMA_ITEM_LITERAL)
		return put_text(at, limit, value->value.text);
	if (value->kind != ORMA_ITEM_DOUBLE)
		return NULL;
	*at++ = value_tags[ORMA_ITEM_DOUBLE];
	memcpy(at, &value->value.real, sizeof(value->value.real));
	return at + sizeof(value->value.real);
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

/* What stands for itself. NULL: for the long way. */
static __attribute__((noinline)) uint8_t *put_special(struct orma_track_sequence *sequence,
						      uint8_t *at,
						      const struct orma_call_site *site,
						      const struct orma_item *item)
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

uint8_t *orma_track_encode_items(struct orma_track_sequence *sequence, uint8_t *begin,
				 const struct orma_call_site *site, const struct orma_item *items,
				 size_t count)
{
	const struct orma_item *end = items + count;
	const struct orma_key *key = site->keys;
	uint8_t *at = begin + site->blob_size - ORMA_TRACK_TAIL_PREFIX;

	/* As many as there can be pairs; a site of the macros has them. */
	if (ORMA_UNLIKELY(site->key_count < count / 2))
		return NULL;
	memcpy(begin - 1, site->blob, ORMA_TRACK_BLOB_BYTES);
	while (items < end) {
		uint8_t *argument = at;

		if (ORMA_UNLIKELY(at > begin + LAST_ITEM_AT))
			return NULL;
		if (ORMA_UNLIKELY(items->kind != ORMA_ITEM_LITERAL)) {
			at = put_special(sequence, at, site, items++);
			if (ORMA_UNLIKELY(!at))
				return NULL;
			continue;
		}
		if (ORMA_UNLIKELY(items + 1 == end ||
				  __atomic_load_n(&key->text, __ATOMIC_ACQUIRE) !=
					  items->value.text))
			return NULL;
		argument[0] = ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS << 3 | ORMA_PROTO_BYTES;
		memcpy(argument + 2, &key->code, sizeof(key->code));
		at = put_value(argument + 2 + key->code_size, begin + LIMIT, items + 1);
		if (ORMA_UNLIKELY(!at))
			return NULL;
		argument[1] = (uint8_t)(at - argument - 2);
		items += 2;
		key++;
	}
	begin[1] = (uint8_t)(at - begin - 2);
	return at;
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
		at = orma_track_encode_items(sequence, begin, event->site, event->items,
					     event->count);
		return at ? orma_track_encode_tail(sequence, begin, at, event->now_ns) : NULL;
	}
	if (event->count == 0 || event->items->kind >= ORMA_ITEM_TEXT)
		return NULL;
	return event->count == 1 ? orma_track_encode_counter(sequence, begin, event->site,
							     event->items[0], event->now_ns)
				 : encode_counter_on(sequence, begin, event);
}
