/* SPDX-License-Identifier: Apache-2.0
 * kernel_event.c - decodes a kernel event, gives it its row, and calls what makes slices and counters of it.
 */
#include "trace/kernel_import.h"

#include <errno.h>

#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_generic.pb.h"
#include "schema/gen/ftrace_sched.pb.h"

enum { EVENT_TIMESTAMP_FIELD = 1, EVENT_PID_FIELD = 2 };

void orma_kernel_fields_read(struct orma_kernel_fields *fields, struct orma_str bytes)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	fields->numbers = fields->texts = 0;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id >= ORMA_KERNEL_FIELDS)
			continue;
		if (field.type == ORMA_PROTO_BYTES) {
			fields->texts |= UINT32_C(1) << field.id;
			fields->strings[field.id] = field.bytes;
		} else {
			fields->numbers |= UINT32_C(1) << field.id;
			fields->values[field.id] = field.value;
		}
	}
}

int64_t orma_kernel_thread(const struct orma_kernel_call *call, int64_t tid)
{
	return orma_processes_thread(call->system->processes, call->machine_idx, tid);
}

int64_t orma_kernel_thread_track(const struct orma_kernel_call *call, int64_t tid)
{
	int64_t utid = orma_kernel_thread(call, tid);
	return utid < 0 ? utid
			: orma_system_track(call->system, call->machine_idx, &orma_thread_kind,
					    &utid);
}

int64_t orma_kernel_constant(const struct orma_kernel_call *call, const char *text)
{
	return orma_tables_string(call->system->tables, orma_base_str(text));
}

int64_t orma_kernel_printed(const struct orma_kernel_call *call, int r)
{
	const struct orma_buf *text = &call->system->text;
	if (r < 0)
		call->system->tables->error = r;
	return orma_system_text(call->system,
				(struct orma_str){(const char *)text->data, text->size});
}

int64_t orma_kernel_function(const struct orma_kernel_call *call, uint64_t iid)
{
	struct orma_system *system = call->system;
	struct orma_str symbol;
	int r = orma_kernel_symbol(&system->kernel, system->index->input, call->bundle, iid,
				   &symbol);
	if (r == 0 && symbol.data)
		return orma_system_text(system, symbol);
	system->text.size = 0;
	if (r == 0)
		r = orma_base_buf_printf(&system->text, "%#llx", (unsigned long long)iid);
	return orma_kernel_printed(call, r);
}

static struct orma_system_slice slice_of(const struct orma_kernel_call *call, int64_t track_id,
					 int64_t category, int64_t name, int64_t arg_set_id)
{
	return (struct orma_system_slice){.ts = call->ts,
					  .dur = -1,
					  .track_id = track_id,
					  .category = category,
					  .name = name,
					  .arg_set_id = arg_set_id,
					  .kernel_event = orma_kernel_rule_has_args(call->rule)
								  ? call->locator
								  : ORMA_CELL_NULL};
}

int orma_kernel_begin(const struct orma_kernel_call *call, int64_t track_id, int64_t category,
		      int64_t name, int64_t arg_set_id)
{
	struct orma_system_slice slice = slice_of(call, track_id, category, name, arg_set_id);
	return orma_system_begin(call->system, &slice);
}

int orma_kernel_instant(const struct orma_kernel_call *call, int64_t track_id, int64_t category,
			int64_t name, int64_t arg_set_id)
{
	struct orma_system_slice slice = slice_of(call, track_id, category, name, arg_set_id);
	slice.dur = 0;
	return orma_system_begin(call->system, &slice);
}

int orma_kernel_end(const struct orma_kernel_call *call, int64_t track_id, int64_t category,
		    int64_t name)
{
	struct orma_system_slice slice = slice_of(call, track_id, category, name, ORMA_CELL_NULL);
	return orma_system_end(call->system, &slice);
}

int orma_kernel_count(const struct orma_kernel_call *call, const struct orma_track_kind *kind,
		      const int64_t *values, double value)
{
	return orma_system_count(call->system, call->machine_idx, call->ts, kind, values, value,
				 ORMA_CELL_NULL);
}

static int64_t typed_name(struct orma_system *system, uint32_t id)
{
	if (id >= ORMA_TYPED_EVENTS_MAX)
		return ORMA_CELL_NULL;
	int64_t *name = &system->kernel.event_names[id];
	if (*name == 0) {
		const struct orma_proto_field_desc *field =
			orma_proto_desc_find(&orma_pb_ftrace_event_desc, id);
		*name = field ? orma_system_text(system,
						 orma_base_str(orma_proto_field_name(
							 &orma_pb_ftrace_event_desc, field)))
			      : ORMA_CELL_NULL;
	}
	return *name;
}

int orma_kernel_tell_switch(struct orma_system *system)
{
	struct orma_raw_events *events = &system->raw_events;
	if (ORMA_UNLIKELY(events->switch_name == 0))
		events->switch_name = typed_name(system, ORMA_PB_FTRACE_EVENT_SCHED_SWITCH);
	return orma_raw_events_tell(
		events, orma_store_table_rows(&system->tables->all[ORMA_TABLE_SCHED]) - 1);
}

int orma_kernel_add_row(struct orma_system *system, const struct orma_kernel_row *row)
{
	int64_t ucpu = orma_cpus_get(system->tables, row->machine_idx, row->cpu);
	if (ucpu < 0)
		return ucpu == -ERANGE ? 0 : (int)ucpu;
	int64_t cells[ORMA_FTRACE_EVENT_COLUMNS] = {
		[ORMA_FTRACE_EVENT_TS] = row->ts,
		[ORMA_FTRACE_EVENT_NAME] = row->id > 0 ? typed_name(system, row->id) : row->name,
		[ORMA_FTRACE_EVENT_UTID] = row->utid,
		[ORMA_FTRACE_EVENT_ARG_SET_ID] = ORMA_CELL_NULL,
		[ORMA_FTRACE_EVENT_COMMON_FLAGS] = row->common_flags,
		[ORMA_FTRACE_EVENT_UCPU] = ucpu,
		[ORMA_FTRACE_EVENT_PACKET] = row->packet,
		[ORMA_FTRACE_EVENT_OFFSET] = row->offset,
	};
	return orma_raw_events_add(&system->raw_events, cells);
}

/* The name of an event that is not of the schema. False when nothing describes it. */
static bool find_name(const struct orma_kernel_call *call, int64_t *ret)
{
	const struct orma_generic_event *generic;
	if (call->id == ORMA_PB_FTRACE_EVENT_GENERIC) {
		*ret = orma_system_text(
			call->system,
			orma_kernel_text(call, ORMA_PB_GENERIC_FTRACE_EVENT_EVENT_NAME));
		return true;
	}
	generic = orma_base_map_get(&call->system->kernel.generic,
				    (uint64_t)call->machine_idx << 32 | call->id);
	if (generic)
		*ret = generic->name;
	else
		orma_stats_add(&call->system->stats, call->machine_idx,
			       ORMA_STAT_ftrace_generic_descriptor_errors, 0, 1);
	return generic != NULL;
}

static int add_row(const struct orma_kernel_call *call)
{
	bool is_typed =
		call->id < ORMA_TYPED_EVENTS_MAX && call->id != ORMA_PB_FTRACE_EVENT_GENERIC;
	int64_t tid = call->tid;
	struct orma_kernel_row row = {
		.ts = call->ts,
		.machine_idx = call->machine_idx,
		.cpu = call->cpu,
		.id = is_typed ? call->id : 0,
		.packet = (int64_t)call->bundle,
		.offset = (call->locator & ~ORMA_KERNEL_EVENT_BIT) - (int64_t)call->bundle,
	};
	if (!is_typed && !find_name(call, &row.name))
		return 0;
	/* A switch is about the thread that stops. */
	if (call->id == ORMA_PB_FTRACE_EVENT_SCHED_SWITCH)
		tid = (int32_t)orma_kernel_number(call, ORMA_PB_SCHED_SWITCH_FTRACE_EVENT_PREV_PID);
	row.utid = orma_kernel_thread(call, tid);
	return row.utid < 0 ? (int)row.utid : orma_kernel_add_row(call->system, &row);
}

static const struct orma_kernel_rule *find_rule(struct orma_system *system, uint32_t id)
{
	struct orma_kernel_state *kernel = &system->kernel;
	if (!kernel->has_rules)
		for (uint32_t i = 0; i < ORMA_TYPED_EVENTS_MAX; i++)
			kernel->rules[i] = orma_kernel_rule_find(i);
	kernel->has_rules = true;
	return id < ORMA_TYPED_EVENTS_MAX ? kernel->rules[id] : NULL;
}

static int take_field(struct orma_kernel_call *call, bool is_early)
{
	bool is_switch = call->id == ORMA_PB_FTRACE_EVENT_SCHED_SWITCH;
	bool is_generic = call->id >= ORMA_GENERIC_EVENTS_FIRST;
	const struct orma_kernel_rule *rule = find_rule(call->system, call->id);
	int r = 0;
	call->rule = rule;
	orma_kernel_fields_read(&call->fields, call->bytes);
	if (is_generic && !is_early)
		r = orma_ftrace_generic(call);
	/* The threads of a switch are found first, the next one before the previous. */
	if (r == 0 && is_switch && !is_early)
		r = orma_kernel_rule_run(rule, call);
	if (r == 0 && !call->system->has_no_raw_events && !(is_switch && is_early))
		r = add_row(call);
	if (r == 0 && rule && !is_switch && !is_early)
		r = orma_kernel_rule_run(rule, call);
	return r;
}

int orma_kernel_window_search(struct orma_system *system, uint32_t machine_idx, int64_t ts)
{
	const struct orma_system_machine *machine =
		machine_idx < system->machine_count ? &system->machines[machine_idx]
						    : orma_system_machine(system, machine_idx);
	if (!machine)
		return -ENOMEM;
	if (ts < machine->started_ns && !machine->keeps_old_events) {
		orma_stats_add(&system->stats, machine_idx,
			       ORMA_STAT_ftrace_packet_before_tracing_start, 0, 1);
		return ORMA_KERNEL_DROPPED;
	}
	return ts < machine->data_start_ns ? ORMA_KERNEL_EARLY : ORMA_KERNEL_WHOLE;
}

int orma_kernel_event_take(struct orma_system *system, const struct orma_ordered_event *event)
{
	const struct orma_kernel_event *kernel = event->kernel_event;
	struct orma_kernel_call call = {.system = system,
					.ts = event->ns,
					.machine_idx = event->machine_idx,
					.cpu = event->cpu,
					.bundle = event->address};
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int window = orma_kernel_window(system, event->machine_idx, event->ns);
	bool has_pid = false;
	int r = 0;
	if (window <= ORMA_KERNEL_DROPPED)
		return window < 0 ? window : 0;
	orma_proto_reader_init(&reader, kernel->bytes.data, kernel->bytes.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0) {
		if (field.id == EVENT_PID_FIELD && field.type == ORMA_PROTO_VARINT) {
			call.tid = (int32_t)field.value;
			has_pid = true;
		} else if (field.type == ORMA_PROTO_BYTES) {
			uint64_t offset =
				(uint64_t)(field.begin - (const uint8_t *)kernel->bytes.data);
			call.id = field.id;
			call.bytes = field.bytes;
			call.locator = (int64_t)(event->address + kernel->offset + offset) |
				       ORMA_KERNEL_EVENT_BIT;
			if (has_pid)
				r = take_field(&call, window == ORMA_KERNEL_EARLY);
		}
	}
	system->kernel.missing_ids += call.id == 0;
	system->kernel.without_pid += !has_pid;
	return r;
}
