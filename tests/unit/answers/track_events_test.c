/* SPDX-License-Identifier: Apache-2.0
 * track_events_test.c - what track events become: slices, tracks, counters, flows, states, arguments.
 */
#include "harness.h"
#include "trace_fixture.h"

#define SEQUENCE "trusted_packet_sequence_id: 1 "
#define STATE    SEQUENCE "sequence_flags: 2 "

/* A sequence with a thread, its process, and some interned names. */
#define BEGIN                                                                                      \
	"packet { " SEQUENCE                                                                       \
	"sequence_flags: 1 trace_packet_defaults { track_event_defaults { track_uuid: 10 } } "     \
	"interned_data { event_categories { iid: 1 name: 'cat' } event_names { iid: 1 name: "      \
	"'one' } "                                                                                 \
	"event_names { iid: 2 name: 'two' } debug_annotation_names { iid: 1 name: 'dbg' } } } "    \
	"packet { " SEQUENCE                                                                       \
	"timestamp: 1 track_descriptor { uuid: 10 parent_uuid: 5 thread { pid: 7 tid: 8 "          \
	"thread_name: 'worker' } } } "                                                             \
	"packet { " SEQUENCE                                                                       \
	"timestamp: 1 track_descriptor { uuid: 5 process { pid: 7 process_name: 'prog' } } } "
#define EVENT(ts, content) "packet { " STATE "timestamp: " #ts " track_event { " content " } } "

ORMA_TEST(begins_and_ends_are_nested_slices_of_the_thread)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN EVENT(100, "type: 1 category_iids: 1 name_iid: 1")
			EVENT(110, "type: 1 name: 'in place'") EVENT(120, "type: 3 name_iid: 2")
				EVENT(130, "type: 2") EVENT(150, "type: 2") EVENT(160, "type: 2")
					EVENT(170, "type: 1 name_iid: 2"));
	fixture_check(database, "select ts, dur, name, category, depth, parent_id from slice",
		      "100,50,\"one\",\"cat\",0,\"[NULL]\"\n"
		      "110,20,\"in place\",\"[NULL]\",1,0\n"
		      "120,0,\"two\",\"[NULL]\",2,1\n"
		      "170,-1,\"two\",\"[NULL]\",0,\"[NULL]\"\n");
	fixture_check(database,
		      "select distinct t.name, tid, p.name, pid, is_main_thread from slice s join "
		      "thread_track k on "
		      "s.track_id = k.id join thread t using (utid) join process p using (upid)",
		      "\"worker\",8,\"prog\",7,0\n");
	fixture_check(database, "select start_ts, end_ts from trace_bounds", "100,170\n");
	fixture_close(database);
}

ORMA_TEST(events_of_several_sequences_are_in_the_order_of_time)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN "packet { trusted_packet_sequence_id: 2 timestamp: 500 track_event { type: 3 "
		      "name: 'late' } } "
		      "packet { trusted_packet_sequence_id: 2 timestamp: 300 track_event { type: 3 "
		      "name: 'disordered' } } "
		      "packet { trusted_packet_sequence_id: 2 timestamp: 400 track_event { type: 3 "
		      "name: 'middle' } } " EVENT(310, "type: 3 name_iid: 1")
			      EVENT(450, "type: 3 name_iid: 2"));
	fixture_check(
		database, "select ts, name from slice",
		"300,\"disordered\"\n310,\"one\"\n400,\"middle\"\n450,\"two\"\n500,\"late\"\n");
	fixture_close(database);
}

ORMA_TEST(a_packet_without_its_state_is_skipped)
{
	struct orma_trace_database *database =
		fixture_open(EVENT(10, "type: 3 name: 'before'") BEGIN EVENT(
			20, "type: 3 name_iid: 1") "packet { " STATE
						   "timestamp: 30 previous_packet_dropped: 1 "
						   "track_event { type: 3 name_iid: 1 } } " EVENT(
							   40, "type: 3 name_iid: 2"));
	fixture_check(database, "select ts from slice", "20\n");
	CHECK_INT(database->importer.index.counts[ORMA_COUNT_SKIPPED_WITHOUT_STATE], 3);
	fixture_close(database);
}

#define GAPS                                                                                       \
	"select ts, l.name, severity, extract_arg(l.arg_set_id, 'dur'), "                          \
	"extract_arg(l.arg_set_id, "                                                               \
	"'ucpu'), tid from _trace_import_logs l left join thread on utid = "                       \
	"extract_arg(l.arg_set_id, "                                                               \
	"'utid')"

ORMA_TEST(a_time_in_which_packets_are_missing_is_noted_with_its_thread)
{
	/* Lost because shared memory was full; what follows cannot be understood until the state is whole again. */
	struct orma_trace_database *database = fixture_open(BEGIN EVENT(
		20, "type: 3 name_iid: 1") "packet { " STATE
					   "timestamp: 30 previous_packet_dropped: 256 "
					   "track_event { type: 3 name_iid: 1 } } "
					   "packet { " SEQUENCE "sequence_flags: 1 timestamp: 60 "
					   "trace_packet_defaults { "
					   "track_event_defaults { track_uuid: 10 } } "
					   "track_event { type: 3 name: 'back' } } "
					   "packet { " STATE
					   "timestamp: 70 previous_packet_dropped: 1 "
					   "track_event { type: 3 name_iid: 1 } } "
					   "packet { trusted_packet_sequence_id: 2 "
					   "timestamp: 95 track_event { type: 3 "
					   "name: 'other' } } ");
	fixture_check(database, GAPS,
		      "20,\"traced_buf_data_loss_smb_full\",\"data_loss\",40,\"[NULL]\",8\n"
		      "60,\"traced_buf_sequence_packet_loss\",\"data_loss\",35,\"[NULL]\",8\n");
	fixture_close(database);
}

ORMA_TEST(a_time_in_which_kernel_events_are_missing_is_noted_with_its_cpu)
{
	struct orma_trace_database *database =
		fixture_open("packet { ftrace_events { cpu: 1 event { timestamp: 10 pid: 1 print { "
			     "buf: 'a' } } } } "
			     "packet { ftrace_events { cpu: 0 event { timestamp: 20 pid: 1 print { "
			     "buf: 'b' } } } } "
			     "packet { ftrace_events { cpu: 1 lost_events: true event { timestamp: "
			     "50 pid: 1 print { buf: 'c' } } } }");
	fixture_check(database, GAPS,
		      "10,\"ftrace_cpu_has_data_loss\",\"data_loss\",40,1,\"[NULL]\"\n");
	fixture_close(database);
}

ORMA_TEST(arguments_are_read_when_they_are_asked_for)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN EVENT(100,
			    "type: 1 name_iid: 1 debug_annotations { name_iid: 1 int_value: -5 } "
			    "debug_annotations { name: 'a.b[c]' string_value: 'text' }")
			EVENT(110, "type: 3 name_iid: 2 debug_annotations { name: 'd' dict_entries "
				   "{ name: 'k' bool_value: true } "
				   "dict_entries { name: 'list' array_values { uint_value: 1 } "
				   "array_values { double_value: 0.5 } } }")
				EVENT(120, "type: 2 debug_annotations { name: 'at_end' "
					   "pointer_value: 255 }")
					EVENT(130, "type: 3 name: 'none'"));
	fixture_check(database,
		      "select s.name, a.key, a.flat_key, a.value_type, a.display_value from slice "
		      "s join args a using (arg_set_id)",
		      "\"one\",\"debug.dbg\",\"debug.dbg\",\"int\",\"-5\"\n"
		      "\"one\",\"debug.a_b_c_\",\"debug.a_b_c_\",\"string\",\"text\"\n"
		      "\"one\",\"debug.at_end\",\"debug.at_end\",\"pointer\",\"0xff\"\n"
		      "\"two\",\"debug.d.k\",\"debug.d.k\",\"bool\",\"true\"\n"
		      "\"two\",\"debug.d.list[0]\",\"debug.d.list\",\"uint\",\"1\"\n"
		      "\"two\",\"debug.d.list[1]\",\"debug.d.list\",\"real\",\"0.5\"\n");
	fixture_check(database, "select extract_arg(arg_set_id, 'debug.d.list[1]') from slice",
		      "\"[NULL]\"\n0.500000\n\"[NULL]\"\n");
	fixture_check(database,
		      "select count(distinct arg_set_id) from args where key glob 'debug.*'",
		      "2\n");
	fixture_close(database);
}

ORMA_TEST(distinct_keys_of_arguments_are_found_without_a_row_for_each_argument)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN EVENT(100, "type: 3 name_iid: 1 debug_annotations { name: 'a' int_value: 1 } "
				 "debug_annotations { name: 'd' array_values { uint_value: 1 } "
				 "array_values { uint_value: 2 } }")
			EVENT(110,
			      "type: 3 name_iid: 2 debug_annotations { name: 'b' int_value: 2 }")
				EVENT(120,
				      "type: 3 name_iid: 1 debug_annotations { name: 'a' "
				      "int_value: 3 } debug_annotations { name: 'c' int_value: "
				      "9 }") EVENT(130, "type: 3 name: 'none'"));
	static const char keys[] = "\"debug.a\"\n\"debug.d[0]\"\n\"debug.d[1]\"\n\"debug.b\"\n\""
				   "debug.c\"\n";
	fixture_check(database, "select distinct key from args where key glob 'debug.*'", keys);
	fixture_check(database, "select distinct flat_key from args where flat_key glob 'debug.*'",
		      "\"debug.a\"\n\"debug.d\"\n\"debug.b\"\n\"debug.c\"\n");
	fixture_check(database,
		      "select count(distinct key), count(distinct key) * 2 from args where key "
		      "glob 'debug.*'",
		      "5,10\n");
	fixture_check(database, "select count(*) from args where key = 'debug.a'", "2\n");
	/* The key's first argument does not meet the condition. */
	fixture_check(database,
		      "select distinct key from args where int_value >= 2 and key glob 'debug.*'",
		      "\"debug.d[1]\"\n\"debug.b\"\n\"debug.a\"\n\"debug.c\"\n");
	fixture_check(database,
		      "select count(distinct key) from args where int_value + 0 >= 2 and key glob "
		      "'debug.*'",
		      "4\n");
	/* In a loop of a join, keys that were seen in one round are seen again in the next. */
	fixture_check(database,
		      "select x, (select count(distinct key) from args where key glob 'debug.*' "
		      "and x > 0) from (select 1 as x union select 2)",
		      "1,5\n2,5\n");
	fixture_check(database, "explain query plan select distinct key from args",
		      "3,0,0,\"SCAN args VIRTUAL TABLE INDEX 2:\"\n13,0,0,\"USE TEMP B-TREE FOR "
		      "DISTINCT\"\n");
	fixture_check(database,
		      "explain query plan select distinct flat_key from args where flat_key > 'b'",
		      "3,0,0,\"SCAN args VIRTUAL TABLE INDEX 3:\"\n15,0,0,\"USE TEMP B-TREE FOR "
		      "DISTINCT\"\n");
	fixture_close(database);
}

ORMA_TEST(a_name_means_what_it_meant_in_its_generation)
{
	struct orma_trace_database *database = fixture_open(BEGIN EVENT(
		100, "type: 3 name_iid: 1 debug_annotations { name_iid: 1 int_value: 1 "
		     "}") "packet { " SEQUENCE "sequence_flags: 1 timestamp: 105 interned_data { "
			  "event_names { iid: 1 name: 'other' } "
			  "debug_annotation_names { iid: 1 name: 'renamed' } } "
			  "track_event { type: 3 name_iid: 1 track_uuid: 10 "
			  "debug_annotations { name_iid: 1 int_value: 2 } } } ");
	/* Asked backwards, so that the generation has to be found again. */
	fixture_check(database,
		      "select s.name, a.key, a.int_value from slice s join args a using "
		      "(arg_set_id) order by s.id desc",
		      "\"other\",\"debug.renamed\",2\n\"one\",\"debug.dbg\",1\n");
	fixture_close(database);
}

ORMA_TEST(tracks_of_one_name_share_rows_while_they_do_not_overlap)
{
	static const char track[] =
		"packet { " SEQUENCE
		"timestamp: 2 track_descriptor { uuid: %d parent_uuid: 5 name: 'req' } } ";
	char text[4096];
	int size = snprintf(text, sizeof(text), "%s", BEGIN);
	for (int uuid = 20; uuid < 23; uuid++)
		size += snprintf(text + size, sizeof(text) - (size_t)size, track, uuid);
	snprintf(text + size, sizeof(text) - (size_t)size, "%s",
		 EVENT(100, "type: 1 name: 'a' track_uuid: 20")
			 EVENT(110, "type: 1 name: 'b' track_uuid: 21")
				 EVENT(120, "type: 2 track_uuid: 20")
					 EVENT(130, "type: 1 name: 'c' track_uuid: 22")
						 EVENT(140, "type: 2 track_uuid: 22")
							 EVENT(150, "type: 2 track_uuid: 21"));
	struct orma_trace_database *database = fixture_open(text);
	fixture_check(database,
		      "select s.name, s.dur, t.name, t.type, extract_arg(t.dimension_arg_set_id, "
		      "'track_compressor_idx') "
		      "from slice s join track t on s.track_id = t.id",
		      "\"a\",20,\"req\",\"process_merged_track_event\",0\n"
		      "\"b\",40,\"req\",\"process_merged_track_event\",1\n"
		      "\"c\",10,\"req\",\"process_merged_track_event\",0\n");
	fixture_close(database);
}

ORMA_TEST(counters_have_units_and_may_count_differences)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN
		"packet { " SEQUENCE "timestamp: 2 track_descriptor { uuid: 30 parent_uuid: 5 "
		"name: 'size' counter { unit: 3 "
		"unit_multiplier: 1024 is_incremental: true } } } "
		"packet { " SEQUENCE
		"timestamp: 2 track_descriptor { uuid: 31 parent_uuid: 10 name: 'ratio' counter { "
		"} } } " EVENT(100, "type: 4 track_uuid: 30 counter_value: 1")
			EVENT(110, "type: 4 track_uuid: 30 counter_value: 2")
				EVENT(120, "type: 4 track_uuid: 31 double_counter_value: 0.25"));
	fixture_check(database, "select ts, value, name, unit from counters",
		      "100,1024.000000,\"size\",\"bytes\"\n110,3072.000000,\"size\",\"bytes\"\n120,"
		      "0.250000,\"ratio\",\"[NULL]\"\n");
	fixture_check(database,
		      "select c.name, pid from process_counter_track c join process using (upid)",
		      "\"size\",7\n");
	fixture_check(database,
		      "select c.name, tid from thread_counter_track c join thread using (utid)",
		      "\"ratio\",8\n");
	fixture_close(database);
}

ORMA_TEST(a_first_packet_with_clocks_is_seen_by_tracks)
{
	struct orma_trace_database *database = fixture_open(
		"packet { " SEQUENCE
		"first_packet_on_sequence: true clock_snapshot { clocks { clock_id: 6 "
		"timestamp: 1 } } } " BEGIN EVENT(100, "type: 3 name: 'a' track_uuid: 5"));
	fixture_check(database,
		      "select extract_arg(source_arg_set_id, 'has_first_packet_on_sequence') from "
		      "process_track",
		      "1\n");
	fixture_close(database);
}

ORMA_TEST(flows_connect_slices_in_the_order_of_time)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN EVENT(100, "type: 3 name: 'a' flow_ids: 77") EVENT(
			110, "type: 3 name: 'b' flow_ids: 77")
			EVENT(120,
			      "type: 3 name: 'c' terminating_flow_ids: 77 terminating_flow_ids: 99")
				EVENT(130, "type: 3 name: 'd' flow_ids: 77"));
	fixture_check(database,
		      "select o.name, i.name, f.trace_id from flow f join slice o on slice_out = "
		      "o.id join slice i on slice_in = i.id",
		      "\"a\",\"b\",77\n\"b\",\"c\",77\n");
	fixture_close(database);
}

ORMA_TEST(incremental_clocks_become_the_time_of_the_trace)
{
	struct orma_trace_database *database = fixture_open(
		"packet { " SEQUENCE "sequence_flags: 1 trace_packet_defaults { "
		"timestamp_clock_id: 64 } clock_snapshot { "
		"clocks { clock_id: 6 timestamp: 1000000 } clocks { clock_id: 64 timestamp: 5 "
		"unit_multiplier_ns: 1000 "
		"is_incremental: true } clocks { clock_id: 3 timestamp: 400 } } } " EVENT(
			2, "type: 3 name: 'a'")
			EVENT(3, "type: 3 name: 'b'") "packet { " STATE
						      "timestamp: 450 timestamp_clock_id: 3 "
						      "track_event { type: 3 name: 'monotonic' } } "
						      "packet { " STATE
						      "timestamp: 1 timestamp_clock_id: 99 "
						      "track_event { type: 3 name: 'unknown' } } ");
	fixture_check(database, "select ts, name from slice",
		      "1000050,\"monotonic\"\n1002000,\"a\"\n1005000,\"b\"\n");
	CHECK_INT(database->importer.index.counts[ORMA_COUNT_CLOCK_UNKNOWN_SOURCE], 1);
	fixture_close(database);
}

ORMA_TEST(loops_of_parents_and_missing_parents_are_counted)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN
		"packet { " SEQUENCE
		"timestamp: 2 track_descriptor { uuid: 40 parent_uuid: 41 name: 'x' } } "
		"packet { " SEQUENCE
		"timestamp: 2 track_descriptor { uuid: 41 parent_uuid: 40 name: 'y' } } "
		"packet { " SEQUENCE
		"timestamp: 2 track_descriptor { uuid: 42 parent_uuid: 4711 name: 'z' } } " EVENT(
			100, "type: 3 name: 'a' track_uuid: 40")
			EVENT(110, "type: 3 name: 'b' track_uuid: 42")
				EVENT(120, "type: 3 name: 'c'"));
	fixture_check(database, "select name from slice", "\"c\"\n");
	/* Each of 40, 41 and 42 counts once, though its descriptor would also have given it a name. */
	CHECK_INT(database->importer.descriptors.counts[ORMA_DESCRIPTORS_LOOP], 2);
	CHECK_INT(database->importer.descriptors.counts[ORMA_DESCRIPTORS_MISSING_PARENT], 1);
	fixture_close(database);
}

ORMA_TEST(a_trace_may_end_anywhere)
{
	struct orma_arena arena = {0};
	static const uint8_t packet[] = {0x0a, 0x0c, 0x40, 0x64, 0x50, 0x01, 0x5a,
					 0x06, 0x48, 0x03, 0xba, 0x01, 0x01, 'n'};
	uint8_t two[2 * sizeof(packet)];
	memcpy(two, packet, sizeof(packet));
	memcpy(two + sizeof(packet), packet, sizeof(packet));
	for (size_t size = 0; size <= sizeof(two); size++) {
		struct orma_trace_database *database = fixture_open_bytes(two, size, 0);
		char expected[8];
		snprintf(expected, sizeof(expected), "%zu\n", size / sizeof(packet));
		fixture_check(database, "select count(*) from slice", expected);
		CHECK_INT(database->importer.index.counts[ORMA_COUNT_CUT_BYTES],
			  size % sizeof(packet));
		fixture_close(database);
	}
	two[sizeof(packet)] = 0x07;
	struct orma_trace_database *damaged = fixture_open_bytes(two, sizeof(two), -EBADMSG);
	fixture_check(damaged, "select name from slice", "\"n\"\n");
	fixture_close(damaged);
	orma_base_arena_done(&arena);
}

ORMA_TEST(a_left_join_with_arguments_reads_the_sets_of_its_rows)
{
	struct orma_trace_database *database = fixture_open(
		BEGIN EVENT(100, "type: 3 name: 'a' debug_annotations { name: 'z' int_value: -1 } "
				 "debug_annotations { name: 'y' uint_value: "
				 "18446744073709551615 } debug_annotations { name: 'x' "
				 "double_value: 0.5 } debug_annotations { name: 'w' pointer_value: "
				 "255 } debug_annotations { name: 'v' bool_value: true } "
				 "debug_annotations { name: 'u' string_value: 'text' }")
			EVENT(110, "type: 3 name: 'b'"));
	fixture_check(database,
		      "select s.name, a.key, a.display_value from slice s left join args a using "
		      "(arg_set_id)",
		      "\"a\",\"debug.z\",\"-1\"\n\"a\",\"debug.y\",\"18446744073709551615\"\n"
		      "\"a\",\"debug.x\",\"0.5\"\n\"a\",\"debug.w\",\"0xff\"\n"
		      "\"a\",\"debug.v\",\"true\"\n\"a\",\"debug.u\",\"text\"\n"
		      "\"b\",\"[NULL]\",\"[NULL]\"\n");
	fixture_close(database);
}

ORMA_TEST(instants_of_one_time_lie_upon_each_other_up_to_a_limit)
{
	enum { INSTANTS = ORMA_SLICE_DEPTH_MAX + 3 };
	static char text[(INSTANTS + 10) * 160];
	size_t size = (size_t)snprintf(text, sizeof(text), "%s", BEGIN);
	for (int i = 0; i < INSTANTS; i++)
		size += (size_t)snprintf(text + size, sizeof(text) - size, "%s",
					 EVENT(100, "type: 3 name: 'n'"));
	snprintf(text + size, sizeof(text) - size, "%s", EVENT(101, "type: 3 name: 'later'"));
	struct orma_trace_database *database = fixture_open(text);
	fixture_check(database, "select count(*), max(depth) from slice where name = 'n'",
		      "512,511\n");
	fixture_check(database, "select depth from slice where name = 'later'", "0\n");
	fixture_check(database, "select value from stats where name = 'slice_max_depth_exceeded'",
		      "3\n");
	fixture_check(database,
		      "select ts, severity, extract_arg(arg_set_id, 'current_slice_name') from "
		      "_trace_import_logs where name = 'slice_max_depth_exceeded' limit 1",
		      "100,\"error\",\"n\"\n");
	fixture_close(database);
}
