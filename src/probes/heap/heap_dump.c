/* SPDX-License-Identifier: Apache-2.0
 * heap_dump.c - ProfilePackets: what each heap of each process has allocated and freed, by stack.
 *
 * Numbers are totals since the beginning. Sites that have not changed since the last dump are left out, except in a new incremental
 * state, because a reader that begins there has not seen them. A heap with many sites is split into several packets. All packets of
 * a dump have `continued`. An empty packet without it ends the dump, after the stacks, because readers look up the stacks then.
 */
#include "base/clock_ns.h"
#include "base/macros.h"
#include "probes/heap/heap_output.h"
#include "proto/writer.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define PART_BYTES 400000u

#define DUMP(name)   ORMA_PB_PROFILE_PACKET_PROCESS_HEAP_SAMPLES_##name
#define SAMPLE(name) ORMA_PB_PROFILE_PACKET_HEAP_SAMPLE_##name
#define STATS(name)  ORMA_PB_PROFILE_PACKET_PROCESS_STATS_##name

struct part {
	struct orma_heap_output *output;
	struct orma_heap_process *process;
	const struct orma_heap_heap *heap;
	uint64_t timestamp_ns;
	unsigned flags;
	bool is_first; /* the first part of its heap */
	bool has_stats;
	struct orma_buf samples; /* fields of ProcessHeapSamples */
};

static void write_profile(struct orma_heap_output *output, struct orma_str process_dump,
			  bool is_continued)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf message = {0};
	struct orma_proto_heap_writer writer;

	orma_proto_heap_writer_init(&writer, &message);
	if (process_dump.size > 0)
		orma_proto_write_str(&writer.writer, ORMA_PB_PROFILE_PACKET_PROCESS_DUMPS,
				     process_dump);
	if (is_continued)
		orma_proto_write_bool(&writer.writer, ORMA_PB_PROFILE_PACKET_CONTINUED, true);
	orma_proto_write_varint(&writer.writer, ORMA_PB_PROFILE_PACKET_INDEX, output->next_index);
	if (orma_proto_heap_writer_finish(&writer) < 0) {
		output->dropped_count++;
		return;
	}
	orma_heap_output_packet(output, ORMA_PB_TRACE_PACKET_PROFILE_PACKET,
				orma_base_buf_str(&message));
	output->next_index++;
}

/* Readers add the counts of all dumps, so a dump has the increase since the last one. */
static void write_stats(struct orma_proto_writer *writer, struct orma_heap_process *process)
{
	struct orma_proto_nested nested;
	struct orma_heap_reported *reported = &process->reported;

	orma_proto_nested_begin(writer, &nested, DUMP(STATS));
	orma_proto_write_varint(writer, STATS(UNWINDING_ERRORS),
				process->faults.failed_stacks - reported->failed_stacks);
	orma_proto_write_varint(writer, STATS(HEAP_SAMPLES),
				process->sample_count - reported->sample_count);
	orma_proto_write_varint(writer, STATS(MAP_REPARSES),
				process->maps_count - reported->maps_count);
	orma_proto_write_varint(writer, STATS(TOTAL_UNWINDING_TIME_US),
				(process->unwinding_ns - reported->unwinding_ns) / 1000);
	orma_proto_nested_end(writer, &nested);
	*reported = (struct orma_heap_reported){
		.failed_stacks = process->faults.failed_stacks,
		.sample_count = process->sample_count,
		.maps_count = process->maps_count,
		.unwinding_ns = process->unwinding_ns,
	};
}

static void write_flags(struct orma_proto_writer *writer, const struct part *part)
{
	const struct orma_heap_process *process = part->process;

	if (process->is_from_startup)
		orma_proto_write_bool(writer, DUMP(FROM_STARTUP), true);
	if (part->flags & ORMA_HEAP_DUMP_DISCONNECTED)
		orma_proto_write_bool(writer, DUMP(DISCONNECTED), true);
	if (part->flags & ORMA_HEAP_DUMP_GUARDRAIL)
		orma_proto_write_bool(writer, DUMP(HIT_GUARDRAIL), true);
	if (orma_heap_process_has_overrun(process))
		orma_proto_write_bool(writer, DUMP(BUFFER_OVERRAN), true);
	if (process->faults.bad_records > 0)
		orma_proto_write_bool(writer, DUMP(BUFFER_CORRUPTED), true);
	if (process->was_reconnected)
		orma_proto_write_bool(writer, DUMP(RECONNECTED), true);
	if (orma_heap_process_was_cut_off(process))
		orma_proto_write_bool(writer, DUMP(ENDED_ABRUPTLY), true);
	if (process->own_losses.unseen_bytes > 0)
		orma_proto_write_varint(writer, DUMP(UNSEEN_BYTES),
					process->own_losses.unseen_bytes);
}

static void write_part(struct part *part)
{
	const struct orma_heap_heap *heap = part->heap;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf message = {0};
	struct orma_proto_heap_writer heap_writer;
	struct orma_proto_writer *writer = &heap_writer.writer;

	orma_proto_heap_writer_init(&heap_writer, &message);
	orma_proto_write_varint(writer, DUMP(PID), (uint32_t)part->process->pid);
	orma_proto_write_varint(writer, DUMP(TIMESTAMP), part->timestamp_ns);
	orma_proto_write_varint(writer, DUMP(START_TIMESTAMP), part->process->start_timestamp_ns);
	orma_proto_write_string(writer, DUMP(HEAP_NAME), heap->name[0] ? heap->name : "unknown");
	orma_proto_write_varint(writer, DUMP(SAMPLING_INTERVAL_BYTES), heap->interval_bytes);
	orma_proto_write_varint(writer, DUMP(ORIG_SAMPLING_INTERVAL_BYTES),
				ORMA_MAX(heap->original_interval_bytes, UINT64_C(1)));
	if (part->is_first)
		write_flags(writer, part);
	if (!part->has_stats)
		write_stats(writer, part->process);
	part->is_first = false;
	part->has_stats = true;
	orma_proto_write_raw(writer, part->samples.data, part->samples.size);
	if (orma_proto_heap_writer_finish(&heap_writer) < 0)
		part->output->dropped_count++;
	else
		write_profile(part->output, orma_base_buf_str(&message), true);
	part->samples.size = 0;
}

static void write_sample(struct part *part, struct orma_heap_site *site)
{
	struct orma_proto_heap_writer heap_writer;
	struct orma_proto_writer *writer = &heap_writer.writer;
	struct orma_proto_nested nested;
	uint32_t stack = orma_heap_output_stack(part->output, part->process, site->node);

	orma_proto_heap_writer_init(&heap_writer, &part->samples);
	orma_proto_nested_begin(writer, &nested, DUMP(SAMPLES));
	orma_proto_write_varint(writer, SAMPLE(CALLSTACK_ID), stack);
	if (part->flags & ORMA_HEAP_DUMP_MAX) {
		orma_proto_write_varint(writer, SAMPLE(SELF_MAX), site->max_bytes);
		orma_proto_write_varint(writer, SAMPLE(SELF_MAX_COUNT), site->max_count);
	} else {
		orma_proto_write_varint(writer, SAMPLE(SELF_ALLOCATED), site->totals.bytes);
		orma_proto_write_varint(writer, SAMPLE(SELF_FREED), site->totals.freed_bytes);
		orma_proto_write_varint(writer, SAMPLE(ALLOC_COUNT), site->totals.count);
		orma_proto_write_varint(writer, SAMPLE(FREE_COUNT), site->totals.freed_count);
	}
	if (orma_proto_heap_writer_finish(&heap_writer) < 0) {
		part->output->dropped_count++;
		return;
	}
	site->flags &= ~(uint32_t)ORMA_HEAP_SITE_UNWRITTEN;
	if (part->samples.size >= PART_BYTES)
		write_part(part);
}

static bool is_wanted(const struct part *part, const struct orma_heap_site *site, bool is_all)
{
	if (site->heap != part->heap->id)
		return false;
	if (part->flags & ORMA_HEAP_DUMP_MAX)
		return site->max_bytes > 0 || site->max_count > 0;
	return is_all || site->flags & ORMA_HEAP_SITE_UNWRITTEN;
}

static void write_heap(struct part *part, bool is_all)
{
	struct orma_heap_stacks *stacks = &part->process->stacks;

	part->is_first = true;
	for (uint32_t i = 0; i < stacks->sites.count; i++) {
		struct orma_heap_site *site = orma_heap_stacks_site(stacks, i);
		if (is_wanted(part, site, is_all))
			write_sample(part, site);
	}
	write_part(part);
}

/* --- dumps ------------------------------------------------------------------------------------ */

void orma_heap_output_begin(struct orma_heap_output *output)
{
	output->interned.size = 0;
}

void orma_heap_output_process(struct orma_heap_output *output, struct orma_heap_process *process,
			      uint64_t timestamp_ns, unsigned flags)
{
	struct part part = {
		.output = output,
		.process = process,
		.flags = flags,
	};
	/* A dump without heaps still has the faults of the process. */
	static const struct orma_heap_heap no_heap = {.interval_bytes = 1};
	bool is_all = process->dumped_state != output->state;

	orma_heap_output_name(output, process);
	process->dumped_state = output->state;
	for (size_t id = 0; id <= ORMA_HEAP_HEAPS_MAX; id++) {
		part.heap = process->heaps[id];
		if (!part.heap && id == ORMA_HEAP_HEAPS_MAX && !part.has_stats)
			part.heap = &no_heap;
		if (!part.heap)
			continue;
		part.timestamp_ns = flags & ORMA_HEAP_DUMP_MAX && part.heap->max_timestamp_ns
					    ? part.heap->max_timestamp_ns
					    : timestamp_ns;
		write_heap(&part, is_all);
	}
	orma_base_buf_done(&part.samples);
}

void orma_heap_output_end(struct orma_heap_output *output)
{
	orma_heap_output_flush_interned(output, 0);
	write_profile(output, (struct orma_str){0}, false);
}
