/* SPDX-License-Identifier: Apache-2.0
 * report_data_test.c - columns of a report are read as docs/report-format.md says, and compared with the tables.
 */
#include "view/report_data.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness.h"
#include "view/report_columns.h"
#include "view_fixture.h"

/* A column of the data, found by its name. */
struct column {
	const uint8_t *bytes;
	unsigned width;
	size_t count;
};

static struct column find(struct orma_report_data *data, const char *wanted)
{
	const char *at = orma_base_buf_cstr(&data->layout);
	const uint8_t *bytes = data->bytes.data;
	CHECK(at && *at++ == '[');
	while (*at != ']') {
		char name[64];
		struct column column = {.bytes = bytes};
		int used = 0;
		CHECK_INT(sscanf(at, "[\"%63[^\"]\",%u,%zu]%n", name, &column.width, &column.count,
				 &used),
			  3);
		CHECK(used > 0);
		bytes += column.width * column.count;
		CHECK(bytes <= data->bytes.data + data->bytes.size);
		if (strcmp(name, wanted) == 0)
			return column;
		at += used;
		at += *at == ',';
	}
	orma_test_fail(__FILE__, __LINE__, "there is no column %s", wanted);
	return (struct column){0};
}

static uint64_t value_at(struct column column, size_t idx)
{
	uint64_t value = 0;
	CHECK(idx < column.count);
	for (unsigned plane = 0; plane < column.width; plane++)
		value |= (uint64_t)column.bytes[plane * column.count + idx] << (8 * plane);
	return value;
}

static void check_column(struct orma_report_data *data, const char *name, const uint64_t *expected,
			 size_t count)
{
	struct column column = find(data, name);
	CHECK_INT(column.count, count);
	for (size_t i = 0; i < count; i++)
		if (value_at(column, i) != expected[i])
			orma_test_fail(__FILE__, __LINE__, "%s[%zu] is %llu", name, i,
				       (unsigned long long)value_at(column, i));
}
#define CHECK_COLUMN(data, name, ...)                                                              \
	check_column(data, name, (const uint64_t[]){__VA_ARGS__},                                  \
		     sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void check_text(struct orma_report_data *data, const char *name, const char *expected)
{
	struct column column = find(data, name);
	CHECK_INT(column.width, 1);
	if (column.count != strlen(expected) || memcmp(column.bytes, expected, column.count) != 0)
		orma_test_fail(__FILE__, __LINE__, "%s is %.*s", name, (int)column.count,
			       (const char *)column.bytes);
}

#define PACKET(content) "packet { " content " trusted_packet_sequence_id: 1 } "
#define EVENT(time, type, more)                                                                    \
	PACKET("timestamp: " time " track_event { type: TYPE_" type " " more " }")
#define ARGS "debug_annotations { name: 'n' int_value: 3 }"

/* outer [100, 200) holds a [110, 111), a [112, 114) and b [150, 160); `open` has no end. */
static const char trace[] = PACKET(
	"incremental_state_cleared: true track_descriptor { uuid: 1 thread { pid: 10 tid: 11 "
	"thread_name: 'main' } }") PACKET("track_descriptor { uuid: 2 parent_uuid: 1 name: 'queue' "
					  "counter { } }")
	EVENT("100", "SLICE_BEGIN", "name: 'outer' categories: 'c' track_uuid: 1 " ARGS) EVENT(
		"110", "SLICE_BEGIN", "name: 'a' track_uuid: 1 " ARGS) EVENT("111", "SLICE_END",
									     "track_uuid: 1")
		EVENT("112", "SLICE_BEGIN", "name: 'a' track_uuid: 1") EVENT("114", "SLICE_END",
									     "track_uuid: 1")
			EVENT("150", "SLICE_BEGIN", "name: 'b' categories: 'c' track_uuid: 1")
				EVENT("160", "SLICE_END", "track_uuid: 1") EVENT("200", "SLICE_END",
										 "track_uuid: 1")
					EVENT("100", "COUNTER", "track_uuid: 2 counter_value: 7")
						EVENT("103", "COUNTER",
						      "track_uuid: 2 counter_value: 9")
							EVENT("300", "SLICE_BEGIN",
							      "name: 'open' track_uuid: 1")
								EVENT("65836", "INSTANT",
								      "name: 'b' track_uuid: 1");

static uint64_t bits_of(double value)
{
	uint64_t bits;
	memcpy(&bits, &value, sizeof(bits));
	return bits;
}

ORMA_TEST(columns_are_planes_of_bytes_as_narrow_as_their_largest_value)
{
	static const struct {
		uint64_t value;
		const char *layout, *planes; /* a column with 1 and this value */
	} cases[] = {
		{0, "[\"c\",1,2]", "\1\0"},
		{255, "[\"c\",1,2]", "\1\377"},
		{0x1234, "[\"c\",2,2]", "\1\x34\0\x12"},
		{UINT64_MAX, "[\"c\",8,2]", "\1\377\0\377\0\377\0\377\0\377\0\377\0\377\0\377"}};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct orma_report_column column = {.name = "c"};
		struct orma_buf data = {0}, layout = {0};
		CHECK_INT(orma_report_column_add(&column, 1), 0);
		CHECK_INT(orma_report_column_add(&column, cases[i].value), 0);
		CHECK_INT(orma_report_column_write(&column, &data, &layout), 0);
		CHECK_STR(orma_base_buf_cstr(&layout), cases[i].layout);
		CHECK_INT(data.size, 2 * (size_t)(cases[i].layout[5] - '0'));
		CHECK(memcmp(data.data, cases[i].planes, data.size) == 0);
		orma_base_buf_done(&data);
		orma_base_buf_done(&layout);
		orma_report_column_done(&column);
	}
}

ORMA_TEST(all_rows_are_boxes_at_level_0)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	struct orma_report_data data;
	uint32_t counters = view->first_lanes[ORMA_VIEW_COUNTERS];
	CHECK_INT(orma_report_data_make(view, 0, 100, &data), 0);
	CHECK_INT(data.rows, 8);
	CHECK_INT(data.boxes, 8);
	CHECK_COLUMN(&data, "slice.line_lane", 0, 0);
	CHECK_COLUMN(&data, "slice.line_depth", 0, 1);
	CHECK_COLUMN(&data, "slice.line_count", 2, 4);
	CHECK_COLUMN(&data, "slice.gap", 0, 100, 10, 1, 36, 65676);
	CHECK_COLUMN(&data, "slice.length", 100, 65536, 1, 2, 10, 0);
	CHECK_COLUMN(&data, "slice.name", 1, 3, 4, 4, 5, 5);
	CHECK_COLUMN(&data, "slice.flags", 0, 4, 0, 0, 0, 2);
	CHECK_COLUMN(&data, "slice.more", 0, 0, 0, 0, 0, 0);
	CHECK_INT(find(&data, "slice.more").width, 0);
	CHECK_COLUMN(&data, "slice.category", 2, 0, 0, 0, 2, 0);
	CHECK_COLUMN(&data, "slice.args", 1, 0, 1, 0, 0, 0);
	check_text(&data, "names", "[\"outer\",\"c\",\"open\",\"a\",\"b\"]");
	check_text(&data, "args",
		   "[[{\"key\":\"debug\",\"children\":[{\"key\":\"n\",\"value\":3}]}]]");
	CHECK_COLUMN(&data, "counter.line_lane", counters + 1);
	CHECK_COLUMN(&data, "counter.line_count", 2);
	CHECK_COLUMN(&data, "counter.gap", 0, 3);
	CHECK_COLUMN(&data, "counter.min", 0, 0);
	CHECK_COLUMN(&data, "counter.max", 0, 0);
	CHECK_COLUMN(&data, "counter.first", 0, 0);
	CHECK_COLUMN(&data, "counter.last", bits_of(7), bits_of(9));
	CHECK_INT(find(&data, "sched.gap").count, 0);
	orma_report_data_done(&data);
	view_fixture_close_trace(view);
}

ORMA_TEST(short_rows_are_joined_above)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	struct orma_report_data data;
	CHECK_INT(orma_report_data_make(view, 4, 100, &data), 0);
	CHECK_INT(data.rows, 8);
	CHECK_INT(data.boxes, 6);
	/* Both a begin in [0, 16) since the trace's start: they are one, without arguments, and so are the counter's values. */
	CHECK_COLUMN(&data, "slice.line_count", 2, 3);
	CHECK_COLUMN(&data, "slice.gap", 0, 100, 10, 36, 65676);
	CHECK_COLUMN(&data, "slice.length", 100, 65536, 4, 10, 0);
	CHECK_COLUMN(&data, "slice.flags", 0, 4, 1, 0, 2);
	CHECK_COLUMN(&data, "slice.more", 0, 0, 1, 0, 0);
	CHECK_COLUMN(&data, "slice.args", 1, 0, 0, 0, 0);
	CHECK_COLUMN(&data, "counter.gap", 0);
	CHECK_COLUMN(&data, "counter.more", 1);
	CHECK_COLUMN(&data, "counter.min", bits_of(7) ^ bits_of(9));
	CHECK_COLUMN(&data, "counter.max", 0);
	CHECK_COLUMN(&data, "counter.first", bits_of(7) ^ bits_of(9));
	CHECK_COLUMN(&data, "counter.last", bits_of(9));
	orma_report_data_done(&data);
	view_fixture_close_trace(view);
}

ORMA_TEST(more_boxes_than_allowed_are_refused)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	struct orma_report_data data;
	CHECK_INT(orma_report_data_make(view, 0, 8, &data), 0);
	orma_report_data_done(&data);
	CHECK_INT(orma_report_data_make(view, 0, 7, &data), -EFBIG);
	orma_report_data_done(&data);
	CHECK_INT(orma_report_data_make(view, 4, 6, &data), 0);
	orma_report_data_done(&data);
	view_fixture_close_trace(view);
}

/* Flows lead from "a" to "b" and "c", and from "b" to "c". "a" and "b" began at the same stack. */
#define STACK                                                                                      \
	"callstack { frames { function_name: 'main' } frames { function_name: 'f' source_file: "   \
	"'f.c' line_number: 7 } }"
static const char linked[] = PACKET(
	"incremental_state_cleared: true track_descriptor { uuid: 1 thread { pid: 10 tid: 11 } }")
	PACKET("track_descriptor { uuid: 2 thread { pid: 10 tid: 12 } }")
		EVENT("100", "SLICE_BEGIN", "name: 'c' track_uuid: 1 flow_ids: 5 flow_ids: 6")
			EVENT("110", "SLICE_END", "track_uuid: 1")
				EVENT("90", "INSTANT",
				      "name: 'a' track_uuid: 2 flow_ids: 5 flow_ids: 7 " STACK)
					EVENT("95", "INSTANT",
					      "name: 'b' track_uuid: 2 flow_ids: 6 "
					      "terminating_flow_ids: 7 " STACK);

ORMA_TEST(flows_are_pairs_of_boxes_and_stacks_are_there_once)
{
	struct orma_view *view = view_fixture_open_trace(linked);
	struct orma_report_data data;
	CHECK_INT(orma_report_data_make(view, 0, 100, &data), 0);
	check_text(&data, "names", "[\"a\",\"b\",\"c\"]");
	CHECK_COLUMN(&data, "slice.stack", 1, 1, 0);
	check_text(&data, "stacks", "[[\"f  f.c:7\",\"main\"]]");
	CHECK_COLUMN(&data, "flow.from", 0, 0, 1);
	CHECK_COLUMN(&data, "flow.to", 1, 2, 2);
	orma_report_data_done(&data);
	CHECK_INT(orma_report_data_make(view, 0, 3, &data), 0);
	orma_report_data_done(&data);
	/* Where "a" and "b" are one box, it has none. */
	CHECK_INT(orma_report_data_make(view, 6, 100, &data), 0);
	CHECK_INT(data.boxes, 2);
	CHECK_INT(find(&data, "flow.from").count, 0);
	CHECK_COLUMN(&data, "slice.stack", 0, 0);
	orma_report_data_done(&data);
	view_fixture_close_trace(view);
}

ORMA_TEST(more_flows_than_allowed_boxes_are_refused)
{
	struct orma_view *view = view_fixture_open_trace(
		PACKET("incremental_state_cleared: true track_descriptor { uuid: 1 thread { pid: "
		       "10 tid: 11 } }") EVENT("100", "INSTANT",
					       "track_uuid: 1 flow_ids: 5 "
					       "flow_ids: 6 flow_ids: 7")
			EVENT("101", "INSTANT",
			      "track_uuid: 1 flow_ids: 5 flow_ids: 6 flow_ids: 7"));
	struct orma_report_data data;
	CHECK_INT(orma_report_data_make(view, 0, 2, &data), -EFBIG);
	orma_report_data_done(&data);
	CHECK_INT(orma_report_data_make(view, 0, 3, &data), 0);
	orma_report_data_done(&data);
	view_fixture_close_trace(view);
}

ORMA_TEST(threads_and_states_have_the_numbers_of_the_tree)
{
	struct orma_trace_database *database = view_fixture_new();
	struct orma_view view;
	struct orma_report_data data;
	for (int i = 0; i < 3; i++)
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_THREAD, ORMA_THREAD_TID, i);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_CPU, ORMA_CPU_CPU, 0);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SCHED, ORMA_SCHED_TS, 10, ORMA_SCHED_DUR, 5,
			 ORMA_SCHED_UTID, 2, ORMA_SCHED_UCPU, 0, ORMA_SCHED_PRIORITY, 120);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_SCHED, ORMA_SCHED_TS, 15, ORMA_SCHED_DUR, 5,
			 ORMA_SCHED_UTID, 1, ORMA_SCHED_UCPU, 0, ORMA_SCHED_PRIORITY, 50);
	VIEW_FIXTURE_ADD(database, ORMA_TABLE_THREAD_STATE, ORMA_THREAD_STATE_TS, 10,
			 ORMA_THREAD_STATE_DUR, 5, ORMA_THREAD_STATE_UTID, 2,
			 ORMA_THREAD_STATE_STATE, 1, ORMA_THREAD_STATE_WAKER_UTID, 0,
			 ORMA_THREAD_STATE_BLOCKED_FUNCTION, 1);
	view_fixture_open(database, 10, 20, &view);
	CHECK_INT(orma_report_data_make(&view, 0, 100, &data), 0);
	CHECK_COLUMN(&data, "sched.gap", 0, 0);
	CHECK_COLUMN(&data, "sched.length", 5, 5);
	CHECK_COLUMN(&data, "sched.name", 2, 1);
	CHECK_COLUMN(&data, "sched.flags", 0, 16);
	CHECK_COLUMN(&data, "thread_state.line_lane",
		     view.first_lanes[ORMA_VIEW_THREAD_STATES] + 2);
	CHECK_COLUMN(&data, "thread_state.name", orma_view_thread_state_of(&view, 0));
	CHECK_COLUMN(&data, "thread_state.waker", 1);
	orma_report_data_done(&data);
	view_fixture_close(&view);
}

static void check_failures(const char *text)
{
	struct orma_view *view = view_fixture_open_trace(text);
	bool has_failed = true;
	for (uint64_t n = 1; has_failed; n++) {
		struct orma_report_data data;
		view->database->args_set = ORMA_CELL_NULL;
		orma_test_fail_allocation(n);
		int r = orma_report_data_make(view, 0, 100, &data);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		orma_report_data_done(&data);
	}
	view_fixture_close_trace(view);
}

ORMA_TEST(memory_that_is_not_there_is_reported)
{
	check_failures(trace);
	check_failures(linked);
}
