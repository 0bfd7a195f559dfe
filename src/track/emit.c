/* SPDX-License-Identifier: Apache-2.0
 * emit.c - the short way of an event: from a call site into the chunk in a few stores.
 *
 *   category's bits -> time -> for each instance: slot -> sequence's bit of the site -> bytes
 *
 * A sequence's bit for a site (set in slice.c after the first packet) promises all that would have
 * to be looked at otherwise: that the sequence can be read, has plain timestamps, owes nothing, and
 * knows the site's names. What is left is copying the site's bytes, adding arguments and time, and
 * counting the packet. Sizes are below 128, so each length is one byte. Bytes beyond the end of a
 * packet may be overwritten by stores of a fixed size: nobody reads them before the packet that
 * will lie there has been counted.
 *
 * Whatever does not fit this goes to orma_track_emit_slow(): also arguments that are dictionaries,
 * strings that make a packet long, keys that are no literals.
 *
 * A signal handler that interrupts an event finds its slot open, and is left out. There is no lock,
 * allocation, system call or read-modify-write here. Rejected: encoding on the stack and copying
 * (kept for the end of a chunk, where room is exact).
 */
#include "proto/wire.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/event.h"

/* A packet of which sizes take one byte, and what is stored beyond it. */
#define PACKET_BYTES_MAX ORMA_SHM_RESERVE_BYTES_MAX
#define ROOM             (PACKET_BYTES_MAX + 24)
/* Of a plain event: 16 bytes of the blob, a time that takes up to 10. */
#define PLAIN_ROOM     32
#define PREFETCH_BYTES 320
#define DENSE_NS       (1u << 14)
/* Flags and time, behind the event. */
#define TAIL_BYTES  13
#define ITEM_BYTES  20 /* an argument of any number */
#define BLOB_BYTES  16
#define TAIL_PREFIX 3 /* flags and the tag of the time, at the end of a blob */

static inline bool can_use(const struct orma_track_sequence *sequence,
			   const struct orma_call_site *site)
{
	uint32_t id = __atomic_load_n(&site->id, __ATOMIC_RELAXED);

	return orma_track_has_bit(sequence->known.sites, id);
}

/* Small ones are the most; the rest below 2^28 without branches. May store 4 bytes, whatever it says. */
static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
	uint32_t bytes, size;

	if (ORMA_LIKELY(value < 0x80)) {
		*at = (uint8_t)value;
		return at + 1;
	}
	if (value < 0x4000) {
		at[0] = (uint8_t)(value | 0x80);
		at[1] = (uint8_t)(value >> 7);
		return at + 2;
	}
	if (ORMA_UNLIKELY(value >= UINT64_C(1) << 28))
		return orma_proto_put_varint(at, value);
	size = ((63 - (uint32_t)__builtin_clzll(value | 1)) * 9 + 73) / 64;
	bytes = (uint32_t)((value & 0x7f) | (value << 1 & 0x7f00) | (value << 2 & 0x7f0000) |
			   (value << 3 & 0x7f000000));
	bytes |= UINT32_C(0x80808080) & ((UINT32_C(1) << (size * 8 - 8)) - 1);
	memcpy(at, &bytes, sizeof(bytes));
	return at + size;
}

/*
 * The time that has passed in the sequence; it never goes backwards. Two bytes below 16 us, also
 * where one would do: when events are so dense that a mispredicted branch counts, there is none.
 */
static inline uint8_t *put_time(struct orma_track_sequence *sequence, uint8_t *at, uint64_t now_ns)
{
	uint64_t last_ns = sequence->known.last_ns, passed_ns = now_ns - last_ns;

	if (ORMA_LIKELY(passed_ns < DENSE_NS)) {
		uint16_t bytes = (uint16_t)((passed_ns & 0x7f) | 0x80 | (passed_ns << 1 & 0x7f00));

		sequence->known.last_ns = now_ns;
		memcpy(at, &bytes, sizeof(bytes));
		return at + sizeof(bytes);
	}
	if ((int64_t)passed_ns < 0)
		passed_ns = 0;
	sequence->known.last_ns = last_ns + passed_ns;
	return orma_proto_put_varint(at, passed_ns);
}

static inline uint8_t *put_tail(struct orma_track_sequence *sequence, uint8_t *at, uint64_t now_ns)
{
	*at++ = ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS << 3 | ORMA_PROTO_VARINT;
	*at++ = ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE;
	*at++ = ORMA_PB_TRACE_PACKET_TIMESTAMP << 3 | ORMA_PROTO_VARINT;
	return put_time(sequence, at, now_ns);
}

/* --- plain events ----------------------------------------------------------------------------- */

/* Where the chunk has no room to spare, by way of the stack. False: lost. */
static bool copy_into_chunk(struct orma_packet *slot, const uint8_t *bytes, size_t size)
{
	memcpy(orma_shm_writer_reserve(slot->writer, size), bytes, size);
	orma_shm_writer_commit(slot->writer, size);
	return orma_client_slot_check(slot);
}

static inline uint8_t *put_plain(struct orma_track_sequence *sequence, uint8_t *at,
				 const struct orma_call_site *site, uint64_t now_ns)
{
	memcpy(at, site->blob, BLOB_BYTES);
	return put_time(sequence, at + site->blob_size, now_ns);
}

static bool write_plain_at_end(struct orma_packet *slot, const struct orma_call_site *site,
			       uint64_t now_ns)
{
	uint8_t bytes[PLAIN_ROOM];
	const uint8_t *end = put_plain(slot->state, bytes, site, now_ns);

	return copy_into_chunk(slot, bytes, (size_t)(end - bytes));
}

static inline bool write_plain(struct orma_packet *slot, const struct orma_call_site *site,
			       uint64_t now_ns)
{
	uint8_t *at = orma_shm_writer_try_reserve(slot->writer, PLAIN_ROOM);

	if (ORMA_UNLIKELY(!at))
		return write_plain_at_end(slot, site, now_ns);
	orma_shm_writer_commit(slot->writer,
			       (size_t)(put_plain(slot->state, at, site, now_ns) - at));
	return true;
}

static inline uint8_t *put_end(struct orma_track_sequence *sequence, uint8_t *at, uint64_t now_ns)
{
	static const uint8_t end[] = {
		ORMA_PB_TRACE_PACKET_TRACK_EVENT << 3 | ORMA_PROTO_BYTES,
		2,
		ORMA_PB_TRACK_EVENT_TYPE << 3 | ORMA_PROTO_VARINT,
		ORMA_EVENT_END,
		ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS << 3 | ORMA_PROTO_VARINT,
		ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE,
		ORMA_PB_TRACE_PACKET_TIMESTAMP << 3 | ORMA_PROTO_VARINT,
		0,
	};

	memcpy(at, end, sizeof(end));
	return put_time(sequence, at + sizeof(end) - 1, now_ns);
}

static inline bool write_end(struct orma_packet *slot, uint64_t now_ns)
{
	uint8_t bytes[PLAIN_ROOM], *at = orma_shm_writer_try_reserve(slot->writer, PLAIN_ROOM);

	if (ORMA_LIKELY(at)) {
		orma_shm_writer_commit(slot->writer,
				       (size_t)(put_end(slot->state, at, now_ns) - at));
		return true;
	}
	return copy_into_chunk(slot, bytes, (size_t)(put_end(slot->state, bytes, now_ns) - bytes));
}

/* --- counters --------------------------------------------------------------------------------- */

/* The value, the packet's length and its tail. */
static inline uint8_t *put_counter_value(struct orma_track_sequence *sequence, uint8_t *begin,
					 uint8_t *at, const struct orma_item *value,
					 uint64_t now_ns)
{
	if (value->kind == ORMA_ITEM_DOUBLE) {
		const uint8_t tag[] = {
			(ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE << 3 & 0x7f) | 0x80 |
				ORMA_PROTO_FIXED64,
			ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE >> 4,
		};

		memcpy(at, tag, sizeof(tag));
		memcpy(at + sizeof(tag), &value->value.real, sizeof(value->value.real));
		at += sizeof(tag) + sizeof(value->value.real);
	} else {
		*at++ = (ORMA_PB_TRACK_EVENT_COUNTER_VALUE << 3 & 0x7f) | 0x80 | ORMA_PROTO_VARINT;
		*at++ = ORMA_PB_TRACK_EVENT_COUNTER_VALUE >> 4;
		at = put_varint(at, value->value.number);
	}
	begin[1] = (uint8_t)(at - begin - 2);
	return put_tail(sequence, at, now_ns);
}

static inline uint8_t *put_counter(struct orma_track_sequence *sequence, uint8_t *at,
				   const struct orma_track_event *event)
{
	memcpy(at, event->site->blob, BLOB_BYTES);
	return put_counter_value(sequence, at, at + event->site->blob_size, event->items,
				 event->now_ns);
}

/* NULL: on a track that is not described yet, or with more to say. */
static uint8_t *put_counter_on(struct orma_track_sequence *sequence, uint8_t *begin,
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
	if (track->is_incremental && value.kind == ORMA_ITEM_DOUBLE)
		value.value.real = orma_track_delta_double(
			sequence, track, orma_track_uuid_at(sequence, track), value.value.real);
	else if (track->is_incremental)
		value.value.integer = orma_track_delta_int(
			sequence, track, orma_track_uuid_at(sequence, track), value.value.integer);
	return put_counter_value(sequence, begin, at, &value, event->now_ns);
}

/* --- arguments -------------------------------------------------------------------------------- */

/* NULL: a value, or a size, for the long way. */
static inline uint8_t *put_value(uint8_t *at, const uint8_t *limit, const struct orma_item *value)
{
	size_t size;

	switch (value->kind) {
	case ORMA_ITEM_BOOL:
		*at++ = ORMA_PB_DEBUG_ANNOTATION_BOOL_VALUE << 3 | ORMA_PROTO_VARINT;
		*at++ = (uint8_t)value->value.number;
		return at;
	case ORMA_ITEM_INT:
		*at++ = ORMA_PB_DEBUG_ANNOTATION_INT_VALUE << 3 | ORMA_PROTO_VARINT;
		return put_varint(at, value->value.number);
	case ORMA_ITEM_UINT:
		*at++ = ORMA_PB_DEBUG_ANNOTATION_UINT_VALUE << 3 | ORMA_PROTO_VARINT;
		return put_varint(at, value->value.number);
	case ORMA_ITEM_POINTER:
		*at++ = ORMA_PB_DEBUG_ANNOTATION_POINTER_VALUE << 3 | ORMA_PROTO_VARINT;
		return put_varint(at, value->value.number);
	case ORMA_ITEM_DOUBLE:
		*at++ = ORMA_PB_DEBUG_ANNOTATION_DOUBLE_VALUE << 3 | ORMA_PROTO_FIXED64;
		memcpy(at, &value->value.real, sizeof(value->value.real));
		return at + sizeof(value->value.real);
	case ORMA_ITEM_TEXT:
	case ORMA_ITEM_LITERAL:
		if (!value->value.text)
			return NULL;
		size = strnlen(value->value.text, PACKET_BYTES_MAX);
		if (at + 2 + size > limit)
			return NULL;
		*at++ = ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE << 3 | ORMA_PROTO_BYTES;
		*at++ = (uint8_t)size;
		if (!orma_track_text_copy_ascii(at, value->value.text, size))
			orma_track_text_clean((char *)at, value->value.text, size);
		return at + size;
	default:
		return NULL;
	}
}

static inline uint8_t *put_flow(uint8_t *at, const struct orma_item *item)
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
static inline uint8_t *put_name(const struct orma_track_sequence *sequence, uint8_t *at,
				const char *text)
{
	uint32_t id;

	if (!text)
		return NULL;
	id = orma_track_name_intern_size(text, strnlen(text, ORMA_TRACK_DYNAMIC_NAME_BYTES + 1),
					 true);
	if (id == 0 || !orma_track_has_bit(sequence->known.names, id))
		return NULL;
	*at++ = ORMA_PB_TRACK_EVENT_NAME_IID << 3 | ORMA_PROTO_VARINT;
	return put_varint(at, id);
}

static inline uint8_t *put_items(struct orma_track_sequence *sequence, uint8_t *at,
				 const uint8_t *limit, const struct orma_track_event *event)
{
	const struct orma_call_site *site = event->site;
	uint32_t idx = 0;

	for (size_t i = 0; i < event->count; i++) {
		const struct orma_item *item = &event->items[i];
		const struct orma_key *key = idx < site->key_count ? &site->keys[idx] : NULL;
		uint8_t *begin = at;

		if (at + ITEM_BYTES > limit)
			return NULL;
		if (item->kind == ORMA_ITEM_FLOW || item->kind == ORMA_ITEM_TERMINATING_FLOW) {
			at = put_flow(at, item);
			continue;
		}
		if (item->kind == ORMA_ITEM_TRACK) {
			at = orma_track_put_described(sequence, at, item->value.track);
			if (!at)
				return NULL;
			continue;
		}
		if (item->kind == ORMA_ITEM_NAME && !site->name) {
			at = put_name(sequence, at, item->value.text);
			if (!at)
				return NULL;
			continue;
		}
		if (item->kind != ORMA_ITEM_LITERAL || !key || i + 1 >= event->count ||
		    __atomic_load_n(&key->text, __ATOMIC_ACQUIRE) != item->value.text)
			return NULL;
		*at = ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS << 3 | ORMA_PROTO_BYTES;
		memcpy(at + 2, &key->code, sizeof(key->code));
		at = put_value(at + 2 + key->code_size, limit, &event->items[++i]);
		if (!at)
			return NULL;
		begin[1] = (uint8_t)(at - begin - 2);
		idx++;
	}
	return at;
}

static inline uint8_t *put_with_items(struct orma_track_sequence *sequence, uint8_t *at,
				      const struct orma_track_event *event)
{
	uint8_t *begin = at;

	memcpy(at, event->site->blob, BLOB_BYTES);
	at = put_items(sequence, at + event->site->blob_size - TAIL_PREFIX,
		       begin + PACKET_BYTES_MAX - TAIL_BYTES, event);
	if (!at)
		return NULL;
	begin[1] = (uint8_t)(at - begin - 2);
	return put_tail(sequence, at, event->now_ns);
}

enum result { DONE, LOST, NOT_HERE };

static inline enum result write_with_items(struct orma_packet *slot,
					   const struct orma_track_event *event)
{
	uint8_t bytes[ROOM], *in_chunk = orma_shm_writer_try_reserve(slot->writer, ROOM);
	uint8_t *begin = in_chunk ? in_chunk : bytes, *end;

	if (event->type == ORMA_EVENT_COUNTER)
		end = event->count == 0 || event->items->kind >= ORMA_ITEM_TEXT ? NULL
		      : event->count == 1 ? put_counter(slot->state, begin, event)
					  : put_counter_on(slot->state, begin, event);
	else
		end = put_with_items(slot->state, begin, event);
	if (ORMA_UNLIKELY(!end))
		return NOT_HERE;
	if (ORMA_LIKELY(in_chunk)) {
		orma_shm_writer_commit(slot->writer, (size_t)(end - begin));
		return DONE;
	}
	return copy_into_chunk(slot, begin, (size_t)(end - begin)) ? DONE : LOST;
}

/* --- instances -------------------------------------------------------------------------------- */

static inline uint32_t enabled(const struct orma_category *category)
{
	return __atomic_load_n(&category->enabled, __ATOMIC_RELAXED);
}

static inline struct orma_packet *slot_open(struct orma_data_source *source, uint32_t idx)
{
	struct orma_packet *slot = orma_client_slot_get(source, idx);

	if (ORMA_UNLIKELY(!slot))
		return NULL;
	atomic_signal_fence(memory_order_seq_cst);
	return slot;
}

static inline void slot_close(struct orma_packet *slot)
{
	atomic_signal_fence(memory_order_seq_cst);
	orma_client_slot_leave(slot);
}

static __attribute__((cold, noinline)) void emit_slow(struct orma_packet *slot, uint32_t idx,
						      struct orma_call_site *site, uint32_t type,
						      uint64_t now_ns)
{
	const struct orma_track_event event = {.site = site,
					       .category = site ? site->category : NULL,
					       .type = type,
					       .now_ns = now_ns};

	orma_track_emit_slow(slot, idx, &event);
}

/* The innermost slice is open, and its begin is in the trace. */
static inline bool is_end_wanted(const struct orma_track_sequence *sequence)
{
	uint32_t idx = sequence->depth - 1;

	return idx < ORMA_TRACK_DEPTH_MAX && orma_track_has_bit(sequence->written, idx);
}

#define FOR_EACH_BIT(bits, idx)                                                                    \
	for (uint32_t left_ = (bits), idx; left_ && ((idx) = (uint32_t)__builtin_ctz(left_), 1);   \
	     left_ &= left_ - 1)

/* Begins and instants without arguments. */
static __attribute__((noinline)) uint32_t emit_plain(struct orma_call_site *site, uint32_t type,
						     uint64_t now_ns)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	uint32_t given = 0;

	if (ORMA_UNLIKELY(!source))
		return 0;
	FOR_EACH_BIT(enabled(site->category), idx)
	{
		struct orma_packet *slot = slot_open(source, idx);

		if (ORMA_UNLIKELY(!slot))
			continue;
		if (ORMA_UNLIKELY(!can_use(slot->state, site) || !write_plain(slot, site, now_ns)))
			emit_slow(slot, idx, site, type, now_ns);
		else if (type == ORMA_EVENT_BEGIN)
			orma_track_push(slot->state, true);
		slot_close(slot);
		given |= UINT32_C(1) << idx;
	}
	return given;
}

/* To the instances of which the bits are set. */
static __attribute__((noinline)) void emit_end(uint32_t instances, uint64_t now_ns)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);

	if (ORMA_UNLIKELY(!source))
		return;
	FOR_EACH_BIT(instances, idx)
	{
		struct orma_packet *slot = slot_open(source, idx);
		struct orma_track_sequence *sequence;

		if (ORMA_UNLIKELY(!slot))
			continue;
		sequence = slot->state;
		if (ORMA_LIKELY(sequence->known.is_plain && is_end_wanted(sequence) &&
				write_end(slot, now_ns)))
			sequence->depth--;
		else
			emit_slow(slot, idx, NULL, ORMA_EVENT_END, now_ns);
		slot_close(slot);
	}
}

static inline const struct orma_track *track_of(const struct orma_track_event *event)
{
	for (size_t i = 0; i < event->count; i++)
		if (event->items[i].kind == ORMA_ITEM_TRACK && event->items[i].value.track)
			return event->items[i].value.track;
	return NULL;
}

static inline bool emit_short(struct orma_packet *slot, const struct orma_track_event *event)
{
	struct orma_track_sequence *sequence = slot->state;
	bool is_end = event->type == ORMA_EVENT_END;
	const struct orma_track *track =
		is_end || event->type == ORMA_EVENT_BEGIN ? track_of(event) : NULL;

	/* Slices of other tracks are none of the thread's; see loss.c. */
	if (ORMA_UNLIKELY(track != NULL))
		return track->kind != ORMA_TRACK_THREAD && !orma_track_has_asyncs() &&
		       can_use(sequence, event->site) && write_with_items(slot, event) == DONE;
	if (!can_use(sequence, event->site) || (is_end && !is_end_wanted(sequence)) ||
	    write_with_items(slot, event) != DONE)
		return false;
	if (event->type == ORMA_EVENT_BEGIN)
		orma_track_push(sequence, true);
	else if (is_end)
		sequence->depth--;
	return true;
}

static uint32_t emit_items(const struct orma_track_event *event)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	uint32_t given = 0;

	if (ORMA_UNLIKELY(!source))
		return 0;
	FOR_EACH_BIT(enabled(event->category), idx)
	{
		struct orma_packet *slot = slot_open(source, idx);

		if (ORMA_UNLIKELY(!slot))
			continue;
		if (!emit_short(slot, event))
			orma_track_emit_slow(slot, idx, event);
		slot_close(slot);
		given |= UINT32_C(1) << idx;
	}
	return given;
}

/* --- the shortest way ------------------------------------------------------------------------- */

/*
 * One instance, the first; a slot that is right; a line that holds: what nearly every event finds.
 * These functions call nothing before they have decided that, so that they need no frame; whatever
 * is else goes to the ways above, which look at everything again.
 */
static inline struct orma_packet *hot_slot(uint32_t instances)
{
	struct orma_data_source *source =
		atomic_load_explicit(&orma_track_source, memory_order_acquire);
	struct orma_client_thread *self = orma_client_self;
	struct orma_packet *slot;
	uint64_t stamp;

	if (ORMA_UNLIKELY(instances != 1 || !source || !self))
		return NULL;
	slot = self->slots[orma_client_source_idx(source)];
	if (ORMA_UNLIKELY(!slot || orma_client_slot_is_open(slot)))
		return NULL;
	orma_client_slot_enter(slot);
	stamp = atomic_load_explicit(&source->stamps[0], memory_order_acquire);
	if (ORMA_LIKELY(slot->stamp == stamp))
		return slot;
	orma_client_slot_leave(slot);
	return NULL;
}

/* The plain event of an armed site. False: nothing has been done. */
static inline __attribute__((always_inline)) bool
emit_hot_at(struct orma_call_site *site, uint32_t instances, bool is_begin, uint64_t now_ns)
{
	struct orma_packet *slot = hot_slot(instances);
	struct orma_track_sequence *sequence;
	struct orma_shm_writer *writer;
	uint8_t *at;

	if (ORMA_UNLIKELY(!slot))
		return false;
	sequence = slot->state;
	writer = slot->writer;
	at = orma_shm_writer_try_reserve(writer, PLAIN_ROOM);
	if (ORMA_UNLIKELY(!at || !can_use(sequence, site))) {
		slot_close(slot);
		return false;
	}
	__builtin_prefetch(at + PREFETCH_BYTES, 1);
	if (is_begin)
		orma_track_push(sequence, true);
	orma_shm_writer_commit_at(writer, at, put_plain(sequence, at, site, now_ns));
	slot_close(slot);
	return true;
}

static inline bool emit_hot(struct orma_call_site *site, uint32_t instances, bool is_begin)
{
	uint64_t now_ns;

	return ORMA_LIKELY(orma_track_clock_try(&now_ns)) &&
	       emit_hot_at(site, instances, is_begin, now_ns);
}

static inline __attribute__((always_inline)) bool emit_end_hot_at(uint32_t instances,
								  uint64_t now_ns)
{
	struct orma_packet *slot = hot_slot(instances);
	struct orma_track_sequence *sequence;
	uint8_t *at;

	if (ORMA_UNLIKELY(!slot))
		return false;
	sequence = slot->state;
	at = orma_shm_writer_try_reserve(slot->writer, PLAIN_ROOM);
	if (ORMA_UNLIKELY(!at || !sequence->known.is_plain || !is_end_wanted(sequence))) {
		slot_close(slot);
		return false;
	}
	__builtin_prefetch(at + PREFETCH_BYTES, 1);
	sequence->depth--;
	orma_shm_writer_commit_at(slot->writer, at, put_end(sequence, at, now_ns));
	slot_close(slot);
	return true;
}

static inline bool emit_end_hot(uint32_t instances)
{
	uint64_t now_ns;

	return ORMA_LIKELY(orma_track_clock_try(&now_ns)) && emit_end_hot_at(instances, now_ns);
}

/* --- the public functions --------------------------------------------------------------------- */

static __attribute__((noinline)) uint32_t
emit_site_items(struct orma_call_site *site, const struct orma_item *items, size_t count)
{
	const struct orma_track_event event = {
		.site = site,
		.category = site->category,
		.type = site->type,
		.now_ns = orma_track_now_ns(),
		.items = items,
		.count = items ? count : 0,
	};

	struct orma_packet *slot = hot_slot(enabled(event.category));

	if (ORMA_UNLIKELY(!slot))
		return emit_items(&event);
	if (ORMA_UNLIKELY(!emit_short(slot, &event)))
		orma_track_emit_slow(slot, 0, &event);
	slot_close(slot);
	return 1;
}

/* With the system's clock, or when something is to be done first. */
static __attribute__((noinline)) uint32_t emit_timed(struct orma_call_site *site, uint32_t type)
{
	uint32_t instances = enabled(site->category);
	uint64_t now_ns = orma_track_now_ns();

	return ORMA_LIKELY(emit_hot_at(site, instances, type == ORMA_EVENT_BEGIN, now_ns))
		       ? instances
		       : emit_plain(site, type, now_ns);
}

static __attribute__((noinline)) void emit_end_timed(uint32_t instances)
{
	uint64_t now_ns = orma_track_now_ns();

	if (ORMA_UNLIKELY(!emit_end_hot_at(instances, now_ns)))
		emit_end(instances, now_ns);
}

static __attribute__((noinline)) void emit_any(struct orma_call_site *site)
{
	if (ORMA_LIKELY(site->type == ORMA_EVENT_INSTANT || site->type == ORMA_EVENT_BEGIN))
		emit_timed(site, site->type);
	else if (site->type == ORMA_EVENT_END)
		emit_end_timed(enabled(site->category));
	else
		emit_site_items(site, NULL, 0);
}

void orma_event_emit(struct orma_call_site *site)
{
	if (ORMA_UNLIKELY(site->type != ORMA_EVENT_INSTANT ||
			  !emit_hot(site, enabled(site->category), false)))
		emit_any(site);
}

void orma_event_emit_begin(struct orma_call_site *site)
{
	if (ORMA_UNLIKELY(!emit_hot(site, enabled(site->category), true)))
		emit_timed(site, ORMA_EVENT_BEGIN);
}

void orma_event_emit_items(struct orma_call_site *site, const struct orma_item *items, size_t count)
{
	emit_site_items(site, items, count);
}

void orma_event_emit_end(struct orma_category *category)
{
	uint32_t instances = enabled(category);

	if (ORMA_UNLIKELY(!emit_end_hot(instances)))
		emit_end_timed(instances);
}

void orma_event_emit_counter_int(struct orma_call_site *site, int64_t value)
{
	const struct orma_item item = {.kind = ORMA_ITEM_INT, .value.integer = value};

	emit_site_items(site, &item, 1);
}

void orma_event_emit_counter_double(struct orma_call_site *site, double value)
{
	const struct orma_item item = {.kind = ORMA_ITEM_DOUBLE, .value.real = value};

	emit_site_items(site, &item, 1);
}

uint32_t orma_event_scope_begin(struct orma_call_site *site, const struct orma_item *items,
				size_t count)
{
	uint32_t instances = enabled(site->category);

	if (count > 0)
		return emit_site_items(site, items, count);
	/* The one instance, if it is one. */
	return ORMA_LIKELY(emit_hot(site, instances, true)) ? instances
							    : emit_timed(site, ORMA_EVENT_BEGIN);
}

void orma_event_scope_end(struct orma_scope *scope)
{
	uint32_t instances = scope->instances;

	if (ORMA_UNLIKELY(instances == 0))
		return;
	/* An instance that has stopped meanwhile wants nothing; its place may be another's now. */
	instances &= enabled(scope->category);
	if (ORMA_UNLIKELY(!emit_end_hot(instances)))
		emit_end_timed(instances);
}

uint64_t orma_now_ns(void)
{
	return orma_track_now_ns();
}
