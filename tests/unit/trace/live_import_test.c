/* SPDX-License-Identifier: Apache-2.0
 * live_import_test.c - a trace is imported packet by packet, and its events are forgotten.
 */
#include "trace/live_import.h"

#include <stdio.h>

#include "harness.h"
#include "schema/gen/trace.pb.h"

struct lines {
	struct orma_live_import live;
	char text[4096];
	size_t size;
	uint64_t rows;
	int refuse; /* the result of the function */
};

static void add_line(struct lines *lines, const char *format, ...) ORMA_PRINTF(2, 3);
static void add_line(struct lines *lines, const char *format, ...)
{
	va_list args;
	va_start(args, format);
	int size = vsnprintf(lines->text + lines->size, sizeof(lines->text) - lines->size, format,
			     args);
	va_end(args);
	if (lines->size + (size_t)size < sizeof(lines->text))
		lines->size += (size_t)size;
}

static const char *text_of(struct lines *lines, int64_t cell)
{
	return cell == ORMA_CELL_NULL ? "-" : orma_tables_text(&lines->live.tables, cell).data;
}

static int on_row(void *ctx, enum orma_table_id table, uint64_t row,
		  const struct orma_arg_list *args)
{
	struct lines *lines = ctx;
	const struct orma_column *columns = lines->live.tables.all[table].columns;
	lines->rows++;
	if (table == ORMA_TABLE_SLICE)
		add_line(lines, "%lld slice %s", (long long)orma_store_column_get(&columns[0], row),
			 text_of(lines, orma_store_column_get(&columns[ORMA_SLICE_NAME], row)));
	else if (table == ORMA_TABLE_FTRACE_EVENT)
		add_line(lines, "%lld %s", (long long)orma_store_column_get(&columns[0], row),
			 text_of(lines,
				 orma_store_column_get(&columns[ORMA_FTRACE_EVENT_NAME], row)));
	else
		add_line(lines, "%lld row", (long long)orma_store_column_get(&columns[0], row));
	for (uint32_t i = 0; i < args->count; i++)
		add_line(lines, " %s", orma_arg_list_key(args, i).data);
	add_line(lines, "\n");
	return lines->refuse;
}

static void on_end(void *ctx, int64_t row, int64_t dur)
{
	add_line(ctx, "end %lld %lld\n", (long long)row, (long long)dur);
}

static void begin(struct lines *lines)
{
	*lines = (struct lines){.live = {.on_row = on_row, .on_end = on_end, .ctx = lines}};
	CHECK_INT(orma_live_import_init(&lines->live), 0);
}

/* Imports the packets of a Trace, given as text. Returns the first error. */
static int import(struct lines *lines, const char *text)
{
	struct orma_arena arena = {0};
	struct orma_buf bytes = {0};
	struct orma_error error = {0};
	struct orma_pb_trace *trace;
	if (orma_proto_text_parse(&orma_pb_trace_desc, "trace", text, strlen(text), 0, &arena,
				  &trace, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(trace, &bytes), 0);
	int r = 0;
	for (size_t at = 0; r >= 0 && at < bytes.size;) {
		struct orma_str packet;
		uint64_t size;
		CHECK_INT(orma_trace_entry_read(bytes.data + at, bytes.size - at, &packet, &size),
			  1);
		r = orma_live_import_packet(&lines->live, packet);
		at += (size_t)size;
	}
	orma_base_buf_done(&bytes);
	orma_base_arena_done(&arena);
	return r;
}

#define SEQUENCE " trusted_packet_sequence_id: 1 "

ORMA_TEST(events_are_shown_as_they_come)
{
	struct lines lines;
	begin(&lines);
	CHECK_INT(import(&lines,
			 "packet { sequence_flags: 1 interned_data { event_names { iid: 1 name: "
			 "'outer' } debug_annotation_names { iid: 1 name: 'k' } }" SEQUENCE "}"
			 "packet { timestamp: 10 sequence_flags: 2 track_event { type: "
			 "TYPE_SLICE_BEGIN name_iid: 1 track_uuid: 5 debug_annotations { name_iid: "
			 "1 int_value: 3 } }" SEQUENCE "}"
			 "packet { timestamp: 20 track_event { type: TYPE_INSTANT name: 'mark' "
			 "track_uuid: 5 }" SEQUENCE "}"),
		  0);
	CHECK_STR(lines.text, "10 slice outer debug.k\n20 slice mark\n");
	lines.size = 0;
	CHECK_INT(import(&lines, "packet { timestamp: 30 track_event { type: TYPE_SLICE_END "
				 "track_uuid: 5 }" SEQUENCE "}"),
		  0);
	CHECK_STR(lines.text, "end 0 20\n");
	orma_live_import_done(&lines.live);
}

ORMA_TEST(names_end_with_their_generation)
{
	struct lines lines;
	begin(&lines);
	CHECK_INT(import(&lines,
			 "packet { sequence_flags: 1 interned_data { event_names { iid: 1 name: "
			 "'old' } }" SEQUENCE "}"
			 "packet { timestamp: 1 sequence_flags: 2 track_event { type: TYPE_INSTANT "
			 "name_iid: 1 }" SEQUENCE "}"
			 "packet { sequence_flags: 1 interned_data { event_names { iid: 1 name: "
			 "'new' } }" SEQUENCE "}"
			 "packet { timestamp: 2 sequence_flags: 2 track_event { type: TYPE_INSTANT "
			 "name_iid: 1 track_uuid: 3 }" SEQUENCE "}"
			 "packet { timestamp: 3 previous_packet_dropped: 1 sequence_flags: 2 "
			 "track_event { type: TYPE_INSTANT name_iid: 1 track_uuid: 3 }" SEQUENCE
			 "}"),
		  0);
	/* The last one needs a state that was lost. */
	CHECK_STR(lines.text, "1 slice old\n2 slice new\n");
	orma_live_import_done(&lines.live);
}

/* A counter is described before the process that it belongs to. */
ORMA_TEST(descriptors_may_come_before_those_of_their_parents)
{
	struct lines lines;
	begin(&lines);
	CHECK_INT(import(&lines,
			 "packet { track_descriptor { uuid: 2 parent_uuid: 3 counter { } }" SEQUENCE
			 "}"
			 "packet { track_descriptor { uuid: 3 process { pid: 4 process_name: 'p' } "
			 "}" SEQUENCE "}"
			 "packet { timestamp: 7 track_event { type: TYPE_COUNTER track_uuid: 2 "
			 "counter_value: 1 }" SEQUENCE "}"),
		  0);
	CHECK_STR(lines.text, "7 row\n");
	orma_live_import_done(&lines.live);
}

ORMA_TEST(kernel_events_come_in_the_order_of_time_with_their_fields)
{
	struct lines lines;
	begin(&lines);
	CHECK_INT(import(&lines,
			 "packet { ftrace_events { cpu: 1 event { timestamp: 10 pid: 3 "
			 "sched_process_exec { filename: 'x' pid: 3 } } "
			 "event { timestamp: 30 pid: 3 cpu_idle { state: 1 cpu_id: 1 } } "
			 "compact_sched { intern_table: 'comm' switch_timestamp: 20 "
			 "switch_next_comm_index: 0 switch_next_pid: 5 switch_next_prio: 120 "
			 "switch_prev_state: 1 } }" SEQUENCE "}"
			 "packet { ftrace_events { cpu: 1 compact_sched { intern_table: 'comm' "
			 "switch_timestamp: 40 switch_next_comm_index: 0 switch_next_pid: 6 "
			 "switch_next_prio: 120 switch_prev_state: 1 } }" SEQUENCE "}"),
		  0);
	CHECK_STR(lines.text, "10 sched_process_exec filename pid\n"
			      "30 row\n30 cpu_idle state cpu_id\n"
			      "40 sched_switch prev_state next_comm next_pid next_prio\n");
	orma_live_import_done(&lines.live);
}

ORMA_TEST(memory_does_not_grow_with_events)
{
	struct lines lines;
	char text[200];
	begin(&lines);
	size_t used = 0;
	for (int i = 0; i < 60000; i++) {
		lines.size = 0;
		snprintf(text, sizeof(text),
			 "packet { timestamp: %d track_event { type: TYPE_INSTANT name: 'a' "
			 "track_uuid: 5 }" SEQUENCE "}",
			 i);
		CHECK_INT(import(&lines, text), 0);
		if (i == 20000)
			used = lines.live.tables.extents.memory_bytes;
	}
	CHECK_INT(lines.rows, 60000);
	CHECK_INT(lines.live.tables.extents.memory_bytes, used);
	orma_live_import_done(&lines.live);
}

/* Names, arguments and messages that differ from event to event are forgotten, as the events are. */
ORMA_TEST(memory_does_not_grow_with_texts_of_events)
{
	struct lines lines;
	char text[700], line[100];
	begin(&lines);
	uint32_t strings = 0, args = 0;
	for (int i = 0; i < 30000; i++) {
		lines.size = 0;
		snprintf(text, sizeof(text),
			 "packet { timestamp: %d track_event { type: TYPE_SLICE_BEGIN name: 'n%d' "
			 "track_uuid: 5 debug_annotations { name: 'k%d' string_value: 'v%d' } "
			 "}" SEQUENCE
			 "} packet { timestamp: %d ftrace_events { cpu: 0 event { timestamp: %d "
			 "pid: 3 print { buf: 'B|3|marker %d' } } event { timestamp: %d pid: 3 "
			 "print { buf: 'E|3' } } }" SEQUENCE "}"
			 "packet { timestamp: %d journald_event { message: 'm%d' pid: 3 tag: 't' "
			 "} " SEQUENCE "}"
			 "packet { timestamp: %d track_event { type: TYPE_SLICE_END track_uuid: 5 "
			 "}" SEQUENCE "}",
			 i * 9, i, i, i, i * 9 + 1, i * 9 + 1, i, i * 9 + 2, i * 9 + 3, i,
			 i * 9 + 4);
		CHECK_INT(import(&lines, text), 0);
		snprintf(line, sizeof(line), "%d slice n%d debug.k%d\n", i * 9, i, i);
		CHECK(strstr(lines.text, line));
		snprintf(line, sizeof(line), " slice marker %d", i);
		CHECK(strstr(lines.text, line));
		if (i > 100) {
			CHECK(lines.live.passing.count < 10000);
			CHECK_INT(lines.live.tables.strings.count, strings);
			CHECK_INT(orma_store_table_rows(&lines.live.tables.all[ORMA_TABLE_ARGS]),
				  args);
		}
		strings = lines.live.tables.strings.count;
		args = (uint32_t)orma_store_table_rows(&lines.live.tables.all[ORMA_TABLE_ARGS]);
	}
	orma_live_import_done(&lines.live);
}

ORMA_TEST(an_error_of_the_function_ends_the_import)
{
	struct lines lines;
	begin(&lines);
	lines.refuse = -ECANCELED;
	CHECK_INT(import(&lines, "packet { timestamp: 20 track_event { type: TYPE_INSTANT name: "
				 "'mark' track_uuid: 5 }" SEQUENCE "}"),
		  -ECANCELED);
	orma_live_import_done(&lines.live);
}

ORMA_TEST(a_live_import_reports_that_memory_is_short)
{
	for (uint64_t n = 1; n < 400; n++) {
		struct lines lines = {.live = {.on_row = on_row, .on_end = on_end}};
		lines.live.ctx = &lines;
		orma_test_fail_allocation(n);
		int r = orma_live_import_init(&lines.live);
		if (r == 0) {
			static const unsigned char packet[] =
				"\x40\x64\x50\x01\x5a\x06\x48\x03\xba\x01\x01n";
			r = orma_live_import_packet(
				&lines.live,
				(struct orma_str){(const char *)packet, sizeof(packet) - 1});
		}
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK(r == 0 || r == -ENOMEM);
		orma_live_import_done(&lines.live);
		if (!has_failed)
			return;
	}
	CHECK(false);
}
