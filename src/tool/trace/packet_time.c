/* SPDX-License-Identifier: Apache-2.0
 * packet_time.c - converts the timestamps of packets to the trace's clock.
 *
 * Owns the offsets of the machine's clocks, and per sequence the default clock and the clocks that the
 * sequence has defined (ids 64 to 127), among which are those whose timestamps are differences.
 * Invariant: the state is that after the last packet taken, so packets must be taken in order, also
 * those that nobody wants.
 *
 * A clock is converted by the latest snapshot alone. Rejected: interpolation between snapshots, which
 * needs the whole trace; its gain is the drift of two clocks within seconds.
 */
#include "tool/trace/packet_time.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"

#define SEQUENCE_CLOCKS_MAX 8

struct sequence_clock {
	uint32_t id;
	bool is_incremental, is_known;
	uint64_t unit_ns;
	uint64_t value_ns; /* the last timestamp, if the clock is incremental */
	int64_t offset_ns; /* reference = clock + offset */
};

struct clock_sequence {
	uint32_t default_clock;
	size_t clock_count;
	struct sequence_clock clocks[SEQUENCE_CLOCKS_MAX];
};

/* One clock of a snapshot. */
struct reading {
	uint32_t id;
	uint64_t ticks, unit_ns;
	bool is_incremental;
};

void orma_packet_clocks_done(struct orma_packet_clocks *clocks)
{
	struct orma_map_slot *slot;

	for (size_t at = 0; (slot = orma_base_map_next(&clocks->sequences, &at));)
		orma_base_free(slot->value);
	orma_base_map_done(&clocks->sequences);
}

static struct clock_sequence *get_sequence(struct orma_packet_clocks *clocks, uint64_t key)
{
	struct clock_sequence *sequence = orma_base_map_get(&clocks->sequences, key);

	if (sequence)
		return sequence;
	sequence = orma_base_alloc(sizeof(*sequence));
	if (!sequence)
		return NULL;
	*sequence = (struct clock_sequence){0};
	if (orma_base_map_put(&clocks->sequences, key, sequence) < 0) {
		orma_base_free(sequence);
		return NULL;
	}
	return sequence;
}

static struct sequence_clock *find_clock(struct clock_sequence *sequence, uint32_t id)
{
	for (size_t i = 0; i < sequence->clock_count; i++)
		if (sequence->clocks[i].id == id)
			return &sequence->clocks[i];
	return NULL;
}

/* --- snapshots -------------------------------------------------------------------------------- */

static struct reading read_clock(struct orma_str bytes)
{
	struct reading reading = {.unit_ns = 1};
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_VARINT)
			continue;
		if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID)
			reading.id = (uint32_t)field.value;
		else if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP)
			reading.ticks = field.value;
		else if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCK_IS_INCREMENTAL)
			reading.is_incremental = field.value != 0;
		else if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS)
			reading.unit_ns = field.value ? field.value : 1;
	}
	return reading;
}

/* Returns the next clock of a snapshot; false at its end. */
static bool next_reading(struct orma_proto_reader *reader, struct reading *ret)
{
	struct orma_proto_field field;

	while (orma_proto_reader_next(reader, &field) > 0) {
		if (field.id == ORMA_PB_CLOCK_SNAPSHOT_CLOCKS && field.type == ORMA_PROTO_BYTES) {
			*ret = read_clock(field.bytes);
			return true;
		}
	}
	return false;
}

/* The time of the snapshot on the trace's clock: by that clock, or by one that is known already. */
static bool find_reference(struct orma_packet_clocks *clocks, struct orma_str snapshot,
			   uint64_t *ret_ns)
{
	struct orma_proto_reader reader;
	struct orma_proto_field primary;
	struct reading reading;
	bool is_found = false;

	if (clocks->reference == 0 &&
	    orma_proto_reader_find(snapshot.data, snapshot.size,
				   ORMA_PB_CLOCK_SNAPSHOT_PRIMARY_TRACE_CLOCK, &primary) > 0)
		clocks->reference = (uint32_t)primary.value;
	if (clocks->reference == 0)
		clocks->reference = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;
	orma_proto_reader_init(&reader, snapshot.data, snapshot.size);
	while (next_reading(&reader, &reading)) {
		if (reading.id == clocks->reference) {
			*ret_ns = reading.ticks;
			return true;
		}
		if (reading.id < ORMA_GLOBAL_CLOCKS && clocks->is_known[reading.id] && !is_found) {
			*ret_ns = reading.ticks + (uint64_t)clocks->offset_ns[reading.id];
			is_found = true;
		}
	}
	return is_found;
}

static void define_clock(struct clock_sequence *sequence, const struct reading *reading,
			 bool is_known, uint64_t now_ns)
{
	struct sequence_clock *clock = find_clock(sequence, reading->id);

	if (!clock && sequence->clock_count == SEQUENCE_CLOCKS_MAX)
		return;
	if (!clock)
		clock = &sequence->clocks[sequence->clock_count++];
	*clock = (struct sequence_clock){
		.id = reading->id,
		.is_incremental = reading->is_incremental,
		.is_known = is_known,
		.unit_ns = reading->unit_ns,
		.value_ns = reading->ticks * reading->unit_ns,
		.offset_ns = (int64_t)(now_ns - reading->ticks * reading->unit_ns),
	};
}

static void take_snapshot(struct orma_packet_clocks *clocks, struct clock_sequence *sequence,
			  const struct orma_packet_view *packet)
{
	struct orma_proto_reader reader;
	struct reading reading;
	uint64_t now_ns = 0;
	bool is_known = packet->machine == 0 && find_reference(clocks, packet->content, &now_ns);

	orma_proto_reader_init(&reader, packet->content.data, packet->content.size);
	while (next_reading(&reader, &reading)) {
		if (reading.id >= ORMA_GLOBAL_CLOCKS) {
			define_clock(sequence, &reading, is_known, now_ns);
		} else if (is_known) {
			clocks->offset_ns[reading.id] = (int64_t)(now_ns - reading.ticks);
			clocks->is_known[reading.id] = true;
		}
	}
}

/* --- packets ---------------------------------------------------------------------------------- */

static bool convert_global(const struct orma_packet_clocks *clocks, uint32_t clock, uint64_t ticks,
			   uint64_t *ret_ns)
{
	uint32_t reference = clocks->reference ? clocks->reference
					       : ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;

	if (clock == 0 || clock == reference) {
		*ret_ns = ticks;
		return true;
	}
	if (clock >= ORMA_GLOBAL_CLOCKS || !clocks->is_known[clock])
		return false;
	*ret_ns = ticks + (uint64_t)clocks->offset_ns[clock];
	return true;
}

static bool take_timestamp(struct orma_packet_clocks *clocks, struct clock_sequence *sequence,
			   const struct orma_packet_view *packet, struct orma_packet_times *ret)
{
	uint32_t id = packet->clock ? packet->clock : sequence->default_clock;
	struct sequence_clock *clock = find_clock(sequence, id);

	if (!clock)
		return convert_global(clocks, id, packet->timestamp, &ret->first_ns);
	uint64_t value_ns = packet->timestamp * clock->unit_ns;
	if (clock->is_incremental) {
		ret->is_difference = true;
		clock->value_ns += value_ns;
		value_ns = clock->value_ns;
	}
	ret->first_ns = value_ns + (uint64_t)clock->offset_ns;
	return clock->is_known;
}

struct period {
	uint64_t first_ns, last_ns;
	bool is_set;
};

static void widen(struct period *period, uint64_t at_ns)
{
	if (!period->is_set || at_ns < period->first_ns)
		period->first_ns = at_ns;
	if (!period->is_set || at_ns > period->last_ns)
		period->last_ns = at_ns;
	period->is_set = true;
}

/* A packed column whose items are differences. */
static void widen_by_column(struct period *period, struct orma_str column)
{
	const uint8_t *at = (const uint8_t *)column.data, *end = at + column.size;
	uint64_t sum = 0, difference;

	while (at < end && (at = orma_proto_get_varint(at, end, &difference))) {
		sum += difference;
		widen(period, sum);
	}
}

static void widen_by_compact_sched(struct period *period, struct orma_str compact)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;

	orma_proto_reader_init(&reader, compact.data, compact.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type == ORMA_PROTO_BYTES &&
		    (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP ||
		     field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP))
			widen_by_column(period, field.bytes);
	}
}

static bool take_bundle(const struct orma_packet_clocks *clocks, struct orma_str bundle,
			struct orma_packet_times *ret)
{
	uint64_t clock = 0, ftrace_ns = 0, boot_ns = 0;
	struct period period = {0};
	struct orma_proto_reader reader;
	struct orma_proto_field field, timestamp;

	orma_proto_reader_init(&reader, bundle.data, bundle.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK)
			clock = field.value;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP)
			ftrace_ns = field.value;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP)
			boot_ns = field.value;
		else if (field.type != ORMA_PROTO_BYTES)
			continue;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED)
			widen_by_compact_sched(&period, field.bytes);
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_EVENT &&
			 orma_proto_reader_find(field.bytes.data, field.bytes.size,
						ORMA_PB_FTRACE_EVENT_TIMESTAMP, &timestamp) > 0)
			widen(&period, timestamp.value);
	}
	/* Events are on the boot clock, or on one of ftrace's own that the bundle relates to it. */
	uint64_t to_boot = clock != 0 && ftrace_ns != 0 ? boot_ns - ftrace_ns : 0;
	uint32_t boot = ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME;
	return period.is_set &&
	       convert_global(clocks, boot, period.first_ns + to_boot, &ret->first_ns) &&
	       convert_global(clocks, boot, period.last_ns + to_boot, &ret->last_ns);
}

int orma_packet_clocks_take(struct orma_packet_clocks *clocks,
			    const struct orma_packet_view *packet, struct orma_packet_times *ret)
{
	struct clock_sequence *sequence = get_sequence(clocks, orma_packet_sequence_key(packet));
	struct orma_proto_field clock;
	bool has_time = false;

	*ret = (struct orma_packet_times){0};
	if (!sequence)
		return -ENOMEM;
	if (packet->flags & ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED)
		*sequence = (struct clock_sequence){0};
	if (packet->defaults.data)
		sequence->default_clock =
			orma_proto_reader_find(packet->defaults.data, packet->defaults.size,
					       ORMA_PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
					       &clock) > 0
				? (uint32_t)clock.value
				: 0;
	if (packet->kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT)
		take_snapshot(clocks, sequence, packet);
	if (packet->has_timestamp) {
		has_time = take_timestamp(clocks, sequence, packet, ret);
		ret->last_ns = ret->first_ns;
	} else if (packet->kind == ORMA_PB_TRACE_PACKET_FTRACE_EVENTS) {
		has_time = take_bundle(clocks, packet->content, ret);
	}
	return has_time && packet->machine == 0;
}
