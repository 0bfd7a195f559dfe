/* SPDX-License-Identifier: Apache-2.0
 * critical_path_test.c - who a thread waits for.
 */
#include "harness.h"
#include "trace_fixture.h"

#define SWITCH(ts, prev, state, next)                                                              \
	"event { timestamp: " #ts " pid: " #prev " sched_switch { prev_pid: " #prev                \
	" prev_state: " #state " next_pid: " #next " } } "
#define WAKING(ts, waker, woken)                                                                   \
	"event { timestamp: " #ts " pid: " #waker " sched_waking { pid: " #woken " } } "
#define ON_CPU(cpu, events)                                                                        \
	"packet { trusted_packet_sequence_id: 1 ftrace_events { cpu: " #cpu " " events "} } "

/* Thread 1 runs from 50 and sleeps from 100; thread 2, which 1 woke at 60, wakes it at 190. */
static const char trace[] = ON_CPU(0, SWITCH(50, 0, 0, 1) WAKING(60, 1, 2) SWITCH(100, 1, 1, 2)
					      WAKING(190, 2, 1) SWITCH(250, 2, 1, 0))
	ON_CPU(1, SWITCH(200, 0, 0, 1) SWITCH(300, 1, 1, 0));

ORMA_TEST(a_thread_waits_for_the_one_that_wakes_it)
{
	struct orma_trace_database *database = fixture_open(trace);
	fixture_check(database,
		      "include perfetto module sched.thread_executing_span;"
		      "select tid, g.ts, g.dur, idle_state, idle_dur, waker_id is not null from "
		      "_wakeup_graph g join thread using (utid)",
		      "2,60,190,\"[NULL]\",\"[NULL]\",0\n1,190,110,\"S\",90,1\n");
	fixture_check(database,
		      "select t.tid, p.ts, p.dur from thread r, "
		      "_thread_executing_span_critical_path(r.utid, 120, 130) p join thread t on "
		      "t.utid = p.utid where r.tid = 1 order by p.ts",
		      "2,120,70\n1,190,60\n");
	fixture_close(database);
}

ORMA_TEST(stacks_show_what_the_others_did_meanwhile)
{
	struct orma_trace_database *database = fixture_open(trace);
	fixture_check(
		database,
		"include perfetto module sched.thread_executing_span_with_slice;"
		"select p.ts, p.dur, p.stack_depth, p.name from thread r, "
		"_thread_executing_span_critical_path_stack(r.utid, 120, 80) p where r.tid = 1 "
		"and p.name is not null order by p.ts, p.stack_depth",
		"120,70,0,\"thread_state: S\"\n120,70,4,\"blocking thread_state: Running\"\n"
		"120,70,6,\"blocking thread_name: \"\n120,70,9,\"cpu: "
		"0\"\n190,10,0,\"thread_state: R\"\n");
	fixture_close(database);
}

/* Nodes are (id, utid, ts, dur, idle_dur, waker_id, prev_id). */
#define NODES(values)                                                                              \
	"include perfetto module sched.thread_executing_span;"                                     \
	"create perfetto table n as select column1 as id, column2 as utid, column3 as ts, "        \
	"column4 as dur, column5 as idle_dur, column6 as waker_id, column7 as prev_id from "       \
	"(values " values ");"
#define PATH_OF(root)                                                                              \
	"select depth, ts, dur, id from _critical_path_with_depth_by_roots!((select " #root        \
	" as root_node_id), n) order by ts, depth"

ORMA_TEST(time_goes_to_the_waker_to_the_span_before_or_to_the_thread_itself)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	/* 3 was woken by 2, which ran from 40 only; before that, its span 1 was asleep without a waker. */
	fixture_check(database,
		      NODES("(0, 7, 0, 5, null, null, null), (1, 7, 20, 10, 15, null, 0), "
			    "(2, 7, 40, 30, 10, null, 1), (3, 8, 60, 40, 50, 2, null)") PATH_OF(3),
		      "1,10,10,1\n1,20,10,1\n1,30,10,2\n1,40,20,2\n0,60,40,3\n");
	fixture_check(database,
		      "select id, ts, dur from _critical_path_by_roots!((select 3 as "
		      "root_node_id), n) order by ts",
		      "1,10,10\n1,20,10\n2,30,10\n2,40,20\n3,60,40\n");
	/* A node that is not there, and one without a known sleep. */
	fixture_check(database, PATH_OF(9), "");
	fixture_check(database, PATH_OF(0), "0,0,5,0\n");
	fixture_close(database);
}

ORMA_TEST(a_table_in_which_threads_wake_each_other_in_a_circle_has_an_end)
{
	struct orma_trace_database *database = fixture_open("packet { timestamp: 1 }");
	fixture_check(database,
		      NODES("(1, 1, 100, 10, 100, 2, 1), (2, 2, 100, 10, 100, 1, 2), (3, 3, "
			    "9223372036854775807, 9223372036854775807, 9223372036854775807, 3, "
			    "-9223372036854775808)") PATH_OF(1),
		      "0,100,10,1\n");
	fixture_check(database, PATH_OF(3), "");
	fixture_close(database);
}
