/* SPDX-License-Identifier: Apache-2.0
 * json_test.c - Chrome's JSON format: events of each phase, and files that are sloppy, cut or damaged.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "convert_fixture.h"
#include "trace/event_record.h"
#include "trace/json_scan.h"

#define EVENTS(text) "{\"traceEvents\":[" text "]}"

ORMA_TEST(slices_of_a_thread_nest_whatever_order_they_are_in)
{
	static struct import_fixture fixture;
	convert_text(
		&fixture,
		EVENTS("{\"ph\":\"X\",\"ts\":5,\"dur\":2.5,\"pid\":3,\"tid\":4,\"name\":\"child\"},"
		       "{\"ph\":\"X\",\"ts\":5,\"dur\":10,\"pid\":3,\"tid\":4,\"name\":\"parent\","
		       "\"cat\":\"a,b\",\"tts\":7,\"tdur\":1.001},"
		       "{\"ph\":\"B\",\"ts\":1,\"pid\":3,\"tid\":4,\"name\":\"first\",\"tts\":1},"
		       "{\"ph\":\"E\",\"ts\":5,\"pid\":3,\"tid\":4,\"tts\":3}"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE,
			      "ts dur category name depth thread_ts thread_dur"),
		  "1000 4000 - first 0 1000 2000\n5000 10000 a,b parent 0 7000 1001\n"
		  "5000 2500 - child 1 - -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name upid"),
		  "0 - 0\n3 - 1\n4 - 1\n");
	import_done(&fixture);
}

ORMA_TEST(arguments_keep_their_names_and_their_order)
{
	static struct import_fixture fixture;
	convert_text(
		&fixture,
		EVENTS("{\"args\":{\"z.y\":1,\"a\":{\"b\":[1.5,null,{\"c\":true}],\"e\":{}},\"s\":"
		       "\"\\u00e9\\n\\ud83d\\ude00\","
		       "\"n\":null,\"big\":18446744073709551616},"
		       "\"ph\":\"i\",\"s\":\"t\",\"ts\":1,\"pid\":1,\"tid\":1,\"name\":\"x\"}"));
	CHECK_STR(import_slice_args(&fixture, 0),
		  "args.z.y=1 args.a.b[0]=1.5 args.a.b[1].c=1 args.s=\xc3\xa9\n\xf0\x9f\x98\x80 "
		  "args.big=1.844674407e+19");
	import_done(&fixture);
}

ORMA_TEST(instants_are_of_a_thread_a_process_or_nobody)
{
	static struct import_fixture fixture;
	convert_text(&fixture,
		     EVENTS("{\"ph\":\"i\",\"ts\":1,\"pid\":1,\"tid\":2,\"name\":\"thread\"},"
			    "{\"ph\":\"I\",\"s\":\"p\",\"ts\":2,\"pid\":1,\"name\":\"process\"},"
			    "{\"ph\":\"R\",\"s\":\"g\",\"ts\":3,\"name\":\"global\"},"
			    "{\"ph\":\"i\",\"s\":\"p\",\"ts\":4,\"name\":\"no process\"}"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name track_id"),
		  "1000 0 thread 0\n2000 0 process 1\n3000 0 global 2\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type"),
		  "thread_execution\nchrome_process_instant\nlegacy_chrome_global_instants\n");
	CHECK_INT(import_stat(&fixture, "json_parser_failure"), 1);
	import_done(&fixture);
}

ORMA_TEST(asynchronous_events_are_told_apart_by_category_and_id)
{
	static struct import_fixture fixture;
	convert_text(
		&fixture,
		EVENTS("{\"ph\":\"b\",\"ts\":1,\"pid\":1,\"name\":\"x\",\"cat\":\"c\",\"id\":"
		       "\"0x7\"},"
		       "{\"ph\":\"b\",\"ts\":2,\"pid\":1,\"name\":\"x\",\"cat\":\"d\",\"id\":7},"
		       "{\"ph\":\"n\",\"ts\":3,\"pid\":1,\"name\":\"y\",\"cat\":\"c\",\"id\":7},"
		       "{\"ph\":\"e\",\"ts\":4,\"pid\":1,\"name\":\"x\",\"cat\":\"c\",\"id\":7},"
		       "{\"ph\":\"S\",\"ts\":5,\"pid\":1,\"name\":\"l\",\"id2\":{\"local\":\"z\"}},"
		       "{\"ph\":\"F\",\"ts\":9,\"pid\":1,\"name\":\"l\",\"id2\":{\"local\":\"z\"}},"
		       "{\"ph\":\"b\",\"ts\":5,\"pid\":1,\"name\":\"no id\"}"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name track_id depth"),
		  "1000 3000 x 0 0\n2000 -1 x 1 0\n3000 0 y 0 1\n5000 4000 l 2 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type name upid"),
		  "legacy_async_global_slice x -\nlegacy_async_global_slice x -\n"
		  "legacy_async_process_slice l 1\n");
	CHECK_INT(import_stat(&fixture, "json_parser_failure"), 1);
	import_done(&fixture);
}

ORMA_TEST(each_number_of_a_counter_event_is_a_counter)
{
	static struct import_fixture fixture;
	convert_text(&fixture, EVENTS("{\"ph\":\"C\",\"ts\":1,\"pid\":1,\"name\":\"mem\",\"args\":{"
				      "\"a\":1,\"b\":\"2.5\"}},"
				      "{\"ph\":\"C\",\"ts\":2,\"pid\":1,\"name\":\"mem\",\"id\":"
				      "\"q\",\"args\":{\"a\":-3e2}},"
				      "{\"ph\":\"C\",\"ts\":3,\"pid\":1,\"name\":\"mem\",\"args\":{"
				      "\"a\":\"x\",\"b\":{}}},"
				      "{\"ph\":\"C\",\"ts\":4,\"pid\":1,\"name\":\"mem\"}"));
	CHECK_STR(import_counters(&fixture), "mem a: 1\nmem b: 2.5\nmem id: q a: -300\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type upid"),
		  "json_counter 1\njson_counter 1\njson_counter 1\n");
	CHECK_INT(import_stat(&fixture, "json_parser_failure"), 3);
	import_done(&fixture);
}

ORMA_TEST(flows_of_both_versions_are_arrows)
{
	static struct import_fixture fixture;
	convert_text(&fixture,
		     EVENTS("{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":1,\"name\":\"a\"},"
			    "{\"ph\":\"s\",\"ts\":1,\"pid\":1,\"tid\":1,\"name\":\"f\",\"cat\":"
			    "\"c\",\"id\":\"0x5\"},"
			    "{\"ph\":\"X\",\"ts\":5,\"dur\":2,\"pid\":1,\"tid\":2,\"name\":\"b\"},"
			    "{\"ph\":\"f\",\"ts\":4,\"pid\":1,\"tid\":2,\"name\":\"f\",\"cat\":"
			    "\"c\",\"id\":5},"
			    "{\"ph\":\"s\",\"ts\":4,\"pid\":1,\"tid\":2,\"name\":\"f\",\"cat\":"
			    "\"c\",\"id\":\"no\"},"
			    "{\"ph\":\"X\",\"ts\":8,\"dur\":1,\"pid\":1,\"tid\":1,\"name\":\"c\","
			    "\"bind_id\":\"0x9\",\"flow_out\":true},"
			    "{\"ph\":\"X\",\"ts\":9,\"dur\":1,\"pid\":1,\"tid\":2,\"name\":\"d\","
			    "\"bind_id\":9,\"flow_in\":true},"
			    "{\"ph\":\"X\",\"ts\":20,\"dur\":1,\"pid\":1,\"tid\":2,\"name\":\"e\","
			    "\"bind_id\":9}"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FLOW, "slice_out slice_in"), "0 1\n2 3\n");
	CHECK_INT(import_stat(&fixture, "flow_invalid_id"), 1);
	CHECK_INT(import_stat(&fixture, "flow_without_direction"), 1);
	import_done(&fixture);
}

ORMA_TEST(metadata_name_and_order_processes_and_threads)
{
	static struct import_fixture fixture;
	convert_text(
		&fixture,
		EVENTS("{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"pid\":\"server\",\"tid\":\"main\","
		       "\"name\":\"a\"},"
		       "{\"ph\":\"M\",\"pid\":7,\"name\":\"process_name\",\"args\":{\"name\":"
		       "\"seven\"}},"
		       "{\"ph\":\"M\",\"pid\":7,\"tid\":8,\"name\":\"thread_name\",\"args\":{"
		       "\"name\":\"eight\"}},"
		       "{\"ph\":\"M\",\"pid\":7,\"tid\":8,\"name\":\"thread_sort_index\",\"args\":{"
		       "\"sort_index\":-2}},"
		       "{\"ph\":\"M\",\"pid\":7,\"name\":\"process_sort_index\",\"args\":{\"sort_"
		       "index\":4.0}},"
		       "{\"ph\":\"M\",\"pid\":7,\"name\":\"process_labels\",\"args\":{\"labels\":"
		       "\"x\"}},"
		       "{\"ph\":\"M\",\"pid\":7,\"name\":\"process_name\",\"args\":{\"name\":5}}"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "name"), "-\nseven\nserver\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "name"), "-\n-\neight\n-\nmain\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "track_id name"), "0 a\n");
	CHECK_STR(import_args(&fixture, 2), "thread_sort_index_hint=-2");
	CHECK_STR(import_args(&fixture, 1), "process_sort_index_hint=4");
	CHECK_INT(import_stat(&fixture, "json_parser_failure"), 1);
	import_done(&fixture);
}

ORMA_TEST(states_of_threads_are_rows)
{
	static struct import_fixture fixture;
	convert_text(&fixture, EVENTS("{\"ph\":\"T\",\"ts\":1,\"dur\":2,\"pid\":1,\"tid\":2,"
				      "\"name\":\"Running\",\"args\":{\"cpu\":3}},"
				      "{\"ph\":\"T\",\"ts\":3,\"dur\":4,\"pid\":1,\"tid\":2,"
				      "\"name\":\"D\",\"args\":"
				      "{\"io_wait\":1,\"blocked_function\":\"lock_page\"}}"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD_STATE,
			      "ts dur utid state io_wait blocked_function"),
		  "1000 2000 2 Running - -\n3000 4000 2 D 1 lock_page\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SCHED, "ts dur utid ucpu"), "1000 2000 2 3\n");
	import_done(&fixture);
}

ORMA_TEST(slices_that_overlap_are_in_lanes)
{
	static struct import_fixture fixture;
	convert_text(
		&fixture,
		EVENTS("{\"ph\":\"X\",\"ts\":0,\"dur\":10,\"pid\":1,\"tid\":1,\"name\":\"a\"},"
		       "{\"ph\":\"X\",\"ts\":5,\"dur\":10,\"pid\":1,\"tid\":1,\"name\":\"b\"},"
		       "{\"ph\":\"X\",\"ts\":6,\"dur\":2,\"pid\":1,\"tid\":1,\"name\":\"c\"},"
		       "{\"ph\":\"X\",\"ts\":7,\"dur\":20,\"pid\":1,\"tid\":1,\"name\":\"d\"},"
		       "{\"ph\":\"X\",\"ts\":15,\"dur\":1,\"pid\":1,\"tid\":1,\"name\":\"e\"}"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name track_id depth"),
		  "a 0 0\nb 1 0\nc 0 1\nd 2 0\ne 0 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type"),
		  "thread_execution\nthread_overlapping_slice\nthread_overlapping_slice\n");
	CHECK_INT(import_stat(&fixture, "slice_spill_overlapping_complete_event"), 2);
	CHECK_INT(import_stat(&fixture, "slice_drop_overlapping_complete_event"), 0);
	import_done(&fixture);
}

ORMA_TEST(events_of_the_kernel_are_in_a_string_of_the_object)
{
	static struct import_fixture fixture;
	convert_text(
		&fixture,
		"{\"traceEvents\":[{\"ph\":\"X\",\"pid\":10,\"tid\":10,\"ts\":1000050,\"dur\":10,"
		"\"name\":\"work\"}],\"systemTraceEvents\":\"# tracer: nop\\n#\\n"
		"  server-10    (   10) [001] d..3 1.000100: sched_switch: prev_comm=server "
		"prev_pid=10 "
		"prev_prio=120 prev_state=S ==> next_comm=\\u0064b next_pid=20 next_prio=110\\n"
		"this is no event\\n"
		"  db-20    (   20) [001] d..3 1.000300: sched_switch: prev_comm=db prev_pid=20 "
		"prev_prio=110 prev_state=D ==> next_comm=server next_pid=10 "
		"next_prio=120\",\"x\":1}");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"),
		  "1000050000 10000 work\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SCHED, "ts dur end_state priority ucpu"),
		  "1000100000 200000 D 110 1\n1000300000 -1 - 120 1\n");
	CHECK_INT(import_stat(&fixture, "systrace_parse_failure"), 1);
	CHECK_INT(import_stat(&fixture, "clock_sync_failure_unknown_source_clock"), 0);
	import_done(&fixture);
}

ORMA_TEST(a_string_of_kernel_events_that_is_cut_is_read_up_to_there)
{
	static const char text[] =
		"{\"systemTraceEvents\":\"  a-10    (   10) [000] d..3 1.000100: cpu_idle: state=1 "
		"cpu_id=0\\n"
		"  a-10    (   10) [000] d..3 1.000200: cpu_idle: state=2 cpu_id=0\\n";
	for (size_t size = strlen(text) - 20; size <= strlen(text); size++) {
		static struct import_fixture fixture;
		fixture = (struct import_fixture){0};
		CHECK_INT(convert_bytes(&fixture, text, size, NULL), -EBADMSG);
		CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts"),
			  size == strlen(text) ? "1000100000\n1000200000\n" : "1000100000\n");
		import_done(&fixture);
	}
}

ORMA_TEST(metadata_of_the_file_have_names_of_their_own)
{
	static struct import_fixture fixture;
	convert_text(&fixture,
		     "{\"displayTimeUnit\":\"ns\",\"samples\":[[{\"]\":\"}\"}]],\"metadata\":"
		     "{\"b\":true,\"source\":\"D\\u0065v\",\"n\":5,\"o\":{\"p\":1},\"q\":null},"
		     "\"traceEvents\":[]}");
	const char *rows = import_rows(&fixture, ORMA_TABLE_METADATA, "name int_value str_value");
	CHECK(strstr(rows, "json_metadata.source - Dev\n"));
	CHECK(strstr(rows, "json_metadata.b 1 -\n"));
	CHECK(strstr(rows, "json_metadata.n 5 -\n"));
	CHECK(strstr(rows, "json_metadata.o - \"p\":1\n") && !strstr(rows, "json_metadata.q"));
	CHECK(strstr(rows, "trace_type - json\n"));
	CHECK_INT(import_stat(&fixture, "json_display_time_unit"), 1);
	import_done(&fixture);
}

ORMA_TEST(events_without_a_time_or_a_phase_are_counted)
{
	static struct import_fixture fixture;
	convert_text(
		&fixture,
		EVENTS("{},{\"ph\":\"X\",\"dur\":1},{\"ts\":1},{\"ph\":\"B\",\"ts\":\"1x\"},"
		       "{\"ph\":\"X\",\"ts\":1,\"dur\":\"x\"},{\"ph\":\"X\",\"ts\":1},"
		       "{\"ph\":\"D\",\"ts\":1},{\"ph\":\"X\",\"ts\":\"2.5\",\"dur\":1e1,}, ,"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"), "2500 10000 [No name]\n");
	CHECK_INT(import_stat(&fixture, "json_tokenizer_failure"), 4);
	CHECK_INT(import_stat(&fixture, "json_parser_failure"), 1);
	import_done(&fixture);
}

ORMA_TEST(an_array_may_be_cut_anywhere)
{
	static const char text[] =
		" [{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\"},\n{\"ph\":\"X\",\"ts\":\"3\\\"";
	for (size_t size = 50; size < sizeof(text); size++) {
		static struct import_fixture fixture;
		fixture = (struct import_fixture){0};
		CHECK_INT(convert_bytes(&fixture, text, size, NULL), 1);
		CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "a\n");
		import_done(&fixture);
	}
}

static void check_damage(const char *text, const char *expected)
{
	static struct import_fixture fixture;
	struct orma_error error = {0};
	fixture = (struct import_fixture){0};
	CHECK_INT(convert_bytes(&fixture, text, strlen(text), &error), -EBADMSG);
	CHECK_STR(error.message, expected);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "a\n");
	import_done(&fixture);
}

ORMA_TEST(an_object_that_is_cut_or_damaged_is_read_up_to_there)
{
	check_damage("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\"},",
		     "Failure parsing JSON: it is cut at byte 53 (ERR:tp-corrupt)");
	check_damage("{\"traceEvents\":[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\"},{\"ph\" 5",
		     "Failure parsing JSON: it is damaged at byte 60 (ERR:tp-corrupt)");
	check_damage("[{\"ph\":\"X\",\"ts\":1,\"dur\":2,\"name\":\"a\"},x",
		     "Failure parsing JSON: it is damaged at byte 38 (ERR:tp-corrupt)");
}

ORMA_TEST(events_of_any_length_are_read_across_windows)
{
	enum { LONG = 3 << 20, COUNT = 20000 };
	static struct import_fixture fixture;
	char *text = malloc(LONG + COUNT * 80 + 200), *at = text;
	at += sprintf(at, "[");
	for (int i = 0; i < COUNT; i++)
		at += sprintf(at, "{\"ph\":\"X\",\"ts\":%d,\"dur\":1,\"name\":\"n%d\"},\n", i,
			      i % 7);
	at += sprintf(at, "{\"ph\":\"X\",\"ts\":%d,\"dur\":1,\"name\":\"long\",\"args\":{\"x\":\"",
		      COUNT);
	memset(at, '\\', LONG);
	at += LONG;
	at += sprintf(at, "\"}}]");
	CHECK_INT(convert_bytes(&fixture, text, (size_t)(at - text), NULL), 1);
	CHECK_INT(orma_store_table_rows(&fixture.tables.all[ORMA_TABLE_SLICE]), COUNT + 1);
	free(text);
	import_done(&fixture);
}

ORMA_TEST(deep_arguments_end_at_a_limit)
{
	enum { DEPTH = 3000 };
	static struct import_fixture fixture;
	static char text[DEPTH * 12];
	char *at = text + sprintf(text, "[{\"ph\":\"X\",\"ts\":1,\"dur\":1,\"args\":{\"v\":7");
	for (int i = 0; i < DEPTH; i++)
		at += sprintf(at, ",\"a\":{");
	at += sprintf(at, "\"b\":1");
	memset(at, '}', DEPTH + 2);
	CHECK_INT(convert_bytes(&fixture, text, strlen(text), NULL), 1);
	CHECK(strstr(import_slice_args(&fixture, 0), "args.v=7"));
	import_done(&fixture);
}

static struct orma_json_value text_value(const char *text)
{
	return (struct orma_json_value){.kind = ORMA_JSON_STRING, .text = orma_base_str(text)};
}

/* Numbers and strings of each length end at each place of a block, and the text ends at once behind them. */
ORMA_TEST(values_of_each_length_are_read)
{
	static const char digits[] = "1234567890123456789012345678";
	for (size_t size = 1; size < sizeof(digits); size++) {
		for (size_t point = 1; point <= size; point++) {
			char number[64], list[160];
			int whole = (int)point;
			const char *decimals = &digits[sizeof(digits) - 1 - (size - point)];
			snprintf(number, sizeof(number), *decimals ? "-%.*s.%s" : "-%.*s%s", whole,
				 digits, decimals);
			int list_size =
				snprintf(list, sizeof(list), "%s,\"%.*s\\\"\",[{\"%.*s]\":%s}]",
					 number, whole, digits, whole, digits, number);
			char *text = orma_base_alloc((size_t)list_size);
			CHECK(text);
			memcpy(text, list, (size_t)list_size);
			struct orma_json_scan scan = {text, text + list_size, true};
			struct orma_json_value value;
			double real;
			CHECK_INT(orma_json_read_item(&scan, &value), ORMA_JSON_MEMBER);
			CHECK_INT(value.kind, *decimals ? ORMA_JSON_REAL : ORMA_JSON_INTEGER);
			CHECK(orma_json_value_double(&value, &real));
			CHECK(real == strtod(number, NULL));
			CHECK_INT(orma_json_read_item(&scan, &value), ORMA_JSON_MEMBER);
			CHECK_INT(value.kind, ORMA_JSON_STRING);
			CHECK_INT(value.text.size, point + 2);
			CHECK_INT(orma_json_read_item(&scan, &value), ORMA_JSON_MEMBER);
			CHECK_INT(value.kind, ORMA_JSON_ARRAY);
			CHECK_INT(orma_json_read_item(&scan, &value), ORMA_JSON_END);
			orma_base_free(text);
		}
	}
}

ORMA_TEST(microseconds_are_exact)
{
	static const struct {
		const char *text;
		int64_t ns;
	} good[] = {{"0", 0},
		    {"4619295550.000", 4619295550000},
		    {"1850244461563845.0", 1850244461563845000},
		    {"0.0005", 1},
		    {"0.00049", 0},
		    {"-1.5", -1500},
		    {"1850244461563845.12350000000000000000", 1850244461563845124},
		    {"1850244461563845.12349999999999999999", 1850244461563845123},
		    {"0.000000000000000000000001", 0},
		    {"9223372036854774.8075", 9223372036854774808},
		    {"1e3", 1000000},
		    {"9007199254740993", 9007199254740993000}};
	static const char *const bad[] = {"",    "-", "1x", ".", "1e400", "99999999999999999999",
					  "0x10"};
	int64_t ns;
	for (size_t i = 0; i < sizeof(good) / sizeof(*good); i++) {
		struct orma_json_value value = text_value(good[i].text);
		CHECK(orma_json_value_us(&value, &ns));
		CHECK_INT(ns, good[i].ns);
	}
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		struct orma_json_value value = text_value(bad[i]);
		CHECK(!orma_json_value_us(&value, &ns));
	}
}

ORMA_TEST(slices_that_cross_are_in_the_log)
{
	static struct import_fixture fixture;
	convert_text(&fixture, "[{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":100,\"dur\":100,\"name\":"
			       "\"outer\"},{\"ph\":\"X\",\"pid\":1,\"tid\":1,\"ts\":150,\"dur\":"
			       "100,\"name\":\"inner\"}]");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_IMPORT_LOG, "trace_id ts severity name"),
		  "0 150000 error slice_spill_overlapping_complete_event\n");
	int64_t set =
		orma_store_column_get(orma_tables_column(&fixture.tables, ORMA_TABLE_IMPORT_LOG,
							 ORMA_IMPORT_LOG_ARG_SET_ID),
				      0);
	CHECK_STR(import_args(&fixture, set),
		  "event_name=inner event_phase=X overlap_start=150000 overlap_end=200000 "
		  "conflicting_slice_name=outer conflicting_slice_ts=100000 "
		  "conflicting_slice_dur=100000");
	CHECK_INT(import_stat(&fixture, "slice_spill_overlapping_complete_event"), 1);
	import_done(&fixture);
}

/* Finds the bracket a character at a time. */
static const char *find_close_slowly(const char *at, const char *end)
{
	int depth = 1;
	bool is_in_string = false;
	for (; at < end; at++) {
		if (is_in_string && *at == '\\')
			at++;
		else if (*at == '"')
			is_in_string = !is_in_string;
		else if (!is_in_string && *at == '{')
			depth++;
		else if (!is_in_string && *at == '}' && --depth == 0)
			return at;
	}
	return NULL;
}

ORMA_TEST(a_bracket_is_found_wherever_blocks_of_the_text_end)
{
	static const char *const parts[] = {"\"}\"",
					    "{}",
					    "\"a\\\"}\"",
					    "\"\\\\\"",
					    "{",
					    "}",
					    ",1",
					    "\\",
					    "\"",
					    "[1]:",
					    "\"0123456789abcdef{\"",
					    "x"};
	uint32_t seed = 1;
	for (int round = 0; round < 20000; round++) {
		char text[256];
		size_t size = 0;
		for (int i = 0; i < 8; i++) {
			seed = seed * 1664525 + 1013904223;
			const char *part = parts[(seed >> 16) % ORMA_ARRAY_SIZE(parts)];
			memcpy(text + size, part, strlen(part));
			size += strlen(part);
		}
		/* The copy has no spare bytes, so that a read behind the end is found. */
		char *copy = orma_base_alloc(size);
		memcpy(copy, text, size);
		CHECK(orma_json_find_close(copy, copy + size, '{', '}') ==
		      find_close_slowly(copy, copy + size));
		orma_base_free(copy);
	}
}

ORMA_TEST(times_and_threads_are_the_same_in_each_of_their_forms)
{
	static const struct {
		const char *text, *row;
	} forms[] = {
		{"\"ts\":1,\"dur\":2,\"pid\":3,\"tid\":1234567", "1000 2000 x 1234567"},
		{"\"ts\":1.0,\"dur\":2.000,\"pid\":3,\"tid\":12345678", "1000 2000 x 12345678"},
		{"\"ts\" : 1 ,\"dur\": 2\n,\"pid\":3,\"tid\": 7 ", "1000 2000 x 7"},
		{"\"ts\":\"1.5\",\"dur\":2e1,\"pid\":3,\"tid\":007", "1500 20000 x 7"},
		{"\"ts\":1.0004,\"dur\":2.0005,\"pid\":3,\"tid\":7.9", "1000 2001 x 7"},
		{"\"ts\":123456789012345.678,\"dur\":1.25,\"pid\":3,\"tid\":4294967296",
		 "123456789012345678 1250 x 3"},
		{"\"ts\":1234567890123456.7,\"dur\":0,\"pid\":3,\"tid\":-1",
		 "1234567890123456700 0 x 3"},
		{"\"ts\":7,\"ts\":1,\"dur\":2,\"pid\":\"a\",\"pid\":3,\"tid\":3", "1000 2000 x 3"},
	};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(forms); i++) {
		static struct import_fixture fixture;
		char text[256], row[64];
		snprintf(text, sizeof(text), "[{\"ph\":\"X\",%s,\"name\":\"x\"}]", forms[i].text);
		convert_text(&fixture, text);
		const char *slice = import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name");
		uint64_t threads = orma_store_table_rows(&fixture.tables.all[ORMA_TABLE_THREAD]);
		int64_t tid = orma_store_column_get(
			orma_tables_column(&fixture.tables, ORMA_TABLE_THREAD, ORMA_THREAD_TID),
			threads - 1);
		snprintf(row, sizeof(row), "%.*s %lld", (int)strcspn(slice, "\n"), slice,
			 (long long)tid);
		CHECK_STR(row, forms[i].row);
		import_done(&fixture);
	}
}

/* A reader that expects the key which came at this place before must not take another one for it. */
ORMA_TEST(keys_in_any_order_and_with_any_blanks_are_read)
{
	static const char *const fields[] = {
		"\"ph\":\"X\"",  "\"ts\":5",
		"\"dur\":2",     "\"pid\":1",
		"\"tid\":2",     "\"name\":\"n\"",
		"\"cat\":\"c\"", "\"tdur\":1",
		"\"tts\":4",     "\"args\":{\"a\":\"b\"}",
		"\"tsx\":9",     "\"du\":9",
		"\"nam\":\"m\"",
	};
	static const char *const separators[] = {",", ", ", ",,", "\n\t,\r\n", ",          "};
	static struct import_fixture fixture;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	size_t count = ORMA_ARRAY_SIZE(fields);
	orma_base_buf_append_str(&text, "[");
	for (size_t event = 0; event < 60; event++) {
		orma_base_buf_printf(&text, "{%s", event % 3 == 0 ? " " : "");
		/* Each step is coprime to the number of fields, so that all are written. */
		for (size_t i = 0; i < count; i++) {
			const char *field = fields[(event + i * (event % 12 + 1)) % count];
			size_t key = strcspn(field, ":");
			orma_base_buf_printf(&text, "%s%.*s%s%s",
					     i > 0 ? separators[(event / 7 + i * i) % 5] : "",
					     (int)key, field, (event + i) % 11 == 0 ? " :  " : ":",
					     field + key + 1);
		}
		orma_base_buf_append_str(&text, "}");
	}
	orma_base_buf_append(&text, "]", 2);
	convert_text(&fixture, (const char *)text.data);
	CHECK_INT(orma_store_table_rows(&fixture.tables.all[ORMA_TABLE_SLICE]), 60);
	for (unsigned row = 0; row < 60; row++)
		CHECK_STR(import_slice_args(&fixture, row), "args.a=b");
	const char *rows = import_rows(&fixture, ORMA_TABLE_SLICE,
				       "ts dur category name thread_ts thread_dur");
	const char wanted[] = "5000 2000 c n 4000 1000\n";
	for (; *rows; rows += sizeof(wanted) - 1)
		CHECK_INT(strncmp(rows, wanted, sizeof(wanted) - 1), 0);
	import_done(&fixture);
}

ORMA_TEST(a_record_says_what_fields_say)
{
	static struct import_fixture fixture;
	/* The first event of a sequence has fields. */
	convert_text(
		&fixture,
		EVENTS("{\"ph\":\"X\",\"ts\":0,\"dur\":900,\"pid\":1,\"tid\":1,\"name\":\"all\"},"
		       "{\"ph\":\"X\",\"ts\":1,\"dur\":50,\"tts\":3,\"tdur\":2.5,\"pid\":1,\"tid\":"
		       "1,"
		       "\"name\":\"a\",\"cat\":\"c\",\"bind_id\":\"0x9\",\"flow_out\":true,"
		       "\"args\":"
		       "{\"n\":null,\"x\":[{},[],null,[null],{\"n\":null},1,{\"y\":{}},2],\"e\":"
		       "1e999,"
		       "\"z\":[1e999,true]}},"
		       "{\"ph\":\"B\",\"ts\":2,\"pid\":1,\"tid\":1,\"args\":{\"a\":[1,\"\\n\"]}},"
		       "{\"ph\":\"E\",\"ts\":3,\"pid\":1,\"tid\":1,\"args\":{\"a\":[-2.5]}},"
		       "{\"ph\":\"X\",\"ts\":4,\"dur\":1,\"pid\":1,\"tid\":1,\"name\":\"b\","
		       "\"bind_id\":9,\"flow_in\":true,\"args\":{\"n\":null}},"
		       "{\"ph\":\"b\",\"ts\":5,\"pid\":1,\"name\":\"l\",\"id2\":{\"local\":\"7\"}},"
		       "{\"ph\":\"e\",\"ts\":6,\"pid\":1,\"name\":\"l\",\"id2\":{\"local\":\"7\"}},"
		       "{\"ph\":\"n\",\"ts\":7,\"pid\":1,\"name\":\"g\",\"id2\":{\"global\":\"7\"}}"
		       ","
		       "{\"ph\":\"i\",\"ts\":8,\"s\":\"p\",\"pid\":1,\"name\":\"i\",\"args\":{}}"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name thread_ts thread_dur"),
		  "0 900000 all - -\n1000 50000 a 3000 2500\n2000 1000 [No name] - -\n"
		  "4000 1000 b - -\n5000 1000 l - -\n7000 0 g - -\n8000 0 i - -\n");
	CHECK_STR(import_slice_args(&fixture, 1), "args.x[0]=1 args.x[2]=2 args.z[0]=1");
	CHECK_STR(import_slice_args(&fixture, 2), "args.a[0]=1 args.a[1]=\n args.a[2]=-2.5");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FLOW, "slice_out slice_in"), "1 3\n");
	import_done(&fixture);
}

static size_t put_record(uint8_t *at, const struct orma_event_record *head, const void *rest,
			 size_t size)
{
	static const uint8_t tag[] = {0x92, 0xf7, 0x7f}; /* ORMA_PACKET_EVENT_RECORD, as bytes */
	size_t content = sizeof(*head) + size;
	at[0] = 0x0a;
	at[1] = (uint8_t)(sizeof(tag) + 1 + content);
	memcpy(at + 2, tag, sizeof(tag));
	at[5] = (uint8_t)content;
	memcpy(at + 6, head, sizeof(*head));
	memcpy(at + 6 + sizeof(*head), rest, size);
	return 6 + content;
}

ORMA_TEST(a_record_without_its_numbers_is_counted)
{
	static struct import_fixture fixture;
	/* A packet of the sequence 7 clears its state. */
	uint8_t bytes[300] = {0x0a, 4, 0x50, 7, 0x68, 1};
	size_t size = 6;
	int64_t numbers[] = {20, 30};
	struct orma_event_record head = {
		.ns = 5, .sequence = 7, .pid = 1, .tid = 2, .flags = UINT32_MAX, .phase = 'X'};
	size += put_record(bytes + size, &head, numbers, sizeof(numbers));
	head.flags = ORMA_RECORD_DURATION | ORMA_RECORD_HAS_ARGS;
	size += put_record(bytes + size, &head, numbers, sizeof(numbers[0]));
	head.ns = 30;
	size += put_record(bytes + size, &head, numbers, sizeof(numbers[0]) - 1);
	import_bytes(&fixture, bytes, size);
	CHECK_INT(fixture.result, 0);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"), "5 20 -\n");
	CHECK_STR(import_slice_args(&fixture, 0), "");
	CHECK_INT(import_stat(&fixture, "track_event_parser_errors"), 2);
	import_done(&fixture);
}
