/* SPDX-License-Identifier: Apache-2.0
 * ftrace_text_test.c - kernel events as the lines of the kernel's file `trace`.
 */
#include "harness.h"
#include "trace_fixture.h"

#define ON_CPU(cpu, events)                                                                        \
	"packet { trusted_packet_sequence_id: 1 ftrace_events { cpu: " #cpu " " events "} } "
#define EVENT(ts, pid, content) "event { timestamp: " #ts " pid: " #pid " " content " } "

static const char trace[] =
	"packet { trusted_packet_sequence_id: 1 system_info { utsname { sysname: 'Linux' release: "
	"'6.1.0' machine: 'x86_64' } } } "
	"packet { trusted_packet_sequence_id: 1 timestamp: 1 process_tree { processes { pid: 7 "
	"cmdline: 'a-b' } threads { tid: 8 tgid: 7 name: 'a-worker' } } } " ON_CPU(
		3,
		EVENT(1000000, 8,
		      "sched_switch { prev_comm: 'a-worker' prev_pid: 8 prev_prio: 120 prev_state: "
		      "2 next_pid: 0 }") EVENT(1002000, 0,
					       "sched_wakeup { comm: 'x' pid: 99 prio: "
					       "100 target_cpu: 2 }")
			EVENT(1003000, 99, "print { buf: 'B|7|hello\\n' }") EVENT(
				2123456789, 8,
				"kmalloc { bytes_alloc: 32 call_site: 18446744073709551600 }")
				EVENT(2123457000, 8, "softirq_entry { vec: 3 }") EVENT(
					2123458000, 8, "irq_handler_exit { irq: 4 ret: 1 }")
					EVENT(2123459000, 8,
					      "workqueue_execute_start { work: 255 function: 4096 "
					      "}") EVENT(2123460000, 8,
							 "cgroup_attach_task { dst_root: 1 cname: "
							 "'c' pid: 5 }"));

ORMA_TEST(events_are_lines_as_the_kernel_writes_them)
{
	struct orma_trace_database *database = fixture_open(trace);
	fixture_check(
		database, "select to_ftrace(id) from ftrace_event order by id",
		"\"        a_worker-8     (    7) [003] .... 0.001000: sched_switch: "
		"prev_comm=a-worker prev_pid=8 prev_prio=120 prev_state=D ==> next_comm= "
		"next_pid=0 next_prio=0\"\n"
		"\"          <idle>-0     (-----) [003] .... 0.001002: sched_wakeup: comm=x pid=99 "
		"prio=100 target_cpu=002\"\n"
		"\"       <unknown>-99    (    7) [003] .... 0.001003: tracing_mark_write: "
		"B|7|hello\"\n"
		"\"        a_worker-8     (    7) [003] .... 2.123456: kmalloc: bytes_alloc=32 "
		"call_site=18446744073709551600\"\n"
		"\"        a_worker-8     (    7) [003] .... 2.123457: softirq_entry: vec=3 "
		"[action=NET_RX]\"\n"
		"\"        a_worker-8     (    7) [003] .... 2.123458: irq_handler_exit: irq=4 "
		"ret=handled\"\n"
		"\"        a_worker-8     (    7) [003] .... 2.123459: workqueue_execute_start: "
		"work struct ff: function 1000\"\n"
		"\"        a_worker-8     (    7) [003] .... 2.123460: cgroup_attach_task: "
		"dst_root=1 cgroup=c pid=5\"\n");
	fixture_close(database);
}

ORMA_TEST(only_ids_of_events_are_taken)
{
	static const char *const wrong[] = {"8", "-1", "null", "'0'", "1 << 62"};
	struct orma_trace_database *database = fixture_open(trace);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(*wrong); i++) {
		char query[80];
		struct orma_error error = {0};
		snprintf(query, sizeof(query), "create table t%zu as select to_ftrace(%s)", i,
			 wrong[i]);
		CHECK(orma_sql_execute(database->sql, orma_base_str(query), &error) < 0);
		CHECK(strstr(error.message, "takes the id of an ftrace_event"));
	}
	fixture_close(database);
}
