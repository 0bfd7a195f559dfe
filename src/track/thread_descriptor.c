/* SPDX-License-Identifier: Apache-2.0
 * thread_descriptor.c - how threads and the process describe themselves.
 *
 * A process that was forked by a traced one also says which process that was, as a process_tree:
 * readers take the origin of processes from there, and the descriptors of tracks have no field for
 * it.
 */
#include "track/thread_descriptor.h"

#include <string.h>

#include "proto/writer.h"
#include "schema/gen/counter_descriptor.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/process_tree.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_descriptor.pb.h"
#include "track/process_info.h"
#include "track/sanitize_text.h"
#include "track/track_uuid.h"

#define THREAD_TIME "thread_time"

bool orma_track_write_thread(struct orma_packet *slot, int32_t tid,
			     const struct orma_track_thread_info *info, uint64_t now_ns)
{
	struct orma_proto_writer *writer = orma_track_packet_begin(slot, now_ns);
	struct orma_proto_nested track, thread;

	orma_proto_nested_begin(writer, &track, ORMA_PB_TRACE_PACKET_TRACK_DESCRIPTOR);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_UUID, orma_track_thread_uuid(tid));
	orma_proto_nested_begin(writer, &thread, ORMA_PB_TRACK_DESCRIPTOR_THREAD);
	orma_proto_write_int(writer, ORMA_PB_THREAD_DESCRIPTOR_PID, orma_track_process.pid);
	orma_proto_write_int(writer, ORMA_PB_THREAD_DESCRIPTOR_TID, tid);
	if (info->name[0])
		orma_track_write_text(writer, ORMA_PB_THREAD_DESCRIPTOR_THREAD_NAME, info->name,
				      strlen(info->name));
	orma_proto_nested_end(writer, &thread);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_DESCRIPTOR_PARENT_UUID,
				orma_track_process.uuid);
	if (info->is_kept_apart)
		orma_proto_write_bool(
			writer, ORMA_PB_TRACK_DESCRIPTOR_DISALLOW_MERGING_WITH_SYSTEM_TRACKS, true);
	if (info->rank)
		orma_proto_write_int(writer, ORMA_PB_TRACK_DESCRIPTOR_SIBLING_ORDER_RANK,
				     info->rank);
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

	orma_track_process_texts_get(&texts);
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

bool orma_track_write_parent_process(struct orma_packet *slot, uint64_t now_ns)
{
	const struct orma_track_process *process = &orma_track_process;
	struct orma_track_process_texts texts;
	struct orma_proto_nested tree, one;
	struct orma_proto_writer *writer;

	orma_track_process_texts_get(&texts);
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
