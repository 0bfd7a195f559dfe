/* SPDX-License-Identifier: Apache-2.0
 * perf_packets.c - the packets of linux.perf, in the form that upstream's readers know.
 *
 * Owns the encoded defaults of the sequence. A state begins with the first packet of the sequence, after a loss, and when the
 * service asks for it. The first packet of a state has the defaults, and each packet describes what it is the first to refer to.
 * So the loss of a packet never leaves a reader with a sample that it cannot resolve.
 */
#include "probes/perf/perf_packets.h"

#include "base/clock_ns.h"
#include "base/macros.h"
#include "proto/codec.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/perf_event_config.pb.h"
#include "schema/gen/perf_events.pb.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/stack_sample.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"

#define OFF_CPU_SOURCE "orma.off_cpu"

/* ---- the state of the sequence ---- */

static int put_sample_defaults(struct orma_perf_packets *packets,
			       struct orma_pb_trace_packet_defaults *defaults,
			       struct orma_arena *arena)
{
	const struct orma_pb_perf_event_config *source = packets->config->source;
	struct orma_pb_perf_sample_defaults *sample =
		orma_pb_trace_packet_defaults_set_new_perf_sample_defaults(defaults, arena);

	if (!sample)
		return -ENOMEM;
	struct orma_pb_perf_events_timebase *timebase =
		orma_pb_perf_sample_defaults_set_new_timebase(sample, arena);
	if (!timebase)
		return -ENOMEM;
	if (source->timebase)
		*timebase = *source->timebase;
	else
		orma_pb_perf_events_timebase_set_frequency(timebase, packets->config->hz);
	/* A config without an event means this one. */
	if (packets->config->timebase.kind == ORMA_PERF_EVENT_COUNTER)
		orma_pb_perf_events_timebase_set_counter(timebase,
							 packets->config->timebase.counter);
	sample->followers.items = source->followers.items;
	sample->followers.count = source->followers.count;
	if (packets->config->scope.shard_count > 0) {
		orma_pb_perf_sample_defaults_set_process_shard_count(
			sample, packets->config->scope.shard_count);
		orma_pb_perf_sample_defaults_set_chosen_process_shard(sample,
								      packets->chosen_shard);
	}
	return 0;
}

static int put_wait_defaults(struct orma_pb_trace_packet_defaults *defaults,
			     struct orma_arena *arena)
{
	struct orma_pb_stack_sample_defaults *sample =
		orma_pb_trace_packet_defaults_set_new_stack_sample_defaults(defaults, arena);
	struct orma_pb_stack_sample_counter_descriptor *counter =
		sample ? orma_pb_stack_sample_defaults_set_new_primary_descriptor(sample, arena)
		       : NULL;

	struct orma_pb_stack_sample_counter_descriptor *waits =
		counter ? orma_pb_stack_sample_defaults_add_follower_descriptors(sample, arena)
			: NULL;

	if (!waits)
		return -ENOMEM;
	orma_pb_stack_sample_counter_descriptor_set_name(waits, ORMA_STR("waits"));
	orma_pb_stack_sample_counter_descriptor_set_unit(waits,
							 ORMA_PB_STACK_SAMPLE_UNIT_UNIT_COUNT);
	orma_pb_stack_sample_defaults_set_source(sample, ORMA_STR(OFF_CPU_SOURCE));
	orma_pb_stack_sample_counter_descriptor_set_name(counter, ORMA_STR("off-cpu"));
	orma_pb_stack_sample_counter_descriptor_set_unit(
		counter, ORMA_PB_STACK_SAMPLE_UNIT_UNIT_NANOSECONDS);
	return 0;
}

int orma_perf_packets_init(struct orma_perf_packets *packets, struct orma_data_source *source,
			   uint32_t idx, const struct orma_perf_config *config,
			   uint32_t chosen_shard, struct orma_perf_stacks *stacks)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_trace_packet_defaults *defaults = orma_pb_trace_packet_defaults_new(&arena);

	*packets = (struct orma_perf_packets){.source = source,
					      .idx = idx,
					      .config = config,
					      .chosen_shard = chosen_shard,
					      .stacks = stacks};
	if (!defaults)
		return -ENOMEM;
	orma_pb_trace_packet_defaults_set_timestamp_clock_id(defaults, config->clock_id);
	int r = config->off_cpu ? put_wait_defaults(defaults, &arena)
				: put_sample_defaults(packets, defaults, &arena);
	return r < 0 ? r : orma_proto_encode(defaults, &packets->defaults);
}

void orma_perf_packets_done(struct orma_perf_packets *packets)
{
	orma_base_buf_done(&packets->defaults);
}

struct orma_packet *orma_perf_packets_begin(struct orma_perf_packets *packets, uint64_t time,
					    uint32_t clock_id)
{
	struct orma_packet *packet = orma_packet_begin(packets->source, packets->idx);
	uint32_t flags = ORMA_SEQUENCE_NEEDS_STATE;

	if (!packet)
		return NULL;
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP, time);
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID, clock_id);
	bool is_full = packets->stacks && packets->stacks->is_full;
	if (orma_packet_take_needs_state(packet) || packets->must_clear || is_full) {
		packets->must_clear = false;
		packets->state_count++;
		flags |= ORMA_SEQUENCE_STATE_CLEARED;
		orma_packet_bytes(packet, ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS,
				  packets->defaults.data, packets->defaults.size);
		if (packets->stacks)
			orma_perf_stacks_clear(packets->stacks);
	}
	orma_packet_varint(packet, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS, flags);
	return packet;
}

/* Writes what is new about a stack into the packet, and returns the stack's number. */
static uint64_t write_stack(struct orma_perf_packets *packets, struct orma_packet *packet,
			    const struct orma_perf_stack *stack)
{
	if (!stack || !packets->stacks)
		return 0;
	uint64_t number = orma_perf_stacks_number(packets->stacks, stack);
	(void)orma_stack_intern_write(packets->stacks->intern, packet, 0);
	return number;
}

/* ---- samples ---- */

static void write_counts(struct orma_packet *packet, const struct orma_perf_fact *fact)
{
	if (fact->count_count > 0)
		orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_TIMEBASE_COUNT, fact->counts[0]);
	for (size_t i = 1; i < fact->count_count; i++)
		orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_FOLLOWER_COUNTS, fact->counts[i]);
}

static void write_task(struct orma_packet *packet, const struct orma_perf_fact *fact)
{
	orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_CPU, fact->cpu);
	orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_PID, fact->pid);
	orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_TID, fact->tid);
	orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_CPU_MODE, fact->mode);
}

void orma_perf_packets_sample(struct orma_perf_packets *packets, const struct orma_perf_fact *fact,
			      const struct orma_perf_stack *stack)
{
	struct orma_packet *packet =
		orma_perf_packets_begin(packets, fact->time, packets->config->clock_id);
	struct orma_nested nested;

	if (!packet)
		return;
	uint64_t number = write_stack(packets, packet, stack);
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_PERF_SAMPLE);
	write_task(packet, fact);
	write_counts(packet, fact);
	if (number > 0)
		orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_CALLSTACK_IID, number);
	if (stack && stack->error != ORMA_PB_PROFILING_STACK_UNWIND_ERROR_UNWIND_ERROR_NONE)
		orma_packet_int(packet, ORMA_PB_PERF_SAMPLE_UNWIND_ERROR, stack->error);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

void orma_perf_packets_skipped(struct orma_perf_packets *packets, const struct orma_perf_fact *fact)
{
	struct orma_packet *packet =
		orma_perf_packets_begin(packets, fact->time, packets->config->clock_id);
	struct orma_nested nested;

	if (!packet)
		return;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_PERF_SAMPLE);
	write_task(packet, fact);
	write_counts(packet, fact);
	orma_packet_int(packet, ORMA_PB_PERF_SAMPLE_SAMPLE_SKIPPED_REASON,
			ORMA_PB_PERF_SAMPLE_SAMPLE_SKIP_REASON_PROFILER_SKIP_NOT_IN_SCOPE);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

void orma_perf_packets_counts(struct orma_perf_packets *packets, const struct orma_perf_fact *fact)
{
	struct orma_packet *packet = orma_perf_packets_begin(
		packets, fact->time, ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME);
	struct orma_nested nested;

	if (!packet)
		return;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_PERF_SAMPLE);
	orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_CPU, fact->cpu);
	write_counts(packet, fact);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

/* ---- notices ---- */

static struct orma_packet *begin_notice(struct orma_perf_packets *packets)
{
	return orma_perf_packets_begin(packets, orma_base_clock_ns(CLOCK_BOOTTIME),
				       ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME);
}

void orma_perf_packets_lost(struct orma_perf_packets *packets, uint32_t cpu, uint64_t count)
{
	struct orma_packet *packet = begin_notice(packets);
	struct orma_nested nested;

	if (!packet)
		return;
	orma_packet_nested_begin(packet, &nested, ORMA_PB_TRACE_PACKET_PERF_SAMPLE);
	orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_CPU, cpu);
	orma_packet_varint(packet, ORMA_PB_PERF_SAMPLE_KERNEL_RECORDS_LOST, count);
	orma_packet_nested_end(packet, &nested);
	orma_packet_end(packet);
}

void orma_perf_packets_guardrail(struct orma_perf_packets *packets)
{
	struct orma_packet *packet = begin_notice(packets);
	struct orma_nested sample, event;

	if (!packet)
		return;
	orma_packet_nested_begin(packet, &sample, ORMA_PB_TRACE_PACKET_PERF_SAMPLE);
	orma_packet_nested_begin(packet, &event, ORMA_PB_PERF_SAMPLE_PRODUCER_EVENT);
	orma_packet_int(
		packet, ORMA_PB_PERF_SAMPLE_PRODUCER_EVENT_SOURCE_STOP_REASON,
		ORMA_PB_PERF_SAMPLE_PRODUCER_EVENT_DATA_SOURCE_STOP_REASON_PROFILER_STOP_GUARDRAIL);
	orma_packet_nested_end(packet, &event);
	orma_packet_nested_end(packet, &sample);
	orma_packet_end(packet);
}

/* ---- waits ---- */

static uint32_t stack_sample_mode(uint32_t mode)
{
	return mode == ORMA_PB_PROFILING_CPU_MODE_MODE_USER ? ORMA_PB_STACK_SAMPLE_MODE_MODE_USER
							    : ORMA_PB_STACK_SAMPLE_MODE_MODE_KERNEL;
}

void orma_perf_packets_wait(struct orma_perf_packets *packets, const struct orma_perf_fact *fact,
			    uint64_t duration_ns, const struct orma_perf_stack *stack)
{
	struct orma_packet *packet =
		orma_perf_packets_begin(packets, fact->time, packets->config->clock_id);
	struct orma_nested sample, part;
	uint64_t weight;

	if (!packet)
		return;
	if (__builtin_mul_overflow(duration_ns, fact->wait_count, &weight))
		weight = UINT64_MAX;
	uint64_t number = write_stack(packets, packet, stack);
	orma_packet_nested_begin(packet, &sample, ORMA_PB_TRACE_PACKET_STACK_SAMPLE);
	orma_packet_nested_begin(packet, &part, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT);
	orma_packet_varint(packet, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_PID, fact->pid);
	orma_packet_varint(packet, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_TID, fact->tid);
	orma_packet_nested_end(packet, &part);
	orma_packet_nested_begin(packet, &part, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT);
	orma_packet_varint(packet, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT_CPU, fact->cpu);
	orma_packet_varint(packet, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT_MODE,
			   stack_sample_mode(fact->mode));
	orma_packet_nested_end(packet, &part);
	if (number > 0)
		orma_packet_varint(packet, ORMA_PB_STACK_SAMPLE_CALLSTACK_IID, number);
	orma_packet_varint(packet, ORMA_PB_STACK_SAMPLE_PRIMARY_WEIGHT, weight);
	orma_packet_varint(packet, ORMA_PB_STACK_SAMPLE_FOLLOWER_WEIGHTS, fact->wait_count);
	orma_packet_nested_end(packet, &sample);
	orma_packet_end(packet);
}
