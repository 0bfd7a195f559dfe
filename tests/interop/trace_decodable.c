/* SPDX-License-Identifier: Apache-2.0
 * trace_decodable.c - decides for each packet whether its track event decodes.
 *
 * Owns the declarations of each sequence since its incremental state began: interned names,
 * categories and keys, and the sequence's own clock. Invariant: the decision depends only on the
 * event's packet and on earlier packets of its sequence. This is not a part of trace_sequence.c,
 * where a missing declaration is a failure of the trace. Here it is counted, because a ring buffer
 * that has wrapped may lack some.
 */
#include "trace_decodable.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
	IIDS_MAX = 4096,
	CLOCK_SEQUENCE_FIRST = 64,
	CLOCK_SEQUENCE_LAST = 127,
	INTERNED_CATEGORIES = 1,
	INTERNED_NAMES = 2,
	INTERNED_KEYS = 3,
	KINDS = 4, /* the fields 1 to 3 of InternedData are followed */
	EVENT_CATEGORY_IID = 3,
	EVENT_ANNOTATION = 4,
	EVENT_NAME_IID = 10,
	ANNOTATION_KEY_IID = 1,
};

struct decoder_sequence {
	uint64_t id, default_clock, own_clock; /* own_clock 0 = none was declared */
	bool has_state;
	uint8_t declared[KINDS][IIDS_MAX / 8];
};

static struct decoder_sequence *get_sequence(struct decoder *decoder, uint64_t id)
{
	struct decoder_sequence *sequence;

	for (size_t i = decoder->count; i-- > 0;)
		if (decoder->sequences[i].id == id)
			return &decoder->sequences[i];
	sequence = realloc(decoder->sequences, (decoder->count + 1) * sizeof(*sequence));
	if (!sequence) {
		fputs("trace_decodable: out of memory\n", stderr);
		exit(2);
	}
	decoder->sequences = sequence;
	sequence += decoder->count++;
	memset(sequence, 0, sizeof(*sequence));
	sequence->id = id;
	return sequence;
}

static void begin_state(struct decoder_sequence *sequence)
{
	uint64_t id = sequence->id;

	memset(sequence, 0, sizeof(*sequence));
	sequence->id = id;
	sequence->has_state = true;
}

static void learn_clocks(struct decoder_sequence *sequence, struct wire_span snapshot)
{
	struct wire_field field;

	while (wire_next(&snapshot, &field) > 0) {
		uint64_t clock;

		if (field.id != 1 || field.type != WIRE_BYTES)
			continue;
		clock = wire_get(field.bytes, 1, 0);
		if (clock >= CLOCK_SEQUENCE_FIRST && clock <= CLOCK_SEQUENCE_LAST)
			sequence->own_clock = clock;
	}
}

static void learn_interned(struct decoder_sequence *sequence, struct wire_span interned)
{
	struct wire_field field;

	while (wire_next(&interned, &field) > 0) {
		uint64_t iid;

		if (field.id >= KINDS || field.type != WIRE_BYTES)
			continue;
		iid = wire_get(field.bytes, 1, 0);
		if (iid < IIDS_MAX)
			sequence->declared[field.id][iid / 8] |= (uint8_t)(1u << iid % 8);
	}
}

static bool is_declared(const struct decoder_sequence *sequence, uint32_t kind, uint64_t iid)
{
	return iid < IIDS_MAX && sequence->declared[kind][iid / 8] & 1u << iid % 8;
}

static bool has_time(const struct decoder_sequence *sequence, const struct packet *packet)
{
	uint64_t clock = packet->has_clock ? packet->clock : sequence->default_clock;

	if (clock < CLOCK_SEQUENCE_FIRST || clock > CLOCK_SEQUENCE_LAST)
		return packet->has_timestamp;
	return packet->has_timestamp && clock == sequence->own_clock;
}

static bool has_names(const struct decoder_sequence *sequence, struct wire_span event)
{
	struct wire_field field;

	while (wire_next(&event, &field) > 0) {
		uint64_t key = 0;

		if (field.id == EVENT_NAME_IID && field.type == WIRE_VARINT &&
		    !is_declared(sequence, INTERNED_NAMES, field.value))
			return false;
		if (field.id == EVENT_CATEGORY_IID && field.type == WIRE_VARINT &&
		    !is_declared(sequence, INTERNED_CATEGORIES, field.value))
			return false;
		if (field.id == EVENT_ANNOTATION && field.type == WIRE_BYTES)
			key = wire_get(field.bytes, ANNOTATION_KEY_IID, 0);
		if (key && !is_declared(sequence, INTERNED_KEYS, key))
			return false;
	}
	return true;
}

enum decode_result decoder_show(struct decoder *decoder, const struct packet *packet)
{
	struct decoder_sequence *sequence = get_sequence(decoder, packet->sequence_id);
	struct wire_span event;
	bool is_lost;

	if (packet->flags & SEQUENCE_STATE_CLEARED)
		begin_state(sequence);
	else if (packet->dropped)
		sequence->has_state = false;
	if (packet->clock_snapshot.at)
		learn_clocks(sequence, packet->clock_snapshot);
	if (packet->defaults.at)
		sequence->default_clock = wire_get(packet->defaults, PACKET_TIMESTAMP_CLOCK, 0);
	if (packet->interned.at)
		learn_interned(sequence, packet->interned);
	if (!wire_get_bytes(packet->body, PACKET_TRACK_EVENT, &event))
		return DECODE_NO_EVENT;
	is_lost = packet->flags & SEQUENCE_NEEDS_STATE &&
		  (!sequence->has_state || !has_time(sequence, packet) ||
		   !has_names(sequence, event));
	decoder->events++;
	decoder->lost += is_lost;
	return is_lost ? DECODE_LOST : DECODE_EVENT;
}

void decoder_done(struct decoder *decoder)
{
	free(decoder->sequences);
	memset(decoder, 0, sizeof(*decoder));
}
