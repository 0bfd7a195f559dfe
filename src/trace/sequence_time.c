/* SPDX-License-Identifier: Apache-2.0
 * sequence_time.c - timestamps: the packet's clock or the default one, deltas of incremental clocks, and the trace's clock.
 */
#include "trace/sequence_time.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "store/grow.h"

/* Fields of TrackEvent that only traces of before 2021 have. */
enum { EVENT_TIMESTAMP_DELTA_US = 1, EVENT_TIMESTAMP_ABSOLUTE_US = 16 };

int64_t orma_add_us(int64_t ns, int64_t us)
{
	int64_t scaled, sum;
	if (__builtin_mul_overflow(us, (int64_t)1000, &scaled))
		scaled = us < 0 ? INT64_MIN : INT64_MAX;
	if (__builtin_add_overflow(ns, scaled, &sum))
		sum = scaled < 0 ? INT64_MIN : INT64_MAX;
	return sum;
}

void orma_sequence_time_done(struct orma_sequence_time *time)
{
	orma_base_free(time->clocks);
	*time = (struct orma_sequence_time){0};
}

static void take_defaults(struct orma_sequence_time *time, struct orma_str defaults)
{
	struct orma_proto_field field;
	bool has_clock = orma_proto_reader_find(defaults.data, defaults.size,
						ORMA_PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
						&field) > 0;
	time->default_clock =
		has_clock && field.type == ORMA_PROTO_VARINT ? (uint32_t)field.value : 0;
}

static struct orma_sequence_clock *find_clock(struct orma_sequence_time *time, uint32_t clock)
{
	for (uint32_t i = 0; i < time->clock_count; i++)
		if (time->clocks[i].clock == clock)
			return &time->clocks[i];
	return NULL;
}

static struct orma_sequence_clock *add_clock(struct orma_sequence_time *time, uint32_t clock)
{
	struct orma_sequence_clock *found = find_clock(time, clock);
	if (found)
		return found;
	if (orma_store_grow(&time->clocks, (uint64_t)time->clock_count + 1, &time->clock_capacity,
			    sizeof(*time->clocks)) < 0)
		return NULL;
	found = &time->clocks[time->clock_count++];
	*found = (struct orma_sequence_clock){.clock = clock};
	return found;
}

static uint32_t read_clock(struct orma_str bytes, struct orma_clock_reading *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	uint32_t clock = 0;
	*ret = (struct orma_clock_reading){.unit_ns = 1};
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_VARINT)
			continue;
		if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID)
			clock = (uint32_t)field.value;
		else if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP)
			ret->value = (int64_t)field.value;
		else if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS &&
			 field.value > 0)
			ret->unit_ns = (int64_t)field.value;
		else if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCK_IS_INCREMENTAL)
			ret->is_incremental = field.value != 0;
	}
	return clock;
}

size_t orma_clock_snapshot_read(struct orma_str snapshot, uint32_t machine_idx, uint32_t sequence,
				struct orma_clock_reading *ret, size_t max,
				uint32_t *ret_primary_clock)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	size_t count = 0;
	*ret_primary_clock = 0;
	orma_proto_reader_init(&reader, snapshot.data, snapshot.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK &&
		    field.type == ORMA_PROTO_VARINT)
			*ret_primary_clock = (uint32_t)field.value;
		if (field.id != ORMA_PB_CLOCK_SNAPSHOT_CLOCKS || field.type != ORMA_PROTO_BYTES ||
		    count == max)
			continue;
		uint32_t clock = read_clock(field.bytes, &ret[count]);
		ret[count++].key = orma_trace_clock_key(machine_idx, sequence, clock);
	}
	return count;
}

static bool is_sequence_clock(uint32_t clock)
{
	return clock >= ORMA_CLOCK_SEQUENCE_FIRST && clock < ORMA_CLOCK_SEQUENCE_END;
}

static int take_snapshot(struct orma_sequence_time *time, struct orma_str snapshot)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_proto_reader_init(&reader, snapshot.data, snapshot.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id != ORMA_PB_CLOCK_SNAPSHOT_CLOCKS || field.type != ORMA_PROTO_BYTES)
			continue;
		struct orma_clock_reading reading;
		uint32_t clock = read_clock(field.bytes, &reading);
		if (!is_sequence_clock(clock) || !reading.is_incremental)
			continue;
		struct orma_sequence_clock *found = add_clock(time, clock);
		if (!found)
			return -ENOMEM;
		found->unit_ns = reading.unit_ns;
		found->now_ns = (int64_t)((uint64_t)reading.value * (uint64_t)reading.unit_ns);
	}
	return 0;
}

static void take_thread(struct orma_sequence_time *time, const struct orma_packet *packet)
{
	struct orma_str thread = orma_trace_packet_thread(packet);
	struct orma_proto_field field;
	bool has_time = thread.data &&
			orma_proto_reader_find(thread.data, thread.size,
					       ORMA_PB_THREAD_DESCRIPTOR_REFERENCE_TIMESTAMP_US,
					       &field) > 0 &&
			field.type == ORMA_PROTO_VARINT;
	/* Descriptors of tracks come with every trace of today, and only those with a time are references. */
	if (!has_time && packet->kind != ORMA_PB_TRACE_PACKET_THREAD_DESCRIPTOR)
		return;
	time->has_reference = true;
	time->reference_ns = has_time ? orma_add_us(0, (int64_t)field.value) : 0;
}

static void take_sample(struct orma_sequence_time *time, uint64_t delta_us)
{
	time->reference_ns = orma_add_us(time->reference_ns, (int64_t)delta_us);
	time->bad_samples += time->reference_ns < 0;
	time->first_sample_ns = ORMA_MIN(time->first_sample_ns, time->reference_ns);
}

/* The samples of a streaming profile count on from the events' time. */
static void take_samples(struct orma_sequence_time *time, struct orma_str profile)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	time->first_sample_ns = INT64_MAX;
	orma_proto_reader_init(&reader, profile.data, profile.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id != ORMA_PB_STREAMING_PROFILE_PACKET_TIMESTAMP_DELTA_US)
			continue;
		const uint8_t *at = (const uint8_t *)field.bytes.data;
		const uint8_t *end = field.bytes.size > 0 ? at + field.bytes.size : at;
		if (field.type == ORMA_PROTO_VARINT)
			take_sample(time, field.value);
		while (at && at < end) {
			uint64_t us;
			at = orma_proto_get_varint(at, end, &us);
			if (at)
				take_sample(time, us);
		}
	}
}

int orma_sequence_time_change(struct orma_sequence_time *time, const struct orma_packet *packet)
{
	/* Without a number, packets of many sequences look like one, which has no state. */
	if (!(packet->flags & ORMA_PACKET_HAS_SEQUENCE))
		return 0;
	if (packet->flags & ORMA_PACKET_IS_CLEARED) {
		time->is_valid = true;
		time->default_clock = 0;
	} else if (packet->dropped) {
		time->is_valid = false;
		time->has_reference = false;
	}
	if (packet->flags & ORMA_PACKET_HAS_DEFAULTS)
		take_defaults(time, packet->defaults);
	if (time->is_valid)
		take_thread(time, packet);
	if (packet->kind == ORMA_PB_TRACE_PACKET_STREAMING_PROFILE_PACKET && time->has_reference)
		take_samples(time, packet->content);
	return packet->kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT
		       ? take_snapshot(time, packet->content)
		       : 0;
}

/* Finds the time inside of a track event of an old trace, or that of the first sample of a streaming profile. */
static enum orma_time_source find_event_time(const struct orma_sequence_time *time,
					     const struct orma_packet *packet, bool *ret_is_delta,
					     int64_t *ret_ns)
{
	struct orma_str event = packet->content;
	struct orma_proto_field field;
	*ret_is_delta = false;
	*ret_ns = time->first_sample_ns;
	if (packet->kind == ORMA_PB_TRACE_PACKET_STREAMING_PROFILE_PACKET)
		return *ret_ns == INT64_MAX ? ORMA_TIME_IS_MISSING : ORMA_TIME_IS_KNOWN;
	*ret_is_delta = orma_proto_reader_find(event.data, event.size, EVENT_TIMESTAMP_DELTA_US,
					       &field) > 0;
	if (*ret_is_delta) {
		*ret_ns = orma_add_us(time->reference_ns, (int64_t)field.value);
		return time->has_reference ? ORMA_TIME_IS_KNOWN : ORMA_TIME_LACKS_REFERENCE;
	}
	if (orma_proto_reader_find(event.data, event.size, EVENT_TIMESTAMP_ABSOLUTE_US, &field) <=
	    0)
		return ORMA_TIME_IS_MISSING;
	*ret_ns = orma_add_us(0, (int64_t)field.value);
	return ORMA_TIME_IS_KNOWN;
}

/* A packet with a timestamp and without a thread's reference is of today, and its event is not searched. */
static bool may_have_event_time(const struct orma_sequence_time *time,
				const struct orma_packet *packet)
{
	if (packet->kind == ORMA_PB_TRACE_PACKET_STREAMING_PROFILE_PACKET)
		return time->has_reference;
	return packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT &&
	       (time->has_reference || !(packet->flags & ORMA_PACKET_HAS_TIMESTAMP));
}

enum orma_time_source orma_sequence_time_search(const struct orma_sequence_time *time,
						const struct orma_packet *packet)
{
	int64_t ns;
	bool is_delta;
	/* Without a sequence a track event is of nobody. */
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT &&
	    !(packet->flags & ORMA_PACKET_HAS_SEQUENCE))
		return ORMA_TIME_IS_MISSING;
	if (packet->flags & ORMA_PACKET_HAS_TIMESTAMP)
		return ORMA_TIME_IS_KNOWN;
	return may_have_event_time(time, packet) ? find_event_time(time, packet, &is_delta, &ns)
						 : ORMA_TIME_IS_MISSING;
}

/* Such a time is on the monotonic clock. Without a snapshot that says otherwise it is taken as it is. */
static enum orma_clock_failure convert_event_time(struct orma_sequence_time *time,
						  const struct orma_clocks *clocks, int64_t ns,
						  uint32_t snapshots, int64_t *ret)
{
	*ret = ns;
	if (ns < 0)
		return ORMA_CLOCK_NEGATIVE;
	(void)orma_trace_clocks_convert(
		clocks, orma_trace_clock_key(time->machine_idx, 0, ORMA_CLOCK_MONOTONIC), ns,
		clocks->trace_time, snapshots, &time->cache, ret);
	return *ret < 0 ? ORMA_CLOCK_NEGATIVE : ORMA_CLOCK_CONVERTED;
}

enum orma_clock_failure orma_sequence_time_convert(struct orma_sequence_time *time,
						   const struct orma_clocks *clocks,
						   uint32_t trace_default_clock,
						   const struct orma_packet *packet,
						   uint32_t snapshots, int64_t *ret)
{
	int64_t event_ns;
	bool is_delta;
	if (may_have_event_time(time, packet) &&
	    find_event_time(time, packet, &is_delta, &event_ns) == ORMA_TIME_IS_KNOWN) {
		if (is_delta)
			time->reference_ns = event_ns;
		return convert_event_time(time, clocks, event_ns, snapshots, ret);
	}
	uint32_t clock = packet->clock ? packet->clock : time->default_clock;
	if (clock == 0)
		clock = trace_default_clock;
	uint64_t key = orma_trace_clock_key(time->machine_idx, time->sequence, clock);
	int64_t ns = (int64_t)packet->timestamp;
	if (key == clocks->trace_time) {
		*ret = ns;
		return ns < 0 ? ORMA_CLOCK_NEGATIVE : ORMA_CLOCK_CONVERTED;
	}
	/* A file without other clocks begins when the trace does. */
	if (clock == ORMA_CLOCK_TRACE_FILE && !orma_trace_clocks_has(clocks, key)) {
		*ret = ns;
		return ORMA_CLOCK_CONVERTED;
	}
	struct orma_sequence_clock *found =
		is_sequence_clock(clock) ? find_clock(time, clock) : NULL;
	if (found) {
		found->now_ns = (int64_t)((uint64_t)found->now_ns +
					  (uint64_t)ns * (uint64_t)found->unit_ns);
		ns = found->now_ns;
	} else {
		ns = (int64_t)((uint64_t)ns * (uint64_t)orma_trace_clock_unit(clocks, key));
	}
	enum orma_clock_failure failure = orma_trace_clocks_convert(
		clocks, key, ns, clocks->trace_time, snapshots, &time->cache, ret);
	return failure == ORMA_CLOCK_CONVERTED && *ret < 0 ? ORMA_CLOCK_NEGATIVE : failure;
}
