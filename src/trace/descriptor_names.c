/* SPDX-License-Identifier: Apache-2.0
 * descriptor_names.c - the second reading of a descriptor, when its thread or process gets its name.
 *
 * The first reading makes the tracks, in the order of the file. A name of a thread or process replaces an earlier one, so
 * names are taken in the order of time.
 */
#include "trace/descriptor_names.h"

#include <errno.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/chrome_descriptors.pb.h"
#include "schema/gen/process_descriptor.pb.h"
#include "schema/gen/thread_descriptor.pb.h"
#include "schema/gen/track_descriptor.pb.h"

static int apply_thread(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
			struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int64_t pid = 0, tid = 0, name = ORMA_CELL_NULL;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_THREAD_DESCRIPTOR_PID && field.type == ORMA_PROTO_VARINT)
			pid = (int32_t)field.value;
		else if (field.id == ORMA_PB_THREAD_DESCRIPTOR_TID &&
			 field.type == ORMA_PROTO_VARINT)
			tid = (int64_t)field.value;
		else if (field.id == ORMA_PB_THREAD_DESCRIPTOR_THREAD_NAME &&
			 field.type == ORMA_PROTO_BYTES && field.bytes.size > 0)
			name = orma_tables_string(tracks->tables, field.bytes);
	}
	int64_t utid = orma_processes_thread_of(tracks->processes, machine_idx, tid, pid);
	if (utid < 0)
		return (int)utid;
	return orma_processes_name_thread(tracks->processes, utid, name,
					  ORMA_THREAD_NAME_DESCRIPTOR);
}

static int apply_process(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
			 struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int64_t pid = 0, name = ORMA_CELL_NULL, start = 0;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_PROCESS_DESCRIPTOR_PID && field.type == ORMA_PROTO_VARINT)
			pid = (int32_t)field.value;
		else if (field.id == ORMA_PB_PROCESS_DESCRIPTOR_START_TIMESTAMP_NS &&
			 field.type == ORMA_PROTO_VARINT)
			start = (int64_t)field.value;
		else if (field.id == ORMA_PB_PROCESS_DESCRIPTOR_PROCESS_NAME &&
			 field.type == ORMA_PROTO_BYTES && field.bytes.size > 0)
			name = orma_tables_string(tracks->tables, field.bytes);
	}
	int64_t upid = orma_processes_process(tracks->processes, machine_idx, pid);
	if (upid < 0)
		return (int)upid;
	int r = orma_processes_name_process(tracks->processes, upid, name,
					    ORMA_PROCESS_NAME_DESCRIPTOR);
	struct orma_column *starts =
		orma_tables_column(tracks->tables, ORMA_TABLE_PROCESS, ORMA_PROCESS_START_TS);
	if (r == 0 && start > 0 && orma_store_column_get(starts, (uint64_t)upid) == ORMA_CELL_NULL)
		r = orma_store_column_set(starts, (uint64_t)upid, start);
	return r;
}

/* Chrome describes its processes in a message of its own. */
static int apply_chrome_process(struct orma_descriptor_tracks *tracks, int64_t upid,
				struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_arg_list *list = orma_row_args_get(tracks->processes->process_args, upid);
	if (!list)
		return -ENOMEM;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_CHROME_PROCESS_DESCRIPTOR_HOST_APP_PACKAGE_NAME)
			orma_arg_list_add_string(list, "chrome.host_app_package_name", field.bytes);
		else if (field.id == ORMA_PB_CHROME_PROCESS_DESCRIPTOR_CRASH_TRACE_ID)
			orma_arg_list_add(list, ORMA_STR("chrome.crash_trace_id"),
					  ORMA_STR("chrome.crash_trace_id"), ORMA_ARG_UINT,
					  (int64_t)field.value);
	}
	return 0;
}

int orma_descriptor_names_packet(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
				 struct orma_str descriptor, bool is_thread)
{
	return is_thread ? apply_thread(tracks, machine_idx, descriptor)
			 : apply_process(tracks, machine_idx, descriptor);
}

int orma_descriptor_names_apply(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
				struct orma_str descriptor)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_track_owner owner;
	struct orma_str thread = {NULL, 0}, process = {NULL, 0}, chrome = {NULL, 0};
	uint64_t uuid = 0;
	orma_proto_reader_init(&reader, descriptor.data, descriptor.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == ORMA_PB_TRACK_DESCRIPTOR_UUID && field.type == ORMA_PROTO_VARINT)
			uuid = field.value;
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_THREAD &&
			 field.type == ORMA_PROTO_BYTES)
			thread = field.bytes;
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_PROCESS &&
			 field.type == ORMA_PROTO_BYTES)
			process = field.bytes;
		else if (field.id == ORMA_PB_TRACK_DESCRIPTOR_CHROME_PROCESS &&
			 field.type == ORMA_PROTO_BYTES)
			chrome = field.bytes;
	}
	/* A descriptor that was refused has no track, and names nothing. */
	if (!orma_base_map_get(&tracks->by_uuid, uuid))
		return 0;
	int r = orma_descriptor_tracks_owner(tracks, machine_idx, uuid, &owner);
	bool is_known = r > 0;
	if (r > 0 && thread.data)
		r = apply_thread(tracks, machine_idx, thread);
	else if (r > 0 && process.data)
		r = apply_process(tracks, machine_idx, process);
	if (r == 0 && is_known && !thread.data && process.data && chrome.data && owner.upid >= 0)
		r = apply_chrome_process(tracks, owner.upid, chrome);
	return ORMA_MIN(r, 0);
}
