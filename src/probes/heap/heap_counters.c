/* SPDX-License-Identifier: Apache-2.0
 * heap_counters.c - counters on the timeline: the live bytes and the rate of allocations of each heap.
 *
 * The parent of a counter's track is a track that describes the process. The numbers of tracks are computed from the pid and the
 * heap, so they are the same in a new incremental state.
 */
#include <stdio.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "probes/heap/heap_output.h"
#include "proto/writer.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"

enum counter { COUNTER_NONE, COUNTER_LIVE, COUNTER_RATE };

static uint64_t track_of(const struct orma_heap_process *process, uint32_t heap,
			 enum counter counter)
{
	uint64_t words[] = {(uint64_t)process->pid, heap, counter};

	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words)) | 1;
}

static void send(struct orma_heap_output *output, struct orma_proto_heap_writer *writer,
		 uint32_t field_id, struct orma_buf *message)
{
	if (orma_proto_heap_writer_finish(writer) < 0)
		output->dropped_count++;
	else
		orma_heap_output_packet(output, field_id, orma_base_buf_str(message));
	message->size = 0;
}

static void describe_process(struct orma_heap_output *output,
			     const struct orma_heap_process *process, struct orma_buf *message)
{
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;

	orma_proto_heap_writer_init(&writer, message);
	orma_proto_write_varint(&writer.writer, ORMA_PB_TRACK_DESCRIPTOR_UUID,
				track_of(process, 0, COUNTER_NONE));
	orma_proto_nested_begin(&writer.writer, &nested, ORMA_PB_TRACK_DESCRIPTOR_PROCESS);
	orma_proto_write_int(&writer.writer, ORMA_PB_PROCESS_DESCRIPTOR_PID, process->pid);
	orma_proto_nested_end(&writer.writer, &nested);
	send(output, &writer, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR, message);
}

static void describe(struct orma_heap_output *output, const struct orma_heap_process *process,
		     const struct orma_heap_heap *heap, enum counter counter,
		     struct orma_buf *message)
{
	struct orma_proto_heap_writer writer;
	struct orma_proto_nested nested;
	char name[ORMA_HEAP_NAME_BYTES + 32];

	snprintf(name, sizeof(name), counter == COUNTER_LIVE ? "%s: live" : "%s: allocated per s",
		 heap->name[0] ? heap->name : "unknown");
	orma_proto_heap_writer_init(&writer, message);
	orma_proto_write_varint(&writer.writer, ORMA_PB_TRACK_DESCRIPTOR_UUID,
				track_of(process, heap->id, counter));
	orma_proto_write_varint(&writer.writer, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID,
				track_of(process, 0, COUNTER_NONE));
	orma_proto_write_string(&writer.writer, ORMA_PB_TRACK_DESCRIPTOR_NAME, name);
	orma_proto_nested_begin(&writer.writer, &nested, ORMA_PB_TRACK_DESCRIPTOR_COUNTER);
	orma_proto_write_int(&writer.writer, ORMA_PB_COUNTER_DESCRIPTOR_UNIT,
			     ORMA_PB_COUNTER_DESCRIPTOR_UNIT_UNIT_SIZE_BYTES);
	orma_proto_nested_end(&writer.writer, &nested);
	send(output, &writer, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR, message);
}

static void write_value(struct orma_heap_output *output, const struct orma_heap_process *process,
			const struct orma_heap_heap *heap, enum counter counter, uint64_t value,
			struct orma_buf *message)
{
	struct orma_proto_heap_writer writer;

	orma_proto_heap_writer_init(&writer, message);
	orma_proto_write_int(&writer.writer, ORMA_PB_TRACK_EVENT_TYPE,
			     ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER);
	orma_proto_write_varint(&writer.writer, ORMA_PB_TRACK_EVENT_TRACK_UUID,
				track_of(process, heap->id, counter));
	orma_proto_write_varint(&writer.writer, ORMA_PB_TRACK_EVENT_COUNTER_VALUE,
				ORMA_MIN(value, (uint64_t)INT64_MAX));
	send(output, &writer, ORMA_PB_TRACE_PACKET_TRACK_EVENT, message);
}

static uint64_t rate_of(uint64_t bytes, uint64_t elapsed_ns)
{
	if (elapsed_ns == 0)
		return 0;
	return (uint64_t)((double)bytes * (double)ORMA_NS_PER_SEC / (double)elapsed_ns);
}

void orma_heap_output_counters(struct orma_heap_output *output, struct orma_heap_process *process,
			       uint64_t elapsed_ns)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf message = {0};

	orma_heap_output_name(output, process);
	for (size_t id = 0; id <= ORMA_HEAP_HEAPS_MAX; id++) {
		struct orma_heap_heap *heap = process->heaps[id];
		if (!heap)
			continue;
		if (heap->shown_state != output->state) {
			describe_process(output, process, &message);
			describe(output, process, heap, COUNTER_LIVE, &message);
			describe(output, process, heap, COUNTER_RATE, &message);
			heap->shown_state = output->state;
		}
		uint64_t live = heap->totals.bytes - heap->totals.freed_bytes;
		write_value(output, process, heap, COUNTER_LIVE, live, &message);
		write_value(output, process, heap, COUNTER_RATE,
			    rate_of(heap->totals.bytes - heap->last_bytes, elapsed_ns), &message);
		heap->last_bytes = heap->totals.bytes;
	}
}
