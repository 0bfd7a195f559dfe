/* SPDX-License-Identifier: Apache-2.0
 * legacy_event_import.c - events with the phases of Chrome's JSON format, which traces of before 2021 have.
 *
 * Asynchronous events of one id share a track, as far as they nest; so the tracks of an id are a group of lanes.
 */
#include <errno.h>
#include <stdio.h>

#include "proto/reader.h"
#include "schema/gen/debug_annotation.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/conversion_fields.h"
#include "trace/event_import.h"

enum { SCOPE_GLOBAL = 1, SCOPE_PROCESS = 2, FLOW_IN = 1, FLOW_OUT = 2, FLOW_INOUT = 3 };

static int count_error(struct orma_event_import *import)
{
	import->importer->counts[ORMA_IMPORT_EVENT_ERRORS]++;
	return 0;
}

static bool is_json(const struct orma_event_import *import)
{
	return import->legacy->style == ORMA_EVENT_STYLE_JSON;
}

/* A thread that nobody has a number for: the upper half is the process's, so that threads of two processes differ. */
static int64_t made_up_tid(int64_t tid, int64_t pid)
{
	return (int64_t)((uint64_t)pid << 32 | (uint32_t)tid);
}

int orma_event_find_thread(struct orma_event_import *import)
{
	const struct orma_legacy_event *legacy = import->legacy;
	const struct orma_sequence_thread *thread = &import->ordered->state->thread;
	int64_t pid = thread->pid, tid = thread->tid;
	bool has_thread = thread->is_known;
	bool has_pid = legacy && legacy->has_pid_override,
	     has_tid = legacy && legacy->has_tid_override;
	bool has_typed_track = import->event.flags & ORMA_EVENT_HAS_TRACK &&
			       import->event.flags & ORMA_EVENT_HAS_TYPE;
	import->is_of_thread = (has_thread && !has_typed_track) || has_pid ||
			       (has_tid && (has_thread || legacy->style == ORMA_EVENT_STYLE_PLAIN));
	import->owner = (struct orma_track_owner){ORMA_SCOPE_GLOBAL, -1, -1};
	if (!import->is_of_thread)
		return 1;
	if (has_pid) {
		pid = legacy->pid_override;
		tid = made_up_tid(-1, pid);
	}
	if (has_tid)
		tid = legacy->tid_override;
	bool is_alone = has_tid && !has_pid && !has_thread;
	if (tid == 0 || (pid == 0 && !is_alone))
		return 0;
	struct orma_processes *processes = &import->importer->processes;
	uint32_t machine_idx = import->ordered->machine_idx;
	int64_t utid = is_alone ? orma_processes_thread(processes, machine_idx, tid)
				: orma_processes_thread_of(processes, machine_idx, tid, pid);
	if (utid < 0)
		return (int)utid;
	import->owner = (struct orma_track_owner){ORMA_SCOPE_THREAD, utid,
						  import->importer->processes.threads[utid].upid};
	return 1;
}

/* Returns a number that tells ids apart. In JSON an id is of its category too. */
static uint64_t cookie_of(const struct orma_event_import *import)
{
	uint64_t parts[] = {(uint64_t)import->category, import->legacy->id};
	return is_json(import) ? orma_base_fnv1a(ORMA_FNV1A_INIT, parts, sizeof(parts))
			       : import->legacy->id;
}

static int64_t use_group(struct orma_event_import *import, const struct orma_track_key *key,
			 int64_t name, enum orma_lane_use use)
{
	struct orma_importer *importer = import->importer;
	struct orma_track_group *group =
		orma_track_groups_get(&importer->async_groups, orma_track_key_hash(key));
	int64_t idx =
		group ? orma_track_group_use(group, (int64_t)cookie_of(import), use) : -ENOMEM;
	if (idx < 0)
		return idx;
	struct orma_track_lane *lane = &group->lanes[idx];
	if (lane->track_id >= 0)
		return lane->track_id;
	struct orma_track_key whole = *key;
	whole.dimensions[whole.dimension_count++] =
		(struct orma_track_dimension){"track_compressor_idx", ORMA_ARG_INT, idx};
	int64_t id = orma_tracks_add(&importer->tracks, &whole, name, ORMA_CELL_NULL);
	if (id < 0)
		return id;
	lane->track_id = id;
	struct orma_arg_list *args = &importer->descriptors.args;
	args->tables = importer->tables;
	orma_arg_list_clear(args);
	orma_arg_list_add_string(args, "source", ORMA_STR("chrome"));
	orma_arg_list_add(args, ORMA_STR("trace_id_is_process_scoped"),
			  ORMA_STR("trace_id_is_process_scoped"), ORMA_ARG_BOOL,
			  import->legacy->is_local_id);
	orma_arg_list_add(args, ORMA_STR("upid"), ORMA_STR("upid"), ORMA_ARG_UINT,
			  import->owner.upid >= 0 ? import->owner.upid : 0);
	int64_t set;
	orma_arg_list_add(args, ORMA_STR("source_scope"), ORMA_STR("source_scope"), ORMA_ARG_STRING,
			  key->dimensions[key->dimension_count - 2].value);
	int r = orma_arg_sets_add(&importer->sets, args, &set);
	if (r == 0)
		r = orma_tracks_set(&importer->tracks, id, ORMA_TRACK_SOURCE_ARG_SET_ID, set);
	if (r == 0)
		r = orma_tracks_set(&importer->tracks, id, ORMA_TRACK_TRACK_GROUP_ID, group->id);
	return r < 0 ? r : id;
}

/* The scope of an id: the category, and a scope of its own; for events of the older kind, the name. */
static int64_t id_scope(struct orma_event_import *import)
{
	struct orma_tables *tables = import->importer->tables;
	const struct orma_legacy_event *legacy = import->legacy;
	bool is_old =
		orma_phase_is_in((char)legacy->phase, ORMA_PHASE('S') | ORMA_PHASE('T') |
							      ORMA_PHASE('p') | ORMA_PHASE('F'));
	if (is_json(import))
		return ORMA_CELL_NULL;
	if (!legacy->id_scope.data)
		return is_old ? import->name : import->category;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r = 0;
	if (import->category != ORMA_CELL_NULL) {
		struct orma_str category =
			orma_store_pool_get(&tables->strings, (uint32_t)import->category);
		r = orma_base_buf_append(&text, category.data, category.size);
	}
	if (r == 0)
		r = orma_base_buf_append(&text, ":", 1);
	if (r == 0)
		r = orma_base_buf_append(&text, legacy->id_scope.data, legacy->id_scope.size);
	if (r < 0)
		tables->error = r;
	return orma_tables_string(tables, (struct orma_str){(char *)text.data, text.size});
}

/* The tracks of one id have the name of its first event. */
static int64_t first_name(struct orma_event_import *import)
{
	struct orma_map *names = &import->importer->async_names;
	uint64_t parts[] = {import->legacy->is_local_id ? (uint64_t)import->owner.upid + 1 : 0,
			    cookie_of(import)};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, parts, sizeof(parts));
	uintptr_t known = (uintptr_t)orma_base_map_get(names, key);
	if (known)
		return (int64_t)known;
	if (import->name != ORMA_CELL_NULL &&
	    orma_base_map_put(names, key, (void *)(uintptr_t)import->name) < 0)
		import->importer->tables->error = -ENOMEM;
	return import->name;
}

static int64_t use_async_track(struct orma_event_import *import, enum orma_lane_use use)
{
	const struct orma_legacy_event *legacy = import->legacy;
	struct orma_track_key key = {.event_type = "slice",
				     .machine_idx = import->ordered->machine_idx,
				     .type = legacy->is_local_id ? "legacy_async_process_slice"
								 : "legacy_async_global_slice"};
	if (!legacy->has_id || (legacy->is_local_id && import->owner.upid < 0)) {
		count_error(import);
		return -1;
	}
	if (legacy->is_local_id)
		key.dimensions[key.dimension_count++] =
			(struct orma_track_dimension){"upid", ORMA_ARG_INT, import->owner.upid};
	int64_t scope = id_scope(import);
	int64_t name = first_name(import);
	key.dimensions[key.dimension_count++] = (struct orma_track_dimension){
		"scope", scope == ORMA_CELL_NULL ? ORMA_ARG_NULL : ORMA_ARG_STRING, scope};
	key.dimensions[key.dimension_count++] = (struct orma_track_dimension){
		"name", name == ORMA_CELL_NULL ? ORMA_ARG_NULL : ORMA_ARG_STRING, name};
	return use_group(import, &key, name, use);
}

static int64_t get_instant_track(struct orma_event_import *import, const struct orma_track_key *key)
{
	struct orma_importer *importer = import->importer;
	struct orma_arg_list *args = &importer->descriptors.args;
	bool is_new;
	int64_t set;
	int64_t id =
		orma_tracks_get(&importer->tracks, key, ORMA_CELL_NULL, ORMA_CELL_NULL, &is_new);
	if (id < 0 || !is_new)
		return id;
	args->tables = importer->tables;
	orma_arg_list_clear(args);
	orma_arg_list_add_string(args, "source", ORMA_STR("chrome"));
	int r = orma_arg_sets_add(&importer->sets, args, &set);
	if (r == 0)
		r = orma_tracks_set(&importer->tracks, id, ORMA_TRACK_SOURCE_ARG_SET_ID, set);
	return r < 0 ? r : id;
}

static int64_t use_instant_track(struct orma_event_import *import)
{
	struct orma_track_key key = {.event_type = "slice",
				     .machine_idx = import->ordered->machine_idx,
				     .type = "legacy_chrome_global_instants"};
	if (import->legacy->instant_scope != SCOPE_GLOBAL &&
	    import->legacy->instant_scope != SCOPE_PROCESS) {
		if (import->owner.utid >= 0)
			return orma_event_use_track(import, ORMA_LANE_INSTANT);
		count_error(import);
		return -1;
	}
	if (import->legacy->instant_scope == SCOPE_PROCESS) {
		if (import->owner.upid < 0) {
			count_error(import);
			return -1;
		}
		key.type = "chrome_process_instant";
		key.dimensions[key.dimension_count++] =
			(struct orma_track_dimension){"upid", ORMA_ARG_INT, import->owner.upid};
	}
	import->passed_utid = import->owner.utid;
	import->owner.utid = -1;
	return get_instant_track(import, &key);
}

/* The flows of events with a bind_id. */
static int add_flow(struct orma_event_import *import, int64_t slice)
{
	const struct orma_legacy_event *legacy = import->legacy;
	struct orma_flows *flows = &import->importer->flows;
	if (!legacy->has_bind_id || slice == ORMA_NO_SLICE)
		return 0;
	switch (legacy->flow_direction) {
	case FLOW_OUT:
		return orma_flows_begin(flows, legacy->bind_id, slice);
	case FLOW_INOUT:
		return orma_flows_step(flows, legacy->bind_id, slice);
	case FLOW_IN:
		return orma_flows_end(flows, legacy->bind_id, slice);
	default:
		import->importer->counts[ORMA_IMPORT_FLOW_WITHOUT_DIRECTION]++;
		return 0;
	}
}

/* The flows of events that are nothing else: begin, step or end at the open slice of their track. */
static int add_named_flow(struct orma_event_import *import, char phase)
{
	const struct orma_legacy_event *legacy = import->legacy;
	struct orma_flows *flows = &import->importer->flows;
	uint64_t id;
	if (!legacy->has_unscoped_id) {
		import->importer->counts[ORMA_IMPORT_FLOW_BAD_ID]++;
		return count_error(import);
	}
	int r = orma_flows_find_named(flows, legacy->id, import->category, import->name, &id);
	if (r < 0)
		return r;
	int64_t track = orma_event_use_track(import, ORMA_LANE_FIRST);
	if (track < 0)
		return track == -1 ? count_error(import) : (int)track;
	int64_t slice = orma_slices_top(&import->importer->slices, (uint32_t)track);
	if (phase == 's')
		return orma_flows_begin(flows, id, slice);
	if (phase == 't')
		return orma_flows_step(flows, id, slice);
	return legacy->binds_enclosing ? orma_flows_end(flows, id, slice)
				       : orma_flows_end_later(flows, id, (uint32_t)track);
}

/* An event that names its thread or its process, in its first argument. */
static int take_name(struct orma_event_import *import)
{
	struct orma_tables *tables = import->importer->tables;
	struct orma_processes *processes = &import->importer->processes;
	struct orma_str what = {NULL, 0}, bytes = import->event.bytes;
	struct orma_proto_reader reader;
	struct orma_proto_field field, value;
	if (import->name != ORMA_CELL_NULL)
		what = orma_store_pool_get(&tables->strings, (uint32_t)import->name);
	bool is_thread = orma_base_str_is(what, "thread_name"),
	     is_process = orma_base_str_is(what, "process_name");
	if (!is_thread && !is_process)
		return 0;
	if ((is_thread ? import->owner.utid : import->owner.upid) < 0)
		return count_error(import);
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id != ORMA_PB_TRACK_EVENT_DEBUG_ANNOTATIONS)
			continue;
		if (orma_proto_reader_find(field.bytes.data, field.bytes.size,
					   ORMA_PB_DEBUG_ANNOTATION_STRING_VALUE, &value) <= 0 ||
		    value.bytes.size == 0)
			return 0;
		int64_t name = orma_tables_string(tables, value.bytes);
		return is_thread ? orma_processes_name_thread(processes, import->owner.utid, name,
							      ORMA_THREAD_NAME_DESCRIPTOR_TYPE)
				 : orma_processes_name_process(processes, import->owner.upid, name,
							       ORMA_PROCESS_NAME_DESCRIPTOR);
	}
	return count_error(import);
}

/* Events of an id are on tracks of their own. */
static bool is_async(const struct orma_legacy_event *legacy)
{
	return orma_phase_is_in((char)legacy->phase, ORMA_ASYNC_PHASES);
}

static int begin(struct orma_event_import *import, int64_t track, int64_t dur, char phase)
{
	bool is_complete = import->legacy->phase == 'X';
	struct orma_event_slice slice = {.track_id = track,
					 .dur = dur,
					 .phase = phase,
					 .is_async = is_async(import->legacy),
					 .thread_dur = ORMA_CELL_NULL,
					 .thread_instruction_delta = ORMA_CELL_NULL};
	if (track < 0)
		return track == -1 ? 0 : (int)track;
	if (is_json(import))
		import->passed_utid = -1;
	if (dur >= 0)
		slice.thread_dur = is_complete ? import->legacy->thread_duration_ns : 0;
	if (is_json(import) && !import->legacy->has_thread_duration)
		slice.thread_dur = ORMA_CELL_NULL;
	if (dur >= 0)
		slice.thread_instruction_delta =
			is_complete ? import->legacy->thread_instruction_delta : 0;
	int r = orma_event_begin_slice(import, &slice);
	return r < 0 ? r
		     : add_flow(import,
				orma_slices_top(&import->importer->slices, (uint32_t)track));
}

static int end(struct orma_event_import *import, int64_t track)
{
	if (track < 0)
		return track == -1 ? 0 : (int)track;
	if (is_json(import))
		import->passed_utid = -1;
	return orma_event_end_slice(import, track, is_async(import->legacy));
}

int orma_event_import_legacy(struct orma_event_import *import)
{
	const struct orma_legacy_event *legacy = import->legacy;
	char phase = (char)legacy->phase;
	int r = is_json(import) ? orma_json_event_import(import) : 1;
	if (r <= 0)
		return r;
	bool needs_thread =
		orma_phase_is_in(phase, ORMA_PHASE('B') | ORMA_PHASE('E') | ORMA_PHASE('X'));
	if (needs_thread && import->owner.utid < 0)
		return count_error(import);
	switch (phase) {
	case 'B':
		return begin(import, orma_event_use_track(import, ORMA_LANE_BEGIN), -1, 0);
	case 'E':
		return end(import, orma_event_use_track(import, ORMA_LANE_END));
	case 'X':
		if (legacy->duration_ns < 0)
			return count_error(import);
		return begin(import,
			     is_json(import) ? orma_json_event_use_track(import)
					     : orma_event_use_track(import, ORMA_LANE_INSTANT),
			     legacy->duration_ns, 0);
	case 'i':
	case 'I':
		return begin(import, use_instant_track(import), 0, 0);
	case 'R':
		if (is_json(import))
			return begin(import, use_instant_track(import), 0, 0);
		return begin(import, orma_event_use_track(import, ORMA_LANE_INSTANT), 0, phase);
	case 's':
	case 't':
	case 'f':
		return add_named_flow(import, phase);
	case 'M':
		return take_name(import);
	case 'b':
	case 'S':
		import->passed_utid = import->owner.utid;
		return begin(import, use_async_track(import, ORMA_LANE_BEGIN), -1,
			     (char)(phase == 'S' ? phase : 0));
	case 'e':
	case 'F':
		import->passed_utid = import->owner.utid;
		return end(import, use_async_track(import, ORMA_LANE_END));
	case 'n':
	case 'T':
	case 'p':
		import->passed_utid = import->owner.utid;
		return begin(import, use_async_track(import, ORMA_LANE_INSTANT), 0,
			     (char)(phase == 'n' ? 0 : phase));
	default:
		return 0;
	}
}
