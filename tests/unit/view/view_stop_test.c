/* SPDX-License-Identifier: Apache-2.0
 * view_stop_test.c - questions that nobody needs any more end, and those that are asked next are answered.
 */
#include <errno.h>
#include <stdatomic.h>

#include "harness.h"
#include "view/view_tracks.h"
#include "view_fixture.h"

#define PACKET(content) "packet { " content " trusted_packet_sequence_id: 1 } "
#define BEGIN(time, name, flow)                                                                    \
	PACKET("timestamp: " time " track_event { type: TYPE_SLICE_BEGIN name: '" name             \
	       "' track_uuid: 1 " flow "}")
#define END(time) PACKET("timestamp: " time " track_event { type: TYPE_SLICE_END track_uuid: 1 }")

/* Slice 0 has a child, and 2 has a flow from 0. Thread 11 runs and sleeps. */
static const char trace[] = PACKET(
	"incremental_state_cleared: true track_descriptor { uuid: 1 thread { pid: 10 tid: 11 } }")
	PACKET("track_descriptor { uuid: 2 parent_uuid: 1 name: 'queue' counter { } }") BEGIN(
		"100", "outer", "flow_ids: 5 ") BEGIN("110", "inner", "") END("140") END("200")
		BEGIN("300", "next", "terminating_flow_ids: 5 ") END("310") PACKET(
			"timestamp: 100 track_event { type: TYPE_COUNTER "
			"track_uuid: 2 counter_value: 4 }") "packet { ftrace_events { cpu: 0 event "
							    "{ timestamp: 50 pid: 0 sched_switch { "
							    "prev_pid: 0 "
							    "prev_state: 0 next_pid: 11 } } event "
							    "{ timestamp: 150 pid: 11 sched_switch "
							    "{ prev_pid: 11 "
							    "prev_state: 1 next_pid: 0 } } } }";

static void check_stop(struct orma_view *view, const char *route, const char *request)
{
	static const atomic_bool yes = true, no = false;
	orma_view_set_stop(view, &yes);
	view_fixture_refuse(view, route, request, -ECANCELED, "");
	orma_view_set_stop(view, &no);
	(void)view_fixture_ask(view, route, request);
}

/* Asks for the table of one lane's rows in an area. */
static void check_area(struct orma_view *view, enum orma_view_table table)
{
	char request[96];
	for (uint32_t lane = view->first_lanes[table]; lane < view->first_lanes[table + 1]; lane++)
		if (orma_view_node_of_lane(view, lane) >= 0) {
			snprintf(request, sizeof(request),
				 "{\"start\":0,\"end\":1000,\"nodes\":[%d]}",
				 (int)orma_view_node_of_lane(view, lane));
			check_stop(view, "area", request);
			return;
		}
	orma_test_fail(__FILE__, __LINE__, "table %d has no lane", (int)table);
}

ORMA_TEST(areas_end_when_nobody_needs_them)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	check_area(view, ORMA_VIEW_SLICES);
	check_area(view, ORMA_VIEW_SCHED);
	check_area(view, ORMA_VIEW_THREAD_STATES);
	check_area(view, ORMA_VIEW_COUNTERS);
	check_stop(view, "flame", "{\"start\":0,\"end\":1000}");
	view_fixture_close_trace(view);
}

ORMA_TEST(what_reads_all_slices_ends_when_nobody_needs_it)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	check_stop(view, "find", "{\"name\":\"outer\"}");
	check_stop(view, "search", "{\"text\":\"t\"}");
	check_stop(view, "search", "{\"text\":\"/o.t/\"}");
	view_fixture_close_trace(view);
}

ORMA_TEST(details_end_when_nobody_needs_them)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	for (int row = 0; row < 3; row++) {
		char request[64];
		snprintf(request, sizeof(request), "{\"table\":\"slice\",\"id\":%d}", row);
		check_stop(view, "detail", request);
		check_stop(view, "flows", request);
	}
	view_fixture_close_trace(view);
}

/* The same with a request of bytes. */
static void check_stop_of_bytes(struct orma_view *view, const char *name, struct orma_str body)
{
	const struct orma_view_route *route = orma_view_routes;
	struct orma_buf answer = {0};
	struct orma_error error = {0};
	static const atomic_bool yes = true;
	while (strcmp(route->name, name) != 0)
		route++;
	orma_view_set_stop(view, &yes);
	CHECK_INT(route->fn(view, body, &answer, &error), -ECANCELED);
	orma_base_buf_done(&answer);
	orma_view_set_stop(view, NULL);
	CHECK_INT(route->fn(view, body, &answer, &error), 0);
	orma_base_buf_done(&answer);
}

ORMA_TEST(densities_end_when_nobody_needs_them)
{
	struct orma_view *view = view_fixture_open_trace(trace);
	const struct {
		double start, end;
		uint32_t buckets, count, all;
	} request = {0, 300, 10, 1, ORMA_VIEW_DENSITY_OF_ALL};
	check_stop_of_bytes(view, "density",
			    (struct orma_str){(const char *)&request,
					      2 * sizeof(double) + 3 * sizeof(uint32_t)});
	view_fixture_close_trace(view);
}
