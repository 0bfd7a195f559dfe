/* SPDX-License-Identifier: Apache-2.0
 * kernel_events_test.c - kernel events become slices, counters and rows with arguments.
 */
#include "import_fixture.h"

static struct import_fixture fixture;

/* A bundle of CPU 1 with these events; one packet before it says what machine it was. */
#define SYSTEM                                                                                     \
	"packet { system_info { utsname { sysname: 'Linux' release: '6.1.0-13-amd64' machine: "    \
	"'x86_64' } num_cpus: 2 } trusted_packet_sequence_id: 1 }\n"
#define BUNDLE(events)                                                                             \
	SYSTEM "packet { ftrace_events { cpu: 1 " events " } trusted_packet_sequence_id: 1 }\n"
#define EVENT(ts, pid, event) "event { timestamp: " #ts " pid: " #pid " " event " }\n"

ORMA_TEST(a_system_call_is_a_slice_of_its_thread_with_arguments_of_both_ends)
{
	import_text(&fixture,
		    BUNDLE(EVENT(10, 7, "sys_enter { id: 0 args: 3 args: 18 }")
				   EVENT(15, 7, "sys_exit { id: 0 ret: -11 }")
					   EVENT(20, 7, "sys_enter { id: 15 }")
						   EVENT(25, 8, "sys_enter { id: 999 }")
							   EVENT(30, 8, "sys_enter { id: 500 }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name depth"),
		  "10 5 sys_read 0\n20 0 sys_rt_sigreturn 0\n30 -1 sys_500 0\n");
	CHECK_STR(import_slice_args(&fixture, 0), "args[0]=3 args[1]=18 ret=-11");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type name event_type"),
		  "thread_execution - slice\nthread_execution - slice\n");
	import_done(&fixture);
}

ORMA_TEST(a_marker_ends_the_write_that_wrote_it)
{
	import_text(&fixture,
		    BUNDLE(EVENT(10, 7, "sys_enter { id: 1 }")
				   EVENT(12, 7, "print { buf: 'B|7|work\\n' }")
					   EVENT(14, 7, "sys_exit { id: 1 }")
						   EVENT(20, 7, "print { buf: 'E|7\\n' }")
							   EVENT(21, 7, "print { buf: 'hello' }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name depth"),
		  "10 2 sys_write 0\n12 8 work 0\n");
	CHECK_INT(import_stat(&fixture, "truncated_sys_write_duration"), 1);
	CHECK_INT(import_stat(&fixture, "systrace_parse_failure"), 1);
	import_done(&fixture);
}

ORMA_TEST(markers_are_instants_counters_and_asynchronous_slices)
{
	import_text(&fixture,
		    BUNDLE(EVENT(10, 7, "print { buf: 'I|5|now' }") EVENT(
			    11, 7, "print { buf: 'C|5|depth|-3' }")
				   EVENT(12, 7, "print { buf: 'S|5|load|9' }") EVENT(
					   13, 7, "print { buf: 'S|5|load|9' }")
					   EVENT(14, 7, "print { buf: 'F|5|load|9' }") EVENT(
						   15, 7, "print { buf: 'G|5|lane|job|1' }")
						   EVENT(16, 8, "print { buf: 'H|5|lane|1' }")
							   EVENT(17, 7,
								 "print { buf: 'N|5|lane|dot' }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"),
		  "10 0 now\n12 2 load\n15 1 job\n17 0 dot\n");
	CHECK_STR(import_slice_args(&fixture, 1),
		  "cookie=9 legacy_unnestable_begin_count=2 legacy_unnestable_last_begin_ts=13");
	CHECK_STR(import_slice_args(&fixture, 2), "utid=1 end_utid=3");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value"), "11 -3\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type name upid"),
		  "thread_execution - -\natrace_counter depth 1\natrace_async_slice load 1\n"
		  "atrace_async_slice_for_track lane 1\n");
	import_done(&fixture);
}

ORMA_TEST(markers_of_drivers_are_slices_and_counters)
{
	/* Events that our schema has no names for: 80 and 333 say begin or end, the others have a letter. */
	import_text(
		&fixture,
		BUNDLE(EVENT(10, 7, "80 { 1: 7 2: 'old' 3: 1 }") EVENT(
			11, 7, "333 { 1: 7 2: 'inner' 3: 66 }") EVENT(12, 7, "333 { 1: 7 3: 69 }")
			       EVENT(13, 7, "80 { 1: 7 3: 0 }")
				       EVENT(14, 7, "349 { 1: 5 4: 'frames' 5: 67 6: 3 }")
					       EVENT(15, 7, "348 { 1: 5 4: 'dot' 5: 73 }") EVENT(
						       16, 7, "350 { 1: 'x' 2: 5 3: 90 }")
						       EVENT(17, 7, "80 { 1: 7 2: 'no' }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name depth"),
		  "10 3 old 0\n11 1 inner 1\n15 0 dot 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value"), "14 3\n");
	CHECK_INT(import_stat(&fixture, "systrace_parse_failure"), 2);
	import_done(&fixture);
}

ORMA_TEST(interrupts_are_slices_of_their_cpu)
{
	import_text(
		&fixture,
		BUNDLE(EVENT(10, 0, "irq_handler_entry { irq: 4 name: 'ttyS0' }") EVENT(
			12, 0, "softirq_entry { vec: 3 }") EVENT(14, 0, "softirq_exit { vec: 3 }")
			       EVENT(16, 0, "irq_handler_exit { irq: 4 ret: 1 }")
				       EVENT(20, 0, "local_timer_entry { vector: 236 }")
					       EVENT(21, 0, "local_timer_exit { vector: 236 }")
						       EVENT(22, 0, "softirq_entry { vec: 77 }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name category"),
		  "10 6 IRQ (ttyS0) irq\n12 2 NET_RX irq\n20 1 IRQ (LocalTimer) irq\n");
	CHECK_STR(import_slice_args(&fixture, 0), "ret=handled");
	CHECK_STR(import_slice_args(&fixture, 1), "vec=3");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type name"),
		  "cpu_irq Irq Cpu 1\ncpu_softirq SoftIrq Cpu 1\n");
	import_done(&fixture);
}

ORMA_TEST(frequencies_and_states_are_counters)
{
	import_text(&fixture,
		    BUNDLE(EVENT(10, 0, "cpu_frequency { state: 2400000 cpu_id: 0 }")
				   EVENT(11, 0, "cpu_idle { state: 4294967295 cpu_id: 1 }") EVENT(
					   12, 0,
					   "cpu_frequency_limits { min_freq: 1 max_freq: 9 cpu_id: "
					   "1 }") EVENT(13, 0,
							"clock_set_rate { name: 'pll' state: 500 }")
					   EVENT(14, 0,
						 "thermal_temperature { temp: -4000 thermal_zone: "
						 "'acpi' }")
						   EVENT(15, 0,
							 "cpu_idle { state: 1 cpu_id: 70000 }")));
	CHECK_STR(import_counters(&fixture), "cpufreq: 2400000\ncpuidle: 4294967295\n"
					     "Cpu 1 Max Freq Limit: 9\nCpu 1 Min Freq Limit: 1\n"
					     "pll Frequency: 500\nacpi Temperature: -4000\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CPU, "id cpu"), "0 0\n1 1\n");
	CHECK_INT(import_stat(&fixture, "ftrace_bundle_tokenizer_errors"), 1);
	import_done(&fixture);
}

ORMA_TEST(memory_counters_get_their_process_when_it_is_known)
{
	import_text(
		&fixture,
		BUNDLE(EVENT(10, 7, "rss_stat { member: 1 size: 4096 curr: 1 mm_id: 5 }") EVENT(
			11, 9, "rss_stat { member: 1 size: 8192 curr: 0 mm_id: 5 }")
			       EVENT(12, 9, "rss_stat { member: 0 size: 100 curr: 0 mm_id: 6 }")
				       EVENT(13, 8, "rss_stat { member: 2 size: 3 }") EVENT(
					       14, 8, "rss_stat { member: 2 size: -3 }")
					       EVENT(15, 8,
						     "oom_score_adj_update { oom_score_adj: 65535 "
						     "pid: 7 }")) "packet { timestamp: 20 "
								  "process_tree { processes { pid: "
								  "7 ppid: 1 cmdline: "
								  "'/bin/a' } } "
								  "trusted_packet_sequence_id: 2 "
								  "}");
	CHECK_STR(import_counters(&fixture),
		  "mem.rss.anon: 4096 8192\nmem.swap: 3\noom_score_adj: -1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type utid upid"),
		  "process_memory - 2\nprocess_memory_thread_fallback 3 -\noom_score_adj - 2\n");
	CHECK_INT(import_stat(&fixture, "rss_stat_unknown_thread_for_mm_id"), 1);
	CHECK_INT(import_stat(&fixture, "rss_stat_negative_size"), 1);
	import_done(&fixture);
}

ORMA_TEST(switches_and_wakings_are_states_of_threads_and_rows_with_arguments)
{
	import_text(
		&fixture,
		BUNDLE(EVENT(10, 0,
			     "sched_switch { prev_comm: 'swapper/1' prev_pid: 0 prev_prio: 120 "
			     "prev_state: 0 next_comm: 'a' next_pid: 7 next_prio: 119 }")
			       EVENT(20, 7,
				     "sched_waking { comm: 'b' pid: 8 prio: 120 success: 1 "
				     "target_cpu: 0 }") EVENT(30, 7,
							      "sched_switch { prev_comm: 'a' "
							      "prev_pid: 7 prev_prio: 119 "
							      "prev_state: 2 next_comm: 'b' "
							      "next_pid: 8 next_prio: 120 }")
				       EVENT(35, 8,
					     "sched_blocked_reason { pid: 7 caller: 3 io_wait: 1 "
					     "}")) "packet { timestamp: 1 sequence_flags: 1 "
						   "interned_data { kernel_symbols { iid: 3 str: "
						   "'lost' } } trusted_packet_sequence_id: 9 }");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SCHED, "ts dur utid end_state priority ucpu"),
		  "10 20 1 D 119 1\n30 -1 2 - 120 1\n");
	CHECK_STR(
		import_rows(&fixture, ORMA_TABLE_THREAD_STATE,
			    "ts dur utid state io_wait blocked_function waker_utid"),
		"10 20 1 Running - - -\n20 10 2 R - - 1\n30 -1 1 D 1 - -\n30 -1 2 Running - - -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts name utid ucpu"),
		  "10 sched_switch 0 1\n20 sched_waking 1 1\n30 sched_switch 1 1\n"
		  "35 sched_blocked_reason 2 1\n");
	CHECK_STR(import_event_args(&fixture, 2),
		  "prev_comm=a prev_pid=7 prev_prio=119 prev_state=2 next_comm=b next_pid=8 "
		  "next_prio=120");
	CHECK_STR(import_event_args(&fixture, 3), "pid=7 caller=3 io_wait=1");
	import_done(&fixture);
}

ORMA_TEST(symbols_of_kernel_functions_are_of_the_bundles_sequence)
{
	import_text(
		&fixture,
		"packet { sequence_flags: 1 interned_data { kernel_symbols { iid: 3 str: 'do_work' "
		"} } "
		"ftrace_events { cpu: 1 " EVENT(10, 7,
						"workqueue_execute_start { work: 1 function: 3 }")
			EVENT(15, 7, "workqueue_execute_end { work: 1 function: 3 }") EVENT(
				20, 7, "workqueue_execute_start { work: 1 function: 18 }")
				EVENT(30, 0, "funcgraph_entry { depth: 1 func: 3 }") EVENT(
					31, 0,
					"funcgraph_exit { depth: 1 func: 3 }") "} "
									       "trusted_packet_"
									       "sequence_id: 4 }");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name category"),
		  "10 5 do_work workqueue\n20 -1 0x12 workqueue\n30 1 do_work -\n");
	CHECK_STR(import_slice_args(&fixture, 0), "cpu=1");
	CHECK_STR(import_event_args(&fixture, 0), "work=1 function=do_work");
	CHECK_STR(import_event_args(&fixture, 2), "work=1 function=18");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type name"),
		  "thread_execution -\ncpu_funcgraph swapper1 -funcgraph\n");
	import_done(&fixture);
}

ORMA_TEST(tasks_begin_and_end_and_ids_are_used_again)
{
	import_text(
		&fixture,
		BUNDLE(EVENT(10, 5, "task_newtask { pid: 7 comm: 'sh' clone_flags: 0 }") EVENT(
			11, 7, "task_newtask { pid: 8 comm: 'sh' clone_flags: 65536 }")
			       EVENT(12, 7, "task_rename { pid: 7 oldcomm: 'sh' newcomm: 'ls' }")
				       EVENT(20, 0,
					     "sched_process_free { comm: 'ls' pid: 7 prio: 120 }")
					       EVENT(30, 5,
						     "task_newtask { pid: 7 comm: 'sh' "
						     "clone_flags: 0 }")
						       EVENT(31, 5,
							     "task_newtask { pid: 0 comm: "
							     "'swapper/1' clone_flags: 0 }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD,
			      "tid name start_ts end_ts upid is_main_thread"),
		  "0 swapper - - 0 1\n5 - - - - -\n7 ls 10 20 1 1\n8 sh 11 - 1 0\n7 sh 30 - 2 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "pid name start_ts end_ts"),
		  "0 - - -\n7 ls 10 20\n7 sh 30 -\n");
	import_done(&fixture);
}

ORMA_TEST(events_before_all_cpus_have_data_have_only_rows)
{
	import_text(
		&fixture, SYSTEM
		"packet { timestamp: 5 service_event { tracing_started: true } "
		"trusted_packet_sequence_id: 3 }"
		"packet { ftrace_events { cpu: 0 previous_bundle_end_timestamp: 20 " EVENT(
			30, 1,
			"cpu_idle { state: 1 cpu_id: 0 }") "} trusted_packet_sequence_id: 1 }"
							   "packet { ftrace_events { cpu: 1 "
							   "lost_events: true "
							   "previous_bundle_end_timestamp: "
							   "3 " EVENT(
								   4, 1,
								   "cpu_idle { state: 2 cpu_id: 1 "
								   "}") EVENT(10, 1,
									      "cpu_idle { state: 3 "
									      "cpu_id: 1 }")
								   EVENT(25, 1,
									 "cpu_idle { state: 4 "
									 "cpu_id: 1 }") "} "
											"trusted_"
											"packet_"
											"sequence_"
											"id: 1 }");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value"), "25 4\n30 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts ucpu"), "10 1\n25 1\n30 0\n");
	CHECK_INT(import_stat(&fixture, "ftrace_packet_before_tracing_start"), 1);
	CHECK_INT(import_stat(&fixture, "ftrace_cpu_has_data_loss"), 1);
	import_done(&fixture);
}

ORMA_TEST(compact_events_have_rows_with_arguments_of_what_they_leave_out)
{
	import_text(
		&fixture, SYSTEM
		"packet { ftrace_events { cpu: 0 compact_sched { intern_table: 'a' intern_table: "
		"'b' "
		"switch_timestamp: 10 switch_timestamp: 10 switch_timestamp: 10 "
		"switch_prev_state: 0 switch_prev_state: 1 switch_prev_state: 2 "
		"switch_next_pid: 7 switch_next_pid: 8 switch_next_pid: 7 "
		"switch_next_prio: 100 switch_next_prio: 101 switch_next_prio: 102 "
		"switch_next_comm_index: 0 switch_next_comm_index: 1 switch_next_comm_index: 0 "
		"waking_timestamp: 15 waking_pid: 8 waking_target_cpu: 1 waking_prio: 101 "
		"waking_comm_index: 1 waking_common_flags: 8 } } trusted_packet_sequence_id: 1 }"
		"packet { ftrace_events { cpu: 0 compact_sched { intern_table: 'c' "
		"switch_timestamp: 40 switch_prev_state: 1 switch_next_pid: 9 switch_next_prio: "
		"103 "
		"switch_next_comm_index: 0 } } trusted_packet_sequence_id: 1 }");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts name utid common_flags"),
		  "15 sched_waking 1 8\n20 sched_switch 1 0\n30 sched_switch 2 0\n40 sched_switch "
		  "1 0\n");
	CHECK_STR(import_event_args(&fixture, 0), "comm=b pid=8 prio=101 target_cpu=1");
	CHECK_STR(import_event_args(&fixture, 2),
		  "prev_comm=b prev_pid=8 prev_prio=101 prev_state=2 next_comm=a next_pid=7 "
		  "next_prio=102");
	CHECK_STR(import_event_args(&fixture, 3),
		  "prev_comm=a prev_pid=7 prev_prio=102 prev_state=1 next_comm=c next_pid=9 "
		  "next_prio=103");
	CHECK_INT(import_stat(&fixture, "compact_sched_switch_skipped"), 1);
	import_done(&fixture);
}

#define SWITCH_AT(ns, pid)                                                                         \
	"switch_timestamp: " #ns " switch_prev_state: 0 switch_next_pid: " #pid                    \
	" switch_next_prio: " #pid " switch_next_comm_index: 0 "
#define COMPACT(switches)                                                                          \
	"packet { ftrace_events { cpu: 0 compact_sched { intern_table: 'a' " switches              \
	"} } trusted_packet_sequence_id: 1 } "

/* The first switch of the CPU has no row. Times are differences. */
ORMA_TEST(compact_events_of_one_time_have_the_arguments_of_their_own)
{
	import_text(&fixture, SYSTEM COMPACT(SWITCH_AT(10, 1) SWITCH_AT(0, 2) SWITCH_AT(0, 3))
				      COMPACT(SWITCH_AT(10, 4) SWITCH_AT(5, 5) SWITCH_AT(0, 6)));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts packet offset"),
		  "10 - -\n10 - -\n10 - -\n15 - -\n15 - -\n");
	for (uint64_t row = 0; row < 5; row++) {
		char expected[200];
		snprintf(expected, sizeof(expected),
			 "prev_comm=a prev_pid=%d prev_prio=%d prev_state=0 next_comm=a "
			 "next_pid=%d next_prio=%d",
			 (int)row + 1, (int)row + 1, (int)row + 2, (int)row + 2);
		CHECK_STR(import_event_args(&fixture, row), expected);
	}
	import_done(&fixture);
}

ORMA_TEST(raw_rows_can_be_left_out)
{
	fixture.importer.system.has_no_raw_events = true;
	import_text(&fixture, BUNDLE(EVENT(10, 7, "sys_enter { id: 0 args: 3 }")
					     EVENT(15, 7, "sys_exit { id: 0 ret: 1 }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts"), "");
	CHECK_STR(import_slice_args(&fixture, 0), "args[0]=3 ret=1");
	import_done(&fixture);
}

ORMA_TEST(contiguous_allocations_are_slices_in_the_form_of_their_kernel)
{
	import_text(&fixture,
		    BUNDLE(EVENT(10, 7, "cma_alloc_start { name: 'c' count: 4 }") EVENT(
			    11, 7,
			    "mm_alloc_contig_migrate_range_info { nr_migrated: 5 nr_reclaimed: 6 "
			    "nr_mapped: 7 }") EVENT(12, 7, "cma_alloc_info { name: 'c' pfn: 1 }")
				   EVENT(20, 7, "cma_alloc_finish { name: 'c' pfn: 3 count: 4 }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"), "10 10 mm_cma_alloc\n");
	CHECK_STR(import_slice_args(&fixture, 0),
		  "cma_name=c cma_pfn=3 cma_req_pages=4 cma_nr_migrated=5 cma_nr_reclaimed=6 "
		  "cma_nr_mapped=7");
	import_done(&fixture);
}

ORMA_TEST(events_that_the_trace_describes_are_slices_and_counters_by_the_names_of_their_fields)
{
	/* A FileDescriptor's message: name = 1, field = 2 { name = 1, number = 3, type = 5 }. */
	import_text(
		&fixture, SYSTEM
		"packet { ftrace_events { cpu: 1 "
		"generic_event_descriptors { field_id: 65536 event_descriptor: "
		"'\\n\\x04work\\x12\\x16\\n\\x10track_event_type\\x18\\x01\\x28\\x0d"
		"\\x12\\x10\\n\\nslice_name\\x18\\x02\\x28\\x09' } "
		"generic_event_descriptors { field_id: 65537 event_descriptor: "
		"'\\n\\x05depth\\x12\\x13\\n\\rcounter_value\\x18\\x01\\x28\\x03"
		"\\x12\\x0f\\n\\tscope_cpu\\x18\\x02\\x28\\x05' } "
		"event { timestamp: 10 pid: 7 65536 { 1: 66 2: 'job' } } "
		"event { timestamp: 15 pid: 7 65536 { 1: 69 2: '' } } "
		"event { timestamp: 16 pid: 7 65536 { 1: 66 } } "
		"event { timestamp: 17 pid: 7 65537 { 1: 5 2: 1 } } "
		"event { timestamp: 18 pid: 7 65538 { 1: 5 } } } trusted_packet_sequence_id: 1 }");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"), "10 5 job\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type name"),
		  "kernel_trackevent_thread_slice work\nkernel_trackevent_cpu_counter depth\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value"), "17 5\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts name"),
		  "10 work\n15 work\n16 work\n17 depth\n");
	CHECK_STR(import_event_args(&fixture, 0), "track_event_type=66 slice_name=job");
	CHECK_INT(import_stat(&fixture, "kernel_trackevent_format_error"), 1);
	CHECK_INT(import_stat(&fixture, "ftrace_generic_descriptor_errors"), 1);
	import_done(&fixture);
}

/* 432 and 431 are the start and the end of reading a file; 351 and 335 change shared buffers, 315 and 314 a heap of them. */
ORMA_TEST(reads_of_a_file_are_slices_of_the_thread_that_began_them)
{
	import_text(&fixture, BUNDLE(EVENT(10, 7, "432 { 1: 512 4: 99 5: 4096 6: '/data/x' }")
					     EVENT(12, 8, "432 { 4: 99 5: 8192 }") EVENT(
						     15, 9, "431 { 1: 500 2: 99 3: 4096 }")
						     EVENT(16, 9, "431 { 2: 99 3: 4096 }")));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name track_id"),
		  "10 5 android_fs_data_read 0\n12 -1 android_fs_data_read 1\n");
	CHECK_STR(import_slice_args(&fixture, 0),
		  "file_path=/data/x offset_start=4096 bytes_read_start=512 offset_end=4096 "
		  "bytes_read_end=500");
	import_done(&fixture);
}

ORMA_TEST(buffers_of_devices_are_slices_and_counters)
{
	import_text(&fixture, BUNDLE(EVENT(10, 7, "351 { 1: 3 2: 2048 3: 5000 }")
					     EVENT(20, 7, "351 { 1: 3 2: -2048 3: 2952 }") EVENT(
						     30, 7, "335 { 1: 4 2: 1024 3: 6000 }")
						     EVENT(40, 7, "315 { 2: 10 3: 50 }") EVENT(
							     50, 7, "314 { 1: 'h' 2: 10 3: 50 }")));
	CHECK_STR(import_counters(&fixture),
		  "mem.dma_heap: 5000 2952\nmem.dma_heap_change: 2048 -2048\nmem.dma_buffer:\n"
		  "mem.ion: 6000\nmem.ion_change: 1024\nmem.ion_buffer:\nmem.ion.unknown: 60\n"
		  "mem.ion_change.unknown: 10\nmem.ion.h: 40\nmem.ion_change.h: -10\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"),
		  "10 10 2 kB\n30 -1 1 kB\n");
	import_done(&fixture);
}

ORMA_TEST(what_a_file_system_counts_is_named_by_its_device)
{
	import_text(&fixture,
		    BUNDLE(EVENT(10, 7, "f2fs_iostat { dev: 65070 app_bio: 1 fs_nrio: 23 }") EVENT(
			    11, 7,
			    "f2fs_iostat_latency { dev: 65070 d_rd_avg: 1 m_wr_as_cnt: "
			    "15 n_wr_s_peak: 28 }")));
	const char *text = import_counters(&fixture);
	CHECK(strstr(text, "f2fs_iostat.[254:46].write_app_buffered: 1\n"));
	CHECK(strstr(text, "f2fs_iostat.[254:46].read_fs_node: 23\n"));
	CHECK(strstr(text, "f2fs_iostat_latency.[254:46].read_data_avg: 1\n"));
	CHECK(strstr(text, "f2fs_iostat_latency.[254:46].write_async_meta_cnt: 15\n"));
	CHECK(strstr(text, "f2fs_iostat_latency.[254:46].write_sync_node_peak: 28\n"));
	CHECK_INT(orma_store_table_rows(&fixture.tables.all[ORMA_TABLE_COUNTER]), 22 + 27);
	import_done(&fixture);
}
