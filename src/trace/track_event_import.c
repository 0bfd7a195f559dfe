/* SPDX-License-Identifier: Apache-2.0
 * track_event_import.c - track events become slices, instants, counters, states and flows.
 *
 * Arguments are not read here: a slice notes where its packet is, and they are read from the trace when somebody asks.
 */
#include <errno.h>
#include <stdio.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/conversion.h"
#include "trace/event_import.h"

enum { EXTRA_COUNTERS_MAX = 8, FLOW_IDS_OLD = 36, TERMINATING_FLOW_IDS_OLD = 42 };

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

static int64_t find_name(struct orma_event_import *import)
{
	uint64_t iid = import->event.name_iid;
	if (iid == 0 && import->legacy)
		iid = import->legacy->name_iid;
	if (iid)
		return interned_cell(import, ORMA_PB_INTERNED_DATA_EVENT_NAMES, iid);
	if (import->event.flags & ORMA_EVENT_HAS_NAME)
		return orma_tables_string(import->importer->tables, import->event.name);
	return ORMA_CELL_NULL;
}

/* Returns the TrackEventDefaults of the sequence; data is NULL when there are none. */
static struct orma_str find_defaults(const struct orma_event_import *import)
{
	const struct orma_buf *defaults = &import->ordered->state->defaults;
	struct orma_proto_field field;
	if (defaults->size > 0 &&
	    orma_proto_reader_find(defaults->data, defaults->size,
				   ORMA_PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS,
				   &field) > 0 &&
	    field.type == ORMA_PROTO_BYTES)
		return field.bytes;
	return (struct orma_str){NULL, 0};
}

/* Finds which track the event is on, and whose that is. 1, 0 (there is no such track) or a negative errno value. */
static int find_owner(struct orma_event_import *import)
{
	bool has_track = (import->event.flags & ORMA_EVENT_HAS_TRACK) != 0;
	import->track_uuid =
		has_track ? import->event.track_uuid : import->ordered->state->default_track;
	import->is_of_thread = false;
	if (import->track_uuid == 0)
		return orma_event_find_thread(import);
	return orma_descriptor_tracks_owner(&import->importer->descriptors,
					    import->ordered->machine_idx, import->track_uuid,
					    &import->owner);
}

int64_t orma_event_use_track(struct orma_event_import *import, enum orma_lane_use use)
{
	if (import->is_of_thread) {
		struct orma_track_key key = {
			.type = "thread_execution",
			.event_type = "slice",
			.machine_idx = import->ordered->machine_idx,
			.dimension_count = 1,
			.dimensions = {{"utid", ORMA_ARG_INT, import->owner.utid}}};
		return orma_tracks_get(&import->importer->tracks, &key, ORMA_CELL_NULL,
				       ORMA_CELL_NULL, NULL);
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

/* A state lasts until the next one of its track; one without a name ends the last. */
static int add_state(struct orma_event_import *import)
{
	bool is_args = (import->event.flags & ORMA_EVENT_HAS_ARGS) != 0;
	if (import->is_of_thread ||
	    !orma_descriptor_tracks_is_state(&import->importer->descriptors, import->track_uuid)) {
		import->importer->counts[ORMA_IMPORT_EVENT_ERRORS]++;
		return 0;
	}
	int64_t track = orma_event_use_track(import, ORMA_LANE_FIRST);
	if (track < 0)
		return track == -1 ? 0 : (int)track;
	return orma_states_set(&import->importer->states, import->ordered->ns, track,
			       import->category, import->name,
			       is_args ? entry_of(import) : ORMA_CELL_NULL);
}

/* The value of a counter, after its unit and, if it counts differences, all values before. */
static int count_value(struct orma_event_import *import, uint64_t uuid, double *value,
		       int64_t *ret_name)
{
	struct orma_importer *importer = import->importer;
	double multiplier;
	bool is_incremental;
	if (!orma_descriptor_tracks_counter(&importer->descriptors, uuid, &multiplier,
					    &is_incremental, ret_name)) {
		importer->counts[ORMA_IMPORT_COUNTER_WITHOUT_TRACK]++;
		return 0;
	}
	*value *= multiplier;
	if (!is_incremental)
		return 1;
	const struct orma_sequence *sequence = import->ordered->state->sequence;
	uint64_t parts[] = {(uint64_t)sequence->machine_idx << 32 | sequence->id, uuid};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, parts, sizeof(parts));
	struct orma_counter_sum *sum = orma_base_map_get(&importer->counter_sums, key);
	if (!sum) {
		sum = orma_base_arena_alloc(&importer->arena, sizeof(*sum));
		if (!sum || orma_base_map_put(&importer->counter_sums, key, sum) < 0)
			return -ENOMEM;
	}
	if (sum->generation != import->ordered->state->generation)
		*sum = (struct orma_counter_sum){.generation = import->ordered->state->generation};
	*value = sum->value += *value;
	return 1;
}

static int add_counter(struct orma_event_import *import)
{
	double value = import->event.value;
	int64_t name;
	if (!(import->event.flags & ORMA_EVENT_HAS_VALUE)) {
		import->importer->counts[ORMA_IMPORT_COUNTER_WITHOUT_VALUE]++;
		return 0;
	}
	int r = count_value(import, import->track_uuid, &value, &name);
	if (r <= 0)
		return r;
	int64_t track = orma_event_use_track(import, ORMA_LANE_FIRST);
	if (track < 0)
		return track == -1 ? 0 : (int)track;
	return orma_counters_add(import->importer->tables, import->ordered->ns, track, value,
				 ORMA_CELL_NULL);
}

static int add_extra_counter(struct orma_event_import *import, uint64_t uuid, double value)
{
	int64_t name;
	int r = count_value(import, uuid, &value, &name);
	if (r <= 0)
		return r;
	int64_t track = orma_descriptor_tracks_use(&import->importer->descriptors,
						   import->ordered->state->sequence, uuid,
						   ORMA_CELL_NULL, ORMA_LANE_FIRST);
	if (track < 0)
		return track == -1 ? 0 : (int)track;
	struct orma_tables *tables = import->importer->tables;
	if (name == orma_tables_string(tables, ORMA_STR("thread_time")))
		import->thread_ts = (int64_t)value;
	else if (name == orma_tables_string(tables, ORMA_STR("thread_instruction_count")))
		import->thread_instructions = (int64_t)value;
	return orma_counters_add(tables, import->ordered->ns, track, value, ORMA_CELL_NULL);
}

/* Counters that an event brings with it: values of the event, tracks of the event or of the sequence. */
static int add_extra_counters(struct orma_event_import *import, uint32_t values_field,
			      uint32_t uuids_field, uint32_t default_uuids_field, bool is_double)
{
	struct orma_repeated values, uuids;
	uint64_t bits, uuid;
	int r = 0;
	orma_repeated_init(&values, import->event.bytes, values_field);
	orma_repeated_init(&uuids, import->event.bytes, uuids_field);
	bool has_uuid = orma_repeated_next(&uuids, &uuid);
	struct orma_str defaults = has_uuid ? (struct orma_str){NULL, 0} : find_defaults(import);
	if (defaults.data) {
		orma_repeated_init(&uuids, defaults, default_uuids_field);
		has_uuid = orma_repeated_next(&uuids, &uuid);
	}
	for (int i = 0;
	     i < EXTRA_COUNTERS_MAX && r == 0 && has_uuid && orma_repeated_next(&values, &bits);
	     i++) {
		double value = is_double ? orma_store_double_of_cell((int64_t)bits)
					 : (double)(int64_t)bits;
		r = add_extra_counter(import, uuid, value);
		has_uuid = orma_repeated_next(&uuids, &uuid);
	}
	return r;
}

static int add_all_extra_counters(struct orma_event_import *import)
{
	int r = add_extra_counters(import, ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_VALUES,
				   ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS,
				   ORMA_PB_TRACK_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS, false);
	if (r < 0)
		return r;
	return add_extra_counters(import, ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES,
				  ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
				  ORMA_PB_TRACK_EVENT_DEFAULTS_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
				  true);
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
		r = is_end ? orma_flows_end(flows, id, slice) : orma_flows_step(flows, id, slice);
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
	struct orma_arg_list *list = orma_slice_args_get(&import->importer->slice_args, slice);
	if (!list)
		return -ENOMEM;
	if (import->legacy->has_id && strchr("STpFbne", (char)import->legacy->phase))
		orma_arg_list_add_int(list, "legacy_trace_source_id", (int64_t)import->legacy->id);
	int r = orma_event_args_read(&import->importer->event_args, import->ordered->state,
				     import->ordered->packet->content, list);
	if (import->passed_utid >= 0)
		orma_arg_list_add(list, ORMA_STR("legacy_event.passthrough_utid"),
				  ORMA_STR("legacy_event.passthrough_utid"), ORMA_ARG_UINT,
				  import->passed_utid);
	if (phase)
		orma_arg_list_add_string(list, "legacy_event.phase", (struct orma_str){&phase, 1});
	return r < 0 ? r : list->error;
}

/* Arguments of other events are read from the packet when somebody asks. */
static bool needs_args_now(const struct orma_event_import *import)
{
	return import->legacy && import->legacy->style == ORMA_EVENT_STYLE_PERFETTO;
}

int orma_event_begin_slice(struct orma_event_import *import, const struct orma_event_slice *slice)
{
	bool has_args = (import->event.flags & ORMA_EVENT_HAS_ARGS) != 0;
	struct orma_slice_begin begin = {
		.ts = import->ordered->ns,
		.dur = slice->dur,
		.track_id = (uint32_t)slice->track_id,
		.category = import->category,
		.name = import->name,
		.arg_set_id = ORMA_CELL_NULL,
		.begin_packet =
			has_args && !needs_args_now(import) ? entry_of(import) : ORMA_CELL_NULL,
		.thread_ts = import->thread_ts,
		.thread_dur = slice->thread_dur,
		.thread_instruction_count = import->thread_instructions,
		.thread_instruction_delta = slice->thread_instruction_delta,
	};
	int64_t id;
	int r = orma_slices_begin(&import->importer->slices, &begin, &id);
	if (r <= 0)
		return r;
	if (needs_args_now(import))
		r = add_args_now(import, id, slice->phase);
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

int orma_event_end_slice(struct orma_event_import *import, int64_t track_id)
{
	struct orma_tables *tables = import->importer->tables;
	int64_t slice;
	int r = orma_slices_end(&import->importer->slices, import->ordered->ns, (uint32_t)track_id,
				import->category, import->name, &slice);
	if (r < 0 || slice == ORMA_NO_SLICE)
		return r;
	if (needs_args_now(import))
		r = add_args_now(import, slice, 0);
	else if (import->event.flags & ORMA_EVENT_HAS_ARGS)
		r = orma_store_column_set(
			orma_tables_column(tables, ORMA_TABLE_SLICE, ORMA_SLICE_END_PACKET),
			(uint64_t)slice, entry_of(import));
	if (r == 0)
		r = set_thread_part(import, slice, ORMA_SLICE_THREAD_TS, ORMA_SLICE_THREAD_DUR,
				    import->thread_ts, true);
	if (r == 0)
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
		return add_counter(import);
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
		return orma_event_end_slice(import, track);
	bool is_instant = type == ORMA_PB_TRACK_EVENT_TYPE_TYPE_INSTANT;
	struct orma_event_slice slice = {
		.track_id = track,
		.dur = is_instant ? 0 : -1,
		.thread_dur =
			is_instant && import->thread_ts != ORMA_CELL_NULL ? 0 : ORMA_CELL_NULL,
		.thread_instruction_delta =
			is_instant && import->thread_instructions != ORMA_CELL_NULL
				? 0
				: ORMA_CELL_NULL,
	};
	return orma_event_begin_slice(import, &slice);
}

int orma_importer_track_event(struct orma_importer *importer,
			      const struct orma_ordered_event *event)
{
	struct orma_legacy_event legacy;
	struct orma_event_import import;
	int r = orma_track_event_read(event->packet->content, &import.event);
	if (r < 0) {
		importer->counts[ORMA_IMPORT_EVENT_ERRORS]++;
		return 0;
	}
	import.importer = importer;
	import.ordered = event;
	import.thread_ts = import.thread_instructions = ORMA_CELL_NULL;
	import.legacy = NULL;
	import.passed_utid = -1;
	if (import.event.legacy.data) {
		orma_legacy_event_read(import.event.legacy, &legacy);
		import.legacy = &legacy;
	}
	if (!event->state->is_loaded)
		r = orma_sequence_state_load(event->state);
	if (r < 0)
		return r;
	import.category = find_category(&import);
	import.name = find_name(&import);
	r = find_owner(&import);
	if (r <= 0) {
		importer->counts[ORMA_IMPORT_EVENT_ERRORS] += r == 0;
		return r;
	}
	if (import.event.flags & ORMA_EVENT_HAS_MORE)
		r = add_all_extra_counters(&import);
	if (r < 0)
		return r;
	return import.legacy && import.legacy->has_phase ? orma_event_import_legacy(&import)
							 : add_typed(&import);
}
