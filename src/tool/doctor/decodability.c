/* SPDX-License-Identifier: Apache-2.0
 * decodability.c - follows incremental state, interned data, clocks and slices.
 *
 * A packet of a sequence may refer to earlier packets of it. previous_packet_dropped means that
 * such a packet may be missing, so from there on packets that need incremental state cannot be
 * decoded, until a packet says that the state begins anew. Interned data of each kind is an id and
 * a value; only the ids are kept here.
 *
 * Memory: a hash per interned id and a struct per sequence and track, so it is bounded by the size
 * of the trace. Packets are read by the zero-copy reader, because decoding all of a trace with the
 * generated tables takes several times as long.
 */
#include "tool/doctor/decodability.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"

#define OWN_CLOCKS_FIRST 64u
#define OWN_CLOCKS_END   128u
#define INTERNED_IID     1u /* every message of InternedData begins with its id */

struct packet {
	uint64_t sequence_id, flags, dropped, time, clock_id, pid;
	bool is_cleared;
	const char *source;
	struct orma_str event, interned, defaults, snapshot, descriptor, perf_sample;
};

/* A field of another wire type than its own is damage, and counts as empty. */
static void take_field(const struct orma_proto_field *field, struct packet *ret)
{
	struct orma_str bytes =
		field->type == ORMA_PROTO_BYTES ? field->bytes : (struct orma_str){0};
	const char *source;

	switch (field->id) {
	case ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID:
		ret->sequence_id = field->value;
		break;
	case ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS:
		ret->flags = field->value;
		break;
	case ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED:
		ret->dropped = field->value;
		break;
	case ORMA_PB_TRACE_PACKET_TIMESTAMP:
		ret->time = field->value;
		break;
	case ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID:
		ret->clock_id = field->value;
		break;
	case ORMA_PB_TRACE_PACKET_TRUSTED_PID:
		ret->pid = field->value;
		break;
	case ORMA_PB_TRACE_PACKET_INCREMENTAL_STATE_CLEARED:
		ret->is_cleared = field->value != 0;
		break;
	case ORMA_PB_TRACE_PACKET_INTERNED_DATA:
		ret->interned = bytes;
		break;
	case ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS:
		ret->defaults = bytes;
		break;
	case ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT:
		ret->snapshot = bytes;
		break;
	case ORMA_PB_TRACE_PACKET_TRACK_EVENT:
		ret->event = bytes;
		break;
	case ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR:
		ret->descriptor = bytes;
		break;
	case ORMA_PB_TRACE_PACKET_PERF_SAMPLE:
		ret->perf_sample = bytes;
		break;
	default:
		break;
	}
	source = field->type == ORMA_PROTO_BYTES ? orma_tool_source_of(field->id) : NULL;
	if (source)
		ret->source = source;
}

static int read_packet(const void *data, size_t size, struct packet *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	orma_proto_reader_init(&reader, data, size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0)
		take_field(&field, ret);
	return r;
}

static struct orma_doctor_sequence *get_sequence(struct orma_decodability *decodability,
						 uint64_t id)
{
	struct orma_doctor_sequence *sequence = orma_base_map_get(&decodability->sequences, id);

	if (sequence)
		return sequence;
	sequence = orma_base_zalloc(sizeof(*sequence));
	if (!sequence || orma_base_map_put(&decodability->sequences, id, sequence)) {
		orma_base_free(sequence);
		return NULL;
	}
	sequence->id = id;
	return sequence;
}

/* --- incremental state ------------------------------------------------------------------------ */

static void begin_state(struct orma_doctor_sequence *sequence)
{
	orma_base_map_done(&sequence->names);
	sequence->names = (struct orma_map){0};
	sequence->has_state = true;
	sequence->default_clock = sequence->default_track = 0;
	sequence->own_clocks = 0;
}

static uint64_t hash_name(uint32_t kind, uint64_t iid)
{
	uint64_t key[2] = {kind, iid};

	return orma_base_fnv1a(ORMA_FNV1A_INIT, key, sizeof(key));
}

static uint64_t find_number(struct orma_str message, uint32_t field_id)
{
	struct orma_proto_field field;

	return orma_proto_reader_find(message.data, message.size, field_id, &field) > 0 &&
			       field.type != ORMA_PROTO_BYTES
		       ? field.value
		       : 0;
}

static int add_names(struct orma_doctor_sequence *sequence, struct orma_str interned)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	orma_proto_reader_init(&reader, interned.data, interned.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		uint64_t iid = find_number(field.bytes, INTERNED_IID);
		if (orma_base_map_put(&sequence->names, hash_name(field.id, iid), sequence))
			return -ENOMEM;
	}
	return r;
}

static void take_defaults(struct orma_doctor_sequence *sequence, struct orma_str defaults)
{
	struct orma_proto_field event;

	sequence->default_clock =
		find_number(defaults, ORMA_PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID);
	if (orma_proto_reader_find(defaults.data, defaults.size,
				   ORMA_PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS,
				   &event) > 0 &&
	    event.type == ORMA_PROTO_BYTES)
		sequence->default_track =
			find_number(event.bytes, ORMA_PB_TRACK_EVENT_DEFAULTS_TRACK_UUID);
}

/* --- clocks ----------------------------------------------------------------------------------- */

static bool is_own_clock(uint64_t id)
{
	return id >= OWN_CLOCKS_FIRST && id < OWN_CLOCKS_END;
}

static void take_snapshot(struct orma_decodability *decodability,
			  struct orma_doctor_sequence *sequence, struct orma_str snapshot)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	decodability->clock_snapshots++;
	orma_proto_reader_init(&reader, snapshot.data, snapshot.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id != ORMA_PB_CLOCK_SNAPSHOT_CLOCKS || field.type != ORMA_PROTO_BYTES)
			continue;
		uint64_t id = find_number(field.bytes, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID);
		if (id < OWN_CLOCKS_FIRST)
			decodability->snapshot_clocks |= UINT64_C(1) << id;
		else if (is_own_clock(id))
			sequence->own_clocks |= UINT64_C(1) << (id - OWN_CLOCKS_FIRST);
	}
}

static void take_time(struct orma_decodability *decodability, struct orma_doctor_sequence *sequence,
		      const struct packet *packet)
{
	uint64_t clock = packet->clock_id ? packet->clock_id : sequence->default_clock;

	if (packet->time == 0)
		return;
	if (is_own_clock(clock)) {
		if (!(sequence->own_clocks >> (clock - OWN_CLOCKS_FIRST) & 1))
			sequence->clockless_packets++;
		return;
	}
	if (clock >= OWN_CLOCKS_FIRST)
		return;
	clock = clock ? clock : ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;
	decodability->used_clocks |= UINT64_C(1) << clock;
	if (clock != ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME)
		return;
	if (decodability->first_ns == 0 || packet->time < decodability->first_ns)
		decodability->first_ns = packet->time;
	decodability->last_ns = ORMA_MAX(decodability->last_ns, packet->time);
}

/* --- events ----------------------------------------------------------------------------------- */

struct event {
	uint64_t type, track_uuid;
	bool is_nameless;
};

static void look_up(const struct orma_doctor_sequence *sequence, uint32_t kind, uint64_t iid,
		    struct event *event)
{
	if (iid != 0 && !orma_base_map_get(&sequence->names, hash_name(kind, iid)))
		event->is_nameless = true;
}

static void read_event(const struct orma_doctor_sequence *sequence, struct orma_str message,
		       struct event *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, message.data, message.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_TRACK_EVENT_TYPE)
			ret->type = field.value;
		else if (field.id == ORMA_PB_TRACK_EVENT_TRACK_UUID)
			ret->track_uuid = field.value;
		else if (field.id == ORMA_PB_TRACK_EVENT_NAME_IID)
			look_up(sequence, ORMA_PB_INTERNED_DATA_EVENT_NAMES, field.value, ret);
		else if (field.id == ORMA_PB_TRACK_EVENT_CATEGORY_IIDS &&
			 field.type == ORMA_PROTO_VARINT)
			look_up(sequence, ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES, field.value, ret);
		else if (field.id == ORMA_PB_TRACK_EVENT_SOURCE_LOCATION_IID)
			look_up(sequence, ORMA_PB_INTERNED_DATA_SOURCE_LOCATIONS, field.value, ret);
		else if (field.id == ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS &&
			 field.type == ORMA_PROTO_BYTES)
			look_up(sequence, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
				find_number(field.bytes, ORMA_PB_DEBUG_ANNOTATION_NAME_IID), ret);
	}
}

static struct orma_doctor_track *get_track(struct orma_decodability *decodability, uint64_t uuid)
{
	struct orma_doctor_track *track = orma_base_map_get(&decodability->tracks, uuid);

	if (track)
		return track;
	track = orma_base_zalloc(sizeof(*track));
	if (!track || orma_base_map_put(&decodability->tracks, uuid, track)) {
		orma_base_free(track);
		return NULL;
	}
	return track;
}

/* The description of a track may come after its values. */
static int take_descriptor(struct orma_decodability *decodability,
			   struct orma_doctor_sequence *sequence, struct orma_str message)
{
	struct orma_proto_field field;
	struct orma_doctor_track *track;

	if (orma_proto_reader_find(message.data, message.size, ORMA_PB_TRACK_DESCRIPTOR_COUNTER,
				   &field) <= 0 ||
	    field.type != ORMA_PROTO_BYTES)
		return 0;
	track = get_track(decodability, find_number(message, ORMA_PB_TRACK_DESCRIPTOR_UUID));
	if (!track)
		return -ENOMEM;
	if (!track->sequence)
		track->sequence = sequence;
	track->is_counter = true;
	return 0;
}

static int take_event(struct orma_decodability *decodability, struct orma_doctor_sequence *sequence,
		      struct orma_str message)
{
	struct event event = {.track_uuid = sequence->default_track};
	struct orma_doctor_track *track;

	read_event(sequence, message, &event);
	sequence->nameless_events += event.is_nameless;
	if (event.type != ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN &&
	    event.type != ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END &&
	    event.type != ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER)
		return 0;
	track = get_track(decodability,
			  event.track_uuid ? event.track_uuid : hash_name(0, sequence->id));
	if (!track)
		return -ENOMEM;
	track->sequence = sequence;
	if (event.type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER)
		track->values++;
	else if (event.type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN)
		track->open_slices++;
	else if (track->open_slices > 0)
		track->open_slices--;
	else
		track->ends_without_begin++;
	return 0;
}

int orma_decodability_add(struct orma_decodability *decodability, const void *data_untrusted,
			  size_t size)
{
	struct packet packet = {0};
	struct orma_doctor_sequence *sequence;
	int r = read_packet(data_untrusted, size, &packet);

	if (r)
		return r;
	sequence = get_sequence(decodability, packet.sequence_id);
	if (!sequence)
		return -ENOMEM;
	sequence->gaps[orma_tool_gap_of(packet.dropped)]++;
	sequence->source = packet.source ? packet.source : sequence->source;
	sequence->pid = packet.pid ? packet.pid : sequence->pid;
	if (packet.dropped)
		sequence->has_state = false;
	if (packet.is_cleared ||
	    packet.flags & ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED)
		begin_state(sequence);
	if (packet.defaults.data)
		take_defaults(sequence, packet.defaults);
	if (packet.snapshot.data)
		take_snapshot(decodability, sequence, packet.snapshot);
	if (packet.interned.data && (r = add_names(sequence, packet.interned)))
		return r;
	if (packet.descriptor.data &&
	    (r = take_descriptor(decodability, sequence, packet.descriptor)))
		return r;
	decodability->lost_samples +=
		find_number(packet.perf_sample, ORMA_PB_PERF_SAMPLE_KERNEL_RECORDS_LOST);
	if (packet.flags & ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE &&
	    !sequence->has_state) {
		sequence->stateless_packets++;
		return 0;
	}
	take_time(decodability, sequence, &packet);
	return packet.event.data ? take_event(decodability, sequence, packet.event) : 0;
}

void orma_decodability_done(struct orma_decodability *decodability)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&decodability->sequences, &position))) {
		struct orma_doctor_sequence *sequence = slot->value;
		orma_base_map_done(&sequence->names);
		orma_base_free(sequence);
	}
	position = 0;
	while ((slot = orma_base_map_next(&decodability->tracks, &position)))
		orma_base_free(slot->value);
	orma_base_map_done(&decodability->sequences);
	orma_base_map_done(&decodability->tracks);
}
