/* SPDX-License-Identifier: Apache-2.0
 * ftrace_generic.c - events that the schema does not know and the trace describes itself.
 *
 * An event whose fields have certain names is a slice or a counter: track_event_type ('B', 'E' or 'I') with slice_name, or
 * counter_value. track_name names the track, and scope_tgid, scope_cpu or another field scope_... says whose it is; else it is the
 * thread's.
 */
#include <errno.h>

#include "proto/reader.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "trace/kernel_import.h"

/* Numbers in DescriptorProto and FieldDescriptorProto, and types of fields. */
enum {
	DESCRIPTOR_NAME = 1,
	DESCRIPTOR_FIELD = 2,
	FIELD_NAME = 1,
	FIELD_NUMBER = 3,
	FIELD_TYPE = 5,
	TYPE_INT64 = 3,
	TYPE_UINT64 = 4,
	TYPE_INT32 = 5,
	TYPE_STRING = 9,
	TYPE_UINT32 = 13,
	TYPE_LAST = 18,
};

static bool is_number(uint32_t type)
{
	return type == TYPE_INT64 || type == TYPE_UINT64 || type == TYPE_INT32 ||
	       type == TYPE_UINT32;
}

static bool has_prefix(struct orma_str text, const char *prefix)
{
	return text.size >= strlen(prefix) && memcmp(text.data, prefix, strlen(prefix)) == 0;
}

/* Some names say what a field means. */
static void take_role(struct orma_generic_event *event, uint8_t id, struct orma_str name,
		      uint32_t type)
{
	if (orma_base_str_is(name, "track_event_type") && is_number(type)) {
		event->type_field = id;
	} else if (orma_base_str_is(name, "slice_name") && type == TYPE_STRING) {
		event->slice_field = id;
	} else if (orma_base_str_is(name, "track_name") && type == TYPE_STRING) {
		event->track_field = id;
	} else if (orma_base_str_is(name, "counter_value") && is_number(type)) {
		event->value_field = id;
	} else if (has_prefix(name, "scope_") && is_number(type)) {
		event->scope_field = id;
		event->scope = orma_base_str_is(name, "scope_tgid")  ? ORMA_GENERIC_PROCESS
			       : orma_base_str_is(name, "scope_cpu") ? ORMA_GENERIC_CPU
								     : ORMA_GENERIC_CUSTOM;
	}
}

/* 1, 0 (the field can't be described) or a negative errno value. */
static int take_field(struct orma_system *system, struct orma_generic_event *event,
		      struct orma_str descriptor)
{
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, descriptor);
	uint64_t id = fields.numbers >> FIELD_NUMBER & 1 ? fields.values[FIELD_NUMBER] : 0;
	uint64_t type = fields.numbers >> FIELD_TYPE & 1 ? fields.values[FIELD_TYPE] : 0;
	if (id >= ORMA_GENERIC_FIELDS_MAX || type > TYPE_LAST || !(fields.texts >> FIELD_NAME & 1))
		return 0;
	int r = orma_store_pool_add(&system->tables->strings, fields.strings[FIELD_NAME],
				    &event->fields[id].name);
	event->fields[id].type = (uint32_t)type;
	return r < 0 ? r : 1;
}

static void find_roles(struct orma_system *system, struct orma_generic_event *event)
{
	for (unsigned id = 1; id < ORMA_GENERIC_FIELDS_MAX; id++)
		if (event->fields[id].name)
			take_role(event, (uint8_t)id,
				  orma_store_pool_get(&system->tables->strings,
						      event->fields[id].name),
				  event->fields[id].type);
	if (event->type_field && event->slice_field)
		event->role = ORMA_GENERIC_SLICE;
	else if (event->value_field)
		event->role = ORMA_GENERIC_COUNTER;
}

static int read_descriptor(struct orma_system *system, struct orma_generic_event *event,
			   struct orma_str descriptor)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 1;
	event->name = orma_system_text(system, ORMA_STR(""));
	orma_proto_reader_init(&reader, descriptor.data, descriptor.size);
	while (r > 0 && orma_proto_reader_next(&reader, &field) > 0) {
		if (field.type != ORMA_PROTO_BYTES)
			continue;
		if (field.id == DESCRIPTOR_NAME)
			event->name = orma_system_text(system, field.bytes);
		else if (field.id == DESCRIPTOR_FIELD)
			r = take_field(system, event, field.bytes);
	}
	if (r > 0)
		find_roles(system, event);
	return r;
}

static int describe_generic(struct orma_system *system, uint32_t machine_idx,
			    struct orma_str descriptor)
{
	enum {
		ID = ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_FIELD_ID,
		MESSAGE = ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTOR_EVENT_DESCRIPTOR
	};
	struct orma_kernel_fields fields;
	orma_kernel_fields_read(&fields, descriptor);
	if (!(fields.numbers >> ID & 1) || !(fields.texts >> MESSAGE & 1))
		return 0;
	uint64_t key = (uint64_t)machine_idx << 32 | (uint32_t)fields.values[ID];
	if (orma_base_map_get(&system->kernel.generic, key))
		return 0;
	struct orma_generic_event *event =
		orma_base_arena_alloc(&system->kernel.arena, sizeof(*event));
	if (!event)
		return -ENOMEM;
	int r = read_descriptor(system, event, fields.strings[MESSAGE]);
	if (r == 0)
		orma_stats_add(&system->stats, machine_idx,
			       ORMA_STAT_ftrace_generic_descriptor_errors, 0, 1);
	return r <= 0 ? r : orma_base_map_put(&system->kernel.generic, key, event);
}

#define KIND(type_, key_, is_counter_)                                                             \
	{                                                                                          \
		.type = (type_), .name = "%2",                                                     \
		.dimensions = {{(key_), false}, {"tracepoint", true}, {"name", true}},             \
		.is_counter = (is_counter_)                                                        \
	}
static const struct orma_track_kind slice_kinds[] = {
	[ORMA_GENERIC_THREAD] = KIND("kernel_trackevent_thread_slice", "utid", false),
	[ORMA_GENERIC_PROCESS] = KIND("kernel_trackevent_process_slice", "upid", false),
	[ORMA_GENERIC_CPU] = KIND("kernel_trackevent_cpu_slice", "cpu", false),
	[ORMA_GENERIC_CUSTOM] = KIND("kernel_trackevent_custom_slice", "scope", false),
};
static const struct orma_track_kind counter_kinds[] = {
	[ORMA_GENERIC_THREAD] = KIND("kernel_trackevent_thread_counter", "utid", true),
	[ORMA_GENERIC_PROCESS] = KIND("kernel_trackevent_process_counter", "upid", true),
	[ORMA_GENERIC_CPU] = KIND("kernel_trackevent_cpu_counter", "cpu", true),
	[ORMA_GENERIC_CUSTOM] = KIND("kernel_trackevent_custom_counter", "scope", true),
};

/* The value of the track's first dimension, or a negative errno value in *reterr. */
static int64_t scope_value(const struct orma_kernel_call *call,
			   const struct orma_generic_event *event, int *reterr)
{
	int64_t number = (int64_t)orma_kernel_number(call, event->scope_field);
	int64_t row = 0;
	switch (event->scope) {
	case ORMA_GENERIC_THREAD:
		row = orma_kernel_thread(call, call->tid);
		break;
	case ORMA_GENERIC_PROCESS:
		row = orma_processes_process(call->system->processes, call->machine_idx, number);
		break;
	case ORMA_GENERIC_CPU:
		return (uint32_t)number;
	case ORMA_GENERIC_CUSTOM:
		return number;
	}
	*reterr = row < 0 ? (int)row : 0;
	return row;
}

static bool is_whole(const struct orma_kernel_call *call, const struct orma_generic_event *event)
{
	uint8_t wanted[] = {
		event->track_field, event->scope == ORMA_GENERIC_THREAD ? 0 : event->scope_field,
		event->role == ORMA_GENERIC_SLICE ? event->type_field : event->value_field,
		event->role == ORMA_GENERIC_SLICE ? event->slice_field : 0};
	for (size_t i = 0; i < sizeof(wanted); i++)
		if (wanted[i] >= ORMA_KERNEL_FIELDS ||
		    (wanted[i] && !orma_kernel_has(call, wanted[i])))
			return false;
	return true;
}

static int refuse(const struct orma_kernel_call *call)
{
	orma_stats_add(&call->system->stats, call->machine_idx,
		       ORMA_STAT_kernel_trackevent_format_error, 0, 1);
	return 0;
}

int orma_ftrace_generic(const struct orma_kernel_call *call)
{
	const struct orma_generic_event *event = orma_base_map_get(
		&call->system->kernel.generic, (uint64_t)call->machine_idx << 32 | call->id);
	if (!event || event->role == ORMA_GENERIC_PLAIN)
		return 0;
	if (!is_whole(call, event))
		return refuse(call);
	int r = 0;
	int64_t name =
		event->track_field
			? orma_system_text(call->system, orma_kernel_text(call, event->track_field))
			: event->name;
	int64_t values[] = {scope_value(call, event, &r), event->name, name};
	if (r < 0)
		return r;
	if (event->role == ORMA_GENERIC_COUNTER)
		return orma_kernel_count(
			call, &counter_kinds[event->scope], values,
			(double)(int64_t)orma_kernel_number(call, event->value_field));
	int64_t track = orma_system_track(call->system, call->machine_idx,
					  &slice_kinds[event->scope], values);
	int64_t slice = orma_system_text(call->system, orma_kernel_text(call, event->slice_field));
	switch ((char)orma_kernel_number(call, event->type_field)) {
	case 'B':
		return orma_kernel_begin(call, track, ORMA_CELL_NULL, slice, ORMA_CELL_NULL);
	case 'E':
		return orma_kernel_end(call, track, ORMA_CELL_NULL, ORMA_CELL_NULL);
	case 'I':
		return orma_kernel_instant(call, track, ORMA_CELL_NULL, slice, ORMA_CELL_NULL);
	default:
		return refuse(call);
	}
}

/* From when on the CPU has data; the latest of all CPUs counts. */
static int take_start(struct orma_system *system, const struct orma_sequence *sequence,
		      const struct orma_bundle_head *head, uint64_t ns)
{
	struct orma_system_machine *machine = orma_system_machine(system, sequence->machine_idx);
	int64_t *seen = orma_kernel_sum(&system->kernel, 'b', sequence->machine_idx, head->cpu);
	struct orma_clock_cache cache = {0};
	int64_t start;
	if (!machine || !seen)
		return -ENOMEM;
	if ((*seen)++ > 0 || ns == 0 ||
	    orma_trace_clocks_convert(
		    &system->index->clocks, orma_bundle_clock_key(sequence, head->clock),
		    (int64_t)ns, system->index->clocks.trace_time,
		    system->index->clocks.snapshot_count, &cache, &start) != ORMA_CLOCK_CONVERTED)
		return 0;
	if (start > machine->data_start_ns)
		machine->data_start_ns = start;
	return 0;
}

/* Notes that events are missing between the bundle of the CPU before and this one. */
static int take_loss(struct orma_system *system, const struct orma_sequence *sequence,
		     const struct orma_bundle_head *head)
{
	struct orma_packet_index *index = system->index;
	const struct orma_lane *lane =
		orma_base_map_get(&index->cpus, (uint64_t)sequence->machine_idx << 32 | head->cpu);
	struct orma_gap gap = {.machine_idx = sequence->machine_idx, .cpu = head->cpu};
	struct orma_clock_cache cache = {0};
	orma_stats_set(&system->stats, sequence->machine_idx, ORMA_STAT_ftrace_cpu_has_data_loss,
		       (int32_t)head->cpu, 1);
	if (!head->has_events ||
	    orma_trace_clocks_convert(&index->clocks, orma_bundle_clock_key(sequence, head->clock),
				      (int64_t)head->first_ns, index->clocks.trace_time,
				      index->clocks.snapshot_count, &cache,
				      &gap.end_ns) != ORMA_CLOCK_CONVERTED)
		return 0;
	gap.first_ns = gap.end_ns;
	if (lane && lane->bundle_count > 0)
		gap.first_ns = ORMA_MIN(lane->bundles[lane->bundle_count - 1].last_ns, gap.end_ns);
	return orma_packet_index_add_gap(index, &gap);
}

int orma_kernel_bundle_take(struct orma_system *system, const struct orma_sequence *sequence,
			    const struct orma_packet *packet, const struct orma_bundle_head *head)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = orma_kernel_add_bundle(&system->kernel, sequence, packet->address);
	if (r == 0)
		r = take_start(system, sequence, head, head->start_ns);
	if (!head->has_notes)
		return r;
	orma_proto_reader_init(&reader, packet->content.data, packet->content.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_GENERIC_EVENT_DESCRIPTORS &&
		    field.type == ORMA_PROTO_BYTES)
			r = describe_generic(system, sequence->machine_idx, field.bytes);
		else if (field.id == ORMA_PB_FTRACE_EVENT_BUNDLE_LOST_EVENTS && field.value)
			r = take_loss(system, sequence, head);
	return r;
}
