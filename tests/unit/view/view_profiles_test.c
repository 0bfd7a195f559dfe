/* SPDX-License-Identifier: Apache-2.0
 * view_profiles_test.c - flame graphs of samples and heaps, compared with what the SQL that comes with them says.
 */
#include "view/view_profiles.h"

#include <errno.h>

#include "harness.h"
#include "view_fixture.h"

#define PACKET(content) "packet { trusted_packet_sequence_id: 1 " content " } "
#define STACKS                                                                                     \
	"interned_data { function_names { iid: 1 str: 'main' } function_names { iid: 2 str: "      \
	"'work' } mappings { iid: 1 } frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: "  \
	"1 } frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 2 } callstacks { iid: 1 "   \
	"frame_ids: 1 frame_ids: 2 } callstacks { iid: 2 frame_ids: 1 } } "
#define CLOCKS                                                                                     \
	"packet { clock_snapshot { clocks { clock_id: 6 timestamp: 100 } clocks { clock_id: 4 "    \
	"timestamp: 100 } } } "
#define PERF                                                                                       \
	PACKET("sequence_flags: 1 trace_packet_defaults { perf_sample_defaults { timebase { "      \
	       "counter: HW_CPU_CYCLES } } } " STACKS)
#define SAMPLE(ts, tid, body)                                                                      \
	PACKET("sequence_flags: 2 timestamp: " #ts " perf_sample { cpu: 3 pid: 7 tid: " #tid       \
	       " " body " }")
#define WAIT(ts, weight, stack)                                                                    \
	PACKET("sequence_flags: 2 timestamp: " #ts " stack_sample { callstack_iid: " #stack        \
	       " primary_descriptor { unit: UNIT_NANOSECONDS } primary_weight: " #weight " }")
#define DUMP(ts, samples)                                                                          \
	PACKET("sequence_flags: 2 timestamp: 5 profile_packet { process_dumps { pid: 7 "           \
	       "timestamp: " #ts " heap_name: 'h' " samples " } }")
#define SLICE                                                                                      \
	"packet { trusted_packet_sequence_id: 2 track_descriptor { uuid: 1 thread { pid: 7 tid: "  \
	"8 } } } packet { trusted_packet_sequence_id: 2 timestamp: 150 track_event { type: "       \
	"TYPE_INSTANT name: 'i' track_uuid: 1 } } "

static const char perf_trace[] =
	PERF SAMPLE(100, 8, "callstack_iid: 1 timebase_count: 4") SAMPLE(200, 9, "callstack_iid: 1")
		SAMPLE(300, 8, "callstack_iid: 2") SAMPLE(400, 8, "timebase_count: 9") SLICE;

static const char heap_trace[] = CLOCKS PACKET("sequence_flags: 1 " STACKS)
	DUMP(200, "samples { callstack_id: 1 self_allocated: 50 alloc_count: 2 self_freed: 20 "
		  "free_count: 1 } samples { callstack_id: 2 self_allocated: 7 alloc_count: 1 }")
		DUMP(300, "samples { callstack_id: 1 self_allocated: 90 alloc_count: 4 "
			  "self_freed: 20 free_count: 1 }");

static void check_has(const char *text, const char *part)
{
	if (!strstr(text, part))
		orma_test_fail(__FILE__, __LINE__, "no %s in %s", part, text);
}

ORMA_TEST(samples_of_perf_count_as_one_each)
{
	struct orma_view *view = view_fixture_open_trace(perf_trace);
	check_has(view_fixture_ask(view, "meta", ""),
		  "\"profiles\":[{\"source\":\"samples:0\",\"name\":\"linux.perf\",\"measure\":"
		  "\"samples\",\"unit\":\"samples\",\"count\":3}]");
	const char *all = view_fixture_ask(view, "flame",
					   "{\"source\":\"samples:0\",\"start\":0,\"end\":1000}");
	check_has(all,
		  "\"unit\":\"samples\",\"nodes\":[[0,-1,\"main\",1,3,3],[1,0,\"work\",2,2,2]]}");
	view_fixture_check_sql(view, all, "\"sql\":\"", "\"work\",2\n\"main\",1\n");
	check_has(view_fixture_ask(view, "flame",
				   "{\"source\":\"samples:0\",\"start\":50,\"end\":250}"),
		  "[[0,-1,\"main\",1,2,2],[1,0,\"work\",1,1,1]]");
	view_fixture_close_trace(view);
}

ORMA_TEST(samples_of_chosen_rows_are_those_of_their_threads)
{
	struct orma_view *view = view_fixture_open_trace(perf_trace);
	uint32_t node = 0;
	while (node < view->node_count && strcmp(view->nodes[node].kind, "slices") != 0)
		node++;
	CHECK(node < view->node_count && view->nodes[node].utid >= 0);
	char request[96];
	snprintf(request, sizeof(request),
		 "{\"source\":\"samples:0\",\"start\":0,\"end\":1000,\"nodes\":[%d]}", (int)node);
	check_has(view_fixture_ask(view, "flame", request),
		  "[[0,-1,\"main\",1,2,2],[1,0,\"work\",1,1,1]]");
	view_fixture_close_trace(view);
}

ORMA_TEST(samples_with_a_weight_count_as_much)
{
	struct orma_view *view = view_fixture_open_trace(
		PACKET("sequence_flags: 1 " STACKS) WAIT(100, 5000, 1) WAIT(200, 300, 2));
	check_has(view_fixture_ask(view, "meta", ""), "\"unit\":\"ns\",\"count\":2}");
	check_has(view_fixture_ask(view, "flame",
				   "{\"source\":\"samples:0\",\"start\":0,\"end\":1000}"),
		  "\"unit\":\"ns\",\"nodes\":[[0,-1,\"main\",300,5300,2],[1,0,\"work\",5000,5000,1]"
		  "]");
	view_fixture_close_trace(view);
}

ORMA_TEST(heaps_have_what_is_left_and_what_was_allocated)
{
	struct orma_view *view = view_fixture_open_trace(heap_trace);
	char request[128], left[64], allocated[64];
	long long heap;
	const char *meta = strstr(view_fixture_ask(view, "meta", ""), "\"profiles\"");
	CHECK(meta && strstr(meta, "\"heap:"));
	CHECK_INT(sscanf(strstr(meta, "\"heap:"), "\"heap:1:%lld", &heap), 1);
	check_has(meta, "\"measure\":\"not freed\",\"unit\":\"bytes\"");
	snprintf(left, sizeof(left), "heap:1:%lld", heap);
	snprintf(allocated, sizeof(allocated), "allocated:1:%lld", heap);
	snprintf(request, sizeof(request), "{\"source\":\"%s\",\"start\":0,\"end\":1000}", left);
	const char *all = view_fixture_ask(view, "flame", request);
	check_has(all, "\"unit\":\"bytes\",\"nodes\":[[0,-1,\"main\",7,77,");
	check_has(all, "[1,0,\"work\",70,70,");
	snprintf(request, sizeof(request), "{\"source\":\"%s\",\"start\":0,\"end\":1000}",
		 allocated);
	check_has(view_fixture_ask(view, "flame", request),
		  "[[0,-1,\"main\",7,97,5],[1,0,\"work\",90,90,");
	/* Later allocations do not count. */
	snprintf(request, sizeof(request), "{\"source\":\"%s\",\"start\":0,\"end\":50}", left);
	check_has(view_fixture_ask(view, "flame", request), "[[0,-1,\"main\",7,37,");
	view_fixture_close_trace(view);
}

ORMA_TEST(functions_have_their_names_in_the_source)
{
	struct orma_view *view = view_fixture_open_trace(
		"packet { clock_snapshot { clocks { clock_id: 6 timestamp: 10 } } } " PACKET(
			"sequence_flags: 1 interned_data { function_names { iid: 1 str: "
			"'_ZN2ns4workEi' } mappings { iid: 1 } frames { iid: 1 function_name_id: 1 "
			"mapping_id: 1 rel_pc: 1 } callstacks { iid: 1 frame_ids: 1 } } "
			"track_descriptor { uuid: 1 thread { pid: 7 tid: 8 } }") WAIT(100, 5000, 1)
			PACKET("sequence_flags: 2 timestamp: 150 track_event { type: "
			       "TYPE_SLICE_BEGIN name: '_ZN2ns4workEi' track_uuid: 1 "
			       "callstack_iid: 1 }"));
	const char *all = view_fixture_ask(view, "flame",
					   "{\"source\":\"samples:0\",\"start\":0,\"end\":1000}");
	check_has(all, "\"nodes\":[[0,-1,\"ns::work(int)\",5000,5000,1]]");
	view_fixture_check_sql(view, all, "\"sql\":\"", "\"ns::work(int)\",1\n");
	check_has(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":0}"),
		  "\"stack\":[\"ns::work(int)\"]");
	CHECK(view_fixture_fail_allocations(
		      view, "flame", "{\"source\":\"samples:0\",\"start\":0,\"end\":1000}") > 3);
	CHECK(view_fixture_fail_allocations(view, "detail", "{\"table\":\"slice\",\"id\":0}") > 3);
	/* A slice has the name that the program gave it. */
	check_has(
		view_fixture_ask(view, "flame", "{\"source\":\"slices\",\"start\":0,\"end\":1000}"),
		"\"_ZN2ns4workEi\"");
	view_fixture_close_trace(view);
}

ORMA_TEST(profiles_that_are_not_there_are_refused)
{
	struct orma_view *view = view_fixture_open_trace(perf_trace);
	static const char *const wrong[] = {"samples:1",
					    "samples:",
					    "samples",
					    "samples:0x",
					    "samples:99999999999999999999",
					    "heap:0",
					    "heap:0:",
					    "heap:0:9999999",
					    "heap:77:1",
					    "heap"};
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char request[128];
		snprintf(request, sizeof(request), "{\"source\":\"%s\",\"start\":0,\"end\":9}",
			 wrong[i]);
		view_fixture_refuse(view, "flame", request, -EINVAL, "profile");
	}
	view_fixture_close_trace(view);
}

ORMA_TEST(a_slice_has_the_call_stack_that_it_began_at)
{
	struct orma_view *view = view_fixture_open_trace(
		PACKET("sequence_flags: 1 track_descriptor { uuid: 1 name: 't' } " STACKS)
			PACKET("sequence_flags: 2 timestamp: 100 track_event { type: "
			       "TYPE_SLICE_BEGIN name: 'a' track_uuid: 1 callstack_iid: 1 }")
				PACKET("sequence_flags: 2 timestamp: 110 track_event { type: "
				       "TYPE_INSTANT name: 'b' track_uuid: 1 }"));
	check_has(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":0}"),
		  "\"stack\":[\"work\",\"main\"]");
	check_has(view_fixture_ask(view, "detail", "{\"table\":\"slice\",\"id\":1}"),
		  "\"stack\":[]");
	view_fixture_close_trace(view);
}

ORMA_TEST(profiles_report_that_memory_is_short)
{
	struct orma_view *view = view_fixture_open_trace(heap_trace);
	CHECK(view_fixture_fail_allocations(
		      view, "flame", "{\"source\":\"heap:1:1\",\"start\":0,\"end\":1000}") > 3);
	CHECK(view_fixture_fail_allocations(view, "meta", "{}") > 3);
	view_fixture_close_trace(view);
}
