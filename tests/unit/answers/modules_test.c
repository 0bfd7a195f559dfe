/* SPDX-License-Identifier: Apache-2.0
 * modules_test.c - the standard library's modules about slices, flows, threads and cpus.
 */
#include "harness.h"
#include "trace_fixture.h"

#define SEQUENCE "trusted_packet_sequence_id: 1 "
#define THREADS                                                                                    \
	"packet { " SEQUENCE "sequence_flags: 1 timestamp: 1 track_descriptor { uuid: 10 thread "  \
	"{ pid: 7 tid: 8 } } } packet { " SEQUENCE                                                 \
	"timestamp: 1 track_descriptor { uuid: 11 thread { pid: 7 tid: 9 } } } "
#define EVENT(ts, track, content)                                                                  \
	"packet { " SEQUENCE "sequence_flags: 2 timestamp: " #ts                                   \
	" track_event { track_uuid: " #track " " content " } } "
#define BEGIN(ts, track, name)   EVENT(ts, track, "type: 1 name: '" name "'")
#define END(ts, track)           EVENT(ts, track, "type: 2")
#define INSTANT(ts, track, name) EVENT(ts, track, "type: 3 name: '" name "'")

/* a(b(c) d) e, where e begins when a ends; and x on another thread. */
static const char slices[] = THREADS BEGIN(100, 10, "a") BEGIN(110, 10, "b") BEGIN(120, 10, "c")
	BEGIN(125, 11, "x") END(130, 10) END(150, 10) INSTANT(160, 10, "d") END(200, 10)
		BEGIN(200, 10, "e") INSTANT(200, 10, "f") END(220, 10) END(300, 11);

ORMA_TEST(slices_know_those_above_and_below_them)
{
	struct orma_trace_database *database = fixture_open(slices);
	fixture_check(
		database,
		"select s.name, (select group_concat(name) from ancestor_slice(s.id)), (select "
		"group_concat(name) from descendant_slice(s.id)) from slice s",
		"\"a\",\"[NULL]\",\"b,c,d\"\n\"b\",\"a\",\"c\"\n\"c\",\"a,b\",\"[NULL]\"\n"
		"\"x\",\"[NULL]\",\"[NULL]\"\n\"d\",\"a\",\"[NULL]\"\n"
		"\"e\",\"[NULL]\",\"f\"\n\"f\",\"e\",\"[NULL]\"\n");
	fixture_check(database,
		      "select count(*) from ancestor_slice(null);"
		      "include perfetto module slices.self_dur, slices.stack, slices.flat_slices;"
		      "select name, self_dur from slice_self_dur join slice using (id)",
		      "0\n\n\"name\",\"self_dur\"\n\"a\",60\n\"b\",30\n\"c\",10\n\"x\",175\n"
		      "\"d\",0\n\"e\",20\n\"f\",0\n");
	struct orma_error error = {0};
	CHECK(orma_sql_execute(database->sql,
			       ORMA_STR("create perfetto table t as select * from "
					"descendant_slice(99)"),
			       &error) < 0);
	CHECK(strstr(error.message, "there is no slice 99"));
	fixture_check(database,
		      "select name, ts, dur, (select name from slice where id = root_id) from "
		      "_slice_flattened order by track_id, ts",
		      "\"a\",100,10,\"a\"\n\"b\",110,10,\"a\"\n\"c\",120,10,\"a\"\n"
		      "\"b\",130,20,\"a\"\n\"a\",150,50,\"a\"\n\"e\",200,20,\"e\"\n"
		      "\"x\",125,175,\"x\"\n");
	/* The stack's id: the slice itself, then those above it from the outermost on. */
	fixture_check(
		database,
		"select stack_id = hash(hash('|c') || '|' || hash('|a') || '|' || hash('|b')), "
		"parent_stack_id = hash(hash('|b') || '|' || hash('|a')) from "
		"slice_with_stack_id where name = 'c';"
		"select group_concat(name) from ancestor_slice_by_stack(hash(hash('|b') || '|' "
		"|| hash('|a')));"
		"select group_concat(name) from descendant_slice_by_stack(hash('' || "
		"hash('|a')))",
		"1,1\n\n\"group_concat(name)\"\n\"a,b\"\n\n\"group_concat(name)\"\n\"a,b,c,d\"\n");
	fixture_close(database);
}

/* p(q) leads to r(s), s to t; u leads to q. */
ORMA_TEST(flows_are_followed_in_both_directions)
{
	struct orma_trace_database *database = fixture_open(
		THREADS EVENT(100, 11, "type: 1 name: 'u' flow_ids: 3") END(110, 11) BEGIN(120, 10,
											   "p")
			EVENT(130, 10, "type: 1 name: 'q' flow_ids: 1 terminating_flow_ids: 3")
				END(140, 10) END(150, 10) EVENT(160, 11,
								"type: 1 name: 'r' "
								"terminating_flow_ids: 1")
					EVENT(170, 11, "type: 1 name: 's' flow_ids: 2") END(180, 11)
						END(190, 11) EVENT(200, 10,
								   "type: 1 name: 't' "
								   "terminating_flow_ids: 2")
							END(210, 10));
	static const char names[] =
		"select s.name, (select group_concat(o.name || i.name, ' ') from %s_flow(s.id) f "
		"join "
		"slice o on o.id = f.slice_out join slice i on i.id = f.slice_in) from slice s";
	static const struct {
		const char *kind, *expected;
	} cases[] = {
		{"directly_connected", "\"u\",\"uq qr\"\n\"p\",\"[NULL]\"\n\"q\",\"uq qr\"\n"
				       "\"r\",\"qr uq\"\n\"s\",\"st\"\n\"t\",\"st\"\n"},
		{"following", "\"u\",\"uq qr st\"\n\"p\",\"qr st\"\n\"q\",\"qr st\"\n\"r\",\"st\"\n"
			      "\"s\",\"st\"\n\"t\",\"[NULL]\"\n"},
		{"preceding", "\"u\",\"[NULL]\"\n\"p\",\"[NULL]\"\n\"q\",\"uq\"\n\"r\",\"qr uq\"\n"
			      "\"s\",\"qr uq\"\n\"t\",\"st qr uq\"\n"},
	};
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char query[300];
		snprintf(query, sizeof(query), names, cases[i].kind);
		fixture_check(database, query, cases[i].expected);
	}
	fixture_close(database);
}

#define SWITCH(ts, prev, state, next)                                                              \
	"event { timestamp: " #ts " pid: " #prev " sched_switch { prev_comm: 't" #prev             \
	"' prev_pid: " #prev " prev_state: " #state " prev_prio: 120 next_comm: 't" #next          \
	"' next_pid: " #next " next_prio: 120 } } "

/* 8 runs, is preempted by 9, waits, and runs again. */
static const char scheduling[] = THREADS
	"packet { " SEQUENCE "ftrace_events { cpu: 0 "
	"event { timestamp: 5 pid: 0 cpu_frequency { cpu_id: 0 state: 2000 } } " SWITCH(10, 0, 0, 8)
		SWITCH(30, 8, 0, 9) SWITCH(70, 9, 1, 8)
			SWITCH(90, 8, 1, 0) "} } " BEGIN(20, 10, "work") END(80, 10);

ORMA_TEST(times_of_threads_and_cpus_are_added_up)
{
	struct orma_trace_database *database = fixture_open(scheduling);
	fixture_check(
		database,
		"include perfetto module sched.*, slices.*, linux.*;"
		"select tid, latency_dur from sched_latency_for_running_interval join thread "
		"using (utid);"
		"select state, time_in_state, percentage_in_state from "
		"sched_time_in_state_for_thread join thread using (utid) where tid = 8 and state "
		"!= 'S' order by 1;"
		"select state, dur from sched_time_in_state_for_thread_in_interval(20, 30, "
		"(select utid from thread where tid = 8));",
		"8,40\n\n\"state\",\"time_in_state\",\"percentage_in_state\"\n"
		"\"R\",40,50\n\"Running\",40,50\n\n\"state\",\"dur\"\n\"R\",20\n"
		"\"Running\",10\n");
	fixture_check(
		database,
		"select name, cpu_time from thread_slice_cpu_time;"
		"select state, dur from thread_slice_time_in_state order by 1;"
		"select ts, active_cpu_count from sched_active_cpu_count;"
		"select millicycles, runtime, min_freq from cpu_cycles;"
		"select tid, runtime from cpu_cycles_per_thread join thread using (utid) order "
		"by 1;"
		"select utilization * 1e9 from cpu_utilization_per_second",
		"\"work\",20\n\n\"state\",\"dur\"\n\"R\",40\n\"Running\",20\n\n"
		"\"ts\",\"active_cpu_count\"\n10,1\n30,1\n70,1\n90,0\n\n"
		"\"millicycles\",\"runtime\",\"min_freq\"\n160,80,2000\n\n"
		"\"tid\",\"runtime\"\n8,40\n9,40\n\n\"utilization * 1e9\"\n80.000000\n");
	fixture_check(database,
		      "select sched_state_io_to_human_readable_string('D', 1), time_from_ms(2), "
		      "time_to_us(2999), linux_device_minor_id(0x100203)",
		      "\"Uninterruptible Sleep (IO)\",2000000,2,259\n");
	fixture_close(database);
}

ORMA_TEST(every_module_loads_without_data_and_unknown_tables_are_empty)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1000 }");
	fixture_check(database,
		      "include perfetto module *; select count(*) from heap_graph_object;"
		      "select max(id), max(layer_name) from Surfaceflinger_Layer",
		      "0\n\n\"max(id)\",\"max(layer_name)\"\n\"[NULL]\",\"[NULL]\"\n");
	fixture_close(database);
}

ORMA_TEST(tables_of_queries_are_described_and_modules_imported)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1000 }");
	fixture_check(
		database,
		"create perfetto table t as select column1 as id, column2 as a, column3 as b, "
		"column4 as c, column5 as d from (values (0, 5, 'x', 0.5, -1), (1, 5, null, 1, "
		"9000000000));"
		"select name, col_type, nullable, sorted from perfetto_table_info('t')",
		"\"id\",\"id\",0,0\n\"a\",\"uint32\",0,2\n\"b\",\"string\",1,3\n"
		"\"c\",\"double\",0,3\n\"d\",\"int64\",0,2\n\"_auto_id\",\"id\",0,0\n");
	fixture_check(database, "select import('time.conversion');select time_from_us(3)",
		      "3000\n");
	struct orma_error error = {0};
	CHECK(orma_sql_execute(database->sql, ORMA_STR("select import('no.such')"), &error) < 0);
	CHECK(strstr(error.message, "there is no module no.such"));
	CHECK(orma_sql_execute(database->sql,
			       ORMA_STR("create perfetto table u as select * from "
					"perfetto_table_info('none')"),
			       &error) < 0);
	fixture_close(database);
}

ORMA_TEST(sets_of_arguments_are_json)
{
	struct orma_trace_database *database = fixture_open(THREADS EVENT(
		100, 10,
		"type: 3 name: 'x' debug_annotations { name: 'z' string_value: 'say \"\\n\" 1' } "
		"debug_annotations { name: 'd' dict_entries { name: 'l' array_values { int_value: "
		"-1 "
		"} array_values { bool_value: true } } dict_entries { name: 'p' pointer_value: 255 "
		"} } "
		"debug_annotations { name: 'r' double_value: 0.5 }") INSTANT(110, 10, "y"));
	fixture_check(database, "select __intrinsic_arg_set_to_json(arg_set_id) from slice",
		      "\"{\"debug\":{\"z\":\"say \\\"\\n\\\" 1\",\"d\":{\"l\":[-1,true],\"p\":"
		      "\"0xff\"},\"r\":0.5}}\"\n\"[NULL]\"\n");
	fixture_close(database);
}

ORMA_TEST(times_are_shown_on_other_clocks)
{
	struct orma_trace_database *database = fixture_open(
		"packet { trusted_packet_sequence_id: 1 clock_snapshot { clocks { clock_id: 6 "
		"timestamp: 1000 } clocks { clock_id: 1 timestamp: 1709210096000001000 } clocks { "
		"clock_id: 3 timestamp: 400 } } } packet { timestamp: 1000 }");
	fixture_check(database,
		      "select to_realtime(2000), to_monotonic(2000), abs_time_str(1123), "
		      "to_realtime(null)",
		      "1709210096000002000,1400,\"2024-02-29T12:34:56.000001123\",\"[NULL]\"\n");
	fixture_close(database);
}

/* REALTIME is set back by 10 between the second snapshot and the third. */
ORMA_TEST(a_clock_that_is_set_back_never_shows_times_of_the_future)
{
#define READING(boot, real)                                                                        \
	"packet { trusted_packet_sequence_id: 1 clock_snapshot { clocks { clock_id: 6 "            \
	"timestamp: " #boot " } clocks { clock_id: 1 timestamp: " #real " } } } "
	struct orma_trace_database *database = fixture_open(READING(100, 1000) READING(
		200, 1100) READING(300, 1090) READING(400, 1190) "packet { timestamp: 1000 }");
	fixture_check(
		database,
		"select to_realtime(50), to_realtime(150), to_realtime(200), "
		"to_realtime(250), to_realtime(350), to_realtime(500);"
		"select ts, clock_value from clock_snapshot where clock_id = 1",
		"1000,1050,1100,1090,1140,1290\n\n\"ts\",\"clock_value\"\n100,1000\n200,1100\n"
		"300,1090\n400,1190\n");
	fixture_close(database);
}

ORMA_TEST(rails_and_states_of_parts_have_modules)
{
	struct orma_trace_database *database = fixture_open(
		"packet { timestamp: 1000000 power_rails { rail_descriptor { index: 0 rail_name: "
		"'S2S_VDD_G3D' subsys_name: 'graphics' } rail_descriptor { index: 1 rail_name: "
		"'L1' } energy_data { index: 0 energy: 100 } } }"
		"packet { timestamp: 3000000 power_rails { energy_data { index: 0 energy: 300 } } }"
		/* The name of a part may look like the text between the two names. */
		"packet { timestamp: 4 91 { 1 { 1: 0 2: 0 3: 'Wi is Fi' 4: 'On' } 2 { 1: 0 2: 0 3: "
		"5 } } } packet { timestamp: 10000004 91 { 2 { 1: 0 2: 0 3: 10 } } }");
	fixture_check(database,
		      "include perfetto module android.power_rails;"
		      "select power_rail_name, raw_power_rail_name, friendly_name, subsystem_name "
		      "from android_power_rails_metadata",
		      "\"power.rails.gpu\",\"S2S_VDD_G3D\",\"gpu\",\"graphics\"\n"
		      "\"power.L1_uws\",\"L1\",\"[NULL]\",\"\"\n");
	fixture_check(database,
		      "select ts, dur, energy_since_boot, energy_since_boot_at_end, average_power, "
		      "energy_delta from android_power_rails_counters limit 1",
		      "1000000,2000000,100.000000,300.000000,100.000000,\"[NULL]\"\n");
	fixture_check(database,
		      "include perfetto module android.entity_state_residency;"
		      "select ts, dur, entity_name, state_name, state_time_since_boot, "
		      "state_time_since_boot_at_end, state_time_ratio from "
		      "android_entity_state_residency",
		      "4,10000000,\"Wi is Fi\",\"On\",5000000,10000000,0.500000\n"
		      "10000004,\"[NULL]\",\"Wi is Fi\",\"On\",10000000,\"[NULL]\",\"[NULL]\"\n");
	fixture_close(database);
}
