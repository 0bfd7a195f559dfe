/* SPDX-License-Identifier: Apache-2.0
 * cgroup_write.c - control groups as tracks, and their counters as track events.
 *
 * Owns nothing. Each group is a track below its parent's, named after the last part of its path,
 * and each of its counters is a track below that. So every tool that reads Perfetto's track events
 * shows them, and knows the units. The id of a track is a hash of the path and the counter: it
 * stays the same between sessions and when a group is made again.
 *
 * Totals are written as rates, because a person looks for the rate: times as percent of one CPU,
 * bytes per second. The rate between two polls has the timestamp of the first one, since a counter
 * holds from its timestamp on. Values of the moment have the time of their poll. Values that have
 * not changed are not written, and a rate that was always 0 has no track.
 *
 * A packet may begin with the news that the reader has forgotten everything. All marks are set
 * before the packet that they are about begins, so that a forgetting clears them too.
 */
#include "base/macros.h"
#include "probes/cgroup_stats/cgroup_stats.h"
#include "probes/probe_text.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"

enum unit { UNIT_PERCENT, UNIT_BYTES_PER_S, UNIT_BYTES, UNIT_COUNT };

static const struct {
	const char *name;
	enum unit unit;
} counters[ORMA_CGROUP_COUNTER_COUNT] = {
	[ORMA_CGROUP_CPU] = {"cpu", UNIT_PERCENT},
	[ORMA_CGROUP_CPU_USER] = {"cpu user", UNIT_PERCENT},
	[ORMA_CGROUP_CPU_SYSTEM] = {"cpu system", UNIT_PERCENT},
	[ORMA_CGROUP_CPU_THROTTLED] = {"cpu throttled", UNIT_PERCENT},
	[ORMA_CGROUP_CPU_SOME] = {"cpu pressure some", UNIT_PERCENT},
	[ORMA_CGROUP_CPU_FULL] = {"cpu pressure full", UNIT_PERCENT},
	[ORMA_CGROUP_MEMORY_SOME] = {"memory pressure some", UNIT_PERCENT},
	[ORMA_CGROUP_MEMORY_FULL] = {"memory pressure full", UNIT_PERCENT},
	[ORMA_CGROUP_IO_SOME] = {"io pressure some", UNIT_PERCENT},
	[ORMA_CGROUP_IO_FULL] = {"io pressure full", UNIT_PERCENT},
	[ORMA_CGROUP_IO_READ] = {"io read", UNIT_BYTES_PER_S},
	[ORMA_CGROUP_IO_WRITTEN] = {"io write", UNIT_BYTES_PER_S},
	[ORMA_CGROUP_MEMORY] = {"memory", UNIT_BYTES},
	[ORMA_CGROUP_MEMORY_ANON] = {"memory anon", UNIT_BYTES},
	[ORMA_CGROUP_MEMORY_FILE] = {"memory file", UNIT_BYTES},
	[ORMA_CGROUP_SWAP] = {"swap", UNIT_BYTES},
	[ORMA_CGROUP_PIDS] = {"tasks", UNIT_COUNT},
};

static uint64_t counter_uuid(const struct orma_cgroup *group, int counter)
{
	uint8_t number = (uint8_t)counter;
	uint64_t hash = orma_base_fnv1a(group->uuid, &number, sizeof(number));

	return hash ? hash : 1;
}

void orma_cgroup_forget(struct orma_cgroup_instance *instance)
{
	for (struct orma_cgroup *group = instance->first; group; group = group->next) {
		group->is_described = false;
		group->described = 0;
	}
	instance->forget_count++;
}

/* Begins a packet at this time; 0 = none. NULL when the instance is not started. */
static struct orma_packet *packet_begin(struct orma_cgroup_instance *instance, uint64_t time_ns)
{
	struct orma_packet *packet =
		orma_packet_begin(instance->base.probe->source, instance->base.idx);

	if (!packet)
		return NULL;
	orma_packet_varint(packet, ORMA_PACKET_TIMESTAMP, time_ns);
	if (orma_packet_take_needs_state(packet)) {
		orma_packet_varint(packet, ORMA_PACKET_SEQUENCE_FLAGS, ORMA_SEQUENCE_STATE_CLEARED);
		orma_cgroup_forget(instance);
	}
	return packet;
}

/* ---- tracks ---- */

static bool write_group_track(struct orma_cgroup_instance *instance,
			      const struct orma_cgroup *group)
{
	const char *slash = strrchr(group->path, '/');
	const char *name = slash ? slash + 1 : group->path;
	struct orma_nested nested;
	struct orma_packet *packet = packet_begin(instance, instance->now_ns);

	if (!packet)
		return false;
	orma_packet_nested_begin(packet, &nested, ORMA_PACKET_TRACK_DESCRIPTOR);
	orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_UUID, group->uuid);
	if (group->parent)
		orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID,
				   group->parent->uuid);
	orma_packet_string(packet, ORMA_PB_TRACK_DESCRIPTOR_NAME,
			   group->parent ? name : "Control groups");
	if (group->parent)
		orma_packet_string(packet, ORMA_PB_TRACK_DESCRIPTOR_DESCRIPTION, group->path);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
	return true;
}

/* Describes a group and those above it, the outermost first. Returns false when the instance has
 * stopped, or the reader has forgotten everything. */
static bool describe_group(struct orma_cgroup_instance *instance, struct orma_cgroup *group)
{
	while (!group->is_described) {
		struct orma_cgroup *top = group;
		while (top->parent && !top->parent->is_described)
			top = top->parent;
		uint32_t forget_count = instance->forget_count;
		top->is_described = true;
		if (!write_group_track(instance, top) || instance->forget_count != forget_count)
			return false;
	}
	return true;
}

static void write_counter_descriptor(struct orma_packet *packet, enum unit unit)
{
	struct orma_nested nested;

	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACK_DESCRIPTOR_COUNTER);
	if (unit == UNIT_BYTES)
		orma_packet_int(packet, ORMA_PB_COUNTER_DESCRIPTOR_UNIT,
				ORMA_PB_COUNTER_DESCRIPTOR_UNIT_UNIT_SIZE_BYTES);
	else if (unit == UNIT_COUNT)
		orma_packet_int(packet, ORMA_PB_COUNTER_DESCRIPTOR_UNIT,
				ORMA_PB_COUNTER_DESCRIPTOR_UNIT_UNIT_COUNT);
	else
		orma_packet_string(packet, ORMA_PB_COUNTER_DESCRIPTOR_UNIT_NAME,
				   unit == UNIT_PERCENT ? "%" : "B/s");
	orma_packet_nested_end(packet, &nested);
}

static bool describe_counter(struct orma_cgroup_instance *instance, struct orma_cgroup *group,
			     int counter)
{
	struct orma_nested nested;
	uint32_t forget_count = instance->forget_count;

	if (!describe_group(instance, group))
		return false;
	if (group->described >> counter & 1)
		return true;
	group->described |= UINT32_C(1) << counter;
	struct orma_packet *packet = packet_begin(instance, instance->now_ns);
	if (!packet)
		return false;
	orma_packet_nested_begin(packet, &nested, ORMA_PACKET_TRACK_DESCRIPTOR);
	orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_UUID, counter_uuid(group, counter));
	orma_packet_varint(packet, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID, group->uuid);
	orma_packet_string(packet, ORMA_PB_TRACK_DESCRIPTOR_NAME, counters[counter].name);
	write_counter_descriptor(packet, counters[counter].unit);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
	return instance->forget_count == forget_count;
}

/* ---- values ---- */

static bool is_rate(int counter)
{
	return counters[counter].unit == UNIT_PERCENT || counters[counter].unit == UNIT_BYTES_PER_S;
}

/* Rounds, so that noise is not news. */
static double in_hundredths(double value)
{
	return value < 1e12 ? (double)(int64_t)(value * 100 + 0.5) / 100 : value;
}

/* Returns a total's growth per time. A total that became smaller belongs to a
 * group that was made anew, and began at 0. */
static double rate(const struct orma_cgroup *group, int counter, uint64_t elapsed_ns)
{
	uint64_t now = group->now.values[counter], before = group->before.values[counter];
	double growth = (double)(now >= before ? now - before : now);
	double per_ns = growth / (double)elapsed_ns;

	return in_hundredths(per_ns * (counters[counter].unit == UNIT_PERCENT ? 100 : 1e9));
}

/* A number that no machine reaches stays one that fits the field. */
static double gauge(uint64_t value)
{
	return (double)ORMA_MIN(value, UINT64_C(1) << 53);
}

static bool write_value(struct orma_cgroup_instance *instance, struct orma_cgroup *group,
			int counter, double value, uint64_t time_ns)
{
	bool is_known = group->described >> counter & 1;
	struct orma_nested nested;

	if (is_known ? value == group->written[counter] : value == 0 && is_rate(counter))
		return true;
	if (!describe_counter(instance, group, counter))
		return false;
	group->written[counter] = value;
	struct orma_packet *packet = packet_begin(instance, time_ns);
	if (!packet)
		return false;
	orma_packet_nested_begin(packet, &nested, ORMA_PACKET_TRACK_EVENT);
	orma_packet_int(packet, ORMA_PB_TRACK_EVENT_TYPE, ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER);
	orma_packet_varint(packet, ORMA_PB_TRACK_EVENT_TRACK_UUID, counter_uuid(group, counter));
	if (is_rate(counter))
		orma_packet_double(packet, ORMA_PB_TRACK_EVENT_DOUBLE_COUNTER_VALUE, value);
	else
		orma_packet_int(packet, ORMA_PB_TRACK_EVENT_COUNTER_VALUE, (int64_t)value);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
	return true;
}

static bool write_group(struct orma_cgroup_instance *instance, struct orma_cgroup *group)
{
	uint64_t elapsed_ns = instance->now_ns - instance->before_ns;

	for (uint32_t bits = group->now.present; bits; bits &= bits - 1) {
		int counter = __builtin_ctz(bits);
		bool has_rate = instance->before_ns > 0 && elapsed_ns > 0 &&
				(group->before.present >> counter & 1);
		bool is_written = true;
		if (!is_rate(counter))
			is_written =
				write_value(instance, group, counter,
					    gauge(group->now.values[counter]), instance->now_ns);
		else if (has_rate)
			is_written =
				write_value(instance, group, counter,
					    rate(group, counter, elapsed_ns), instance->before_ns);
		if (!is_written)
			return false;
	}
	return true;
}

void orma_cgroup_write_begin(struct orma_cgroup_instance *instance)
{
	struct orma_cgroup_poll *poll = &instance->poll;

	poll->next = instance->first;
	poll->forget_count = instance->forget_count;
	/* A reader that has forgotten everything in the middle, as each reader has at first, gets
	 * everything once more. A second time is left to the next poll. */
	poll->attempts_left = 2;
}

bool orma_cgroup_write(struct orma_cgroup_instance *instance)
{
	struct orma_cgroup_poll *poll = &instance->poll;

	while (poll->attempts_left > 0) {
		while (poll->next && write_group(instance, poll->next)) {
			poll->next = poll->next->next;
			if (orma_probe_is_turn_over(&instance->base))
				return false;
		}
		if (instance->forget_count == poll->forget_count)
			return true;
		poll->attempts_left--;
		poll->next = instance->first;
		poll->forget_count = instance->forget_count;
	}
	return true;
}
