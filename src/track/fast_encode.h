/* SPDX-License-Identifier: Apache-2.0
 * fast_encode.h - the bytes of events that take the fast path.
 *
 * Packets are shorter than 128 bytes, so that each length is one byte. The functions here are
 * inlined into the fast path; rarer items are in fast_encode.c. An encoder gets the position where
 * the packet begins. There must be room for as many bytes as the macro named in its comment says,
 * and one byte in front of the packet, into which the encoder writes the packet's size. It returns
 * where the packet ends. Stores have fixed sizes where that is faster and may reach beyond the end:
 * nobody reads those bytes before a later packet, which overwrites them, has been counted.
 *
 * The sequence must have the bit of the event's site (see emit.c).
 */
#ifndef ORMA_TRACK_ENCODE_H
#define ORMA_TRACK_ENCODE_H

#include "base/assert.h"
#include "proto/wire.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/call_site.h"

/* A blob, and a time that takes up to 10 bytes. */
#define ORMA_TRACK_EVENT_ROOM 32
/* A blob, a value, flags and time. */
#define ORMA_TRACK_COUNTER_ROOM 48
/* The largest packet, and what is stored beyond its end. */
#define ORMA_TRACK_ITEMS_ROOM (ORMA_SHM_RESERVE_BYTES_MAX + 8)

/* The sequence flags and the tag of the time, at the end of a blob. */
#define ORMA_TRACK_TAIL_PREFIX 3
#define ORMA_TRACK_DENSE_NS    (1u << 14)

/* A varint of two bytes, even if one is enough; `value` is below 1 << 14. Stores 4 bytes. */
static inline uint8_t *orma_track_encode_varint2(uint8_t *at, uint64_t value)
{
	uint32_t bytes = (uint32_t)(value + (value & 0x3f80)) | 0x80;

	memcpy(at, &bytes, sizeof(bytes));
	return at + 2;
}

/* Most values are small. Larger ones below 2^28 take no branches. May store 4 bytes whatever the
 * size of the varint. */
static inline uint8_t *orma_track_encode_varint(uint8_t *at, uint64_t value)
{
	uint32_t bytes, size;

	if (ORMA_LIKELY(value < 0x80)) {
		*at = (uint8_t)value;
		return at + 1;
	}
	if (value < 0x4000)
		return orma_track_encode_varint2(at, value);
	if (ORMA_UNLIKELY(value >= UINT64_C(1) << 28))
		return orma_proto_put_varint(at, value);
	size = 3 + (value >= UINT64_C(1) << 21);
	bytes = (uint32_t)((value & 0x7f) | (value << 1 & 0x7f00) | (value << 2 & 0x7f0000) |
			   (value << 3 & 0x7f000000));
	bytes |= UINT32_C(0x80808080) & ((UINT32_C(1) << (size * 8 - 8)) - 1);
	memcpy(at, &bytes, sizeof(bytes));
	return at + size;
}

/*
 * The time since the sequence's previous packet comes at the end of a packet. It is never negative.
 * Below 16 us it takes two bytes even if one is enough: then events are so dense that a
 * mispredicted branch counts, and this way there is none, and the size of the packet is known
 * beforehand.
 */
static inline bool orma_track_is_dense(const struct orma_track_sequence *sequence, uint64_t now_ns)
{
	return ORMA_LIKELY(now_ns - sequence->known.last_ns < ORMA_TRACK_DENSE_NS);
}

static inline uint8_t *orma_track_encode_dense_time(struct orma_track_sequence *sequence,
						    uint8_t *at, uint64_t now_ns)
{
	uint64_t passed_ns = now_ns - sequence->known.last_ns;

	sequence->known.last_ns = now_ns;
	return orma_track_encode_varint2(at, passed_ns);
}

static inline uint8_t *orma_track_encode_time(struct orma_track_sequence *sequence, uint8_t *begin,
					      uint8_t *at, uint64_t now_ns)
{
	uint64_t last_ns = sequence->known.last_ns;

	if (ORMA_LIKELY(orma_track_is_dense(sequence, now_ns))) {
		at = orma_track_encode_dense_time(sequence, at, now_ns);
	} else {
		sequence->known.last_ns = ORMA_MAX(last_ns, now_ns);
		at = orma_proto_put_varint(at, sequence->known.last_ns - last_ns);
	}
	ORMA_ASSERT(at - begin < 0x80);
	begin[-1] = (uint8_t)(at - begin);
	return at;
}

/* Sequence flags and time, behind the event. */
static inline uint8_t *orma_track_encode_tail(struct orma_track_sequence *sequence, uint8_t *begin,
					      uint8_t *at, uint64_t now_ns)
{
	static const uint8_t prefix[] = {
		ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS << 3 | ORMA_PROTO_VARINT,
		ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE,
		ORMA_PB_TRACE_PACKET_TIMESTAMP << 3 | ORMA_PROTO_VARINT,
		0,
	};

	memcpy(at, prefix, sizeof(prefix));
	return orma_track_encode_time(sequence, begin, at + ORMA_TRACK_TAIL_PREFIX, now_ns);
}

/* A begin or instant without items; ORMA_TRACK_EVENT_ROOM. */
static inline uint8_t *orma_track_encode_simple(struct orma_track_sequence *sequence,
						uint8_t *begin, const struct orma_call_site *site,
						uint64_t now_ns)
{
	uint8_t *at = begin + site->blob_size;

	memcpy(begin - 1, site->blob, ORMA_TRACK_BLOB_BYTES);
	return ORMA_LIKELY(orma_track_is_dense(sequence, now_ns))
		       ? orma_track_encode_dense_time(sequence, at, now_ns)
		       : orma_track_encode_time(sequence, begin, at, now_ns);
}

/* The end of a slice, without a site; ORMA_TRACK_EVENT_ROOM. */
static inline uint8_t *orma_track_encode_end(struct orma_track_sequence *sequence, uint8_t *begin,
					     uint64_t now_ns)
{
	static const uint8_t end[] = {
		9,
		ORMA_PB_TRACE_PACKET_TRACK_EVENT << 3 | ORMA_PROTO_BYTES,
		2,
		ORMA_PB_TRACK_EVENT_TYPE << 3 | ORMA_PROTO_VARINT,
		ORMA_EVENT_END,
		ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS << 3 | ORMA_PROTO_VARINT,
		ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE,
		ORMA_PB_TRACE_PACKET_TIMESTAMP << 3 | ORMA_PROTO_VARINT,
	};
	uint8_t *at = begin + sizeof(end) - 1;

	memcpy(begin - 1, end, sizeof(end));
	return ORMA_LIKELY(orma_track_is_dense(sequence, now_ns))
		       ? orma_track_encode_dense_time(sequence, at, now_ns)
		       : orma_track_encode_time(sequence, begin, at, now_ns);
}

/* The value of a counter, the length of its event, and the packet's tail; `begin` is where the
 * packet begins. */
static inline uint8_t *orma_track_encode_double(struct orma_track_sequence *sequence,
						uint8_t *begin, uint8_t *at, double value,
						uint64_t now_ns)
{
	static const uint8_t tag[] = {
		(ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE << 3 & 0x7f) | 0x80 | ORMA_PROTO_FIXED64,
		ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE >> 4,
	};

	memcpy(at, tag, sizeof(tag));
	memcpy(at + sizeof(tag), &value, sizeof(value));
	at += sizeof(tag) + sizeof(value);
	begin[1] = (uint8_t)(at - begin - 2);
	return orma_track_encode_tail(sequence, begin, at, now_ns);
}

static inline uint8_t *orma_track_encode_int(struct orma_track_sequence *sequence, uint8_t *begin,
					     uint8_t *at, int64_t value, uint64_t now_ns)
{
	static const uint8_t tag[] = {
		(ORMA_PB_TRACK_EVENT_COUNTER_VALUE << 3 & 0x7f) | 0x80 | ORMA_PROTO_VARINT,
		ORMA_PB_TRACK_EVENT_COUNTER_VALUE >> 4,
	};

	memcpy(at, tag, sizeof(tag));
	at = orma_track_encode_varint(at + sizeof(tag), (uint64_t)value);
	begin[1] = (uint8_t)(at - begin - 2);
	return orma_track_encode_tail(sequence, begin, at, now_ns);
}

/* Encodes a value of the site's counter, which takes up to ORMA_TRACK_COUNTER_ROOM bytes. Its kind is below ORMA_ITEM_TEXT. */
static inline uint8_t *orma_track_encode_counter(struct orma_track_sequence *sequence,
						 uint8_t *begin, const struct orma_call_site *site,
						 struct orma_item value, uint64_t now_ns)
{
	uint8_t *at = begin + site->blob_size;

	memcpy(begin - 1, site->blob, ORMA_TRACK_BLOB_BYTES);
	if (value.kind == ORMA_ITEM_DOUBLE)
		return orma_track_encode_double(sequence, begin, at, value.value.real, now_ns);
	return orma_track_encode_int(sequence, begin, at, value.value.integer, now_ns);
}

/* fast_encode.c, not inlined. NULL: the event must take the slow path. */
/* A value that is not an integer; it must end before `limit`. */
uint8_t *orma_track_encode_value(uint8_t *at, const uint8_t *limit, const struct orma_item *value);
/* An item with a meaning of its own. */
uint8_t *orma_track_encode_special(struct orma_track_sequence *sequence, uint8_t *at,
				   const struct orma_call_site *site, const struct orma_item *item);
/* Any event; ORMA_TRACK_ITEMS_ROOM. */
uint8_t *orma_track_encode(struct orma_track_sequence *sequence, uint8_t *begin,
			   const struct orma_track_event *event);

/* The most that a number with its key takes, or an item with a meaning of its own. */
#define ORMA_TRACK_ITEM_BYTES 20
/* The most that sequence flags and time take. */
#define ORMA_TRACK_TAIL_BYTES 13
/* How far stores of items may reach beyond the end. */
#define ORMA_TRACK_SLACK_BYTES 8

extern const uint8_t orma_track_integer_tags[ORMA_ITEM_UINT + 1];

/* An argument: the key's code, then the value. NULL: the slow path. */
static inline __attribute__((always_inline)) uint8_t *
orma_track_encode_argument(uint8_t *at, const uint8_t *limit, const struct orma_key *key,
			   const struct orma_item *value)
{
	uint8_t *content = at + 2;

	memcpy(at, key->code, sizeof(key->code));
	at += ORMA_TRACK_KEY_CODE_BYTES;
	if (ORMA_LIKELY(value->kind - ORMA_ITEM_BOOL <= ORMA_ITEM_UINT - ORMA_ITEM_BOOL)) {
		*at = orma_track_integer_tags[value->kind];
		at = orma_track_encode_varint(at + 1, value->value.number);
	} else {
		at = orma_track_encode_value(at, limit, value);
		if (ORMA_UNLIKELY(!at))
			return NULL;
	}
	ORMA_ASSERT(at - content < 0x80 && at <= limit);
	content[-1] = (uint8_t)(at - content);
	return at;
}

/*
 * A begin, end or instant of the site with its items, without the tail. Room ends at `end`. NULL:
 * there is not enough, or the event must take the slow path.
 */
static inline __attribute__((always_inline)) uint8_t *
orma_track_encode_items(struct orma_track_sequence *sequence, uint8_t *begin, const uint8_t *end,
			const struct orma_call_site *site, const struct orma_item *items,
			size_t count)
{
	/* NULL + 0 is undefined. */
	const struct orma_item *items_end = items ? items + count : NULL;
	const struct orma_key *key = site->keys;
	uint8_t *at = begin + site->blob_size - ORMA_TRACK_TAIL_PREFIX;
	const uint8_t *limit =
		ORMA_MIN(begin + ORMA_SHM_RESERVE_BYTES_MAX, end - ORMA_TRACK_SLACK_BYTES) -
		ORMA_TRACK_TAIL_BYTES;

	/* There must be a key for each pair. Sites of the macros have enough. */
	if (ORMA_UNLIKELY(site->key_count < count / 2))
		return NULL;
	memcpy(begin - 1, site->blob, ORMA_TRACK_BLOB_BYTES);
	while (items < items_end) {
		if (ORMA_UNLIKELY(at > limit - ORMA_TRACK_ITEM_BYTES))
			return NULL;
		if (ORMA_LIKELY(items->kind == ORMA_ITEM_LITERAL && items + 1 < items_end &&
				__atomic_load_n(&key->text, __ATOMIC_ACQUIRE) ==
					items->value.text)) {
			at = orma_track_encode_argument(at, limit, key++, items + 1);
			items += 2;
		} else {
			at = orma_track_encode_special(sequence, at, site, items++);
		}
		if (ORMA_UNLIKELY(!at))
			return NULL;
	}
	begin[1] = (uint8_t)(at - begin - 2);
	return at;
}

#endif
