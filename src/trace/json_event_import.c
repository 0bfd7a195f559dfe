/* SPDX-License-Identifier: Apache-2.0
 * json_event_import.c - where events that were converted from JSON differ from events of the old kind.
 *
 * Their processes and threads may be 0. Slices that overlap get lanes, states of threads are whole rows, and each number is a
 * counter of its process.
 */
#include <errno.h>

#include "trace/conversion_fields.h"
#include "trace/event_import.h"
#include "trace/import_log.h"

enum { LANES_MAX = 256 };

int orma_json_event_find_thread(struct orma_event_import *import)
{
	const struct orma_legacy_event *legacy = import->legacy;
	struct orma_processes *processes = &import->importer->processes;
	uint32_t machine_idx = import->ordered->machine_idx, tid = (uint32_t)legacy->tid_override;
	int64_t utid = legacy->has_pid_override
			       ? orma_processes_thread_of(processes, machine_idx, tid,
							  (uint32_t)legacy->pid_override)
			       : orma_processes_thread(processes, machine_idx, tid);
	if (utid < 0)
		return (int)utid;
	import->is_of_thread = true;
	import->owner = (struct orma_track_owner){ORMA_SCOPE_THREAD, utid,
						  import->importer->processes.threads[utid].upid};
	if (legacy->has_thread_time)
		import->thread_ts = legacy->thread_time_ns;
	return 1;
}

static int64_t process_of(struct orma_event_import *import)
{
	return orma_processes_process(&import->importer->processes, import->ordered->machine_idx,
				      (uint32_t)import->legacy->pid_override);
}

static struct orma_str name_of(const struct orma_event_import *import)
{
	return import->name == ORMA_CELL_NULL
		       ? ORMA_STR("")
		       : orma_store_pool_get(&import->importer->tables->strings,
					     (uint32_t)import->name);
}

static int add_counter(struct orma_event_import *import)
{
	static const struct orma_track_kind kind = {
		"json_counter", NULL, "%1", {{"upid", false}, {"name", true}}, true};
	if (import->owner.upid < 0 || import->name == ORMA_CELL_NULL)
		return 0;
	return orma_system_count(&import->importer->system, import->ordered->machine_idx,
				 import->ordered->ns, &kind,
				 ORMA_DIMENSIONS(import->owner.upid, import->name),
				 import->event.value, ORMA_CELL_NULL);
}

static int set_sort_index(struct orma_row_args *args, int64_t row, const char *key, int64_t index)
{
	struct orma_arg_list *list = row < 0 ? NULL : orma_row_args_get(args, row);
	if (!list)
		return row < 0 ? (int)row : -ENOMEM;
	orma_arg_list_add_int(list, key, index);
	return list->error;
}

static int take_metadata(struct orma_event_import *import)
{
	struct orma_importer *importer = import->importer;
	struct orma_processes *processes = &importer->processes;
	const struct orma_legacy_event *legacy = import->legacy;
	struct orma_str name = name_of(import);
	int64_t text = orma_tables_string(importer->tables, legacy->text);
	if (orma_base_str_is(name, "thread_name"))
		return orma_processes_name_thread(processes, import->owner.utid, text,
						  ORMA_THREAD_NAME_OTHER);
	if (orma_base_str_is(name, "thread_sort_index"))
		return set_sort_index(&importer->thread_args, import->owner.utid,
				      "thread_sort_index_hint", legacy->number);
	int64_t upid = process_of(import);
	if (upid < 0)
		return (int)upid;
	if (orma_base_str_is(name, "process_name"))
		return orma_processes_name_process(processes, upid, text, ORMA_PROCESS_NAME_SYSTEM);
	return set_sort_index(&importer->process_args, upid, "process_sort_index_hint",
			      legacy->number);
}

static int add_state(struct orma_event_import *import)
{
	const struct orma_legacy_event *legacy = import->legacy;
	struct orma_tables *tables = import->importer->tables;
	int64_t ucpu = ORMA_CELL_NULL;
	int64_t state[ORMA_THREAD_STATE_COLUMNS];
	for (size_t i = 0; i < ORMA_THREAD_STATE_COLUMNS; i++)
		state[i] = ORMA_CELL_NULL;
	state[ORMA_THREAD_STATE_TS] = import->ordered->ns;
	state[ORMA_THREAD_STATE_DUR] = legacy->duration_ns;
	state[ORMA_THREAD_STATE_UTID] = import->owner.utid;
	state[ORMA_THREAD_STATE_STATE] = import->name;
	if (legacy->has_io_wait)
		state[ORMA_THREAD_STATE_IO_WAIT] = legacy->io_wait;
	state[ORMA_THREAD_STATE_BLOCKED_FUNCTION] = orma_tables_string(tables, legacy->text);
	int r = orma_sched_apply_states(&import->importer->sched);
	if (r == 0)
		r = orma_store_table_append(&tables->all[ORMA_TABLE_THREAD_STATE], state);
	if (r < 0 || !legacy->has_number || legacy->number < 0 ||
	    legacy->number >= ORMA_CPUS_PER_MACHINE ||
	    !orma_base_str_is(name_of(import), "Running"))
		return r;
	ucpu = orma_cpus_get(tables, import->ordered->machine_idx, (uint32_t)legacy->number);
	int64_t sched[ORMA_SCHED_COLUMNS] = {
		[ORMA_SCHED_TS] = import->ordered->ns,  [ORMA_SCHED_DUR] = legacy->duration_ns,
		[ORMA_SCHED_UTID] = import->owner.utid, [ORMA_SCHED_END_STATE] = ORMA_CELL_NULL,
		[ORMA_SCHED_PRIORITY] = ORMA_CELL_NULL, [ORMA_SCHED_UCPU] = ucpu,
	};
	return ucpu < 0 ? (int)ucpu
			: orma_store_table_append(&tables->all[ORMA_TABLE_SCHED], sched);
}

int64_t orma_json_event_use_track(struct orma_event_import *import)
{
	struct orma_importer *importer = import->importer;
	int64_t track = orma_event_use_track(import, ORMA_LANE_INSTANT);
	int64_t dur = import->legacy->duration_ns;
	int64_t other = track < 0 ? ORMA_NO_SLICE
				  : orma_slices_find_overlap(&importer->slices, (uint32_t)track,
							     import->ordered->ns, dur);
	if (other == ORMA_NO_SLICE)
		return track;
	struct orma_slice_begin slice = {.ts = import->ordered->ns, .name = import->name};
	int r = orma_import_log_overlap(
		&importer->system, ORMA_STAT_slice_spill_overlapping_complete_event, &slice, other);
	if (r < 0)
		return r;
	importer->counts[ORMA_IMPORT_SPILLED_SLICES]++;
	for (int64_t lane = 0; lane < LANES_MAX; lane++) {
		struct orma_track_key key = {
			.type = "thread_overlapping_slice",
			.event_type = "slice",
			.machine_idx = import->ordered->machine_idx,
			.dimension_count = 2,
			.dimensions = {{"utid", ORMA_ARG_INT, import->owner.utid},
				       {"track_compressor_idx", ORMA_ARG_INT, lane}}};
		track = orma_tracks_get(&importer->tracks, &key, ORMA_CELL_NULL, ORMA_CELL_NULL,
					NULL);
		if (track < 0 ||
		    orma_slices_find_overlap(&importer->slices, (uint32_t)track,
					     import->ordered->ns, dur) == ORMA_NO_SLICE)
			break;
	}
	return track;
}

int orma_json_event_import(struct orma_event_import *import)
{
	switch (import->legacy->phase) {
	case 'C':
		return add_counter(import);
	case 'M':
		return take_metadata(import);
	case 'T':
		return add_state(import);
	default:
		return 1;
	}
}
