/* SPDX-License-Identifier: Apache-2.0
 * viz_modules_test.c - the modules that sum a trace up for viewers.
 */
#include "harness.h"
#include "trace_fixture.h"

#define SEQUENCE "trusted_packet_sequence_id: 1 "
#define EVENT(ts, track, content)                                                                  \
	"packet { " SEQUENCE "sequence_flags: 2 timestamp: " #ts                                   \
	" track_event { track_uuid: " #track " " content " } } "
#define SLICE(begin, end, track, name)                                                             \
	EVENT(begin, track, "type: 1 name: '" name "'") EVENT(end, track, "type: 2")

static const char trace[] =
	"packet { " SEQUENCE "system_info { utsname { sysname: 'Linux' } } } "
	"packet { " SEQUENCE "timestamp: 1 service_event { tracing_started: true } } "
	"packet { " SEQUENCE "sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 10 thread "
	"{ pid: 7 tid: 8 } } } packet { " SEQUENCE
	"timestamp: 1 track_descriptor { uuid: 11 process { pid: 7 } } } packet { " SEQUENCE
	"timestamp: 1 track_descriptor { uuid: 12 name: 'free' counter {} } } packet { " SEQUENCE
	"timestamp: 1 track_descriptor { uuid: 13 name: 'log' } } "
	"packet { " SEQUENCE "timestamp: 2 process_tree { processes { pid: 2 ppid: 0 cmdline: "
	"'kthreadd' } processes { pid: 9 ppid: 2 cmdline: 'kworker' } } } "
	"packet { " SEQUENCE
	"timestamp: 2 sys_stats { num_forks: 4 meminfo { key: 2 value: 5 } } } " EVENT(
		100, 10, "type: 1 name: 'a'") SLICE(120, 130, 10, "b") EVENT(200, 10, "type: 2")
		SLICE(210, 250, 11, "p") SLICE(260, 261, 13, "l")
			EVENT(100, 12, "type: 4 counter_value: 1");

ORMA_TEST(summaries_say_what_the_trace_has_of_threads_and_processes)
{
	struct orma_trace_database *database = fixture_open(trace);
	fixture_check(database,
		      "include perfetto module viz.summary.processes, viz.summary.counters;"
		      "select pid, thread_slice_count, process_slice_count, running_count from "
		      "_process_available_info_summary join process using (upid)",
		      "7,2,1,0\n");
	fixture_check(database,
		      "select tid, slice_count from _thread_available_info_summary join thread "
		      "using (utid); select name from _counter_track_summary join track using "
		      "(id) order by name",
		      "8,2\n\n\"name\"\n\"MemFree\"\n\"free\"\n\"num_forks\"\n");
	fixture_check(database,
		      "include perfetto module viz.threads; select group_concat(tid) from "
		      "_threads_with_kernel_flag where is_kernel_thread",
		      "\"2,9\"\n");
	fixture_close(database);
}

ORMA_TEST(chosen_slices_are_shown_below_those_above_them)
{
	struct orma_trace_database *database = fixture_open(trace);
	fixture_check(database,
		      "include perfetto module viz.slices; select name, self_dur, self_count "
		      "from _viz_slice_ancestor_agg!((select id, dur from slice where name in "
		      "('b', 'p')), slice) order by name",
		      "\"a\",90,0\n\"b\",10,1\n\"p\",40,1\n");
	fixture_check(database, "select name, tid, pid from _viz_slices_for_ui_table order by id",
		      "\"a\",8,7\n\"b\",8,7\n\"p\",\"[NULL]\",7\n\"l\",\"[NULL]\",\"[NULL]\"\n");
	fixture_close(database);
}

ORMA_TEST(metadata_has_one_value_for_each_name)
{
	struct orma_trace_database *database = fixture_open(trace);
	fixture_check(database,
		      "include perfetto module std.traceinfo.trace, "
		      "std.traceinfo.metadata_for_primary_scope; select trace_id, trace_type, "
		      "machines from _metadata_by_trace; select str_value from "
		      "_metadata_for_primary_scope where name = 'system_name'",
		      "0,\"proto\",\"Linux\"\n\n\"str_value\"\n\"Linux\"\n");
	fixture_check(database,
		      "select extract_metadata_for_trace(0, 'trace_type'), "
		      "extract_metadata_for_trace(1, 'trace_type'), "
		      "extract_metadata_for_machine(0, 'system_name'), "
		      "extract_metadata_for_machine(null, 'system_name'), "
		      "extract_exact_metadata(0, 0, 'trace_type')",
		      "\"proto\",\"[NULL]\",\"Linux\",\"[NULL]\",\"[NULL]\"\n");
	fixture_check(database,
		      "include perfetto module counters.global_tracks; select name, "
		      "_counter_track_is_only_name_dimension(id) from counter_track order by name",
		      "\"MemFree\",0\n\"free\",0\n\"num_forks\",1\n");
	fixture_close(database);
}

ORMA_TEST(intervals_are_merged_by_what_fills_most_of_a_bucket)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	fixture_check(
		database,
		"include perfetto module intervals.mipmap;"
		"create perfetto table s as select column1 as id, column2 as ts, column3 as dur, "
		"column4 as p, column5 as group_hash from (values (1, 0, 7, 1, 'a'), (2, 7, 9, 1, "
		"'b'), (3, 16, 6, 1, 'b'), (4, 22, 18, 1, 'a'), (5, 3, 2, 2, 'c'));"
		"create perfetto table b as select * from _mipmap_buckets_table!(s, p, 10);"
		"select id, p, bucket_index, ts, dur from b;"
		"select * from _mipmap_bucket_metadata!(s, p, 10) order by p;"
		"select * from _mipmap_merged!(s, b, p, 10) order by p, ts",
		"1,1,0,0,10\n2,1,1,10,10\n3,1,2,20,10\n4,1,3,30,10\n5,2,0,3,10\n\n"
		"\"p\",\"trace_min_ts\",\"trace_max_ts\",\"bucket_duration_ns\",\"bucket_count\"\n"
		"1,0,40,10,4\n2,3,5,10,1\n\n\"p\",\"id\",\"ts\",\"dur\",\"group_hash\"\n"
		"1,1,0,10,\"a\"\n1,2,10,10,\"b\"\n1,4,20,20,\"a\"\n2,5,3,10,\"c\"\n");
	fixture_close(database);
}

ORMA_TEST(what_modules_have_can_be_searched)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	CHECK_INT(orma_modules_add(&database->modules, "mine.own",
				   ORMA_STR("-- Says \"hello\".\ncreate perfetto function "
					    "_hello(-- Who.\nname string) returns string as "
					    "select 'hello ' || $name"),
				   false),
		  0);
	CHECK_INT(
		orma_modules_add(&database->modules, "time.conversion", ORMA_STR("select 1"), true),
		0);
	fixture_check(
		database,
		"select package, module, name, object_type, exposed, short_description, "
		"return_type, args, cols from __intrinsic_stdlib_objects where package = "
		"'mine' order by object_type; select summary from "
		"__intrinsic_stdlib_objects where name = '_hello'",
		"\"mine\",\"mine.own\",\"_hello\",\"FUNCTION\",0,\"Says \"hello\".\","
		"\"STRING\",\"[{\"name\":\"name\",\"type\":\"STRING\",\"description\":"
		"\"Who.\"}]\",\"[]\"\n"
		"\"mine\",\"mine.own\",\"mine.own\",\"MODULE\",1,\"\",\"\",\"[]\",\"[]\"\n\n"
		"\"summary\"\n\"Package: mine\nModule: mine.own\nName: _hello\nQualified name: "
		"mine.own._hello\nSearch aliases: mine mine own  hello\nKind: internal "
		"FUNCTION\nDescription: Says \"hello\".\nArguments:\n- name (STRING): Who.\n"
		"Returns: STRING\"\n");
	/* All objects of the modules can be told apart, and none is without a kind. */
	fixture_check(database,
		      "select count(*) = count(distinct qualified_name), min(length(object_type)) "
		      "> 3, count(*) > 200 from __intrinsic_stdlib_objects",
		      "1,1,1\n");
	fixture_close(database);
}
