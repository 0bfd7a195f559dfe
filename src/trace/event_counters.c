/* SPDX-License-Identifier: Apache-2.0
 * event_counters.c - track events that are values of counters, and the values that other events bring with them.
 */
#include <errno.h>

#include "proto/reader.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_event.pb.h"
#include "trace/event_import.h"

enum { EXTRA_COUNTERS_MAX = 8 };

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

/* The value of a counter, after its unit and, if it counts differences, all values before. 1, 0 (the track is not a
 * counter's) or -ENOMEM. */
static int count_value(struct orma_event_import *import, uint64_t uuid, double *value,
		       int64_t *ret_name)
{
	struct orma_importer *importer = import->importer;
	double multiplier;
	bool is_incremental;
	if (!orma_descriptor_tracks_counter(&importer->descriptors, uuid, &multiplier,
					    &is_incremental, ret_name))
		return 0;
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

int orma_event_add_counter(struct orma_event_import *import)
{
	struct orma_importer *importer = import->importer;
	double value = import->event.value;
	int64_t name, set;
	int problem = ORMA_IMPORT_COUNTS, r = 0;
	if (!import->has_track)
		problem = ORMA_IMPORT_COUNTER_WITHOUT_TRACK;
	else if (!(import->event.flags & ORMA_EVENT_HAS_VALUE))
		problem = ORMA_IMPORT_COUNTER_WITHOUT_VALUE;
	else if ((r = count_value(import, import->track_uuid, &value, &name)) == 0)
		problem = ORMA_IMPORT_COUNTER_OF_NO_TRACK;
	if (problem != ORMA_IMPORT_COUNTS)
		importer->counts[problem]++;
	if (r <= 0)
		return r;
	int64_t track = orma_event_use_track(import, ORMA_LANE_FIRST);
	if (track < 0)
		return track == -1 ? 0 : (int)track;
	r = orma_event_make_args(import, &set);
	return r < 0 ? r
		     : orma_counters_add(importer->tables, import->ordered->ns, track, value, set);
}

/* A value beyond the range of integers, or none, is at its end: the conversion is undefined else. */
static int64_t integer_of(double value)
{
	if (!(value > -9.2e18))
		return INT64_MIN + 1;
	return value < 9.2e18 ? (int64_t)value : INT64_MAX;
}

/* 1, 0 (the track is not a counter's) or a negative errno value. */
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
		return track == -1 ? 1 : (int)track;
	struct orma_tables *tables = import->importer->tables;
	if (name == orma_tables_string(tables, ORMA_STR("thread_time")))
		import->thread_ts = integer_of(value);
	else if (name == orma_tables_string(tables, ORMA_STR("thread_instruction_count")))
		import->thread_instructions = integer_of(value);
	r = orma_counters_add(tables, import->ordered->ns, track, value, ORMA_CELL_NULL);
	return r < 0 ? r : 1;
}

struct extra_fields {
	uint32_t values, uuids, default_uuids;
	bool is_double;
};

/* Counters that an event brings with it: values of the event, tracks of the event or of the sequence. 1, 0 (something is wrong,
 * and counted) or a negative errno value. */
static int add_extra_counters(struct orma_event_import *import, const struct extra_fields *fields,
			      int *idx)
{
	struct orma_repeated values, uuids;
	uint64_t bits, uuid;
	int problem = ORMA_IMPORT_COUNTS, r = 1;
	orma_repeated_init(&values, import->event.bytes, fields->values);
	if (!orma_repeated_next(&values, &bits))
		return 1;
	orma_repeated_init(&uuids, import->event.bytes, fields->uuids);
	bool has_uuid = orma_repeated_next(&uuids, &uuid);
	struct orma_str defaults = has_uuid ? (struct orma_str){NULL, 0} : find_defaults(import);
	if (defaults.data) {
		orma_repeated_init(&uuids, defaults, fields->default_uuids);
		has_uuid = orma_repeated_next(&uuids, &uuid);
	}
	if (!has_uuid)
		problem = ORMA_IMPORT_EXTRA_WITHOUT_TRACKS;
	do {
		if (problem != ORMA_IMPORT_COUNTS)
			break;
		if (!has_uuid || uuid == 0) {
			problem = ORMA_IMPORT_EXTRA_TOO_FEW_TRACKS;
			break;
		}
		if ((*idx)++ >= EXTRA_COUNTERS_MAX) {
			problem = ORMA_IMPORT_EXTRA_TOO_MANY;
			break;
		}
		double value = fields->is_double ? orma_store_double_of_cell((int64_t)bits)
						 : (double)(int64_t)bits;
		r = add_extra_counter(import, uuid, value);
		if (r == 0)
			problem = ORMA_IMPORT_EXTRA_OF_NO_TRACK;
		has_uuid = orma_repeated_next(&uuids, &uuid);
	} while (r > 0 && orma_repeated_next(&values, &bits));
	if (r < 0 || problem == ORMA_IMPORT_COUNTS)
		return r;
	import->importer->counts[problem]++;
	return 0;
}

static int add_thread_counter(struct orma_event_import *import, const char *type,
			      struct orma_str name, int64_t value)
{
	struct orma_importer *importer = import->importer;
	struct orma_track_key key = {.type = type,
				     .event_type = "counter",
				     .machine_idx = import->ordered->machine_idx,
				     .dimension_count = 1,
				     .dimensions = {{"utid", ORMA_ARG_INT, import->owner.utid}}};
	if (import->owner.utid < 0)
		return 0;
	int64_t track =
		orma_tracks_get(&importer->tracks, &key, orma_tables_string(importer->tables, name),
				ORMA_CELL_NULL, NULL);
	if (track < 0)
		return (int)track;
	return orma_counters_add(importer->tables, import->ordered->ns, track, (double)value,
				 ORMA_CELL_NULL);
}

/* Finds a count of the thread that an event gives whole, or as the difference to the last. False when that is lost. */
static bool find_count(const struct orma_event_import *import, unsigned has, unsigned is_delta,
		       int64_t given, int64_t *last, int64_t *ret)
{
	unsigned flags = import->event.flags;
	if (!(flags & has))
		return true;
	if (!(flags & is_delta)) {
		*ret = given;
		return true;
	}
	*ret = *last = (int64_t)((uint64_t)*last + (uint64_t)given);
	return import->ordered->state->thread.is_known;
}

/* CPU time and instructions of the thread, in the fields that only old traces have. 1, 0 (their reference is lost) or a negative
 * errno value. */
static int add_thread_counters(struct orma_event_import *import)
{
	struct orma_sequence_thread *thread = &import->ordered->state->thread;
	int64_t us = ORMA_CELL_NULL;
	if (!find_count(import, ORMA_EVENT_HAS_THREAD_TIME, ORMA_EVENT_IS_THREAD_TIME_DELTA,
			import->event.thread_time_us, &thread->time_us, &us)) {
		import->importer->counts[ORMA_IMPORT_TIME_WITHOUT_REFERENCE]++;
		return 0;
	}
	if (!find_count(import, ORMA_EVENT_HAS_INSTRUCTIONS, ORMA_EVENT_IS_INSTRUCTIONS_DELTA,
			import->event.instructions, &thread->instructions,
			&import->thread_instructions)) {
		import->importer->counts[ORMA_IMPORT_INSTRUCTIONS_WITHOUT_REFERENCE]++;
		return 0;
	}
	int r = 0;
	if (us != ORMA_CELL_NULL) {
		import->thread_ts = (int64_t)((uint64_t)us * 1000);
		r = add_thread_counter(import, "thread_time", ORMA_STR("thread_time"),
				       import->thread_ts);
	}
	if (r == 0 && import->thread_instructions != ORMA_CELL_NULL)
		r = add_thread_counter(import, "thread_instructions",
				       ORMA_STR("thread_instruction_count"),
				       import->thread_instructions);
	return r < 0 ? r : 1;
}

int orma_event_add_counters(struct orma_event_import *import)
{
	static const struct extra_fields integers = {
		ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_VALUES,
		ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_TRACK_UUIDS,
		ORMA_PB_TRACK_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS, false};
	static const struct extra_fields doubles = {
		ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_VALUES,
		ORMA_PB_TRACK_EVENT_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS,
		ORMA_PB_TRACK_EVENT_DEFAULTS_EXTRA_DOUBLE_COUNTER_TRACK_UUIDS, true};
	int idx = 0;
	int r = add_thread_counters(import);
	if (r > 0 && import->event.flags & ORMA_EVENT_HAS_MORE)
		r = add_extra_counters(import, &integers, &idx);
	if (r > 0 && import->event.flags & ORMA_EVENT_HAS_MORE)
		r = add_extra_counters(import, &doubles, &idx);
	return r;
}
