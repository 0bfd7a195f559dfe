/* SPDX-License-Identifier: Apache-2.0
 * kernel_answers_test.c - SQL finds the arguments of kernel events and of their slices, which are read from the trace.
 */
#include "harness.h"
#include "trace_fixture.h"

static const char trace[] =
	"packet { system_info { utsname { sysname: 'Linux' machine: 'x86_64' } } "
	"trusted_packet_sequence_id: 1 }"
	"packet { ftrace_events { cpu: 0 "
	"event { timestamp: 10 pid: 7 sys_enter { id: 0 args: 3 } } "
	"event { timestamp: 15 pid: 7 sys_exit { id: 0 ret: -11 } } "
	"event { timestamp: 20 pid: 7 sched_process_exec { filename: '/bin/ls' pid: 7 } } } "
	"trusted_packet_sequence_id: 1 }";

ORMA_TEST(arguments_of_kernel_slices_and_events_are_found)
{
	struct orma_trace_database *database = fixture_open(trace);
	fixture_check(
		database,
		"select s.name, a.key, a.int_value from slice s join args a using (arg_set_id)",
		"\"sys_read\",\"args[0]\",3\n\"sys_read\",\"ret\",-11\n");
	fixture_check(database,
		      "select e.ts, e.name, extract_arg(e.arg_set_id, 'filename') from "
		      "__intrinsic_ftrace_event e where e.name = 'sched_process_exec'",
		      "20,\"sched_process_exec\",\"/bin/ls\"\n");
	fixture_check(database, "select count(*) from args where key = 'pid'", "1\n");
	fixture_close(database);
}
