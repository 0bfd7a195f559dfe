/* SPDX-License-Identifier: Apache-2.0
 * legacy_events_test.c - track events with the fields of older tracers: phases, ids, flows, times and counts that are differences.
 */
#include "harness.h"
#include "trace_fixture.h"

#define SEQUENCE(id) "trusted_packet_sequence_id: " #id " "
/* Two threads of one process, with a sequence each. */
#define BEGIN                                                                                      \
	"packet { " SEQUENCE(                                                                      \
		1) "sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 10 "                   \
		   "thread { pid: 7 tid: 8 thread_name: 'one' } } } "                              \
		   "packet { " SEQUENCE(                                                           \
			   2) "sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 20 "        \
			      "thread { pid: 7 tid: 9 thread_name: 'two' } } } "
#define EVENT(id, ts, content)                                                                     \
	"packet { " SEQUENCE(id) "timestamp: " #ts " track_event { " content " } } "
#define LEGACY(id, ts, name, content)                                                              \
	EVENT(id, ts, "name: '" name "' categories: 'c' legacy_event { " content " }")

static void check_stat(struct orma_trace_database *database, const char *name, int value)
{
	char query[200], expected[20];
	snprintf(query, sizeof(query), "select sum(value) from stats where name = '%s'", name);
	snprintf(expected, sizeof(expected), "%d\n", value);
	fixture_check(database, query, expected);
}

ORMA_TEST(an_event_without_a_track_is_on_the_thread_of_its_sequence)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN EVENT(1, 10, "type: 3 name: 'a'") EVENT(2, 20, "type: 3 name: 'b'"));
	fixture_check(database,
		      "select slice.name, thread.name from slice join thread_track on "
		      "slice.track_id = thread_track.id join thread using (utid)",
		      "\"a\",\"one\"\n\"b\",\"two\"\n");
	fixture_close(database);
}

ORMA_TEST(an_event_on_a_process_says_which_thread_made_it)
{
	struct orma_trace_database *database =
		fixture_open(BEGIN "packet { " SEQUENCE(
			1) "timestamp: 2 track_descriptor { uuid: 5 process { "
			   "pid: 7 } } } "
			   "packet { " SEQUENCE(
				   1) "timestamp: 2 track_descriptor { uuid: 6 process { "
				      "pid: 99 } } } " EVENT(1, 10,
							     "type: 1 name: 'a' track_uuid: 5")
					      EVENT(2, 20,
						    "type: 2 track_uuid: 5 debug_annotations { "
						    "name: 'x' int_value: 3 }")
						      EVENT(1, 30,
							    "type: 3 name: 'other' track_uuid: 6")
							      EVENT(1, 40,
								    "type: 3 name: 'own' "
								    "track_uuid: 10"));
	fixture_check(
		database,
		"select s.name, t.name, a.key, int_value from slice s left join args a using "
		"(arg_set_id) left join thread t on key glob '*utid' and utid = int_value order "
		"by s.id, a.id",
		"\"a\",\"one\",\"legacy_event.passthrough_utid\",2\n"
		"\"a\",\"[NULL]\",\"debug.x\",3\n"
		"\"other\",\"[NULL]\",\"[NULL]\",\"[NULL]\"\n"
		"\"own\",\"[NULL]\",\"[NULL]\",\"[NULL]\"\n");
	fixture_close(database);
}

ORMA_TEST(flows_of_their_own_events_go_from_slice_to_slice)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN LEGACY(1, 10, "first", "phase: 88 duration_us: 1") /* X */
		LEGACY(1, 10, "f", "phase: 115 unscoped_id: 4")          /* s */
		LEGACY(2, 20000, "second", "phase: 88 duration_us: 1")
			LEGACY(2, 20000, "f", "phase: 116 unscoped_id: 4") /* t */
		LEGACY(1, 30000, "f", "phase: 102 unscoped_id: 4")         /* f */
		LEGACY(1, 40000, "third", "phase: 88 duration_us: 1")      /* binds to this */
		LEGACY(2, 40000, "f", "phase: 102 unscoped_id: 5")         /* never begun */
		LEGACY(2, 50000, "fourth", "phase: 88 duration_us: 1")
			LEGACY(2, 50000, "f",
			       "phase: 102 unscoped_id: 4 bind_to_enclosing: true") /* at once */
		LEGACY(2, 50000, "f", "phase: 115 local_id: 4"));
	fixture_check(
		database,
		"select a.name, b.name, f.trace_id, extract_arg(f.arg_set_id, 'cat') from flow f "
		"join slice a on slice_out = a.id join slice b on slice_in = b.id",
		"\"first\",\"second\",0,\"c\"\n\"second\",\"third\",0,\"c\"\n"
		"\"second\",\"fourth\",0,\"c\"\n");
	check_stat(database, "flow_end_without_start", 1);
	check_stat(database, "flow_invalid_id", 1);
	fixture_close(database);
}

ORMA_TEST(flows_of_slices_have_a_direction)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN LEGACY(1, 10, "out", "phase: 88 duration_us: 1 bind_id: 7 flow_direction: 2")
			LEGACY(2, 20, "via",
			       "phase: 88 duration_us: 1 bind_id: 7 flow_direction: 3")
				LEGACY(1, 5000, "in",
				       "phase: 88 duration_us: 1 bind_id: 7 flow_direction: 1")
					LEGACY(1, 9000, "none",
					       "phase: 88 duration_us: 1 bind_id: 7")
						LEGACY(2, 9000, "again",
						       "phase: 88 duration_us: 1 bind_id: 7 "
						       "flow_direction: 2"));
	fixture_check(
		database,
		"select a.name, b.name from flow f join slice a on slice_out = a.id join slice b "
		"on slice_in = b.id",
		"\"out\",\"via\"\n\"via\",\"in\"\n");
	check_stat(database, "flow_without_direction", 1);
	check_stat(database, "flow_duplicate_id", 1);
	fixture_close(database);
}

ORMA_TEST(counts_of_the_thread_add_up_and_are_counters)
{
	struct orma_trace_database *database = fixture_open("packet { " SEQUENCE(
		1) "sequence_flags: 1 thread_descriptor { pid: 7 tid: 8 "
		   "reference_timestamp_us: 100 reference_thread_time_us: 5 "
		   "reference_thread_instruction_count: 50 } } "
		   "packet { " SEQUENCE(
			   1) "track_event { timestamp_delta_us: 1 thread_time_delta_us: 2 "
			      "thread_instruction_count_delta: 3 type: 1 name: 'a' } } "
			      "packet { " SEQUENCE(
				      1) "track_event { timestamp_delta_us: 4 "
					 "thread_time_delta_us: 5 "
					 "thread_instruction_count_absolute: 99 type: 2 } } "
					 "packet { " SEQUENCE(
						 2) "sequence_flags: 1 timestamp: 9 track_event { "
						    "type: 3 "
						    "thread_time_delta_us: 1 } } "
						    "packet { " SEQUENCE(
							    2) "track_event { type: 3 "
							       "timestamp_delta_us: 1 } } ");
	fixture_check(database,
		      "select ts, dur, thread_ts, thread_dur, thread_instruction_count, "
		      "thread_instruction_delta from slice",
		      "101000,4000,7000,5000,53,46\n");
	fixture_check(
		database,
		"select t.name, type, value from counter c join thread_counter_track t on t.id = "
		"track_id",
		"\"thread_time\",\"thread_time\",7000.000000\n"
		"\"thread_instruction_count\",\"thread_instructions\",53.000000\n"
		"\"thread_time\",\"thread_time\",12000.000000\n"
		"\"thread_instruction_count\",\"thread_instructions\",99.000000\n");
	check_stat(database, "track_event_skipped_thread_time_delta_without_valid_state", 1);
	check_stat(database, "track_event_skipped_timestamp_delta_without_valid_state", 1);
	fixture_close(database);
}

ORMA_TEST(times_that_overflow_are_counted)
{
	struct orma_trace_database *database = fixture_open("packet { " SEQUENCE(
		1) "sequence_flags: 1 thread_descriptor { pid: 7 tid: 8 "
		   "reference_timestamp_us: -9223372036854775 } } "
		   "packet { " SEQUENCE(
			   1) "track_event { timestamp_delta_us: -5 type: 3 name: 'a' } } "
			      "packet { " SEQUENCE(
				      1) "track_event { timestamp_absolute_us: -9223372036854776 "
					 "type: 3 name: 'b' } } "
					 "packet { " SEQUENCE(
						 1) "track_event { timestamp_absolute_us: 3 type: "
						    "3 name: 'c' } } "
						    "packet { " SEQUENCE(
							    1) "track_event { type: 3 name: 'd' } "
							       "} "
							       "packet { timestamp: 3 track_event "
							       "{ type: 3 name: 'e' } } "
							       "packet { " SEQUENCE(
								       1) "timestamp: "
									  "18446744073709551615 "
									  "sys_stats { num_forks: "
									  "1 } } ");
	fixture_check(database, "select ts, name from slice", "3000,\"c\"\n");
	check_stat(database, "track_event_invalid_timestamp", 2);
	check_stat(database, "track_event_missing_timestamp", 1);
	check_stat(database, "track_event_missing_sequence_id", 1);
	check_stat(database, "trace_sorter_negative_timestamp_dropped", 1);
	fixture_close(database);
}

ORMA_TEST(events_name_threads_and_processes)
{
	struct orma_trace_database *database = fixture_open(
		"packet { " SEQUENCE(1) "sequence_flags: 1 thread_descriptor { pid: 7 tid: 8 } "
					"} " EVENT(1, 10,
						   "name: 'process_name' debug_annotations { name: "
						   "'name' string_value: 'prog' } "
						   "legacy_event { phase: 77 }") /* M */
		EVENT(1, 10,
		      "name: 'thread_name' debug_annotations { name: 'name' string_value: 'worker' "
		      "} "
		      "legacy_event { phase: 77 }"));
	fixture_check(
		database,
		"select t.name, p.name from thread t join process p using (upid) where tid = 8",
		"\"worker\",\"prog\"\n");
	fixture_close(database);
}

ORMA_TEST(counters_that_lack_something_are_counted)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN "packet { " SEQUENCE(
			1) "timestamp: 2 track_descriptor { uuid: 30 name: 'n' "
			   "counter { } } } " EVENT(1, 10, "type: 4 counter_value: 3") EVENT(
				   1, 11, "type: 4 track_uuid: 30") EVENT(1, 12,
									  "type: 4 track_uuid: 10 "
									  "counter_value: 3")
				   EVENT(1, 13, "type: 5 name: 's'") EVENT(
					   1, 14, "type: 3 name: 'i' extra_counter_values: 3")
					   EVENT(1, 15,
						 "type: 3 name: 'j' extra_counter_values: 3 "
						 "extra_counter_values: 4 "
						 "extra_counter_track_uuids: 30")
						   EVENT(1, 16,
							 "type: 3 name: 'k' extra_counter_values: "
							 "3 extra_counter_track_uuids: 10")
							   EVENT(1, 17,
								 "type: 4 track_uuid: 30 "
								 "counter_value: 5 "
								 "debug_annotations { name: 'x' "
								 "int_value: 3 }"));
	fixture_check(database, "select count(*) from slice", "0\n");
	fixture_check(database, "select value, extract_arg(arg_set_id, 'debug.x') from counter",
		      "3.000000,\"[NULL]\"\n5.000000,3\n");
	check_stat(database, "track_event_counter_missing_track_uuid", 1);
	check_stat(database, "track_event_counter_missing_value", 1);
	check_stat(database, "track_event_counter_invalid_track_uuid", 1);
	check_stat(database, "track_event_state_missing_track_uuid", 1);
	check_stat(database, "track_event_extra_counter_missing_track_uuids", 1);
	check_stat(database, "track_event_extra_counter_track_uuid_mismatch", 1);
	check_stat(database, "track_event_extra_counter_invalid_track", 1);
	fixture_close(database);
}

ORMA_TEST(arguments_of_a_state_are_of_all_events_that_set_it)
{
	struct orma_trace_database *database = fixture_open(BEGIN "packet { " SEQUENCE(
		1) "timestamp: 2 track_descriptor { uuid: 40 name: 'n' "
		   "parent_uuid: 10 state { } } } " EVENT(
			   1, 10,
			   "type: 5 track_uuid: 40 name: 'on' debug_annotations { name: 'x' "
			   "int_value: 3 }") EVENT(1, 20,
						   "type: 5 track_uuid: 40 name: 'on' "
						   "debug_annotations { name: 'y' "
						   "int_value: 4 }") EVENT(1, 30,
									   "type: 5 track_uuid: "
									   "40"));
	fixture_check(database,
		      "select ts, dur, value, extract_arg(arg_set_id, 'debug.x'), "
		      "extract_arg(arg_set_id, 'debug.y') from state",
		      "10,20,\"on\",3,4\n");
	fixture_close(database);
}

ORMA_TEST(ranks_order_processes_and_threads)
{
	struct orma_trace_database *database = fixture_open("packet { " SEQUENCE(
		1) "sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 0 "
		   "process_ordering: 1 thread_ordering: 1 } } "
		   "packet { " SEQUENCE(
			   1) "timestamp: 1 track_descriptor { uuid: 5 sibling_order_rank: 3 "
			      "process { pid: 7 process_name: 'p' } } } "
			      "packet { " SEQUENCE(1) "timestamp: 1 track_descriptor { uuid: 6 "
						      "sibling_order_rank: -4 "
						      "thread { pid: 7 tid: 8 } } } ");
	fixture_check(
		database,
		"select extract_arg(arg_set_id, 'process_sort_index_hint') from process where "
		"pid = 7 union all select extract_arg(arg_set_id, 'thread_sort_index_hint') from "
		"thread where tid = 8",
		"3\n-4\n");
	fixture_close(database);
}

ORMA_TEST(chrome_describes_its_processes)
{
	struct orma_trace_database *database = fixture_open("packet { " SEQUENCE(
		1) "sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 5 "
		   "process { pid: 7 } chrome_process { host_app_package_name: "
		   "'app' crash_trace_id: 9 } } } "
		   /* A process without a track, because its parent is missing. */
		   "packet { " SEQUENCE(
			   1) "timestamp: 1 track_descriptor { uuid: 6 parent_uuid: 77 process "
			      "{ pid: 8 } chrome_process { host_app_package_name: 'lost' } } } ");
	fixture_check(database,
		      "select pid, extract_arg(arg_set_id, 'chrome.host_app_package_name'), "
		      "extract_arg(arg_set_id, 'chrome.crash_trace_id') from process where pid > 0",
		      "7,\"app\",9\n");
	fixture_close(database);
}

ORMA_TEST(the_first_machine_of_a_trace_without_a_host_stands_for_it)
{
	struct orma_trace_database *database =
		fixture_open("packet { synchronization_marker: 'x' } "
			     "packet { machine_id: 77 trusted_packet_sequence_id: 1 "
			     "sequence_flags: 1 timestamp: 1 "
			     "track_event { type: 3 name: 'a' } } "
			     "packet { machine_id: 88 trusted_packet_sequence_id: 1 "
			     "sequence_flags: 1 timestamp: 2 "
			     "track_event { type: 3 name: 'b' } } ");
	fixture_check(database, "select id, raw_id from machine", "0,77\n1,88\n");
	fixture_close(database);
	database = fixture_open("packet { timestamp: 1 trusted_packet_sequence_id: 1 "
				"sequence_flags: 1 track_event { "
				"type: 3 name: 'a' } } "
				"packet { machine_id: 88 trusted_packet_sequence_id: 1 "
				"sequence_flags: 1 timestamp: 2 "
				"track_event { type: 3 name: 'b' } } ");
	fixture_check(database, "select id, raw_id from machine", "0,0\n1,88\n");
	fixture_close(database);
}

ORMA_TEST(an_id_without_a_category_has_no_scope)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN EVENT(1, 10, "name: 'n' legacy_event { phase: 98 local_id: 4 }"));
	fixture_check(database,
		      "select value_type, string_value, display_value from args where key = "
		      "'source_scope'",
		      "\"null\",\"[NULL]\",\"[NULL]\"\n");
	fixture_close(database);
}
