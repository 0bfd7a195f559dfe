/* SPDX-License-Identifier: Apache-2.0
 * bundle_index.c - assigns each bundle to a lane of its CPU, in which bundles do not overlap.
 *
 * The kernel gives the events of one CPU in the order of time, so one lane a CPU is the rule. Where bundles overlap, because two
 * data sources read the same CPU or a trace was put together from several, the bundle goes to the first lane of the CPU that
 * ends before it begins, or to a new one. Invariant: each lane is ascending, so that merging lanes sorts all events.
 * Rejected: sorting the events of such a trace, which takes memory for each event.
 */
#include "trace/bundle_index.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "store/grow.h"

enum {
	EVENT_TIMESTAMP_FIELD = 1,
	LANES_PER_CPU_MAX = 16,
	FTRACE_CLOCK_GLOBAL = 2,
	FTRACE_CLOCK_LOCAL = 3,
	FTRACE_CLOCK_MONO_RAW = 4,
	CLOCK_MONOTONIC_RAW_ID = 5,
};

static void take_time(struct orma_bundle_head *head, uint64_t ns)
{
	head->first_ns = head->has_events ? ORMA_MIN(head->first_ns, ns) : ns;
	head->last_ns = head->has_events ? ORMA_MAX(head->last_ns, ns) : ns;
	head->has_events = true;
}

static void take_event(struct orma_bundle_head *head, struct orma_str event)
{
	const uint8_t *at = (const uint8_t *)event.data;
	uint64_t ns;
	/* Both tracers write the timestamp first. */
	if (event.size > 1 && at[0] == EVENT_TIMESTAMP_FIELD << 3 &&
	    orma_proto_get_varint(at + 1, at + event.size, &ns)) {
		take_time(head, ns);
		return;
	}
	struct orma_proto_field field;
	if (orma_proto_reader_find(event.data, event.size, EVENT_TIMESTAMP_FIELD, &field) > 0 &&
	    field.type == ORMA_PROTO_VARINT)
		take_time(head, field.value);
}

/* Packed differences; the first one is the time itself. */
static int take_times(struct orma_bundle_head *head, struct orma_str packed)
{
	const uint8_t *at = (const uint8_t *)packed.data, *end = at + packed.size;
	uint64_t ns = 0, delta, first = UINT64_MAX, last = 0;
	if (packed.size == 0)
		return 0;
	while (at < end) {
		at = orma_proto_get_varint(at, end, &delta);
		if (!at)
			return -EBADMSG;
		ns += delta;
		first = ORMA_MIN(first, ns);
		last = ORMA_MAX(last, ns);
	}
	take_time(head, first);
	take_time(head, last);
	return 0;
}

static int take_compact(struct orma_bundle_head *head, struct orma_str compact)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;
	orma_proto_reader_init(&reader, compact.data, compact.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0)
		if (field.type == ORMA_PROTO_BYTES &&
		    (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_SWITCH_TIMESTAMP ||
		     field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED_WAKING_TIMESTAMP) &&
		    take_times(head, field.bytes) < 0)
			return -EBADMSG;
	return r;
}

static inline int read_head(struct orma_str content, bool has_times, struct orma_bundle_head *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;
	*ret = (struct orma_bundle_head){0};
	orma_proto_reader_init(&reader, content.data, content.size);
	while ((r = orma_proto_reader_next(&reader, &field)) > 0) {
		bool is_number = field.type == ORMA_PROTO_VARINT;
		if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_EVENT &&
		    field.type == ORMA_PROTO_BYTES && has_times)
			take_event(ret, field.bytes);
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_COMPACT_SCHED &&
			 field.type == ORMA_PROTO_BYTES)
			ret->compact = field.bytes;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_CPU && is_number)
			ret->cpu = (uint32_t)field.value;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK && is_number)
			ret->clock = (uint32_t)field.value;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_FTRACE_TIMESTAMP && is_number)
			ret->ftrace_ns = field.value;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_BOOT_TIMESTAMP && is_number)
			ret->boot_ns = field.value;
		else if ((field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_LAST_READ_EVENT_TIMESTAMP ||
			  field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_PREVIOUS_BUNDLE_END_TIMESTAMP) &&
			 is_number)
			ret->start_ns = field.value;
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS ||
			 field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS)
			ret->has_notes = true;
	}
	return r < 0 || !has_times ? r : take_compact(ret, ret->compact);
}

int orma_bundle_head_read(struct orma_str content, struct orma_bundle_head *ret)
{
	return read_head(content, true, ret);
}

int orma_bundle_frame_read(struct orma_str content, struct orma_bundle_head *ret)
{
	return read_head(content, false, ret);
}

uint64_t orma_bundle_clock_key(const struct orma_sequence *sequence, uint32_t ftrace_clock)
{
	uint32_t clock = ORMA_CLOCK_BOOTTIME;
	if (ftrace_clock == FTRACE_CLOCK_GLOBAL || ftrace_clock == FTRACE_CLOCK_LOCAL)
		clock = ORMA_CLOCK_SEQUENCE_FIRST;
	else if (ftrace_clock == ORMA_FTRACE_CLOCK_MONOTONIC)
		clock = ORMA_CLOCK_MONOTONIC;
	else if (ftrace_clock == FTRACE_CLOCK_MONO_RAW)
		clock = CLOCK_MONOTONIC_RAW_ID;
	return orma_trace_clock_key(sequence->machine_idx, sequence->id, clock);
}

static int add_lane(struct orma_packet_index *index, uint64_t cpu_key, struct orma_lane *previous,
		    struct orma_lane **ret)
{
	int r = orma_store_grow(&index->lanes, (uint64_t)index->lane_count + 1,
				&index->lane_capacity, sizeof(*index->lanes));
	if (r < 0)
		return r;
	struct orma_lane *lane = orma_base_zalloc(sizeof(*lane));
	if (!lane)
		return -ENOMEM;
	if (!previous && orma_base_map_put(&index->cpus, cpu_key, lane) < 0) {
		orma_base_free(lane);
		return -ENOMEM;
	}
	if (previous)
		previous->next = lane;
	index->lanes[index->lane_count++] = lane;
	*ret = lane;
	return 0;
}

/* 0, -ERANGE (bundles overlap more than a trace's do) or -ENOMEM. */
static int find_lane(struct orma_packet_index *index, uint32_t machine_idx, uint32_t cpu,
		     int64_t first_ns, struct orma_lane **ret)
{
	uint64_t key = (uint64_t)machine_idx << 32 | cpu;
	struct orma_lane *lane = orma_base_map_get(&index->cpus, key), *previous = NULL;
	unsigned count = 0;
	for (; lane; previous = lane, lane = lane->next, count++)
		if (lane->bundles[lane->bundle_count - 1].last_ns <= first_ns) {
			*ret = lane;
			return 0;
		}
	if (count == LANES_PER_CPU_MAX || index->lane_count == ORMA_LANES_MAX)
		return -ERANGE;
	int r = add_lane(index, key, previous, ret);
	if (r < 0)
		return r;
	(*ret)->cpu = cpu;
	(*ret)->machine_idx = machine_idx;
	return 0;
}

static int add_bundle(struct orma_lane *lane, const struct orma_bundle *bundle)
{
	int r = orma_store_grow(&lane->bundles, (uint64_t)lane->bundle_count + 1,
				&lane->bundle_capacity, sizeof(*bundle));
	if (r < 0)
		return r;
	lane->bundles[lane->bundle_count++] = *bundle;
	return 0;
}

/* The buffer's own clock is known only by the pairs of times in its bundles. */
static int take_clock(struct orma_packet_index *index, uint64_t key,
		      const struct orma_sequence *sequence, const struct orma_bundle_head *head)
{
	struct orma_clock_reading readings[] = {
		{.key = key, .value = (int64_t)head->ftrace_ns, .unit_ns = 1},
		{.key = orma_trace_clock_key(sequence->machine_idx, 0, ORMA_CLOCK_BOOTTIME),
		 .value = (int64_t)head->boot_ns,
		 .unit_ns = 1},
	};
	bool has_clock =
		(head->clock == FTRACE_CLOCK_GLOBAL || head->clock == FTRACE_CLOCK_LOCAL) &&
		head->ftrace_ns && head->boot_ns;
	return has_clock ? orma_trace_clocks_add(&index->clocks, readings, 2) : 0;
}

int orma_bundle_index_add(struct orma_packet_index *index, struct orma_sequence *sequence,
			  const struct orma_packet *packet)
{
	struct orma_bundle_head head;
	if (orma_bundle_head_read(packet->content, &head) < 0) {
		index->counts[ORMA_COUNT_BAD_BUNDLES]++;
		return 0;
	}
	uint64_t key = orma_bundle_clock_key(sequence, head.clock);
	int r = take_clock(index, key, sequence, &head);
	if (r >= 0 && index->bundle)
		r = index->bundle(index->ctx, sequence, packet, &head);
	if (r < 0 || !head.has_events)
		return r;
	struct orma_bundle bundle = {.address = packet->address,
				     .size = (uint32_t)packet->bytes.size,
				     .snapshots = index->clocks.snapshot_count};
	uint64_t ends[] = {head.first_ns, head.last_ns};
	int64_t *times[] = {&bundle.first_ns, &bundle.last_ns};
	for (int i = 0; i < 2; i++) {
		enum orma_clock_failure failure = orma_trace_clocks_convert(
			&index->clocks, key, (int64_t)ends[i], index->clocks.trace_time,
			bundle.snapshots, &sequence->time.cache, times[i]);
		if (failure != ORMA_CLOCK_CONVERTED) {
			index->counts[ORMA_COUNT_CLOCK_UNKNOWN_SOURCE + failure -
				      ORMA_CLOCK_UNKNOWN_SOURCE]++;
			return 0;
		}
	}
	struct orma_lane *lane;
	r = find_lane(index, sequence->machine_idx, head.cpu, bundle.first_ns, &lane);
	if (r == -ERANGE) {
		index->counts[ORMA_COUNT_BAD_BUNDLES]++;
		return 0;
	}
	if (r < 0)
		return r;
	index->max_ns = ORMA_MAX(index->max_ns, bundle.last_ns);
	return add_bundle(lane, &bundle);
}
