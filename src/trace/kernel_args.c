/* SPDX-License-Identifier: Apache-2.0
 * kernel_args.c - the fields of a kernel event under their names.
 *
 * A row of the table says where its event lies. Fields of events of the schema have its names and types, those of other
 * events the ones that the trace gives. Compact events are found by their times, and have what they leave out from the tables: the name of the thread
 * that ran, and its priority from the switch before.
 */
#include "trace/kernel_args.h"

#include <errno.h>

#include "proto/kind.h"
#include "proto/reader.h"
#include "schema/gen/ftrace_event.pb.h"
#include "trace/compact_search.h"
#include "trace/type_pool.h"

enum { HEAD_BYTES = 2 * ORMA_PROTO_VARINT_MAX, AHEAD_BYTES = 64 << 10 };

void orma_kernel_args_done(struct orma_kernel_args *args)
{
	orma_trace_window_done(&args->window);
	orma_trace_window_done(&args->bundle_window);
	orma_bundle_events_done(&args->compact);
	*args = (struct orma_kernel_args){.system = args->system};
}

/* Reads the field at an address: the event's number and message. */
static int read_event(struct orma_kernel_args *args, uint64_t address, uint32_t *ret_id,
		      struct orma_str *ret)
{
	const struct orma_trace_bytes *input = args->system->index->input;
	uint64_t end = orma_trace_bytes_end(input), tag, size;
	const uint8_t *data, *at;
	if (address >= end)
		return -EIO;
	size_t head = end - address < HEAD_BYTES ? (size_t)(end - address) : HEAD_BYTES;
	int r = orma_trace_window_read(&args->window, input, address, head, AHEAD_BYTES, &data);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	at = orma_proto_get_varint(data, data + head, &tag);
	if (!at || (tag & 7) != ORMA_PROTO_BYTES)
		return -EIO;
	at = orma_proto_get_varint(at, data + head, &size);
	if (!at || size > ORMA_PROTO_LENGTH_MAX)
		return -EIO;
	size_t skipped = (size_t)(at - data);
	r = orma_trace_window_read(&args->window, input, address, skipped + (size_t)size,
				   AHEAD_BYTES, &data);
	if (r <= 0)
		return r < 0 ? r : -EIO;
	*ret_id = (uint32_t)(tag >> 3);
	*ret = (struct orma_str){(const char *)data + skipped, (size_t)size};
	return 0;
}

static double to_double(unsigned kind, uint64_t value)
{
	float narrow;
	uint32_t bits = (uint32_t)value;
	memcpy(&narrow, &bits, sizeof(narrow));
	return kind == ORMA_PROTO_KIND_FLOAT ? (double)narrow
					     : orma_store_double_of_cell((int64_t)value);
}

static void add_value(struct orma_arg_list *list, struct orma_str name, unsigned kind,
		      const struct orma_proto_field *field)
{
	bool is_text = kind == ORMA_PROTO_KIND_STRING || kind == ORMA_PROTO_KIND_BYTES;
	if (kind == ORMA_PROTO_KIND_MESSAGE || is_text != (field->type == ORMA_PROTO_BYTES))
		return;
	switch (kind) {
	case ORMA_PROTO_KIND_STRING:
	case ORMA_PROTO_KIND_BYTES:
		orma_arg_list_add(list, name, name, ORMA_ARG_STRING,
				  orma_tables_passing_string(list->tables, field->bytes.data
										   ? field->bytes
										   : ORMA_STR("")));
		break;
	case ORMA_PROTO_KIND_UINT32:
	case ORMA_PROTO_KIND_UINT64:
	case ORMA_PROTO_KIND_FIXED32:
	case ORMA_PROTO_KIND_FIXED64:
		orma_arg_list_add(list, name, name, ORMA_ARG_UINT, (int64_t)field->value);
		break;
	case ORMA_PROTO_KIND_SINT32:
	case ORMA_PROTO_KIND_SINT64:
		orma_arg_list_add(list, name, name, ORMA_ARG_INT,
				  orma_proto_unzigzag(field->value));
		break;
	case ORMA_PROTO_KIND_FLOAT:
	case ORMA_PROTO_KIND_DOUBLE:
		orma_arg_list_add(list, name, name, ORMA_ARG_REAL,
				  orma_store_cell_of_double(to_double(kind, field->value)));
		break;
	default:
		orma_arg_list_add(list, name, name, ORMA_ARG_INT, (int64_t)field->value);
		break;
	}
}

/* Fields that are the address of a kernel function, and have its symbol if the trace has one. */
static bool is_function(uint32_t event, uint32_t field)
{
	static const struct {
		uint16_t event, field;
	} functions[] = {
		{ORMA_PB_FTRACE_EVENT_SCHED_BLOCKED_REASON, 2},
		{ORMA_PB_FTRACE_EVENT_WORKQUEUE_QUEUE_WORK, 2},
		{ORMA_PB_FTRACE_EVENT_WORKQUEUE_ACTIVATE_WORK, 2},
		{ORMA_PB_FTRACE_EVENT_WORKQUEUE_EXECUTE_START, 2},
		{ORMA_PB_FTRACE_EVENT_WORKQUEUE_EXECUTE_END, 2},
		{ORMA_PB_FTRACE_EVENT_FUNCGRAPH_ENTRY, 2},
		{ORMA_PB_FTRACE_EVENT_FUNCGRAPH_EXIT, 3},
		{ORMA_PB_FTRACE_EVENT_MM_SHRINK_SLAB_START, 8},
		{ORMA_PB_FTRACE_EVENT_HRTIMER_EXPIRE_ENTRY, 3},
	};
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (functions[i].event == event && functions[i].field == field)
			return true;
	return false;
}

/* A switch of tasks always has all of its fields, as in Perfetto's tables; those that are not written are 0. */
static void add_fields_of_switch(struct orma_arg_list *list)
{
	static const char *const fields[] = {"prev_comm", "prev_pid", "prev_prio", "prev_state",
					     "next_comm", "next_pid", "next_prio"};
	for (size_t i = 0; i < sizeof(fields) / sizeof(*fields); i++)
		if (strstr(fields[i], "comm"))
			orma_arg_list_add_string(list, fields[i], ORMA_STR(""));
		else
			orma_arg_list_add_int(list, fields[i], 0);
}

static int add_typed(struct orma_kernel_args *args, uint64_t bundle, uint32_t id,
		     struct orma_str message, struct orma_arg_list *list)
{
	const struct orma_proto_field_desc *event =
		orma_proto_desc_find(&orma_pb_ftrace_event_desc, id);
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_system *system = args->system;
	int r = 0;
	if (!event || event->kind != ORMA_PROTO_KIND_MESSAGE)
		return 0;
	const struct orma_proto_desc *desc =
		orma_pb_ftrace_event_desc.types[event->type_idx].message;
	if (id == ORMA_PB_FTRACE_EVENT_SCHED_SWITCH)
		add_fields_of_switch(list);
	orma_proto_reader_init(&reader, message.data, message.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0) {
		const struct orma_proto_field_desc *known = orma_proto_desc_find(desc, field.id);
		struct orma_str symbol = {NULL, 0};
		if (!known)
			continue;
		struct orma_str name = orma_base_str(orma_proto_field_name(desc, known));
		if (is_function(id, field.id) && field.type == ORMA_PROTO_VARINT)
			r = orma_kernel_symbol(&system->kernel, system->index->input, bundle,
					       field.value, &symbol);
		if (symbol.data)
			orma_arg_list_add(list, name, name, ORMA_ARG_STRING,
					  orma_tables_passing_string(list->tables, symbol));
		else
			add_value(list, name, known->kind, &field);
	}
	return r;
}

/* An event of old recorders, whose fields have their names with them. */
static void add_self_named(struct orma_str message, struct orma_arg_list *list)
{
	enum { NAME = 1, FIELD = 2, TEXT = 3, INT = 4, UINT = 5 };
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_proto_reader_init(&reader, message.data, message.size);
	while (orma_proto_reader_next(&reader, &field) > 0) {
		struct orma_kernel_fields parts;
		if (field.id != FIELD || field.type != ORMA_PROTO_BYTES)
			continue;
		orma_kernel_fields_read(&parts, field.bytes);
		struct orma_str name = parts.texts >> NAME & 1 ? parts.strings[NAME] : ORMA_STR("");
		if (parts.numbers >> INT & 1)
			orma_arg_list_add(list, name, name, ORMA_ARG_INT,
					  (int64_t)parts.values[INT]);
		else if (parts.numbers >> UINT & 1)
			orma_arg_list_add(list, name, name, ORMA_ARG_INT,
					  (int64_t)parts.values[UINT]);
		else if (parts.texts >> TEXT & 1)
			orma_arg_list_add(
				list, name, name, ORMA_ARG_STRING,
				orma_tables_passing_string(list->tables, parts.strings[TEXT]));
	}
}

static void add_described(const struct orma_generic_event *event, struct orma_str message,
			  struct orma_arg_list *list)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	orma_proto_reader_init(&reader, message.data, message.size);
	enum orma_proto_kind kind;
	while (orma_proto_reader_next(&reader, &field) > 0)
		if (field.id < ORMA_GENERIC_FIELDS_MAX && event->fields[field.id].name &&
		    orma_type_kind(event->fields[field.id].type, &kind))
			add_value(list,
				  orma_store_pool_get(&list->tables->strings,
						      event->fields[field.id].name),
				  kind, &field);
}

static int64_t get_cell(const struct orma_tables *tables, enum orma_table_id table, size_t column,
			uint64_t row)
{
	return orma_store_column_get(&tables->all[table].columns[column], row);
}

static uint32_t machine_of(const struct orma_system *system, uint64_t row)
{
	int64_t ucpu =
		get_cell(system->tables, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_UCPU, row);
	return (uint32_t)(ucpu / ORMA_CPUS_PER_MACHINE);
}

static void add_text(struct orma_arg_list *list, const char *key, struct orma_str text)
{
	orma_arg_list_add_string(list, key, text);
}

static int add_switch(struct orma_kernel_args *args, uint64_t row,
		      const struct orma_compact_search *search, struct orma_arg_list *list)
{
	const struct orma_tables *tables = args->system->tables;
	uint64_t utid =
		(uint64_t)get_cell(tables, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_UTID, row);
	int64_t comm = get_cell(tables, ORMA_TABLE_THREAD, ORMA_THREAD_NAME, utid);
	int32_t prio;
	int r = orma_compact_last_prio(args, search, &prio);
	if (r < 0)
		return r;
	const struct orma_compact_switch *found = &args->compact.switches[search->idx];
	orma_arg_list_add(list, ORMA_STR("prev_comm"), ORMA_STR("prev_comm"), ORMA_ARG_STRING,
			  comm);
	orma_arg_list_add_int(list, "prev_pid",
			      get_cell(tables, ORMA_TABLE_THREAD, ORMA_THREAD_TID, utid));
	orma_arg_list_add_int(list, "prev_prio", prio);
	orma_arg_list_add_int(list, "prev_state", found->prev_state);
	add_text(list, "next_comm", orma_compact_name_text(found->next_comm));
	orma_arg_list_add_int(list, "next_pid", found->next_pid);
	orma_arg_list_add_int(list, "next_prio", found->next_prio);
	return 0;
}

static void add_waking(const struct orma_compact_waking *waking, struct orma_arg_list *list)
{
	add_text(list, "comm", orma_compact_name_text(waking->comm));
	orma_arg_list_add_int(list, "pid", waking->pid);
	orma_arg_list_add_int(list, "prio", waking->prio);
	orma_arg_list_add_int(list, "target_cpu", waking->target_cpu);
}

static int add_compact(struct orma_kernel_args *args, uint64_t row, struct orma_arg_list *list)
{
	struct orma_compact_search search;
	int r = orma_compact_search_row(args, row, &search);
	if (r <= 0)
		return r;
	if (!search.is_waking)
		return add_switch(args, row, &search, list);
	add_waking(&args->compact.wakings[search.idx], list);
	return 0;
}

static int add_message(struct orma_kernel_args *args, uint32_t machine_idx, uint64_t bundle,
		       uint32_t id, struct orma_str message, struct orma_arg_list *list)
{
	const struct orma_generic_event *event;
	if (id == ORMA_PB_FTRACE_EVENT_GENERIC) {
		add_self_named(message, list);
		return 0;
	}
	if (id < ORMA_TYPED_EVENTS_MAX)
		return add_typed(args, bundle, id, message, list);
	event = orma_base_map_get(&args->system->kernel.generic, (uint64_t)machine_idx << 32 | id);
	if (event)
		add_described(event, message, list);
	return 0;
}

static int add_event(struct orma_kernel_args *args, uint64_t row, uint64_t bundle, uint64_t offset,
		     struct orma_arg_list *list)
{
	struct orma_str message;
	uint32_t id;
	int r = read_event(args, bundle + offset, &id, &message);
	return r < 0 ? r
		     : add_message(args, machine_of(args->system, row), bundle, id, message, list);
}

int orma_kernel_args_add_ordered(struct orma_kernel_args *args,
				 const struct orma_ordered_event *event, struct orma_arg_list *list)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r = 0;
	if (event->kind == ORMA_ORDERED_SWITCH) {
		orma_arg_list_add_int(list, "prev_state", event->compact_switch->prev_state);
		add_text(list, "next_comm",
			 orma_compact_name_text(event->compact_switch->next_comm));
		orma_arg_list_add_int(list, "next_pid", event->compact_switch->next_pid);
		orma_arg_list_add_int(list, "next_prio", event->compact_switch->next_prio);
		return list->error;
	}
	if (event->kind == ORMA_ORDERED_WAKING) {
		add_waking(event->compact_waking, list);
		return list->error;
	}
	struct orma_str bytes = event->kernel_event->bytes;
	orma_proto_reader_init(&reader, bytes.data, bytes.size);
	while (r == 0 && orma_proto_reader_next(&reader, &field) > 0)
		if (field.type == ORMA_PROTO_BYTES)
			r = add_message(args, event->machine_idx, event->address, field.id,
					field.bytes, list);
	/* Symbols lie in packets that are gone. */
	return r < 0 && r != -EIO ? r : list->error;
}

int orma_kernel_args_add(struct orma_kernel_args *args, uint64_t row, struct orma_arg_list *list)
{
	const struct orma_tables *tables = args->system->tables;
	int64_t packet = get_cell(tables, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_PACKET, row);
	int64_t offset = get_cell(tables, ORMA_TABLE_FTRACE_EVENT, ORMA_FTRACE_EVENT_OFFSET, row);
	int r = packet == ORMA_CELL_NULL
			? add_compact(args, row, list)
			: add_event(args, row, (uint64_t)packet, (uint64_t)offset, list);
	return r < 0 ? r : list->error;
}

int orma_kernel_args_add_slice(struct orma_kernel_args *args, int64_t locator,
			       struct orma_arg_list *list)
{
	struct orma_kernel_call call = {.system = args->system};
	uint64_t address = (uint64_t)(locator & ~ORMA_KERNEL_EVENT_BIT);
	int r = read_event(args, address, &call.id, &call.bytes);
	const struct orma_kernel_rule *rule = r == 0 ? orma_kernel_rule_find(call.id) : NULL;
	if (!rule)
		return r;
	/* The symbols of its bundle are found by any address in it. */
	call.bundle = address;
	orma_kernel_fields_read(&call.fields, call.bytes);
	orma_kernel_rule_args(rule, &call, list);
	return list->error;
}
