/* SPDX-License-Identifier: Apache-2.0
 * descriptor.c - how threads and the process describe themselves.
 *
 * Every sequence begins with both, its thread's and the process's: whichever sequences survive in a
 * full buffer, their events have a name. A process that began by a fork of one that traced adds who
 * its parent is, as a process_tree: readers know that as the origin of processes, and descriptors
 * of tracks have no place for it.
 */
#include "proto/writer.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "track/track.h"

#define THREAD_TIME "thread_time"

bool orma_track_write_thread(struct orma_packet *slot, int32_t tid,
			     const struct orma_track_thread *as, uint64_t now_ns)
{
	struct orma_proto_writer *writer = orma_track_packet_begin(slot, now_ns);
	struct orma_proto_nested track, thread;

	orma_proto_nested_begin(writer, &track, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID, orma_track_thread_uuid(tid));
	orma_proto_nested_begin(writer, &thread, ORMA_PB_TRACK_DESCRIPTOR_THREAD);
	orma_proto_write_int(writer, ORMA_PB_THREAD_DESCRIPTOR_PID, orma_track_process.pid);
	orma_proto_write_int(writer, ORMA_PB_THREAD_DESCRIPTOR_TID, tid);
	if (as->name[0])
		orma_track_write_text(writer, ORMA_PB_THREAD_DESCRIPTOR_THREAD_NAME, as->name,
				      strlen(as->name));
	orma_proto_nested_end(writer, &thread);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID,
				orma_track_process.uuid);
	if (as->is_kept_apart)
		orma_proto_write_bool(
			writer, ORMA_PB_TRACK_DESCRIPTOR_DISALLOW_MERGING_WITH_SYSTEM_TRACKS, true);
	if (as->rank)
		orma_proto_write_int(writer, ORMA_PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK, as->rank);
	orma_proto_nested_end(writer, &track);
	return orma_track_packet_end(slot);
}

static void write_cmdline(struct orma_proto_writer *writer, uint32_t field_id,
			  const struct orma_track_process_texts *texts)
{
	for (size_t at = 0; at < texts->cmdline_size;) {
		size_t size = strnlen(texts->cmdline + at, texts->cmdline_size - at);

		orma_track_write_text(writer, field_id, texts->cmdline + at, size);
		at += size + 1;
	}
}

bool orma_track_write_process(struct orma_packet *slot, uint64_t now_ns)
{
	const struct orma_track_process *process = &orma_track_process;
	struct orma_proto_nested track, message;
	struct orma_track_process_texts texts;
	struct orma_proto_writer *writer;
	const char *name;
	size_t size;

	orma_track_process_look(&texts);
	writer = orma_track_packet_begin(slot, now_ns);
	orma_proto_nested_begin(writer, &track, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID, process->uuid);
	orma_proto_nested_begin(writer, &message, ORMA_PB_TRACK_DESCRIPTOR_PROCESS);
	orma_proto_write_int(writer, ORMA_PB_PROCESS_DESCRIPTOR_PID, process->pid);
	write_cmdline(writer, ORMA_PB_PROCESS_DESCRIPTOR_CMDLINE, &texts);
	name = texts.name[0] ? texts.name : texts.cmdline;
	size = strnlen(name, texts.name[0] ? sizeof(texts.name) : texts.cmdline_size);
	if (size > 0)
		orma_track_write_text(writer, ORMA_PB_PROCESS_DESCRIPTOR_PROCESS_NAME, name, size);
	if (process->start_ns)
		orma_proto_write_varint(writer, ORMA_PB_PROCESS_DESCRIPTOR_START_TIMESTAMP_NS,
					process->start_ns);
	orma_proto_nested_end(writer, &message);
	if (texts.rank)
		orma_proto_write_int(writer, ORMA_PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK,
				     texts.rank);
	orma_proto_nested_end(writer, &track);
	return orma_track_packet_end(slot);
}

static bool write_parent(struct orma_packet *slot, uint64_t now_ns)
{
	const struct orma_track_process *process = &orma_track_process;
	struct orma_track_process_texts texts;
	struct orma_proto_nested tree, one;
	struct orma_proto_writer *writer;

	orma_track_process_look(&texts);
	writer = orma_track_packet_begin(slot, now_ns);
	orma_proto_nested_begin(writer, &tree, ORMA_PB_TRACE_PACKET_PROCESS_TREE);
	orma_proto_nested_begin(writer, &one, ORMA_PB_PROCESS_TREE_PROCESSES);
	orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_PROCESS_PID, process->pid);
	orma_proto_write_int(writer, ORMA_PB_PROCESS_TREE_PROCESS_PPID, process->parent_pid);
	write_cmdline(writer, ORMA_PB_PROCESS_TREE_PROCESS_CMDLINE, &texts);
	orma_proto_nested_end(writer, &tree);
	return orma_track_packet_end(slot);
}

uint64_t orma_track_thread_time_uuid(int32_t tid)
{
	return orma_track_thread_uuid(tid) ^ orma_track_counter_hash(THREAD_TIME);
}

bool orma_track_write_thread_time(struct orma_packet *slot, uint64_t now_ns)
{
	const struct orma_track_sequence *sequence = slot->state;
	struct orma_proto_writer *writer = orma_track_packet_begin(slot, now_ns);
	struct orma_proto_nested track, counter;

	orma_proto_nested_begin(writer, &track, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID,
				orma_track_thread_time_uuid(sequence->tid));
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID,
				orma_track_thread_uuid(sequence->tid));
	orma_proto_write_string(writer, ORMA_PB_TRACK_DESCRIPTOR_STATIC_NAME, THREAD_TIME);
	orma_proto_nested_begin(writer, &counter, ORMA_PB_TRACK_DESCRIPTOR_COUNTER);
	orma_proto_write_int(
		writer, ORMA_PB_COUNTER_DESCRIPTOR_TYPE,
		ORMA_PB_COUNTER_DESCRIPTOR_BUILTIN_COUNTER_TYPE_COUNTER_THREAD_TIME_NS);
	if (sequence->unit_ns != 1)
		orma_proto_write_varint(writer, ORMA_PB_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER,
					sequence->unit_ns);
	orma_proto_write_bool(writer, ORMA_PB_COUNTER_DESCRIPTOR_IS_INCREMENTAL, true);
	orma_proto_nested_end(writer, &track);
	return orma_track_packet_end(slot);
}

bool orma_track_describe_thread(struct orma_packet *slot, bool is_first, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;
	struct orma_track_thread as;

	orma_track_thread_look(is_first, &as);
	if (!orma_track_write_thread(slot, sequence->tid, &as, now_ns) ||
	    !orma_track_write_process(slot, now_ns) || !orma_track_write_root(slot, now_ns) ||
	    (orma_track_process.parent_pid != 0 && !write_parent(slot, now_ns)) ||
	    (sequence->samples_time && !orma_track_write_thread_time(slot, now_ns)))
		return false;
	return orma_track_set_add(&sequence->tracks, orma_track_thread_uuid(sequence->tid)) &&
	       orma_track_set_add(&sequence->tracks, orma_track_process.uuid);
}
