/* SPDX-License-Identifier: Apache-2.0
 * track_event_import.c - track events become slices, instants, counters, states and flows.
 *
 * Most arguments are not read here: a slice notes where its packet is, and they are read from the trace when somebody asks.
 */
#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/conversion_fields.h"
#include "trace/event_import.h"
#include "trace/event_record.h"

enum {
	FLOW_IDS_OLD = 36,
	TERMINATING_FLOW_IDS_OLD = 42,
	COUNTING_FLAGS =
		ORMA_EVENT_HAS_MORE | ORMA_EVENT_HAS_THREAD_TIME | ORMA_EVENT_HAS_INSTRUCTIONS,
};

#define PASSED_UTID_KEY ORMA_STR("legacy_event.passthrough_utid")

/* Returns the cell of an interned string, or ORMA_CELL_NULL. */
static int64_t interned_cell(struct orma_event_import *import, uint32_t field, uint64_t iid)
{
	struct orma_interning *interning = &import->ordered->state->interning;
	uint32_t id = orma_interning_string(interning, field, iid);
	if (ORMA_LIKELY(id > 0))
		return id;
	const struct orma_interned *entry = orma_interning_find(interning, field, iid);
	if (!entry)
		return ORMA_CELL_NULL;
	int64_t cell = orma_tables_string(import->importer->tables,
					  entry->text.data ? entry->text : ORMA_STR(""));
	if (cell != ORMA_CELL_NULL)
		orma_interning_note_string(interning, field, iid, (uint32_t)cell);
	return cell;
}

static int append_category(struct orma_buf *buf, struct orma_str text)
{
	int r = buf->size > 0 ? orma_base_buf_append(buf, ",", 1) : 0;
	return r < 0 ? r : orma_base_buf_append(buf, text.data, text.size);
}

/* Several categories are one string, the interned ones first. */
static int64_t join_categories(struct orma_event_import *import)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf joined = {0};
	struct orma_repeated iids;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	uint64_t iid;
	int r = 0;
	orma_repeated_init(&iids, import->event.bytes, ORMA_PB_TRACK_EVENT_CATEGORY_IIDS);
	while (r == 0 && orma_repeated_next(&iids, &iid)) {
		const struct orma_interned *entry =
			orma_interning_find(&import->ordered->state->interning,
					    ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES, iid);
		if (entry && entry->text.data)
			r = append_category(&joined, entry->text);
	}
	orma_proto_reader_init(&reader, import->event.bytes.data, import->event.bytes.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == ORMA_PB_TRACK_EVENT_CATEGORIES && field.type == ORMA_PROTO_BYTES)
			r = append_category(&joined, field.bytes);
	if (r < 0)
		import->importer->tables->error = r;
	if (joined.size == 0)
		return ORMA_CELL_NULL;
	return orma_tables_string(import->importer->tables,
				  (struct orma_str){(char *)joined.data, joined.size});
}

static int64_t find_category(struct orma_event_import *import)
{
	if (import->event.categories == 0)
		return ORMA_CELL_NULL;
	if (import->event.categories > 1)
		return join_categories(import);
	int64_t cell = interned_cell(import, ORMA_PB_INTERNED_DATA_EVENT_CATEGORIES,
				     import->event.category_iid);
	if (cell != ORMA_CELL_NULL)
		return cell;
	char text[40];
	int size = snprintf(text, sizeof(text), "unknown(%llu)",
			    (unsigned long long)import->event.category_iid);
	return orma_tables_string(import->importer->tables, (struct orma_str){text, (size_t)size});
}

/* True for the begin of a slice and for an instant of the newer kind, whose names only their slices have. */
static bool is_of_slice(const struct orma_event_import *import)
{
	return !import->legacy &&
	       (import->event.type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN ||
		import->event.type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT);
}

static int64_t find_name(struct orma_event_import *import)
{
	uint64_t iid = import->event.name_iid;
	if (iid == 0 && import->legacy)
		iid = import->legacy->name_iid;
	if (iid)
		return interned_cell(import, ORMA_PB_INTERNED_DATA_EVENT_NAMES, iid);
	if (!(import->event.flags & ORMA_EVENT_HAS_NAME))
		return ORMA_CELL_NULL;
	struct orma_tables *tables = import->importer->tables;
	/* Tracks and other parts of the import keep the name of any other event. */
	return is_of_slice(import) ? orma_tables_passing_string(tables, import->event.name)
				   : orma_tables_string(tables, import->event.name);
}

/* An event of a process, or of nobody, was made by the thread of its sequence all the same. 1 or a negative errno value. */
static int pass_thread(struct orma_event_import *import)
{
	const struct orma_sequence_thread *thread = &import->ordered->state->thread;
	struct orma_processes *processes = &import->importer->processes;
	if (!thread->is_known)
		return 1;
	int64_t utid = orma_processes_thread_of(processes, import->ordered->machine_idx,
						thread->tid, thread->pid);
	if (utid < 0)
		return (int)utid;
	if (import->owner.scope == ORMA_SCOPE_GLOBAL ||
	    processes->threads[utid].upid == import->owner.upid)
		import->passed_utid = utid;
	return 1;
}

/* Finds which track the event is on, and whose that is. 1, 0 (there is no such track) or a negative errno value. */
static int find_owner(struct orma_event_import *import)
{
	bool is_given = (import->event.flags & ORMA_EVENT_HAS_TRACK) != 0;
	import->track_uuid =
		is_given ? import->event.track_uuid : import->ordered->state->default_track;
	import->has_track = is_given || import->track_uuid != 0;
	import->is_of_thread = false;
	if (import->legacy && import->legacy->style == ORMA_EVENT_STYLE_JSON)
		return orma_json_event_find_thread(import);
	if (import->track_uuid == 0)
		return orma_event_find_thread(import);
	int r = orma_descriptor_tracks_owner(&import->importer->descriptors,
					     import->ordered->machine_idx, import->track_uuid,
					     &import->owner);
	return r > 0 && import->owner.scope != ORMA_SCOPE_THREAD ? pass_thread(import) : r;
}

int64_t orma_event_use_track(struct orma_event_import *import, enum orma_lane_use use)
{
	if (import->is_of_thread) {
		struct orma_thread_info *thread =
			&import->importer->processes.threads[import->owner.utid];
		if (thread->slice_track > 0)
			return thread->slice_track - 1;
		struct orma_track_key key = {
			.type = "thread_execution",
			.event_type = "slice",
			.machine_idx = import->ordered->machine_idx,
			.dimension_count = 1,
			.dimensions = {{"utid", ORMA_ARG_INT, import->owner.utid}}};
		int64_t track = orma_tracks_get(&import->importer->tracks, &key, ORMA_CELL_NULL,
						ORMA_CELL_NULL, NULL);
		if (track >= 0 && track < UINT32_MAX)
			thread->slice_track = (uint32_t)track + 1;
		return track;
	}
	return orma_descriptor_tracks_use(&import->importer->descriptors,
					  import->ordered->state->sequence, import->track_uuid,
					  import->name, use);
}

/* Where the event can be read again. */
static int64_t entry_of(const struct orma_event_import *import)
{
	return (int64_t)(import->ordered->address - import->ordered->packet->header);
}

/* Reads the event's arguments, for a row whose set has to be made now. */
static int read_args(struct orma_event_import *import, struct orma_arg_list *list)
{
	int r = orma_event_args_read(&import->importer->event_args, import->ordered->state,
				     import->ordered->packet->content, list);
	if (import->passed_utid >= 0 && !orma_arg_list_has(list, PASSED_UTID_KEY))
		orma_arg_list_add(list, PASSED_UTID_KEY, PASSED_UTID_KEY, ORMA_ARG_UINT,
				  import->passed_utid);
	return r < 0 ? r : list->error;
}

/* A state lasts until the next one of its track; one without a name ends the last. */
static int add_state(struct orma_event_import *import)
{
	struct orma_importer *importer = import->importer;
	bool has_args = import->event.flags & ORMA_EVENT_HAS_ARGS || import->passed_utid >= 0;
	int64_t state;
	if (!import->has_track) {
		importer->counts[ORMA_IMPORT_STATE_WITHOUT_TRACK]++;
		return 0;
	}
	if (import->is_of_thread ||
	    !orma_descriptor_tracks_is_state(&importer->descriptors, import->track_uuid)) {
		importer->counts[ORMA_IMPORT_EVENT_ERRORS]++;
		return 0;
	}
	int64_t track = orma_event_use_track(import, ORMA_LANE_FIRST);
	if (track < 0)
		return track == -1 ? 0 : (int)track;
	int r = orma_states_set(&importer->states, import->ordered->ns, track, import->category,
				import->name, &state);
	if (r < 0 || state < 0 || !has_args)
		return r;
	struct orma_arg_list *list = orma_row_args_get(&importer->state_args, state);
	return list ? read_args(import, list) : -ENOMEM;
}

int orma_event_make_args(struct orma_event_import *import, int64_t *ret_set)
{
	struct orma_arg_list *list = &import->importer->descriptors.args;
	*ret_set = ORMA_CELL_NULL;
	if (!(import->event.flags & ORMA_EVENT_HAS_ARGS) && import->passed_utid < 0)
		return 0;
	list->tables = import->importer->tables;
	orma_arg_list_clear(list);
	int r = read_args(import, list);
	return r < 0 ? r : orma_arg_sets_add(&import->importer->sets, list, ret_set);
}

static int add_flows_of(struct orma_event_import *import, int64_t slice, uint32_t field,
			uint32_t old_field, bool is_end)
{
	struct orma_flows *flows = &import->importer->flows;
	struct orma_repeated ids;
	uint64_t id;
	int r = 0;
	orma_repeated_init(&ids, import->event.bytes, field);
	bool has_id = orma_repeated_next(&ids, &id);
	if (!has_id) {
		orma_repeated_init(&ids, import->event.bytes, old_field);
		has_id = orma_repeated_next(&ids, &id);
	}
	for (; has_id && r == 0; has_id = orma_repeated_next(&ids, &id))
		r = is_end ? orma_flows_terminate(flows, id, slice)
			   : orma_flows_join(flows, id, slice);
	return r;
}

/* Adds the flows and the call stack of the event at an end of a slice. */
static int add_links(struct orma_event_import *import, int64_t slice, int64_t track_id)
{
	int r = import->event.flags & ORMA_EVENT_HAS_CALLSTACK
			? orma_event_add_callstack(import, slice, track_id)
			: 0;
	if (r < 0 || !(import->event.flags & ORMA_EVENT_HAS_MORE))
		return r;
	r = add_flows_of(import, slice, ORMA_PB_TRACK_EVENT_FLOW_IDS, FLOW_IDS_OLD, false);
	if (r < 0)
		return r;
	return add_flows_of(import, slice, ORMA_PB_TRACK_EVENT_TERMINATING_FLOW_IDS,
			    TERMINATING_FLOW_IDS_OLD, true);
}

/* Arguments that depend on what is known now are made now, and not when somebody asks: of events of the old kind. */
static int add_args_now(struct orma_event_import *import, int64_t slice, char phase)
{
	struct orma_arg_list *list = orma_row_args_get(&import->importer->slice_args, slice);
	if (!list)
		return -ENOMEM;
	char event_phase = (char)import->legacy->phase;
	if (import->legacy->has_id &&
	    (event_phase == 0 || orma_phase_is_in(event_phase, ORMA_ASYNC_PHASES)))
		orma_arg_list_add_int(list, "legacy_trace_source_id", (int64_t)import->legacy->id);
	int r = read_args(import, list);
	if (phase)
		orma_arg_list_add_string(list, "legacy_event.phase", (struct orma_str){&phase, 1});
	return r < 0 ? r : list->error;
}

/* Arguments of other events are read from the packet when somebody asks. */
static bool needs_args_now(const struct orma_event_import *import)
{
	return import->legacy && import->legacy->style == ORMA_EVENT_STYLE_PERFETTO;
}

/* Keeps what can be kept of the arguments of an event that is not of the old kind. */
static int keep_args(struct orma_event_import *import, int64_t slice)
{
	struct orma_importer *importer = import->importer;
	const struct orma_noted_arg *noted = import->ordered->args;
	struct orma_noted_arg space[ORMA_KEPT_ARGS_MAX];
	struct orma_plain_arg args[ORMA_PLAIN_ARGS_MAX];
	if (!importer->kept_args.is_on || import->legacy)
		return 0;
	if (!import->ordered->plain) {
		int count = orma_plain_args_read(import->event.bytes,
						 orma_event_args_typed_ids(&importer->event_args),
						 args);
		noted = orma_note_args(args, count, space) > 0 ? space : NULL;
	}
	return noted ? orma_kept_args_add(&importer->kept_args, &import->ordered->state->interning,
					  noted, (uint64_t)slice)
		     : 0;
}

int orma_event_begin_slice(struct orma_event_import *import, const struct orma_event_slice *slice)
{
	bool has_args = (import->event.flags & ORMA_EVENT_HAS_ARGS) != 0;
	bool is_now = needs_args_now(import);
	bool is_of_thread = import->owner.utid >= 0 && !slice->is_async;
	bool has_thread_ts = is_of_thread && import->thread_ts != ORMA_CELL_NULL,
	     has_instructions = is_of_thread && import->thread_instructions != ORMA_CELL_NULL;
	struct orma_slice_begin begin = {
		.ts = import->ordered->ns,
		.dur = slice->dur,
		.track_id = (uint32_t)slice->track_id,
		.category = import->category,
		.name = import->name,
		.arg_set_id = ORMA_CELL_NULL,
		.begin_packet = has_args && !is_now ? entry_of(import) : ORMA_CELL_NULL,
		.passed_utid =
			import->passed_utid >= 0 && !is_now ? import->passed_utid : ORMA_CELL_NULL,
		.thread_ts = has_thread_ts ? import->thread_ts : ORMA_CELL_NULL,
		.thread_dur = has_thread_ts ? slice->thread_dur : ORMA_CELL_NULL,
		.thread_instruction_count =
			has_instructions ? import->thread_instructions : ORMA_CELL_NULL,
		.thread_instruction_delta =
			has_instructions ? slice->thread_instruction_delta : ORMA_CELL_NULL,
	};
	int64_t id;
	int r = orma_slices_begin(&import->importer->slices, &begin, &id);
	if (r > 0)
		r = orma_flows_take_endings(&import->importer->flows, begin.track_id, id);
	if (r < 0 || id == ORMA_NO_SLICE)
		return r;
	if (is_now)
		r = add_args_now(import, id, slice->phase);
	else if (has_args)
		r = keep_args(import, id);
	return r < 0 ? r : add_links(import, id, slice->track_id);
}

/* Sets how much of a thread's counter the slice took, if both of its ends give the counter's value. */
static int set_thread_part(struct orma_event_import *import, int64_t slice, size_t begin_column,
			   size_t delta_column, int64_t end, bool is_zero_left_out)
{
	struct orma_tables *tables = import->importer->tables;
	if (end == ORMA_CELL_NULL)
		return 0;
	int64_t begin = orma_store_column_get(
		orma_tables_column(tables, ORMA_TABLE_SLICE, begin_column), (uint64_t)slice);
	if (begin == ORMA_CELL_NULL || (is_zero_left_out && begin == end))
		return 0;
	return orma_store_column_set(orma_tables_column(tables, ORMA_TABLE_SLICE, delta_column),
				     (uint64_t)slice, end - begin);
}

/* Notes where the arguments of the end are. */
static int note_end(struct orma_event_import *import, uint64_t slice)
{
	struct orma_column *columns = import->importer->tables->all[ORMA_TABLE_SLICE].columns;
	int r = 0;
	if (import->event.flags & ORMA_EVENT_HAS_ARGS)
		r = orma_store_column_set(&columns[ORMA_SLICE_END_PACKET], slice, entry_of(import));
	/* The thread that began the slice counts. */
	if (r < 0 || import->passed_utid < 0 ||
	    orma_store_column_get(&columns[ORMA_SLICE_PASSED_UTID], slice) != ORMA_CELL_NULL)
		return r;
	return orma_store_column_set(&columns[ORMA_SLICE_PASSED_UTID], slice, import->passed_utid);
}

int orma_event_end_slice(struct orma_event_import *import, int64_t track_id, bool is_async)
{
	int64_t slice;
	int r = orma_slices_end(&import->importer->slices, import->ordered->ns, (uint32_t)track_id,
				import->category, import->name, &slice);
	if (r < 0 || slice == ORMA_NO_SLICE)
		return r;
	if (needs_args_now(import))
		r = add_args_now(import, slice, 0);
	else
		r = note_end(import, (uint64_t)slice);
	if (import->thread_ts == ORMA_CELL_NULL && import->thread_instructions == ORMA_CELL_NULL)
		return r < 0 ? r : add_links(import, slice, track_id);
	if (r == 0 && import->owner.utid >= 0 && !is_async)
		r = set_thread_part(import, slice, ORMA_SLICE_THREAD_TS, ORMA_SLICE_THREAD_DUR,
				    import->thread_ts, true);
	if (r == 0 && import->owner.utid >= 0 && !is_async)
		r = set_thread_part(import, slice, ORMA_SLICE_THREAD_INSTRUCTION_COUNT,
				    ORMA_SLICE_THREAD_INSTRUCTION_DELTA,
				    import->thread_instructions, false);
	return r < 0 ? r : add_links(import, slice, track_id);
}

static int add_typed(struct orma_event_import *import)
{
	static const enum orma_lane_use uses[] = {
		[ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_BEGIN] = ORMA_LANE_BEGIN,
		[ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END] = ORMA_LANE_END,
		[ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT] = ORMA_LANE_INSTANT,
	};
	uint32_t type = import->event.type;
	if (type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_COUNTER)
		return orma_event_add_counter(import);
	if (type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_STATE)
		return add_state(import);
	if (type == 0 || type >= sizeof(uses) / sizeof(*uses)) {
		import->importer->counts[ORMA_IMPORT_EVENT_ERRORS]++;
		return 0;
	}
	int64_t track = orma_event_use_track(import, uses[type]);
	if (track < 0)
		return track == -1 ? 0 : (int)track;
	if (type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_SLICE_END)
		return orma_event_end_slice(import, track, false);
	bool is_instant = type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT;
	struct orma_event_slice slice = {
		.track_id = track,
		.dur = is_instant ? 0 : -1,
		.thread_dur = is_instant ? 0 : ORMA_CELL_NULL,
		.thread_instruction_delta = is_instant ? 0 : ORMA_CELL_NULL,
	};
	return orma_event_begin_slice(import, &slice);
}

/* Counts fields that a program has added without a description of them in the trace. */
static void count_unknown(struct orma_event_import *import)
{
	struct orma_importer *importer = import->importer;
	struct orma_str bytes = import->event.bytes;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0)
		if (field.id >= ORMA_EVENT_EXTENSION_FIRST &&
		    !orma_type_pool_field(&importer->types, importer->event_args.event_type,
					  field.id))
			importer->counts[ORMA_IMPORT_UNKNOWN_EXTENSIONS]++;
}

/* Notes whose events are missing in the gaps of a sequence. */
static void note_thread(struct orma_event_import *import)
{
	const struct orma_sequence *sequence = import->ordered->state->sequence;
	struct orma_sequence *found =
		orma_base_map_get(&import->importer->index.sequence_map,
				  (uint64_t)sequence->machine_idx << 32 | sequence->id);
	if (found)
		found->utid = import->owner.utid;
}

int orma_importer_track_event(struct orma_importer *importer,
			      const struct orma_ordered_event *event)
{
	struct orma_legacy_event legacy;
	struct orma_event_import import;
	int r = 0;
	if (event->plain)
		orma_plain_event_expand(event->plain, &import.event);
	else if (event->packet->record.data)
		r = orma_event_record_read(event->packet->record, &import.event, &legacy);
	else
		r = orma_track_event_read(event->packet->content, &import.event);
	if (r < 0) {
		importer->counts[ORMA_IMPORT_EVENT_ERRORS]++;
		return 0;
	}
	import.importer = importer;
	import.ordered = event;
	import.thread_ts = import.thread_instructions = ORMA_CELL_NULL;
	import.legacy = event->packet->record.data ? &legacy : NULL;
	import.passed_utid = -1;
	if (import.event.legacy.data) {
		orma_legacy_event_read(import.event.legacy, &legacy);
		import.legacy = &legacy;
	}
	if (!event->state->is_loaded)
		r = orma_sequence_state_load(event->state);
	if (r < 0)
		return r;
	if (import.event.flags & ORMA_EVENT_HAS_EXTENSIONS)
		count_unknown(&import);
	import.category = find_category(&import);
	import.name = find_name(&import);
	if (ORMA_UNLIKELY(importer->content.is_wanted))
		r = orma_proto_content_add(&importer->content, event->packet->bytes,
					   &(struct orma_content_kind){.category = import.category,
								       .name = import.name,
								       .is_event = true});
	if (r < 0)
		return r;
	r = find_owner(&import);
	if (r <= 0) {
		importer->counts[ORMA_IMPORT_EVENT_ERRORS] += r == 0;
		return r;
	}
	if (ORMA_UNLIKELY(event->state->sequence->losses > 0) && import.owner.utid >= 0)
		note_thread(&import);
	if (ORMA_UNLIKELY(event->ns < importer->system.crop_ns)) {
		orma_stats_add(&importer->system.stats, event->machine_idx,
			       ORMA_STAT_track_event_dropped_packets_outside_of_range_of_interest,
			       0, 1);
		return 0;
	}
	if (import.event.flags & COUNTING_FLAGS)
		r = orma_event_add_counters(&import);
	if (r <= 0)
		return r;
	return import.legacy && import.legacy->has_phase ? orma_event_import_legacy(&import)
							 : add_typed(&import);
}
