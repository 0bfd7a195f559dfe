/* SPDX-License-Identifier: Apache-2.0
 * view_area_test.c - the tables of a range of time, and the statements that yield the same numbers.
 */
#include "view/view_area.h"
#include "view/view_find.h"

#include "harness.h"
#include "view_fixture.h"

#define PACKET(content) "packet { " content " trusted_packet_sequence_id: 1 } "
#define THREAD                                                                                     \
	PACKET("incremental_state_cleared: true track_descriptor { uuid: 1 thread { pid: 10 tid: " \
	       "11 thread_name: 'main' } }")                                                       \
	PACKET("track_descriptor { uuid: 2 parent_uuid: 1 name: 'queue' counter { } }")
#define BEGIN(time, name)                                                                          \
	PACKET("timestamp: " time " track_event { type: TYPE_SLICE_BEGIN name: '" name             \
	       "' track_uuid: 1 }")
#define END(time) PACKET("timestamp: " time " track_event { type: TYPE_SLICE_END track_uuid: 1 }")
#define VALUE(time, value)                                                                         \
	PACKET("timestamp: " time " track_event { type: TYPE_COUNTER track_uuid: 2 "               \
	       "counter_value: " value " }")
#define SWITCH(time, prev, state, next)                                                            \
	"event { timestamp: " time " pid: " prev " sched_switch { prev_pid: " prev                 \
	" prev_state: " state " next_pid: " next " prev_comm: 'p" prev "' next_comm: 'p" next      \
	"' } } "

/* outer [100, 200) holds inner [110, 140) and inner [150, 160); thread 11 runs from 50 to 150 and then sleeps. */
static const char trace[] = THREAD BEGIN("100", "outer") BEGIN("110", "inner") END("140")
	BEGIN("150", "inner") END("160") END("200") VALUE("100", "10") VALUE("150", "30")
		VALUE("200", "50") BEGIN("300", "open") "packet { ftrace_events { cpu: 0 " SWITCH(
			"50", "0", "0", "11") SWITCH("150", "11", "1", "0") "} }";

static void check_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		orma_test_fail(__FILE__, __LINE__, "no %s in %s", part, text);
}

/* Slices of 1 to 200 in another order, each with a child of half its length, and one that does not end. */
ORMA_TEST(the_statement_of_slices_has_the_percentiles_of_the_table)
{
	struct orma_buf text = {0};
	CHECK_INT(orma_base_buf_append_str(&text, THREAD), 0);
	for (int i = 0; i < 200; i++) {
		int dur = 1 + i * 77 % 200, at = 1000 * (i + 1);
		CHECK_INT(orma_base_buf_printf(
				  &text, BEGIN("%d", "a") BEGIN("%d", "b") END("%d") END("%d"), at,
				  at, at + dur / 2, at + dur),
			  0);
	}
	CHECK_INT(orma_base_buf_append_str(&text, BEGIN("300000", "a")), 0);
	struct orma_view *view = view_fixture_open_trace(orma_base_buf_cstr(&text));
	const char *answer = view_fixture_ask(view, "area", "{\"start\":0,\"end\":1000000}");
	/* The sum of the numbers to 200, and what is left when each is halved, rounded up. */
	check_has(answer, "[\"a\",201,20100,10100,1,100.5,100,180,198,200,");
	check_has(answer, "[\"b\",200,10000,10000,0,50,50,90,99,100,");
	view_fixture_check_sql(view, answer, "\"slices\":{\"sql\":\"",
			       "\"a\",201,20100,10100,1,100.500000,100,180,198,200\n"
			       "\"b\",200,10000,10000,0,50.000000,50,90,99,100\n");
	view_fixture_close_trace(view);
	orma_base_buf_done(&text);
}

/* The trace begins at 50. */
ORMA_TEST(an_area_has_slices_by_name)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	const char *text =
		view_fixture_ask(view, "area", "{\"start\":80,\"end\":105,\"nodes\":[]}");
	/* The range is from 130 to 155. */
	check_has(text, "\"rows\":[[\"outer\",1,25,10,100,100,100,100,100,100,100],"
			"[\"inner\",2,15,15,10,20,10,30,30,30,60]],\"total\":2}");
	view_fixture_check_sql(view, text, "\"slices\":{\"sql\":\"",
			       "\"outer\",1,25,10,100,100.000000,100,100,100,100\n"
			       "\"inner\",2,15,15,10,20.000000,10,30,30,30\n");
	view_fixture_close_trace(view);
}

ORMA_TEST(an_area_has_cpus_states_and_counters)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	const char *text = view_fixture_ask(view, "area", "{\"start\":80,\"end\":120}");
	check_has(text, "[\"main (11)\",\"(10)\",");
	check_has(text, ",20,50,1],");
	check_has(text, "\"Running\",20,1]");
	check_has(text, "\"S\",20,1]");
	/* 10 until 150, and 30 from there to 170. */
	check_has(text, "[\"queue\",10,30,20,10,30,20,");
	view_fixture_check_sql(
		view, text, "\"counters\":{\"sql\":\"",
		"\"queue\",10.000000,30.000000,20.000000,10.000000,30.000000,20.000000,500000000."
		"000000\n");
	view_fixture_close_trace(view);
}

ORMA_TEST(an_area_of_some_nodes_has_what_is_below_them)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	int64_t cpus = orma_view_node_of_lane(view, view->first_lanes[ORMA_VIEW_SCHED]);
	char request[64];
	snprintf(request, sizeof(request), "{\"start\":0,\"end\":1000,\"nodes\":[%d]}",
		 (int)view->nodes[cpus].parent);
	const char *text = view_fixture_ask(view, "area", request);
	check_has(text,
		  "\"columns\":[\"name\",\"count\",\"total\",\"self\",\"min\",\"avg\",\"p50\","
		  "\"p90\",\"p99\",\"max\",\"share\"],\"rows\":[],\"total\":0}");
	view_fixture_check_sql(view, text, "\"slices\":{\"sql\":\"", "");
	view_fixture_check_sql(view, text, "\"counters\":{\"sql\":\"", "");
	check_has(text, "[\"main (11)\",\"(10)\",");
	view_fixture_close_trace(view);
}

ORMA_TEST(slices_of_an_area_are_told_by_thread_when_asked_for)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	const char *text =
		view_fixture_ask(view, "area", "{\"start\":0,\"end\":1000,\"by\":\"thread\"}");
	check_has(text, "[\"inner\",\"main (11)\",\"(10)\",2,40,40,");
	check_has(text, "[\"open\",\"main (11)\",\"(10)\",1,0,0,null,null,null,null,null,null,0]");
	view_fixture_close_trace(view);
}

/* Both threads have slices "a": of 10 and 30 on the first, which hold 20 of "b", and one of 50 that does not end on the second. */
ORMA_TEST(the_statement_of_slices_by_thread_yields_the_table)
{
#define OTHER(time, type, more)                                                                    \
	PACKET("timestamp: " time " track_event { type: " type " " more " track_uuid: 3 }")
	struct orma_view *view = view_fixture_open_trace(
		THREAD PACKET("track_descriptor { uuid: 3 thread { pid: 10 tid: 12 thread_name: "
			      "'other' } }") BEGIN("100", "a") END("110") BEGIN("120", "a")
			BEGIN("125", "b") OTHER("130", "TYPE_SLICE_BEGIN", "name: 'a'") END("145")
				END("150") OTHER("180", "TYPE_INSTANT", "name: 'i'"));
	const char *text =
		view_fixture_ask(view, "area", "{\"start\":0,\"end\":1000,\"by\":\"thread\"}");
	check_has(text, "[\"a\",\"other (12)\",\"(10)\",1,50,50,null,null,null,null,null,null,5],"
			"[\"a\",\"main (11)\",\"(10)\",2,40,20,10,20,10,30,30,30,4],"
			"[\"b\",\"main (11)\",\"(10)\",1,20,20,20,20,20,20,20,20,2],"
			"[\"i\",\"other (12)\",\"(10)\",1,0,0,0,0,0,0,0,0,0]]");
	view_fixture_check_sql(view, text, "\"slices\":{\"sql\":\"",
			       "\"a\",3,1,50,50,\"[NULL]\",\"[NULL]\",\"[NULL]\",\"[NULL]\",\"["
			       "NULL]\",\"[NULL]\"\n"
			       "\"a\",2,2,40,20,10,20.000000,10,30,30,30\n"
			       "\"b\",2,1,20,20,20,20.000000,20,20,20,20\n"
			       "\"i\",3,1,0,0,0,0.000000,0,0,0,0\n");
	view_fixture_close_trace(view);
#undef OTHER
}

ORMA_TEST(requests_for_areas_that_are_wrong_are_refused)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	view_fixture_refuse(view, "area", "[]", -EINVAL, "no object");
	view_fixture_refuse(view, "area", "{\"start\":5,\"end\":5}", -EINVAL, "no range");
	view_fixture_refuse(view, "area", "{\"start\":-1,\"end\":5}", -EINVAL, "no range");
	view_fixture_refuse(view, "area", "{\"start\":0,\"end\":1e300}", -EINVAL, "no range");
	view_fixture_refuse(view, "area", "{\"start\":0,\"end\":5,\"nodes\":[999]}", -ENOENT,
			    "no node 999");
	view_fixture_close_trace(view);
}

ORMA_TEST(areas_report_that_memory_is_short)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	CHECK(view_fixture_fail_allocations(view, "area",
					    "{\"start\":0,\"end\":1000,\"nodes\":[0]}") > 5);
	view_fixture_close_trace(view);
}

ORMA_TEST(slices_with_the_same_names_above_them_are_one_node_of_a_flame_graph)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	/* The range is from 130 to 155: 10 of the first slice inside, and 5 of the second. */
	const char *text =
		view_fixture_ask(view, "flame", "{\"source\":\"slices\",\"start\":80,\"end\":105}");
	check_has(text,
		  ",\"unit\":\"ns\",\"nodes\":[[0,-1,\"outer\",10,25,1],[1,0,\"inner\",15,15,2]]}");
	view_fixture_check_sql(view, text, "{\"sql\":\"",
			       "\"outer\",25,10,1\n\"outer > inner\",15,15,2\n");
	text = view_fixture_ask(view, "flame", "{\"start\":1000,\"end\":1001}");
	check_has(text, ",\"unit\":\"ns\",\"nodes\":[]}");
	view_fixture_check_sql(view, text, "{\"sql\":\"", "");
	/* Before: 30 of the outer one, of which 20 are inner; now: 25 and 15. Widths are by shares. */
	check_has(
		view_fixture_ask(
			view, "flame",
			"{\"start\":80,\"end\":105,\"before_start\":60,\"before_end\":80}"),
		",\"unit\":\"ns\",\"sides\":[20,25],\"nodes\":[[0,-1,\"outer\",10,25,1,20,25],[1,0,"
		"\"inner\",15,20,2,20,15]]}");
	view_fixture_refuse(view, "flame", "{\"start\":80,\"end\":105,\"before_start\":60}",
			    -EINVAL, "before_end");
	view_fixture_refuse(view, "flame", "{\"source\":\"heap\",\"start\":80,\"end\":105}",
			    -EINVAL, "slices");
	view_fixture_refuse(view, "flame", "{\"start\":80}", -EINVAL, "no range");
	view_fixture_close_trace(view);
}

ORMA_TEST(flame_graphs_report_that_memory_is_short)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	CHECK(view_fixture_fail_allocations(view, "flame", "{\"start\":0,\"end\":1000}") > 5);
	view_fixture_close_trace(view);
}
