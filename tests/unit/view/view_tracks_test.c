/* SPDX-License-Identifier: Apache-2.0
 * view_tracks_test.c - the tree of the page's rows, its order and its nesting, and what pages ask first.
 */
#include "view/view_tracks.h"

#include "base/alloc.h"
#include "harness.h"
#include "unit/answers/trace_fixture.h"
#include "view_fixture.h"

#define PACKET(content) "packet { " content " trusted_packet_sequence_id: 1 } "
#define TRACK(uuid, content)                                                                       \
	PACKET("incremental_state_cleared: true track_descriptor { uuid: " uuid " " content " }")
#define SLICE(time, end, uuid, name)                                                               \
	PACKET("timestamp: " time " track_event { type: TYPE_SLICE_BEGIN name: '" name             \
	       "' track_uuid: " uuid " }")                                                         \
	PACKET("timestamp: " end " track_event { type: TYPE_SLICE_END track_uuid: " uuid " }")
#define VALUE(time, uuid, value)                                                                   \
	PACKET("timestamp: " time " track_event { type: TYPE_COUNTER track_uuid: " uuid            \
	       " counter_value: " value " }")
#define PROCESS(uuid, pid, name) TRACK(uuid, "process { pid: " pid " process_name: '" name "' }")
#define THREAD(uuid, pid, tid, name)                                                               \
	TRACK(uuid, "thread { pid: " pid " tid: " tid " thread_name: '" name "' }")

/* The tree as text: a line for each node with its depth, kind and name. */
static char *tree_text(const struct orma_view *view)
{
	static struct orma_buf text;
	orma_base_buf_done(&text);
	for (uint32_t i = 0; i < view->node_count; i++) {
		const struct orma_view_node *node = &view->nodes[i];
		CHECK(node->parent < (int64_t)i);
		for (int64_t above = node->parent; above >= 0; above = view->nodes[above].parent)
			CHECK_INT(orma_base_buf_append_str(&text, " "), 0);
		CHECK_INT(orma_base_buf_printf(&text, "%s %.*s\n", node->kind, (int)node->name.size,
					       node->name.data),
			  0);
	}
	return (char *)(uintptr_t)orma_base_buf_cstr(&text);
}

ORMA_TEST(a_page_gets_the_first_rows_and_the_number_of_the_others)
{
	struct orma_view *view = view_fixture_open_trace(
		PROCESS("1", "10", "server") THREAD("2", "10", "12", "worker")
			THREAD("3", "10", "11", "io") SLICE("100", "200", "2", "a")
				SLICE("100", "200", "3", "b"));
	struct orma_buf json = {0};
	CHECK_STR(tree_text(view), "process server (10)\n"
				   " thread io (11)\n"
				   "  slices io\n"
				   " thread worker (12)\n"
				   "  slices worker\n");
	CHECK_INT(orma_view_tracks_append(view, 2, &json), 0);
	const char *text = orma_base_buf_cstr(&json);
	CHECK(strstr(text, "\"name\":\"io (11)\""));
	CHECK(!strstr(text, "\"kind\":\"slices\""));
	CHECK(strstr(text, "{\"id\":2,\"lane\":null,"));
	CHECK(strstr(text, "\"name\":\"and 3 more tracks and threads, which only SQL can ask\""));
	CHECK(strstr(text, "\"threads\":[["));
	json.size = 0;
	CHECK_INT(orma_view_tracks_append(view, 5, &json), 0);
	CHECK(!strstr(orma_base_buf_cstr(&json), "more tracks"));
	orma_base_buf_done(&json);
	view_fixture_close_trace(view);
}

ORMA_TEST(a_process_has_its_tracks_then_its_main_thread_then_the_others)
{
	struct orma_view *view = view_fixture_open_trace(
		PROCESS("1", "10", "server") THREAD("2", "10", "12", "worker")
			THREAD("3", "10", "11", "io") THREAD("4", "10", "10", "server")
				TRACK("5", "parent_uuid: 1 name: 'requests'") TRACK(
					"6", "parent_uuid: 1 name: 'queue' counter { }")
					SLICE("100", "200", "2", "a") SLICE("100", "200", "3", "b")
						SLICE("100", "200", "4", "c")
							SLICE("100", "200", "5", "d")
								VALUE("100", "6", "7"));
	CHECK_STR(tree_text(view), "process server (10)\n"
				   " slices requests\n"
				   " counter queue\n"
				   " thread server (10)\n"
				   "  slices server\n"
				   " thread io (11)\n"
				   "  slices io\n"
				   " thread worker (12)\n"
				   "  slices worker\n");
	view_fixture_close_trace(view);
}

ORMA_TEST(what_the_system_counts_for_a_process_follows_its_threads_and_has_units)
{
	struct orma_view *view = view_fixture_open_trace(
		PROCESS("1", "10", "server") THREAD("2", "10", "12", "worker") TRACK(
			"6", "parent_uuid: 1 name: 'queue' counter { }")
			SLICE("100", "200", "2", "a") VALUE("100", "6", "7") PACKET(
				"timestamp: 150 process_stats { processes { pid: 10 vm_size_kb: 1 "
				"vm_rss_kb: 2 oom_score_adj: 3 runtime_user_mode: 4 } }"));
	CHECK_STR(tree_text(view), "process server (10)\n"
				   " counter queue\n"
				   " thread worker (12)\n"
				   "  slices worker\n"
				   " group Counters\n"
				   "  counter mem.rss\n"
				   "  counter mem.virt\n"
				   "  counter oom_score_adj\n"
				   "  counter runtime.user_ns\n");
	CHECK(!view->nodes[4].is_open);
	CHECK(orma_base_str_is(view->nodes[1].unit, ""));
	CHECK(orma_base_str_is(view->nodes[5].unit, "bytes"));
	CHECK(orma_base_str_is(view->nodes[7].unit, ""));
	CHECK(orma_base_str_is(view->nodes[8].unit, "ns"));
	view_fixture_close_trace(view);
}

ORMA_TEST(tracks_of_events_keep_their_nesting_and_order)
{
	struct orma_view *view = view_fixture_open_trace(
		TRACK("1", "name: 'all' child_ordering: 3")
			TRACK("2", "parent_uuid: 1 name: 'b' sibling_order_rank: 2")
				TRACK("3", "parent_uuid: 1 name: 'a' "
					   "sibling_order_rank: 5")
					TRACK("4", "parent_uuid: 3 name: 'deep'")
						SLICE("100", "200", "2", "x")
							SLICE("100", "200", "4", "y"));
	/* A track without slices is there because of those below it. */
	CHECK_STR(tree_text(view), "group Tracks\n"
				   " group all\n"
				   "  slices b\n"
				   "  group a\n"
				   "   slices deep\n");
	view_fixture_close_trace(view);
}

#define SWITCH(time, prev, next)                                                                   \
	"event { timestamp: " time " pid: " prev " sched_switch { prev_pid: " prev                 \
	" prev_state: 1 next_pid: " next " prev_comm: 'p" prev "' next_comm: 'p" next "' } } "
#define TREE(pid, parent, name) "processes { pid: " pid " ppid: " parent " cmdline: '" name "' } "

ORMA_TEST(processes_are_ordered_by_cpu_time_and_quiet_ones_are_folded)
{
	struct orma_view *view = view_fixture_open_trace(
		PACKET("timestamp: 1 process_tree { " TREE("2", "0", "kthreadd")
			       TREE("9", "2", "kworker") TREE("20", "1", "small")
				       TREE("30", "1", "big") TREE("40", "1", "tiny") "}")
			PACKET("ftrace_events { cpu: 0 " SWITCH("1000", "0", "20") SWITCH(
				"2000000", "20", "30") SWITCH("9000000", "30", "9")
				       SWITCH("9500000", "9", "40") SWITCH("9500100", "40", "0")
					       SWITCH("9600000", "0", "20") "}"));
	const char *text = tree_text(view);
	const char *big = strstr(text, "\nprocess big (30)\n"),
		   *small = strstr(text, "\nprocess small (20)\n"),
		   *kernel = strstr(text, "\ngroup Kernel threads\n"),
		   *quiet = strstr(text, "\ngroup and 1 quiet process\n process tiny (40)\n");
	CHECK(strstr(text, "group CPUs\n sched CPU 0\n") == text);
	CHECK(big && small && kernel && quiet);
	CHECK(big < small && small < kernel && kernel < quiet);
	CHECK(strstr(text, "\n process kworker (9)\n"));
	CHECK(strstr(text, "\n thread p30 (30)\n  states p30 (30)\n") ||
	      strstr(text, "\n thread big (30)\n  states big (30)\n"));
	view_fixture_close_trace(view);
}

ORMA_TEST(the_tree_is_told_with_lanes_and_names)
{
	struct orma_view *view = view_fixture_open_trace(
		PROCESS("1", "10", "server") THREAD("2", "10", "12", "worker")
			SLICE("100", "200", "2", "a") SLICE("150", "160", "2", "b"));
	const char *text = view_fixture_ask(view, "tracks", "{}");
	CHECK(strstr(text, "\"kind\":\"process\",\"name\":\"server (10)\""));
	CHECK(strstr(text, "\"lane\":0,\"rows\":2,\"events\":2,"));
	CHECK(strstr(text, "12,\"worker\","));
	CHECK(strstr(text, "10,\"server\"]"));
	CHECK_INT(orma_view_node_of_lane(view, 0), 2);
	CHECK_INT(orma_view_node_of_lane(view, 1000), -1);
	view_fixture_close_trace(view);
}

ORMA_TEST(what_the_trace_is_and_lost_is_told_in_sentences)
{
	struct orma_view *view = view_fixture_open_trace(SLICE("100", "200", "7", "a") PACKET(
		"timestamp: 100 trace_stats { buffer_stats { "
		"chunks_overwritten: 3 } buffer_stats { chunks_overwritten: 4 } }"));
	const char *text = view_fixture_ask(view, "meta", "{}");
	CHECK(strstr(text, "\"title\":\"a.pftrace\",\"start_ns\":\"100\",\"end\":100,"));
	CHECK(strstr(text, "\"realtime_start_ns\":null"));
	CHECK(strstr(text, "\"slices\":1,"));
	CHECK(strstr(text, "\"losses\":[{\"what\":\"The ring buffer was full, and its oldest data "
			   "made room for newer data.\",\"count\":7,"));
	CHECK(strncmp(tree_text(view), "losses Losses\n", 14) == 0);
	view_fixture_close_trace(view);
}

ORMA_TEST(when_data_were_lost_is_told_with_the_thread_and_the_cpu)
{
	struct orma_view *view = view_fixture_open_trace(
		THREAD("2", "10", "12", "worker") SLICE("100", "200", "2", "a") PACKET(
			"timestamp: 300 previous_packet_dropped: 64 sequence_flags: 1 track_event "
			"{ type: TYPE_INSTANT name: 'b' track_uuid: 2 }")
			PACKET("ftrace_events { cpu: 1 event { timestamp: 150 pid: 1 print { buf: "
			       "'a' } } }")
				PACKET("ftrace_events { cpu: 1 lost_events: true event { "
				       "timestamp: 190 pid: 1 print { buf: 'c' } } }"));
	const char *text = view_fixture_ask(view, "meta", "{}");
	CHECK(strstr(text,
		     "{\"start\":100,\"end\":200,\"what\":\"Losses because the ring buffer was "
		     "overwritten; a larger buffer helps.\",\"utid\":2,\"cpu\":null}"));
	CHECK(strstr(text,
		     "{\"start\":50,\"end\":90,\"what\":\"The kernel's buffer of this CPU was "
		     "overwritten before it was read; a larger buffer or fewer events "
		     "help.\",\"utid\":null,\"cpu\":1}"));
	CHECK(strncmp(tree_text(view), "losses Losses\n", 14) == 0);
	CHECK_INT(view->nodes[view->node_count - 1].utid, 2);
	view_fixture_fail_allocations(view, "meta", "{}");
	view_fixture_close_trace(view);
}

ORMA_TEST(names_of_strings_are_told)
{
	struct orma_view *view = view_fixture_open_trace(SLICE("100", "200", "7", "a\\\"b"));
	uint32_t id = orma_store_pool_find(&view->database->tables.strings, ORMA_STR("a\"b"));
	uint32_t ids[] = {id, 0, UINT32_MAX};
	struct orma_buf answer = {0};
	struct orma_error error = {0};
	const struct orma_view_route *route = orma_view_routes;
	while (strcmp(route->name, "names") != 0)
		route++;
	CHECK(id > 0);
	CHECK_INT(
		route->fn(view, (struct orma_str){(const char *)ids, sizeof(ids)}, &answer, &error),
		0);
	CHECK_STR(orma_base_buf_cstr(&answer), "{\"names\":[\"a\\\"b\",null,null]}");
	orma_base_buf_done(&answer);
	view_fixture_refuse(view, "names", "abc", -EINVAL, "3 bytes");
	view_fixture_close_trace(view);
}

ORMA_TEST(views_report_that_memory_is_short)
{
	struct orma_trace_database *database = fixture_open(
		PROCESS("1", "10", "server") THREAD("2", "10", "12", "worker")
			SLICE("100", "200", "2", "a") TRACK("5", "parent_uuid: 1 name: 'x'")
				SLICE("150", "160", "5", "b"));
	uint64_t failures = 0;
	for (uint64_t n = 1;; n++) {
		struct orma_view *view = NULL;
		orma_test_fail_allocation(n);
		int r = orma_view_new(database, "a", &view);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		if (r == 0)
			orma_view_free(view);
		if (!has_failed)
			break;
		failures += r == -ENOMEM;
	}
	CHECK(failures > 20);
	fixture_close(database);
}
