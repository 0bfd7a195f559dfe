/* SPDX-License-Identifier: Apache-2.0
 * ftrace_output.c - finds the message of an event by its name, and the fields of that by the keys of the line.
 *
 * Most events print their fields under the fields' own names, so that one rule serves all. The others are in a list. An event
 * without a message, or none of whose fields is known, is a generic event with texts.
 */
#include "formats/ftrace_output.h"

#include <errno.h>

#include "base/alloc.h"
#include "formats/event_output.h"
#include "formats/text_lines.h"
#include "proto/codec.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_event_bundle.pb.h"
#include "schema/gen/ftrace_generic.pb.h"
#include "schema/gen/ftrace_print.pb.h"
#include "schema/gen/interned_data.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"
#include "store/grow.h"
#include "trace/conversion_fields.h"
#include "trace/cpus.h"

enum { BUNDLE_BYTES = 32 << 10, SEQUENCE = 1, NAMES_MAX = 1 << 20 };

struct orma_ftrace_cpu {
	struct orma_buf events; /* fields of a bundle */
};

/* The event that is being written. */
struct event {
	struct orma_ftrace_output *ftrace;
	const struct orma_ftrace_line *line;
	struct orma_ftrace_field fields[ORMA_FTRACE_FIELDS_MAX];
	unsigned field_count;
	const struct orma_proto_desc *message;
	struct orma_proto_writer *writer;
	unsigned written; /* fields */
};

void orma_ftrace_output_done(struct orma_ftrace_output *ftrace)
{
	for (uint32_t i = 0; i < ftrace->cpu_count; i++)
		orma_base_buf_done(&ftrace->cpus[i].events);
	orma_base_free(ftrace->cpus);
	orma_base_map_done(&ftrace->names);
	orma_base_map_done(&ftrace->events);
	orma_base_buf_done(&ftrace->text);
}

static int write_bundle(struct orma_ftrace_output *ftrace, uint32_t cpu)
{
	struct orma_proto_nested bundle;
	struct orma_buf *events = &ftrace->cpus[cpu].events;
	if (events->size == 0)
		return 0;
	struct orma_proto_writer *writer =
		orma_packet_output_begin_untimed(ftrace->output, SEQUENCE);
	orma_proto_nested_begin(writer, &bundle, ORMA_PB_TRACE_PACKET_FTRACE_EVENTS);
	orma_proto_write_varint(writer, ORMA_PB_FTRACE_EVENT_BUNDLE_CPU, cpu);
	if (!ftrace->has_trace_clock)
		orma_proto_write_varint(writer, ORMA_PB_FTRACE_EVENT_BUNDLE_FTRACE_CLOCK,
					ORMA_FTRACE_CLOCK_MONOTONIC);
	orma_proto_write_raw(writer, events->data, events->size);
	events->size = 0;
	return orma_packet_output_end(ftrace->output);
}

int orma_ftrace_output_end(struct orma_ftrace_output *ftrace)
{
	int r = 0;
	for (uint32_t i = 0; i < ftrace->cpu_count && r == 0; i++)
		r = write_bundle(ftrace, i);
	return r;
}

/* --- names ------------------------------------------------------------------------------------ */

int orma_ftrace_output_name(struct orma_ftrace_output *ftrace, int64_t ns, uint32_t tid,
			    uint32_t tgid, struct orma_str name)
{
	struct orma_proto_nested event, legacy;
	struct orma_packet_output *output = ftrace->output;
	struct orma_proto_writer *writer = orma_packet_output_begin(output, SEQUENCE, ns);
	orma_proto_nested_begin(writer, &event, ORMA_PB_TRACE_PACKET_TRACK_EVENT);
	orma_output_text(output, ORMA_OUTPUT_NAME, ORMA_STR("thread_name"));
	orma_proto_nested_begin(writer, &legacy, ORMA_PB_TRACK_EVENT_LEGACY_EVENT);
	orma_proto_write_int(writer, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_PHASE, 'M');
	orma_proto_write_int(writer, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_TID_OVERRIDE, (int32_t)tid);
	if (tgid)
		orma_proto_write_int(writer, ORMA_PB_TRACK_EVENT_LEGACY_EVENT_PID_OVERRIDE,
				     (int32_t)tgid);
	orma_proto_write_varint(writer, ORMA_LEGACY_EVENT_STYLE, ORMA_EVENT_STYLE_JSON);
	if (name.size > 0)
		orma_proto_write_str(writer, ORMA_LEGACY_EVENT_TEXT, name);
	orma_proto_nested_end(writer, &legacy);
	if (name.size > 0)
		orma_output_arg_text(output, ORMA_STR("name"), name);
	return orma_packet_output_end(output);
}

/* The kernel does not know the names of all tasks, and prints "<...>" for the others. */
static int take_task(struct orma_ftrace_output *ftrace, const struct orma_ftrace_line *line)
{
	struct orma_str name = line->task;
	if (orma_base_str_is(name, "<...>") || orma_base_str_is(name, "<idle>"))
		name.size = 0;
	if (line->tid == 0 || (name.size == 0 && line->tgid == 0))
		return 0;
	uint64_t known = orma_base_fnv1a(ORMA_FNV1A_INIT + line->tgid, name.data, name.size) | 1;
	if ((uintptr_t)orma_base_map_get(&ftrace->names, line->tid) == (uintptr_t)known)
		return 0;
	if (ftrace->names.count < NAMES_MAX) {
		int r = orma_base_map_put(&ftrace->names, line->tid, (void *)(uintptr_t)known);
		if (r < 0)
			return r;
	}
	return orma_ftrace_output_name(ftrace, line->ns, line->tid, line->tgid, name);
}

/* --- fields ----------------------------------------------------------------------------------- */

static struct orma_str value_of(const struct event *event, const char *key)
{
	return orma_ftrace_field_find(event->fields, event->field_count, key);
}

/* Names of memory counters are numbers in the message. */
static bool read_number(struct orma_str text, int64_t *ret)
{
	static const char *const members[] = {"MM_FILEPAGES", "MM_ANONPAGES", "MM_SWAPENTS",
					      "MM_SHMEMPAGES"};
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (orma_base_str_is(text, members[i])) {
			*ret = (int64_t)i;
			return true;
		}
	return orma_ftrace_number_read(text, ret);
}

static void write_field(struct event *event, const char *name, struct orma_str value)
{
	const struct orma_proto_field_desc *field =
		orma_proto_desc_find_name(event->message, orma_base_str(name));
	int64_t number;
	if (!field || field->flags & ORMA_PROTO_REPEATED_FLAG || !value.data)
		return;
	switch ((enum orma_proto_kind)field->kind) {
	case ORMA_PROTO_KIND_STRING:
		orma_proto_write_str(event->writer, field->id, value);
		event->written++;
		return;
	case ORMA_PROTO_KIND_INT32:
	case ORMA_PROTO_KIND_INT64:
	case ORMA_PROTO_KIND_UINT32:
	case ORMA_PROTO_KIND_UINT64:
	case ORMA_PROTO_KIND_ENUM:
	case ORMA_PROTO_KIND_BOOL:
		if (!read_number(value, &number))
			return;
		orma_proto_write_int(event->writer, field->id, number);
		event->written++;
		return;
	default:
		return;
	}
}

static void write_field_number(struct event *event, const char *name, int64_t number)
{
	const struct orma_proto_field_desc *field =
		orma_proto_desc_find_name(event->message, orma_base_str(name));
	if (!field)
		return;
	orma_proto_write_int(event->writer, field->id, number);
	event->written++;
}

/* The functions of the kernel are numbers that the interned symbols name. */
static void write_symbol(struct event *event, const char *name, struct orma_str symbol)
{
	if (symbol.size == 0)
		return;
	orma_packet_output_begin_untimed(event->ftrace->output, SEQUENCE);
	uint64_t iid = orma_packet_output_intern(event->ftrace->output,
						 ORMA_PB_INTERNED_DATA_KERNEL_SYMBOLS, symbol);
	orma_packet_output_end(event->ftrace->output);
	if (iid)
		write_field_number(event, name, (int64_t)iid);
}

static void write_all(struct event *event)
{
	char name[64];
	for (unsigned i = 0; i < event->field_count; i++) {
		struct orma_str key = event->fields[i].key;
		if (key.size >= sizeof(name))
			continue;
		memcpy(name, key.data, key.size);
		name[key.size] = '\0';
		write_field(event, name, event->fields[i].value);
	}
}

/* Reads "comm:pid [prio] state" and "comm:pid [prio] CPU:001", as trace-cmd prints them; the name may have colons. */
static bool read_short_task(struct orma_str text, struct orma_str *ret_comm,
			    struct orma_str *ret_pid, struct orma_str *ret_prio,
			    struct orma_str *ret_rest)
{
	const char *open = text.size > 0 ? memmem(text.data, text.size, " [", 2) : NULL;
	const char *close = open ? memchr(open, ']', (size_t)(text.data + text.size - open)) : NULL;
	if (!close)
		return false;
	const char *colon = open;
	while (colon > text.data && *colon != ':')
		colon--;
	*ret_comm = orma_text_trim((struct orma_str){text.data, (size_t)(colon - text.data)});
	*ret_pid = (struct orma_str){colon + 1, (size_t)(open - colon - 1)};
	*ret_prio = (struct orma_str){open + 2, (size_t)(close - open - 2)};
	*ret_rest = orma_text_trim(
		(struct orma_str){close + 1, (size_t)(text.data + text.size - close - 1)});
	return *colon == ':';
}

static void write_switch(struct event *event)
{
	struct orma_str args = event->line->args, comm, pid, prio, rest;
	struct orma_str state = value_of(event, "prev_state");
	int64_t number;
	if (state.data) {
		write_all(event);
		if (!orma_ftrace_number_read(state, &number))
			number = orma_ftrace_state_read(state);
		write_field_number(event, "prev_state", number);
		return;
	}
	const char *arrow = memmem(args.data, args.size, "==>", 3);
	if (!arrow || !read_short_task((struct orma_str){args.data, (size_t)(arrow - args.data)},
				       &comm, &pid, &prio, &state))
		return;
	write_field(event, "prev_comm", comm);
	write_field(event, "prev_pid", pid);
	write_field(event, "prev_prio", prio);
	write_field_number(event, "prev_state", orma_ftrace_state_read(state));
	struct orma_str next = {arrow + 3, args.size - (size_t)(arrow + 3 - args.data)};
	if (!read_short_task(orma_text_trim(next), &comm, &pid, &prio, &rest))
		return;
	write_field(event, "next_comm", comm);
	write_field(event, "next_pid", pid);
	write_field(event, "next_prio", prio);
}

static void write_wakeup(struct event *event)
{
	struct orma_str comm, pid, prio, rest;
	if (value_of(event, "pid").data) {
		write_all(event);
		return;
	}
	if (!read_short_task(event->line->args, &comm, &pid, &prio, &rest))
		return;
	write_field(event, "comm", comm);
	write_field(event, "pid", pid);
	write_field(event, "prio", prio);
	const char *cpu = memmem(rest.data, rest.size, "CPU:", 4);
	if (cpu)
		write_field(event, "target_cpu",
			    (struct orma_str){cpu + 4, rest.size - (size_t)(cpu + 4 - rest.data)});
}

static void write_blocked_reason(struct event *event)
{
	write_field(event, "pid", value_of(event, "pid"));
	write_field(event, "io_wait", value_of(event, "iowait"));
	write_symbol(event, "caller", value_of(event, "caller"));
}

/* "work struct 0xffff8881: function flush_to_ldisc" */
static void write_workqueue(struct event *event)
{
	static const char mark[] = "function ";
	struct orma_str args = event->line->args;
	const char *work = memmem(args.data, args.size, "0x", 2);
	const char *function = memmem(args.data, args.size, mark, strlen(mark));
	if (work)
		write_field(event, "work",
			    (struct orma_str){work, args.size - (size_t)(work - args.data)});
	if (!function)
		return;
	function += strlen(mark);
	struct orma_str rest = {function, args.size - (size_t)(function - args.data)};
	write_symbol(event, "function", orma_text_cut(&rest, ' '));
}

static void write_irq_exit(struct event *event)
{
	write_field(event, "irq", value_of(event, "irq"));
	write_field_number(event, "ret", orma_base_str_is(value_of(event, "ret"), "handled"));
}

static void write_frequency_limits(struct event *event)
{
	write_all(event);
	write_field(event, "min_freq", value_of(event, "min"));
	write_field(event, "max_freq", value_of(event, "max"));
}

static void write_rss(struct event *event)
{
	write_all(event);
	write_field(event, "member", value_of(event, "type"));
}

static void write_print(struct event *event)
{
	static const char mark[] = "tracing_mark_write: ";
	struct orma_str text = event->line->args;
	if (orma_text_starts_with(text, mark))
		text = (struct orma_str){text.data + strlen(mark), text.size - strlen(mark)};
	orma_proto_write_str(event->writer, ORMA_PB_PRINT_FTRACE_EVENT_BUF, text);
	event->written++;
}

static const struct {
	const char *name;
	const char *message; /* the field of FtraceEvent; NULL = the same name */
	void (*write)(struct event *event);
} specials[] = {
	{"sched_switch", NULL, write_switch},
	{"sched_waking", NULL, write_wakeup},
	{"sched_wakeup", NULL, write_wakeup},
	{"sched_wakeup_new", NULL, write_wakeup},
	{"sched_blocked_reason", NULL, write_blocked_reason},
	{"workqueue_execute_start", NULL, write_workqueue},
	{"workqueue_execute_end", NULL, write_workqueue},
	{"irq_handler_exit", NULL, write_irq_exit},
	{"cpu_frequency_limits", NULL, write_frequency_limits},
	{"rss_stat", NULL, write_rss},
	{"print", NULL, write_print},
	{"tracing_mark_write", "print", write_print},
	{"0", "print", write_print},
};

/* --- events ----------------------------------------------------------------------------------- */

static const struct orma_proto_field_desc *find_message(struct orma_ftrace_output *ftrace,
							struct orma_str name)
{
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, name.data, name.size);
	const struct orma_proto_field_desc *field = orma_base_map_get(&ftrace->events, key);
	if (field)
		return field;
	field = orma_proto_desc_find_name(&orma_pb_ftrace_event_desc, name);
	if (!field || field->kind != ORMA_PROTO_KIND_MESSAGE)
		return NULL;
	orma_base_map_put(&ftrace->events, key, (void *)(uintptr_t)field);
	return field;
}

/* Writes the message of the event. Returns false when none of its fields is known. */
static bool write_typed(struct event *event)
{
	struct orma_str name = event->line->event;
	void (*write)(struct event * event) = write_all;
	for (size_t i = 0; i < sizeof(specials) / sizeof(*specials); i++)
		if (orma_base_str_is(name, specials[i].name)) {
			write = specials[i].write;
			if (specials[i].message)
				name = orma_base_str(specials[i].message);
			break;
		}
	const struct orma_proto_field_desc *field = find_message(event->ftrace, name);
	if (!field || orma_base_str_is(name, "generic"))
		return false;
	struct orma_proto_nested message;
	event->message = orma_pb_ftrace_event_desc.types[field->type_idx].message;
	orma_proto_nested_begin(event->writer, &message, field->id);
	write(event);
	orma_proto_nested_end(event->writer, &message);
	return event->written > 0 || event->line->args.size == 0;
}

static void write_generic(struct event *event)
{
	struct orma_proto_nested generic, field;
	struct orma_proto_writer *writer = event->writer;
	orma_proto_nested_begin(writer, &generic, ORMA_PB_FTRACE_EVENT_GENERIC);
	orma_proto_write_str(writer, ORMA_PB_GENERIC_FTRACE_EVENT_EVENT_NAME, event->line->event);
	for (unsigned i = 0; i < event->field_count; i++) {
		struct orma_str value = event->fields[i].value;
		int64_t number;
		orma_proto_nested_begin(writer, &field, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD);
		orma_proto_write_str(writer, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_NAME,
				     event->fields[i].key);
		if (orma_text_read_i64(value, &number))
			orma_proto_write_int(writer, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_INT_VALUE,
					     number);
		else
			orma_proto_write_str(writer, ORMA_PB_GENERIC_FTRACE_EVENT_FIELD_STR_VALUE,
					     value);
		orma_proto_nested_end(writer, &field);
	}
	orma_proto_nested_end(writer, &generic);
}

/* Appends the event to the bundle of its CPU. */
static int write_event(struct event *event, struct orma_buf *events, bool is_generic)
{
	struct orma_proto_heap_writer heap;
	struct orma_proto_nested nested;
	size_t before = events->size;
	orma_proto_heap_writer_init(&heap, events);
	event->writer = &heap.writer;
	orma_proto_nested_begin(&heap.writer, &nested, ORMA_PB_FTRACE_EVENT_BUNDLE_EVENT);
	orma_proto_write_int(&heap.writer, ORMA_PB_FTRACE_EVENT_TIMESTAMP, event->line->ns);
	orma_proto_write_varint(&heap.writer, ORMA_PB_FTRACE_EVENT_PID, event->line->tid);
	bool is_known = true;
	if (is_generic)
		write_generic(event);
	else
		is_known = write_typed(event);
	orma_proto_nested_end(&heap.writer, &nested);
	event->writer = NULL;
	int r = orma_proto_heap_writer_finish(&heap);
	if (r == 0 && !is_known)
		events->size = before;
	return r < 0 ? r : is_known;
}

static int find_cpu(struct orma_ftrace_output *ftrace, uint32_t cpu)
{
	uint32_t before = ftrace->cpu_count;
	if (cpu < before)
		return 0;
	int r = orma_store_grow(&ftrace->cpus, (uint64_t)cpu + 1, &ftrace->cpu_capacity,
				sizeof(*ftrace->cpus));
	if (r < 0)
		return r;
	memset(ftrace->cpus + before, 0, (cpu + 1 - before) * sizeof(*ftrace->cpus));
	ftrace->cpu_count = cpu + 1;
	return 0;
}

int orma_ftrace_output_add(struct orma_ftrace_output *ftrace, const struct orma_ftrace_line *line)
{
	struct event event;
	if (line->cpu >= ORMA_CPUS_PER_MACHINE) {
		orma_packet_output_count(ftrace->output, ORMA_STAT_systrace_parse_failure);
		return 0;
	}
	int r = find_cpu(ftrace, line->cpu);
	if (r == 0)
		r = take_task(ftrace, line);
	if (r < 0)
		return r;
	event.ftrace = ftrace;
	event.line = line;
	event.written = 0;
	event.field_count = orma_ftrace_fields_read(line->args, event.fields);
	struct orma_buf *events = &ftrace->cpus[line->cpu].events;
	r = write_event(&event, events, false);
	if (r == 0)
		r = write_event(&event, events, true);
	if (r < 0)
		return r;
	return events->size >= BUNDLE_BYTES ? write_bundle(ftrace, line->cpu)
					    : ftrace->output->error;
}
