/* SPDX-License-Identifier: Apache-2.0
 * event_output.c - writes slices as events of the phase X, which have their thread and their length in one packet.
 *
 * Rejected: a begin and an end on a track of the thread. The end is later than the next begin, so the packets of a sequence
 * would have to be sorted.
 */
#include "formats/event_output.h"

#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/conversion_fields.h"

static void write_text(struct orma_packet_output *output, uint32_t interned_field,
		       uint32_t iid_field, uint32_t field, struct orma_str text)
{
	uint64_t iid = orma_packet_output_intern(output, interned_field, text);
	if (iid)
		orma_proto_write_varint(&output->heap.writer, iid_field, iid);
	else
		orma_proto_write_str(&output->heap.writer, field, text);
}

void orma_output_text(struct orma_packet_output *output, enum orma_output_text kind,
		      struct orma_str text)
{
	if (kind == ORMA_OUTPUT_CATEGORY)
		write_text(output, ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES,
			   ORMA_PB_TRACK_EVENT_CATEGORY_IIDS, ORMA_PB_TRACK_EVENT_CATEGORIES, text);
	else
		write_text(output, ORMA_PB_INTERNED_DATA_EVENT_NAMES, ORMA_PB_TRACK_EVENT_NAME_IID,
			   ORMA_PB_TRACK_EVENT_NAME, text);
}

static void write_legacy(struct orma_packet_output *output, const struct orma_output_event *event)
{
	struct orma_proto_writer *writer = &output->heap.writer;
	struct orma_proto_nested legacy;
	orma_proto_nested_begin(writer, &legacy, ORMA_PB_TRACK_EVENT_LEGACY_EVENT);
	orma_proto_write_int(writer, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_PHASE, event->phase);
	if (event->phase == 'X') {
		orma_proto_write_int(writer, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_DURATION_US,
				     event->dur_ns / 1000);
		orma_proto_write_int(writer, ORMA_LEGACY_EVENT_DURATION_NS, event->dur_ns);
	}
	if (event->pid)
		orma_proto_write_int(writer, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_PID_OVERRIDE,
				     (int32_t)event->pid);
	orma_proto_write_int(writer, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_TID_OVERRIDE,
			     (int32_t)event->tid);
	if (event->style)
		orma_proto_write_varint(writer, ORMA_LEGACY_EVENT_STYLE, event->style);
	orma_packet_output_nested_end(output, &legacy);
}

struct orma_proto_writer *orma_output_event(struct orma_packet_output *output,
					    const struct orma_output_event *event)
{
	struct orma_proto_writer *writer =
		orma_packet_output_begin(output, event->sequence, event->ns);
	orma_proto_nested_begin(writer, &output->event, ORMA_PB_TRACE_PACKET_TRACK_EVENT);
	if (event->category.data)
		orma_output_text(output, ORMA_OUTPUT_CATEGORY, event->category);
	orma_output_text(output, ORMA_OUTPUT_NAME, event->name);
	write_legacy(output, event);
	return writer;
}

int orma_output_name_thread(struct orma_packet_output *output, uint32_t sequence, uint32_t pid,
			    uint32_t tid, struct orma_str name)
{
	struct orma_proto_nested track, thread;
	struct orma_proto_writer *writer = orma_packet_output_begin_untimed(output, sequence);
	orma_proto_nested_begin(writer, &track, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID,
				orma_output_thread_uuid(pid, tid));
	orma_proto_nested_begin(writer, &thread, ORMA_PB_TRACK_DESCRIPTOR_THREAD);
	orma_proto_write_int(writer, ORMA_PB_THREAD_DESCRIPTOR_PID, (int32_t)pid);
	orma_proto_write_int(writer, ORMA_PB_THREAD_DESCRIPTOR_TID, (int32_t)tid);
	if (name.size > 0)
		orma_proto_write_str(writer, ORMA_PB_THREAD_DESCRIPTOR_THREAD_NAME, name);
	return orma_packet_output_end(output);
}

int orma_output_name_process(struct orma_packet_output *output, uint32_t sequence, uint32_t pid,
			     struct orma_str name)
{
	struct orma_proto_nested track, process;
	struct orma_proto_writer *writer = orma_packet_output_begin_untimed(output, sequence);
	orma_proto_nested_begin(writer, &track, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID,
				orma_output_thread_uuid(pid, 0));
	orma_proto_nested_begin(writer, &process, ORMA_PB_TRACK_DESCRIPTOR_PROCESS);
	orma_proto_write_int(writer, ORMA_PB_PROCESS_DESCRIPTOR_PID, (int32_t)pid);
	orma_proto_write_str(writer, ORMA_PB_PROCESS_DESCRIPTOR_PROCESS_NAME, name);
	return orma_packet_output_end(output);
}

static void begin_arg(struct orma_packet_output *output, struct orma_proto_nested *arg,
		      struct orma_str name)
{
	orma_proto_nested_begin(&output->heap.writer, arg, ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS);
	write_text(output, ORMA_PB_INTERNED_DATA_DEBUG_ANNOTATION_NAMES,
		   ORMA_PB_DEBUG_ANNOTATION_NAME_IID, ORMA_PB_DEBUG_ANNOTATION_NAME, name);
}

void orma_output_arg_text(struct orma_packet_output *output, struct orma_str name,
			  struct orma_str value)
{
	struct orma_proto_nested arg;
	begin_arg(output, &arg, name);
	orma_proto_write_str(&output->heap.writer, ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE, value);
	orma_packet_output_nested_end(output, &arg);
}
