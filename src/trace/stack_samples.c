/* SPDX-License-Identifier: Apache-2.0
 * stack_samples.c - samples of any profiler: a call stack with the thread, process or coroutine and the CPU that it is of, and
 * counters that say what it weighs.
 */
#include <errno.h>

#include "base/buf.h"
#include "base/macros.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/stack_sample.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "trace/conversion_fields.h"
#include "trace/cpus.h"
#include "trace/message_fields.h"
#include "trace/profiler_samples.h"
#include "trace/track_event_read.h"

/* A sample on its way into the tables. */
struct import {
	struct orma_profiler *profiler;
	const struct orma_ordered_event *event;
	struct orma_message message;
	struct orma_str defaults; /* data is NULL when there are none */
	struct orma_str source;
	int64_t session_id, upid;
	int64_t cpu; /* -1 = not known */
};

static const char *unit_name(uint64_t unit)
{
	static const char *const names[] = {
		NULL,          "ns",           "cycles",           "instructions",  "bytes",
		"page-faults", "cache-misses", "cache-references", "branch-misses", "count"};
	return unit < ORMA_ARRAY_SIZE(names) ? names[unit] : "";
}

/* Returns the entry's bytes; data is NULL when there is none. */
static struct orma_str interned(const struct import *import, uint32_t field, uint64_t iid)
{
	const struct orma_interned *entry =
		orma_interning_find(&import->event->state->interning, field, iid);
	return entry ? entry->bytes : (struct orma_str){NULL, 0};
}

/* Returns a message that is in the sample, or in the interned data. */
static struct orma_str part_of(const struct import *import, uint32_t field, uint32_t iid_field,
			       uint32_t interned_field)
{
	if (orma_message_has(&import->message, field))
		return orma_message_bytes(&import->message, field);
	return interned(import, interned_field, orma_message_number(&import->message, iid_field));
}

static int64_t text_cell(const struct import *import, struct orma_str text)
{
	return text.size > 0 ? orma_tables_string(import->profiler->system->tables, text)
			     : ORMA_CELL_NULL;
}

static int64_t unit_cell(const struct import *import, const struct orma_message *descriptor)
{
	uint64_t unit =
		orma_message_number(descriptor, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT);
	if (unit)
		return orma_tables_string(import->profiler->system->tables,
					  orma_base_str(unit_name(unit)));
	return text_cell(
		import,
		orma_message_bytes(descriptor, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT_STR));
}

static int describe_track(const struct import *import, const struct orma_message *descriptor,
			  bool is_timebase, int64_t track)
{
	struct orma_system *system = import->profiler->system;
	struct orma_str description =
		orma_message_bytes(descriptor, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_DESCRIPTION);
	system->args.tables = system->tables;
	orma_arg_list_clear(&system->args);
	orma_arg_list_add(&system->args, ORMA_STR("is_timebase"), ORMA_STR("is_timebase"),
			  ORMA_ARG_BOOL, is_timebase);
	if (orma_message_has(descriptor, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER))
		orma_arg_list_add_int(
			&system->args, "unit_multiplier",
			(int64_t)orma_message_number(
				descriptor,
				ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_UNIT_MULTIPLIER));
	if (description.size > 0)
		orma_arg_list_add_string(&system->args, "description", description);
	return orma_tracks_set(system->tracks, track, ORMA_TRACK_SOURCE_ARG_SET_ID,
			       orma_system_take_args(system));
}

/* Returns the track of a counter, -1 for a CPU's when the CPU is not known, or a smaller errno value. */
static int64_t find_track(const struct import *import, struct orma_str bytes, bool is_timebase)
{
	struct orma_system *system = import->profiler->system;
	struct orma_message descriptor;
	bool is_new;
	orma_message_read(&descriptor, bytes);
	int64_t unit = unit_cell(import, &descriptor);
	int64_t name = orma_system_text(
		system,
		orma_message_bytes(&descriptor, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_NAME));
	bool is_of_cpu =
		orma_message_number(&descriptor, ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_SCOPE) ==
		ORMA_PB_STACK_SAMPLE_COUNTER_DESCRIPTOR_SCOPE_SCOPE_CPU;
	int r = is_timebase ? orma_profiler_set_unit(import->profiler, import->session_id, unit)
			    : 0;
	if (r < 0 || (is_of_cpu && import->cpu < 0))
		return r < 0 ? r : -1;
	struct orma_track_key key = {.type = is_of_cpu ? "stack_sample_cpu_counter"
						       : "stack_sample_session_counter",
				     .event_type = "counter",
				     .machine_idx = import->event->machine_idx};
	if (is_of_cpu)
		key.dimensions[key.dimension_count++] =
			(struct orma_track_dimension){"cpu", ORMA_ARG_INT, import->cpu};
	key.dimensions[key.dimension_count++] =
		(struct orma_track_dimension){"session_id", ORMA_ARG_INT, import->session_id};
	key.dimensions[key.dimension_count++] = (struct orma_track_dimension){
		"source", ORMA_ARG_STRING, orma_system_text(system, import->source)};
	key.dimensions[key.dimension_count++] =
		(struct orma_track_dimension){"counter_name", ORMA_ARG_STRING, name};
	int64_t track = orma_tracks_get(system->tracks, &key, name, unit, &is_new);
	if (track < 0 || !is_new)
		return track;
	r = describe_track(import, &descriptor, is_timebase, track);
	return r < 0 ? r : track;
}

static int add_primary(const struct import *import)
{
	const struct orma_message *message = &import->message;
	struct orma_proto_field field;
	struct orma_str bytes = part_of(import, ORMA_PB_STACK_SAMPLE_PRIMARY_DESCRIPTOR,
					ORMA_PB_STACK_SAMPLE_PRIMARY_DESCRIPTOR_IID,
					ORMA_PB_INTERNED_DATA_STACK_SAMPLE_COUNTER_DESCRIPTORS);
	if (!bytes.data &&
	    !orma_message_has(message, ORMA_PB_STACK_SAMPLE_PRIMARY_DESCRIPTOR_IID) &&
	    import->defaults.data &&
	    orma_proto_reader_find(import->defaults.data, import->defaults.size,
				   ORMA_PB_STACK_SAMPLE_DEFAULTS_PRIMARY_DESCRIPTOR, &field) > 0 &&
	    field.type == ORMA_PROTO_BYTES)
		bytes = field.bytes;
	if (!bytes.data)
		return 0;
	int64_t track = find_track(import, bytes, true);
	if (track < -1)
		return (int)track;
	if (track < 0 || !orma_message_has(message, ORMA_PB_STACK_SAMPLE_PRIMARY_WEIGHT))
		return 0;
	return orma_profiler_count(
		import->profiler, import->event->ns, track,
		(double)orma_message_number(message, ORMA_PB_STACK_SAMPLE_PRIMARY_WEIGHT));
}

struct followers {
	uint32_t count;
	int64_t tracks[ORMA_SAMPLE_COUNTERS_MAX]; /* -1 keeps the place of one without a track */
};

static int add_follower(const struct import *import, struct followers *followers,
			struct orma_str descriptor)
{
	int64_t track = descriptor.data ? find_track(import, descriptor, false) : -1;
	if (track >= -1)
		followers->tracks[followers->count++] = track;
	return track < -1 ? (int)track : 0;
}

static int read_followers(const struct import *import, struct followers *followers,
			  struct orma_str message, uint32_t field)
{
	struct orma_proto_reader reader;
	struct orma_str bytes;
	int r = 0;
	orma_proto_reader_init(&reader, message.data, message.size);
	while (r == 0 && followers->count < ORMA_SAMPLE_COUNTERS_MAX &&
	       orma_message_next(&reader, field, &bytes))
		r = add_follower(import, followers, bytes);
	return r;
}

static int add_followers(const struct import *import)
{
	struct followers followers = {.count = 0};
	struct orma_repeated numbers;
	uint64_t number;
	int r = read_followers(import, &followers, import->message.bytes,
			       ORMA_PB_STACK_SAMPLE_FOLLOWER_DESCRIPTORS);
	orma_repeated_init(&numbers, import->message.bytes,
			   ORMA_PB_STACK_SAMPLE_FOLLOWER_DESCRIPTOR_IIDS);
	bool is_in_place = followers.count > 0;
	while (r == 0 && !is_in_place && followers.count < ORMA_SAMPLE_COUNTERS_MAX &&
	       orma_repeated_next(&numbers, &number))
		r = add_follower(import, &followers,
				 interned(import,
					  ORMA_PB_INTERNED_DATA_STACK_SAMPLE_COUNTER_DESCRIPTORS,
					  number));
	if (r == 0 && followers.count == 0)
		r = read_followers(import, &followers, import->defaults,
				   ORMA_PB_STACK_SAMPLE_DEFAULTS_FOLLOWER_DESCRIPTORS);
	orma_repeated_init(&numbers, import->message.bytes, ORMA_PB_STACK_SAMPLE_FOLLOWER_WEIGHTS);
	for (uint32_t i = 0; r == 0 && i < followers.count && orma_repeated_next(&numbers, &number);
	     i++)
		if (followers.tracks[i] >= 0)
			r = orma_profiler_count(import->profiler, import->event->ns,
						followers.tracks[i], (double)number);
	return r;
}

/* Asynchronous contexts of interned data, by their numbers, that have rows or are about to. */
static uint64_t async_key(const struct import *import, uint64_t iid)
{
	const struct orma_sequence_state *state = import->event->state;
	uint64_t words[] = {(uint64_t)state->sequence->machine_idx << 32 | state->sequence->id,
			    state->generation, iid};
	return orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
}

static int add_async(const struct import *import, uint64_t iid, int64_t *parent)
{
	struct orma_table *table =
		&import->profiler->system->tables->all[ORMA_TABLE_PROFILER_ASYNC_CONTEXT];
	struct orma_message message;
	orma_message_read(&message,
			  interned(import,
				   ORMA_PB_INTERNED_DATA_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTORS,
				   iid));
	int64_t cells[ORMA_PROFILER_ASYNC_CONTEXT_COLUMNS] = {
		[ORMA_PROFILER_ASYNC_CONTEXT_NAME] = text_cell(
			import,
			orma_message_bytes(&message,
					   ORMA_PB_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTOR_NAME)),
		[ORMA_PROFILER_ASYNC_CONTEXT_KIND] = text_cell(
			import,
			orma_message_bytes(&message,
					   ORMA_PB_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTOR_KIND)),
		[ORMA_PROFILER_ASYNC_CONTEXT_PARENT_ID] = *parent,
	};
	*parent = (int64_t)orma_store_table_rows(table);
	int r = orma_base_map_put(&import->profiler->asyncs, async_key(import, iid),
				  (void *)((uintptr_t)*parent + 1));
	return r < 0 ? r : orma_store_table_append(table, cells);
}

/* Finds the contexts above one that have no rows, and the row above them. A context that is above itself has none. */
static int find_parents(const struct import *import, uint64_t iid, struct orma_buf *chain,
			int64_t *ret_row)
{
	static char being_added;
	struct orma_map *asyncs = &import->profiler->asyncs;
	int r = 0;
	*ret_row = ORMA_CELL_NULL;
	while (iid && r == 0) {
		struct orma_message message;
		struct orma_str bytes = interned(
			import, ORMA_PB_INTERNED_DATA_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTORS, iid);
		void *known = orma_base_map_get(asyncs, async_key(import, iid));
		if (known && known != &being_added)
			*ret_row = (int64_t)(uintptr_t)known - 1;
		if (known || !bytes.data)
			break;
		r = orma_base_map_put(asyncs, async_key(import, iid), &being_added);
		if (r == 0)
			r = orma_base_buf_append(chain, &iid, sizeof(iid));
		orma_message_read(&message, bytes);
		iid = orma_message_number(&message,
					  ORMA_PB_STACK_SAMPLE_ASYNC_CONTEXT_DESCRIPTOR_PARENT_IID);
	}
	return r;
}

/* Returns the row of an asynchronous context, ORMA_CELL_NULL, or a negative errno value. Its parents get rows before it. */
static int64_t find_async(const struct import *import, uint64_t iid)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf chain = {0};
	int64_t row;
	int r = find_parents(import, iid, &chain, &row);
	while (r == 0 && chain.size > 0) {
		chain.size -= sizeof(iid);
		memcpy(&iid, chain.data + chain.size, sizeof(iid));
		r = add_async(import, iid, &row);
	}
	return r < 0 ? r : row;
}

/* Returns the sample's task, ORMA_CELL_NULL, or a negative errno value. Finds its process, too. */
static int64_t find_task(struct import *import)
{
	struct orma_processes *processes = import->profiler->system->processes;
	struct orma_str bytes = part_of(import, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT,
					ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_IID,
					ORMA_PB_INTERNED_DATA_STACK_SAMPLE_TASK_CONTEXTS);
	uint32_t machine_idx = import->event->machine_idx;
	int64_t utid = ORMA_CELL_NULL, async = ORMA_CELL_NULL;
	struct orma_message task;
	if (!bytes.data)
		return ORMA_CELL_NULL;
	orma_message_read(&task, bytes);
	bool has_pid = orma_message_has(&task, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_PID);
	int64_t pid = (int32_t)orma_message_number(&task, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_PID);
	int64_t tid = (int32_t)orma_message_number(&task, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_TID);
	if (has_pid)
		import->upid = orma_processes_process(processes, machine_idx, pid);
	if (orma_message_has(&task, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_TID))
		utid = has_pid ? orma_processes_thread_of(processes, machine_idx, tid, pid)
			       : orma_processes_thread(processes, machine_idx, tid);
	struct orma_str comm = orma_message_bytes(&task, ORMA_TASK_CONTEXT_COMM);
	if (comm.size > 0 && utid >= 0) {
		int r = orma_processes_name_task(processes, utid, text_cell(import, comm),
						 ORMA_THREAD_NAME_OTHER);
		if (r < 0)
			return r;
	}
	if (orma_message_has(&task, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_ASYNC_ID))
		async = find_async(
			import,
			orma_message_number(&task, ORMA_PB_STACK_SAMPLE_TASK_CONTEXT_ASYNC_ID));
	if (orma_is_failure(import->upid))
		return import->upid;
	if (orma_is_failure(utid) || orma_is_failure(async))
		return orma_is_failure(utid) ? utid : async;
	return orma_profiler_task(import->profiler, import->upid, utid, async);
}

static int64_t find_execution(struct import *import)
{
	static const char *const modes[] = {NULL,         "user",       "kernel",
					    "hypervisor", "guest_user", "guest_kernel"};
	struct orma_str bytes = part_of(import, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT,
					ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT_IID,
					ORMA_PB_INTERNED_DATA_STACK_SAMPLE_EXECUTION_CONTEXTS);
	int64_t ucpu = ORMA_CELL_NULL;
	struct orma_message execution;
	if (!bytes.data)
		return ORMA_CELL_NULL;
	orma_message_read(&execution, bytes);
	uint64_t mode =
		orma_message_number(&execution, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT_MODE);
	if (orma_message_has(&execution, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT_CPU)) {
		uint32_t cpu = (uint32_t)orma_message_number(
			&execution, ORMA_PB_STACK_SAMPLE_EXECUTION_CONTEXT_CPU);
		ucpu = orma_cpus_get(import->profiler->system->tables, import->event->machine_idx,
				     cpu);
		import->cpu = ucpu < 0 ? -1 : (int64_t)cpu;
	}
	/* A CPU that no machine has is not known. */
	if (ucpu == -ERANGE)
		ucpu = ORMA_CELL_NULL;
	if (orma_is_failure(ucpu))
		return ucpu;
	return orma_profiler_execution(import->profiler, ucpu,
				       mode < ORMA_ARRAY_SIZE(modes) ? modes[mode] : NULL);
}

static int64_t find_callsite(const struct import *import)
{
	const struct orma_message *message = &import->message;
	if (orma_message_has(message, ORMA_PB_STACK_SAMPLE_CALLSTACK_IID))
		return orma_interned_stacks_find(
			import->profiler->interned, import->event->state, import->upid,
			orma_message_number(message, ORMA_PB_STACK_SAMPLE_CALLSTACK_IID));
	return orma_call_stacks_inline(import->profiler->stacks, ORMA_INLINE_STACK_SAMPLES,
				       orma_message_bytes(message, ORMA_PB_STACK_SAMPLE_CALLSTACK));
}

static void find_defaults(struct import *import)
{
	const struct orma_buf *defaults = &import->event->state->defaults;
	struct orma_proto_field field;
	if (defaults->size == 0 ||
	    orma_proto_reader_find(defaults->data, defaults->size,
				   ORMA_PB_TRACE_PACKET_DEFAULTS_STACK_SAMPLE_DEFAULTS,
				   &field) <= 0 ||
	    field.type != ORMA_PROTO_BYTES)
		return;
	import->defaults = field.bytes;
	if (orma_proto_reader_find(import->defaults.data, import->defaults.size,
				   ORMA_PB_STACK_SAMPLE_DEFAULTS_SOURCE, &field) > 0 &&
	    field.type == ORMA_PROTO_BYTES && field.bytes.size > 0)
		import->source = field.bytes;
}

int orma_stack_sample_take(struct orma_profiler *profiler, const struct orma_ordered_event *event)
{
	struct import import = {
		.profiler = profiler, .event = event, .upid = ORMA_CELL_NULL, .cpu = -1};
	int r = orma_sequence_state_load(event->state);
	if (r < 0)
		return r;
	orma_message_read(&import.message, event->packet->content);
	find_defaults(&import);
	struct orma_profiler_sample sample = {
		.ts = event->ns,
		.source_text = import.source,
		.task_id = find_task(&import),
		.execution_id = find_execution(&import),
		.priority = ORMA_CELL_NULL,
	};
	import.session_id = sample.session_id =
		orma_profiler_session(profiler, event->state->sequence, import.source);
	if (import.session_id < 0)
		return (int)import.session_id;
	r = add_primary(&import);
	if (r == 0)
		r = add_followers(&import);
	if (r < 0)
		return r;
	sample.callsite_id = find_callsite(&import);
	return orma_profiler_add(profiler, &sample);
}
