/* SPDX-License-Identifier: Apache-2.0
 * profiles_test.c - the views of profiles, which are made when they are used.
 */
#include "trace_fixture.h"

#include "harness.h"

#define PACKET(content) "packet { trusted_packet_sequence_id: 1 " content " } "
#define BEGIN                                                                                      \
	PACKET("sequence_flags: 1 trace_packet_defaults { perf_sample_defaults { timebase { "      \
	       "counter: HW_CPU_CYCLES } } } interned_data { function_names { iid: 1 str: 'main' " \
	       "} "                                                                                \
	       "function_names { iid: 2 str: 'work' } mappings { iid: 1 } "                        \
	       "frames { iid: 1 function_name_id: 1 mapping_id: 1 rel_pc: 1 } "                    \
	       "frames { iid: 2 function_name_id: 2 mapping_id: 1 rel_pc: 2 } "                    \
	       "callstacks { iid: 1 frame_ids: 1 frame_ids: 2 } callstacks { iid: 2 frame_ids: 1 " \
	       "} }")
#define SAMPLE(ts, body)                                                                           \
	PACKET("sequence_flags: 2 timestamp: " #ts " perf_sample { cpu: 3 pid: 7 tid: 8 " body " " \
	       "}")

ORMA_TEST(samples_of_perf_are_a_view_and_a_tree)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN SAMPLE(100, "callstack_iid: 1 cpu_mode: MODE_USER timebase_count: 4")
			SAMPLE(200, "callstack_iid: 1") SAMPLE(300, "callstack_iid: 2")
				SAMPLE(400, "timebase_count: 9"));
	fixture_check(
		database,
		"select s.ts, tid, cpu, cpu_mode, callsite_id, perf_session_id from perf_sample s "
		"join thread using (utid)",
		"100,8,3,\"user\",1,0\n200,8,3,\"unknown\",1,0\n300,8,3,\"unknown\",0,0\n"
		"400,8,3,\"unknown\",\"[NULL]\",0\n");
	fixture_check(database, "select count(*) from stack_sample", "3\n");
	fixture_check(database, "select source, timebase_unit from stack_sample_session",
		      "\"linux.perf\",\"cycles\"\n");
	fixture_check(
		database,
		"select stack_sample_id, value, name, cpu, is_timebase from stack_sample_counter c "
		"join stack_sample_counter_track t on c.track_id = t.id",
		"0,4.000000,\"cpu-cycles\",3,1\n");
	fixture_check(database,
		      "include perfetto module linux.perf.samples; select name, self_count, "
		      "cumulative_count from linux_perf_samples_summary_tree order by id",
		      "\"main\",1,3\n\"work\",2,2\n");
	fixture_check(database, "select start_ts, end_ts from trace_bounds", "100,400\n");
	fixture_close(database);
}

ORMA_TEST(tables_of_profiles_are_empty_in_a_trace_without)
{
	static const char *const tables[] = {
		"stack_profile_mapping",  "stack_profile_frame",
		"stack_profile_callsite", "stack_profile_symbol",
		"perf_session",           "cpu_profile_stack_sample",
		"heap_profile",           "heap_profile_allocation",
		"profiler_smaps",         "heap_graph",
		"heap_graph_object",      "heap_graph_class",
		"heap_graph_reference",   "stack_sample_async_context"};
	struct orma_trace_database *database = fixture_open(PACKET("timestamp: 5"));
	for (size_t i = 0; i < sizeof(tables) / sizeof(*tables); i++) {
		char query[80];
		snprintf(query, sizeof(query), "select * from %s", tables[i]);
		fixture_check(database, query, "");
	}
	fixture_close(database);
}

#define DUMP(ts, samples)                                                                          \
	PACKET("sequence_flags: 2 timestamp: 5 profile_packet { process_dumps { pid: 7 "           \
	       "timestamp: " #ts " heap_name: 'h' " samples " } }")

ORMA_TEST(heaps_have_intervals_and_a_tree)
{
	struct orma_trace_database *database = fixture_open(
		"packet { clock_snapshot { clocks { clock_id: 6 timestamp: 100 } clocks { "
		"clock_id: 4 timestamp: 100 } } } " BEGIN DUMP(
			200, "samples { callstack_id: 1 self_allocated: 50 alloc_count: 2 "
			     "self_freed: 20 free_count: 1 } samples { callstack_id: 2 "
			     "self_allocated: 7 alloc_count: 1 }")
			DUMP(300, "samples { callstack_id: 1 self_allocated: 90 alloc_count: 4 "
				  "self_freed: 20 free_count: 1 }"));
	fixture_check(database,
		      "include perfetto module android.memory.heap_profile.intervals; select "
		      "heap_name, ts, dur, retained, allocated, delta from "
		      "_android_heap_profile_intervals order by ts",
		      "\"h\",200,0,37,57,37\n\"h\",201,99,40,40,40\n");
	fixture_check(
		database,
		"include perfetto module android.memory.heap_profile.summary_tree; select name, "
		"self_size, cumulative_size, self_alloc_size, cumulative_alloc_size from "
		"android_heap_profile_summary_tree",
		"\"main\",7,77,7,97\n\"work\",70,70,90,90\n");
	fixture_close(database);
}
