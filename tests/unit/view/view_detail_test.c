/* SPDX-License-Identifier: Apache-2.0
 * view_detail_test.c - what a page shows of one row, and how it finds rows: by name, by flow and by place.
 */
#include "view/view_detail.h"

#include "base/alloc.h"
#include "harness.h"
#include "unit/answers/trace_fixture.h"
#include "view_fixture.h"

#define PACKET(content) "packet { " content " trusted_packet_sequence_id: 1 } "
#define THREAD                                                                                     \
	PACKET("incremental_state_cleared: true track_descriptor { uuid: 1 thread { pid: 10 tid: " \
	       "11 thread_name: 'main' } }")                                                       \
	PACKET("track_descriptor { uuid: 2 parent_uuid: 1 name: 'queue' counter { } }")
#define BEGIN(time, name, more)                                                                    \
	PACKET("timestamp: " time " track_event { type: TYPE_SLICE_BEGIN name: '" name             \
	       "' categories: 'c' track_uuid: 1 " more " }")
#define END(time) PACKET("timestamp: " time " track_event { type: TYPE_SLICE_END track_uuid: 1 }")
#define VALUE(time, value)                                                                         \
	PACKET("timestamp: " time " track_event { type: TYPE_COUNTER track_uuid: 2 "               \
	       "counter_value: " value " }")
#define SWITCH(time, prev, state, next)                                                            \
	"event { timestamp: " time " pid: " prev " sched_switch { prev_pid: " prev                 \
	" prev_state: " state " next_pid: " next " prev_comm: 'p" prev "' next_comm: 'p" next      \
	"' } } "
#define WAKING(time, by, tid)                                                                      \
	"event { timestamp: " time " pid: " by " sched_waking { pid: " tid " comm: 'p" tid         \
	"' target_cpu: 0 } } "

/* outer [100, 200) holds inner [110, 140) and inner [150, 160), which has arguments; a flow leads from one to the other. */
static const char nested[] = THREAD BEGIN("100", "outer", "") BEGIN("110", "inner", "flow_ids: 5")
	END("140") BEGIN("150", "inner",
			 "terminating_flow_ids: 5 debug_annotations { name: 'n' int_value: 3 } "
			 "debug_annotations { name: 'list' array_values { string_value: 'x' } "
			 "array_values { string_value: 'y' } }") END("160") END("200")
		VALUE("100", "7") VALUE("150", "9") BEGIN("300", "open", "");

/* Longer than what is told of a value. */
#define TEN_LETTERS "abcdefghij"
#define LONG_TEXT                                                                                  \
	TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS        \
		TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS TEN_LETTERS

/* Checks that the answer has all of these parts, in this order; NULL ends them. */
static void check_parts(const char *text, const char *const *parts)
{
	const char *at = text;
	for (; *parts; parts++) {
		const char *found = strstr(at, *parts);
		if (!found)
			orma_test_fail(__FILE__, __LINE__, "no %s in %s", *parts, text);
		at = found + strlen(*parts);
	}
}
#define CHECK_PARTS(text, ...) check_parts(text, (const char *const[]){__VA_ARGS__, NULL})

ORMA_TEST(a_slice_is_shown_with_what_is_above_and_below_it)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":0}"),
		    "{\"table\":\"slice\",\"id\":0,\"start\":0,\"end\":100,", "\"name\":\"outer\"",
		    "\"unfinished\":false,\"abs\":{\"trace\":\"100\"}",
		    "\"node\":", "\"thread\":\"main (11)\",\"process\":\"(10)\"",
		    "\"category\":\"c\"",
		    "\"self\":60,\"children\":[{\"name\":\"inner\",\"count\":2,\"total\":40}]",
		    "\"parents\":[],\"share_of_parent\":null",
		    "\"sql\":\"select * from slice where id = 0\"}");
	CHECK_PARTS(
		view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":1}"),
		"\"self\":30,\"children\":[]", "\"parents\":[{\"table\":\"slice\",\"id\":0,",
		"\"share_of_parent\":0.2999", "\"flows\":{\"in\":[],\"out\":[{", "\"id\":2,",
		"\"latency\":40,",
		"\"rank\":{\"place\":1,\"of\":2,\"p50\":10,\"p99\":30,\"histogram\":[0,0,0,1,1]}",
		"\"time\":null", "\"queries\":{\"parents\":\"", "\"children\":\"", "\"flows\":\"");
	view_fixture_close_trace(view);
}

ORMA_TEST(arguments_are_a_tree)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":2}"),
		    "\"args\":[{\"key\":\"debug\",\"children\":[{\"key\":\"n\",\"value\":3},"
		    "{\"key\":\"list\",\"children\":[{\"key\":\"[0]\",\"value\":\"x\"},"
		    "{\"key\":\"[1]\",\"value\":\"y\"}]}]}");
	view_fixture_close_trace(view);
}

ORMA_TEST(an_unfinished_slice_has_no_duration)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":3}"),
		    "\"name\":\"open\",\"unfinished\":true", "\"rank\":null");
	view_fixture_close_trace(view);
}

/* "outer" and the second slice in it do not end, and so last until the trace ends at 240. */
ORMA_TEST(the_queries_about_a_slice_yield_what_is_shown)
{
	struct orma_view *view = view_fixture_open_trace(
		THREAD BEGIN("100", "outer", "") BEGIN("110", "inner", "flow_ids: 5") END("140")
			BEGIN("150", "inner", "terminating_flow_ids: 5") BEGIN("200", "deep", "")
				END("240"));
	const char *text = view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":0}");
	CHECK_PARTS(text, "\"children\":[{\"name\":\"inner\",\"count\":2,\"total\":120}]");
	view_fixture_check_sql(view, text, "\"children\":\"", "\"inner\",2,120\n");
	view_fixture_check_sql(view, text, "\"parents\":\"", "");
	text = view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":3}");
	CHECK_PARTS(text, "\"parents\":[{\"table\":\"slice\",\"id\":2,\"start\":50,\"end\":140,",
		    "\"id\":0,\"start\":0,\"end\":140,");
	view_fixture_check_sql(view, text, "\"parents\":\"", "2,\"inner\",90\n0,\"outer\",140\n");
	text = view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":2}");
	CHECK_PARTS(text, "\"in\":[{\"table\":\"slice\",\"id\":1,", "\"latency\":40,",
		    "\"out\":[]");
	view_fixture_check_sql(view, text, "\"flows\":\"", "\"in\",1,\"inner\",40\n");
	text = view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":1}");
	CHECK_PARTS(text, "\"in\":[]", "\"id\":2,", "\"latency\":40,");
	view_fixture_check_sql(view, text, "\"flows\":\"", "\"out\",2,\"inner\",40\n");
	/* Only one of the two has a length that is known. */
	text = view_fixture_ask(view, "find", "{\"name\":\"inner\"}");
	CHECK_PARTS(text, "\"count\":1,", "\"top\":[{\"table\":\"slice\",\"id\":1,", "}],\"sql\":");
	char *rows = fixture_ask(view->database, "select id from slice where name = 'inner' and "
						 "dur >= 0 order by dur desc, id limit 100");
	CHECK_PARTS(text,
		    "\"sql\":\"select * from slice where name = 'inner' and dur >= 0 order by "
		    "dur desc, id limit 100\"");
	CHECK_STR(rows, "1\n");
	orma_base_free(rows);
	view_fixture_close_trace(view);
}

ORMA_TEST(values_are_shown_with_how_they_differ)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"counter\",\"id\":1}"),
		    "\"name\":\"queue\"", "\"value\":9,\"delta\":2,");
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"counter\",\"id\":0}"),
		    "\"value\":7,\"delta\":null,");
	view_fixture_close_trace(view);
}

ORMA_TEST(what_the_thread_did_meanwhile_is_told_with_who_woke_it)
{
	struct orma_view *view = view_fixture_open_trace(
		THREAD BEGIN("100", "work", "")
			END("1000") "packet { ftrace_events { cpu: 0 " SWITCH("50", "0", "0", "11")
				SWITCH("200", "11", "1", "22") WAKING("600", "22", "11")
					SWITCH("650", "22", "1", "11")
						SWITCH("1100", "11", "1", "0") "} }");
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":0}"),
		    "\"time\":{\"running\":450,\"runnable\":50,\"blocked\":[{\"state\":\"S\","
		    "\"ns\":400,\"waker\":\"p22 (22)\"}]}",
		    "\"time\":\"select state, sum(until - since) as ns from (select state, max(ts, "
		    "100) as since, min(iif(dur < 0, trace_end(), ts + dur), 1000) as until");
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"sched\",\"id\":1}"),
		    "\"start\":150,\"end\":600,", "\"cpu\":0,\"priority\":0,\"end_state\":\"S\"");
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"thread_state\",\"id\":0}"),
		    "\"name\":\"Running\"", "\"waker\":null");
	view_fixture_close_trace(view);
}

ORMA_TEST(the_values_of_one_argument_are_told_for_each_slice)
{
	char expected[200];
	struct orma_view *view = view_fixture_open_trace(
		THREAD BEGIN("100", "a",
			     "debug_annotations { name: 'n' int_value: -3 } "
			     "debug_annotations { name: 'long_n' bool_value: true }") BEGIN("110",
											    "b", "")
			BEGIN("120", "c",
			      "debug_annotations { name: 'n' string_value: '" LONG_TEXT "' }")
				BEGIN("130", "d",
				      "debug_annotations { name: 'n' double_value: 0.1 }"));
	snprintf(expected, sizeof(expected),
		 "{\"values\":[-3,null,\"%.128s\",0.10000000000000001,-3]}", LONG_TEXT);
	CHECK_STR(view_fixture_ask(view, "argument", "{\"key\":\"n\",\"rows\":[0,1,2,3,0]}"),
		  expected);
	CHECK_STR(view_fixture_ask(view, "argument", "{\"key\":\"debug.long_n\",\"rows\":[0]}"),
		  "{\"values\":[true]}");
	CHECK_STR(view_fixture_ask(view, "argument", "{\"key\":\"n\"}"), "{\"values\":[]}");
	CHECK(view_fixture_fail_allocations(view, "argument", "{\"key\":\"n\",\"rows\":[0]}") > 1);
	view_fixture_refuse(view, "argument", "[]", -EINVAL, "no object");
	view_fixture_refuse(view, "argument", "{\"rows\":[0]}", -EINVAL, "\"key\"");
	view_fixture_refuse(view, "argument", "{\"key\":\"n\",\"rows\":[4]}", -ENOENT,
			    "no slice 4");
	view_fixture_refuse(view, "argument", "{\"key\":\"n\",\"rows\":[-1]}", -ENOENT, "no slice");
	view_fixture_close_trace(view);
}

ORMA_TEST(without_scheduling_in_a_slice_nothing_is_told_of_its_time)
{
	struct orma_view *view = view_fixture_open_trace(
		THREAD BEGIN("100", "early", "") END("200") BEGIN("300", "late", "")
			END("500") "packet { ftrace_events { cpu: 0 " SWITCH("250", "0", "0", "11")
				SWITCH("400", "11", "1", "0") "} }");
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":0}"),
		    "\"time\":null");
	CHECK_PARTS(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":1}"),
		    "\"time\":{\"running\":100,");
	view_fixture_close_trace(view);
}

ORMA_TEST(rows_that_are_not_there_are_refused)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	view_fixture_refuse(view, "detail", "", -EINVAL, "no object");
	view_fixture_refuse(view, "detail", "{\"table\":\"slice\"}", -EINVAL, "\"id\"");
	view_fixture_refuse(view, "detail", "{\"table\":\"slice\",\"id\":4}", -ENOENT, "no row");
	view_fixture_refuse(view, "detail", "{\"table\":\"slice\",\"id\":-1}", -ENOENT, "no row");
	view_fixture_refuse(view, "flows", "{\"table\":\"sqlite_master\",\"id\":0}", -ENOENT,
			    "no such table");
	view_fixture_close_trace(view);
}

ORMA_TEST(flows_have_both_ends)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "flows", "{\"table\":\"slice\",\"id\":2}"),
		    "{\"flows\":[{\"from\":{\"table\":\"slice\",\"id\":1,",
		    "\"to\":{\"table\":\"slice\",\"id\":2,", "}}]}");
	CHECK_STR(view_fixture_ask(view, "flows", "{\"table\":\"slice\",\"id\":0}"),
		  "{\"flows\":[]}");
	view_fixture_close_trace(view);
}

ORMA_TEST(slices_are_found_by_a_part_of_their_name)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "search", "{\"text\":\"NNE\"}"),
		    "{\"hits\":[{\"table\":\"slice\",\"id\":1,", "\"id\":2,",
		    "\"total\":2,\"in\":\"names\",\"density\":[0,0");
	CHECK_PARTS(view_fixture_ask(view, "search", "{\"text\":\"e\",\"after\":2,\"limit\":1}"),
		    "{\"hits\":[{\"table\":\"slice\",\"id\":2,", "}],\"total\":4,");
	CHECK_PARTS(view_fixture_ask(view, "search", "{\"text\":\"nothing\"}"),
		    "{\"hits\":[],\"total\":0,");
	view_fixture_refuse(view, "search", "{\"text\":\"\"}", -EINVAL, "no \"text\"");
	view_fixture_refuse(view, "search", "{\"text\":\"a\",\"limit\":1001}", -EINVAL, "1000");
	view_fixture_close_trace(view);
}

/* Checks the ids of the slices that are found. */
static void check_found(struct orma_view *view, const char *text, const char *ids)
{
	char request[64], found[64] = "";
	snprintf(request, sizeof(request), "{\"text\":\"%s\"}", text);
	const char *answer = view_fixture_ask(view, "search", request);
	for (const char *at = answer; (at = strstr(at, "\"id\":")) != NULL; at += 5)
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%lld ",
			 strtoll(at + 5, NULL, 10));
	CHECK_STR(found, ids);
}

ORMA_TEST(slices_are_found_by_their_category)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	check_found(view, "C", "0 1 2 3 ");
	view_fixture_close_trace(view);
}

ORMA_TEST(slices_are_found_by_an_argument_if_none_has_such_a_name)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "search", "{\"text\":\"Y\"}"),
		    "{\"hits\":[{\"table\":\"slice\",\"id\":2,",
		    "\"total\":1,\"in\":\"arguments\",\"density\":[0,0");
	check_found(view, "3", "2 ");
	/* A number is compared as a whole. */
	check_found(view, "33", "");
	check_found(view, "n=3", "2 ");
	check_found(view, "debug.n=3", "2 ");
	check_found(view, "m=3", "");
	check_found(view, "ebug.n=3", "");
	/* A sign alone is no pair. */
	check_found(view, "=3", "");
	check_found(view, "n=", "");
	CHECK(view_fixture_fail_allocations(view, "search", "{\"text\":\"n=3\"}") > 2);
	view_fixture_close_trace(view);
}

ORMA_TEST(slices_are_found_by_an_expression)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	struct orma_buf answer = {0};
	struct orma_error error = {0};
	const struct orma_view_route *route = orma_view_routes;
	while (strcmp(route->name, "search") != 0)
		route++;
	int r = route->fn(view, ORMA_STR("{\"text\":\"/^o.*n$/\"}"), &answer, &error);
	if (r == -ENOTSUP)
		orma_test_skip("PCRE2");
	CHECK_INT(r, 0);
	CHECK_PARTS(orma_base_buf_cstr(&answer), "\"name\":\"open\"", "\"total\":1,");
	orma_base_buf_done(&answer);
	view_fixture_refuse(view, "search", "{\"text\":\"/(/\"}", -EINVAL, "");
	view_fixture_close_trace(view);
}

ORMA_TEST(all_slices_of_a_name_are_told_with_the_longest_first)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "find", "{\"name\":\"inner\"}"),
		    "{\"name\":\"inner\",\"count\":2,\"sum\":40,\"p50\":10,\"p90\":30,\"p99\":30,",
		    "\"histogram\":[0,0,0,1,1]", "\"top\":[{\"table\":\"slice\",\"id\":1,",
		    "\"thread\":\"main (11)\"}", "\"id\":2,",
		    "\"sql\":\"select * from slice where name = 'inner' and dur >= 0 ");
	CHECK_PARTS(view_fixture_ask(view, "find", "{\"name\":\"it's not there\"}"), "\"count\":0,",
		    "\"histogram\":[],\"top\":[]", "name = 'it''s not there' ");
	view_fixture_refuse(view, "find", "{}", -EINVAL, "no \"name\"");
	view_fixture_close_trace(view);
}

ORMA_TEST(neighbours_are_found_on_both_sides_and_by_their_edges)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	CHECK_PARTS(view_fixture_ask(view, "neighbour",
				     "{\"lane\":0,\"depth\":1,\"time\":10,\"dir\":1}"),
		    "\"id\":2,\"start\":50,");
	CHECK_PARTS(view_fixture_ask(view, "neighbour",
				     "{\"lane\":0,\"depth\":1,\"time\":50,\"dir\":-1}"),
		    "\"id\":1,\"start\":10,");
	CHECK_STR(view_fixture_ask(view, "neighbour",
				   "{\"lane\":0,\"depth\":1,\"time\":50,\"dir\":1}"),
		  "null");
	CHECK_STR(view_fixture_ask(view, "neighbour",
				   "{\"lane\":0,\"depth\":7,\"time\":50,\"dir\":1}"),
		  "null");
	/* 41 is nearer to the end of the first than to the begin of the second. */
	CHECK_PARTS(view_fixture_ask(view, "neighbour",
				     "{\"lane\":0,\"depth\":1,\"time\":41,\"dir\":0}"),
		    "\"id\":1,");
	CHECK_PARTS(view_fixture_ask(view, "neighbour",
				     "{\"lane\":0,\"depth\":1,\"time\":1e300,\"dir\":0}"),
		    "\"id\":2,");
	view_fixture_refuse(view, "neighbour", "{\"lane\":99,\"depth\":1,\"time\":41,\"dir\":0}",
			    -ENOENT, "no such lane");
	view_fixture_refuse(view, "neighbour", "{\"lane\":0,\"depth\":1,\"time\":41}", -EINVAL,
			    "\"dir\"");
	view_fixture_close_trace(view);
}

ORMA_TEST(details_report_that_memory_is_short)
{
	struct orma_view *view = view_fixture_open_trace(nested);
	static const char *const names[] = {"detail", "find", "flows", "search", "tracks", "meta"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		CHECK(view_fixture_fail_allocations(
			      view, names[i],
			      "{\"table\":\"slice\",\"id\":2,\"text\":\"i\",\"name\":\"inner\"}") >
		      0);
	view_fixture_close_trace(view);
}
