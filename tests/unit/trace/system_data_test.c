/* SPDX-License-Identifier: Apache-2.0
 * system_data_test.c - what packets say of the machine, its processes and its counters.
 */
#include "import_fixture.h"

static struct import_fixture fixture;

#define PACKET(content) "packet { " content " trusted_packet_sequence_id: 1 }\n"

ORMA_TEST(the_machine_and_the_recording_are_described)
{
	import_text(&fixture,
		    PACKET("trace_uuid { msb: 81985529216486895 lsb: -81985529216486896 }") PACKET(
			    "system_info { utsname { sysname: 'Linux' release: '4.19.2' version: "
			    "'#1' machine: "
			    "'aarch64' } num_cpus: 8 system_ram_bytes: 8000000000 machine_name: "
			    "'board' timezone_off_mins: 60 }")
			    PACKET("trace_config { buffers { size_kb: 4 fill_policy: DISCARD } "
				   "write_into_file: true "
				   "unique_session_name: 's' trace_uuid_lsb: 5 trace_attributes { "
				   "attribute { key: 'a.b' long_value: 3 } } }")
				    PACKET("timestamp: 7 service_event { all_data_sources_flushed: "
					   "true }") PACKET("timestamp: 8 service_event { "
							    "all_data_sources_flushed: true }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_MACHINE,
			      "name sysname release version arch num_cpus system_ram_gb"),
		  "board Linux 4.19.2 #1 aarch64 8 8\n");
	CHECK_INT(fixture.importer.sched.kernel_version, 4 << 8 | 19);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_METADATA,
			      "name key_type int_value str_value machine_id trace_id"),
		  "trace_uuid single - 01234567-89ab-cdef-fedc-ba9876543210 - 0\n"
		  "system_name single - Linux 0 -\nsystem_version single - #1 0 -\n"
		  "system_release single - 4.19.2 0 -\nsystem_machine single - aarch64 0 -\n"
		  "timezone_off_mins single 60 - 0 -\nsystem_ram_bytes single 8000000000 - 0 -\n"
		  "system_ram_gb single 8 - 0 -\nunique_session_name single - s - 0\n"
		  "trace_config_pbtxt single - buffers {\n  size_kb: 4\n  fill_policy: DISCARD\n}\n"
		  "write_into_file: true\nunique_session_name: \"s\"\ntrace_uuid_lsb: 5\n"
		  "trace_attributes {\n  attribute {\n    key: \"a.b\"\n    long_value: 3\n  }\n} "
		  "- 0\n"
		  "trace_attribute.a.b single 3 - 0 0\nall_data_source_flushed_ns multi 7 - 0 0\n"
		  "all_data_source_flushed_ns multi 8 - 0 0\ntrace_time_clock_id single 6 - - -\n"
		  "trace_size_bytes single 140 - - 0\ntrace_type single - proto - 0\n");
	CHECK_INT(import_stat(&fixture, "config_write_into_file_discard"), 1);
	import_done(&fixture);
}

ORMA_TEST(a_process_tree_names_processes_and_threads)
{
	import_text(&fixture,
		    PACKET("timestamp: 10 process_tree { "
			   "processes { pid: 2 ppid: 0 cmdline: 'kthreadd' is_kthread: true "
			   "cmdline_is_comm: true } "
			   "processes { pid: 45 ppid: 2 cmdline: 'kworker/0:1-events' } "
			   "processes { pid: 100 ppid: 1 cmdline: '/bin/sh -c x' uid: 1000 } "
			   "processes { pid: 101 ppid: 1 cmdline: '/bin/cat' cmdline: 'a b' "
			   "process_start_from_boot: 5 } "
			   "processes { pid: 102 ppid: 1 } "
			   "threads { tid: 103 tgid: 101 name: 'worker' } "
			   "threads { tid: 45 tgid: 45 name: 'kworker/0:1+events' } }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "pid name cmdline uid parent_upid"),
		  "0 - - - -\n2 kthreadd kthreadd - 0\n"
		  "45 kworker/0:1 kworker/0:1 - 1\n1 - - - -\n"
		  "100 /bin/sh /bin/sh -c x 1000 3\n101 /bin/cat /bin/cat a b - 3\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name upid"),
		  "0 swapper 0\n2 kthreadd 1\n45 kworker/0:1 2\n1 - 3\n100 - 4\n101 - 5\n"
		  "103 worker 5\n");
	import_done(&fixture);
}

ORMA_TEST(counters_of_processes_have_the_names_of_their_fields)
{
	import_text(&fixture, PACKET("timestamp: 10 process_stats { processes { pid: 5 vm_rss_kb: "
				     "2 oom_score_adj: -900 "
				     "smr_pss_kb: 1 runtime_user_mode: 77 fds { fd: 3 path: "
				     "'/tmp/x' } threads { tid: 6 } } }"));
	CHECK_STR(import_counters(&fixture),
		  "mem.rss: 2048\noom_score_adj: -900\nmem.smaps.pss: 1024\nruntime.user_ns: 77\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FILEDESCRIPTOR, "fd ts upid path"),
		  "3 10 1 /tmp/x\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid upid is_main_thread"),
		  "0 0 1\n5 1 1\n6 1 0\n");
	import_done(&fixture);
}

ORMA_TEST(counters_of_the_system_have_perfettos_names)
{
	import_text(&fixture,
		    PACKET("timestamp: 10 sys_stats { meminfo { key: MEMINFO_SLAB_RECLAIMABLE "
			   "value: 3 } "
			   "vmstat { key: VMSTAT_NR_FREE_PAGES value: 4 } cpu_stat { user_ns: 1 } "
			   "num_irq { irq: 7 count: 8 } num_forks: 9 psi { resource: "
			   "PSI_RESOURCE_IO_FULL total_ns: 10 } "
			   "cpufreq_khz: 11 thermal_zone { type: 'x86_pkg' temp: 40 } buddy_info { "
			   "node: '0' zone: 'DMA' order_pages: 1 order_pages: 2 } "
			   "cpuidle_state { cpu_id: 1 cpuidle_state_entry { state: 'C1' "
			   "duration_us: 12 } } "
			   "slab_info { name: 'dentry' pages_per_slab: 2 num_slabs: 3 } devfreq { "
			   "key: 'gpu' value: 13 } "
			   "disk_stat { device_name: 'sda' read_sectors: 2048 read_time_ms: 10 } }")
			    PACKET("timestamp: 20 sys_stats { disk_stat { device_name: 'sda' "
				   "read_sectors: 6144 read_time_ms: 1010 } }"));
	CHECK_STR(import_counters(&fixture),
		  "SReclaimable: 3072\ngpu Frequency: 13\ncpufreq: 11\nnr_free_pages: 4\n"
		  "num_irq (id: 7): 8\nnum_forks: 9\nmem.buddyinfo[0][DMA][4 kB]: 1\n"
		  "mem.buddyinfo[0][DMA][8 kB]: 2\npsi.io.full: 10\nx86_pkg: 40\ncpuidle1.C1: 12\n"
		  "mem.slab.dentry: 24576\ndiskstat.[sda].read_amount: 2\n"
		  "diskstat.[sda].read_throughput: 2\ndiskstat.[sda].write_amount: 0\n"
		  "diskstat.[sda].write_throughput: 0\ndiskstat.[sda].discard_amount: 0\n"
		  "diskstat.[sda].discard_throughput: 0\ndiskstat.[sda].flush_amount: 0\n"
		  "diskstat.[sda].flush_time: 0\n");
	CHECK_INT(import_stat(&fixture, "invalid_cpu_times"), 1);
	import_done(&fixture);
}

ORMA_TEST(cpus_with_one_capacity_are_a_cluster)
{
	import_text(&fixture,
		    PACKET("cpu_info { cpus { processor: 'big' capacity: 1024 frequencies: 5 "
			   "frequencies: 6 } "
			   "cpus { processor: 'little' capacity: 300 } cpus { processor: 'big' "
			   "capacity: 1024 features: 5 } }")
			    PACKET("interrupt_info { irq_mapping { irq_id: 4 name: 'ttyS0' } "
				   "irq_mapping { irq_id: 4 name: 'again' } }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CPU,
			      "cpu cluster_id processor capacity arg_set_id"),
		  "0 1 big 1024 -\n1 0 little 300 -\n2 1 big 1024 0\n");
	CHECK_STR(import_args(&fixture, 0), "cpu_features.mte=1 cpu_features.raw_bitmap=5");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CPU_FREQ, "ucpu freq"), "0 5\n0 6\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_INTERRUPT, "irq_id name"), "4 ttyS0\n");
	import_done(&fixture);
}

ORMA_TEST(entries_of_the_journal_are_logs)
{
	import_text(&fixture,
		    PACKET("timestamp: 10 journald_event { pid: 5 prio: 3 tag: 'sshd' message: "
			   "'failed' comm: 'sshd' uid: 0 }")
			    PACKET("timestamp: 11 journald_event { num_total: 9 num_failed: 2 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_LOG, "ts utid prio log_source tag msg"),
		  "10 1 3 systemd_journald sshd failed\n");
	CHECK_STR(import_args(&fixture, 0), "uid=0 comm=sshd");
	CHECK_INT(import_stat(&fixture, "systemd_journal_num_failed"), 2);
	import_done(&fixture);
}

ORMA_TEST(statistics_of_the_service_and_the_kernel_are_shown)
{
	import_text(&fixture,
		    PACKET("ftrace_stats { phase: START_OF_TRACE cpu_stats { cpu: 1 overrun: 5 "
			   "oldest_event_ts: 1e300 } "
			   "unknown_ftrace_events: 'x/y' }")
			    PACKET("ftrace_stats { phase: END_OF_TRACE cpu_stats { cpu: 1 overrun: "
				   "12 } }") PACKET("previous_packet_dropped: 65 sequence_flags: 2")
				    PACKET("trace_stats { flushes_failed: 2 final_flush_outcome: "
					   "FINAL_FLUSH_FAILED "
					   "buffer_stats { bytes_written: 100 chunks_discarded: 4 "
					   "} writer_stats { sequence_id: 1 buffer: 0 } }"));
	CHECK_INT(import_stat(&fixture, "ftrace_cpu_overrun_delta"), 7);
	CHECK_INT(import_stat(&fixture, "ftrace_cpu_oldest_event_ts_begin"), INT64_MAX);
	CHECK_INT(import_stat(&fixture, "ftrace_setup_errors"), 1);
	CHECK_INT(import_stat(&fixture, "traced_flushes_failed"), 2);
	CHECK_INT(import_stat(&fixture, "traced_final_flush_failed"), 1);
	CHECK_INT(import_stat(&fixture, "traced_buf_chunks_discarded"), 4);
	CHECK_INT(import_stat(&fixture, "traced_buf_sequence_packet_loss"), 1);
	CHECK_INT(import_stat(&fixture, "traced_buf_data_loss_overwrite"), 1);
	CHECK_INT(import_stat(&fixture, "traced_chunks_discarded"), 0);
	import_done(&fixture);
}

ORMA_TEST(clock_snapshots_are_rows)
{
	import_text(&fixture,
		    PACKET("clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { "
			   "clock_id: 1 timestamp: 5000 } "
			   "clocks { clock_id: 64 timestamp: 3 unit_multiplier_ns: 1000 } }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CLOCK_SNAPSHOT,
			      "ts clock_id clock_name clock_value snapshot_id"),
		  "1000 6 BOOTTIME 1000 0\n1000 1 REALTIME 5000 0\n1000 64 - 3000 0\n");
	import_done(&fixture);
}

ORMA_TEST(a_snapshot_of_a_clock_that_counts_differences_has_the_time_of_its_value)
{
	import_text(&fixture,
		    PACKET("clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { "
			   "clock_id: 64 timestamp: 1000 is_incremental: true } }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CLOCK_SNAPSHOT, "ts clock_id clock_value"),
		  "1000 6 1000\n1000 64 1000\n");
	import_done(&fixture);
}

ORMA_TEST(a_machine_that_does_not_say_its_version_has_none)
{
	import_text(&fixture,
		    PACKET("system_info { utsname { sysname: 'Linux' release: '6.1' } }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_MACHINE, "sysname release version"),
		  "Linux 6.1 -\n");
	import_done(&fixture);
}

ORMA_TEST(a_cpu_that_is_not_described_is_of_the_first_cluster)
{
	import_text(&fixture, PACKET("ftrace_events { cpu: 1 event { timestamp: 5 pid: 0 cpu_idle "
				     "{ state: 1 cpu_id: 1 } } }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CPU, "cpu cluster_id"), "- 0\n1 0\n");
	import_done(&fixture);
}

ORMA_TEST(a_trigger_is_an_instant_and_names_the_trace)
{
	import_text(&fixture, PACKET("timestamp: 5 trigger { trigger_name: 'slow' producer_name: "
				     "'app' trusted_producer_uid: 7 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"), "5 0 slow\n");
	CHECK_STR(import_slice_args(&fixture, 0), "producer_name=app trusted_producer_uid=7");
	import_done(&fixture);
}

ORMA_TEST(batteries_are_counters_and_their_power_is_computed)
{
	import_text(&fixture,
		    PACKET("timestamp: 5 battery { capacity_percent: 80 current_ua: -2000000 "
			   "voltage_uv: 4000000 "
			   "energy_counter_uwh: 8000000 }")
			    PACKET("timestamp: 6 battery { name: 'BAT1' charge_counter_uah: 7 }"));
	CHECK_STR(import_counters(&fixture),
		  "batt.charge_uah: 2000000\nbatt.capacity_pct: 80\nbatt.current_ua: -2000000\n"
		  "batt.voltage_uv: 4000000\nbatt.power_mw: 8000\nbatt.BAT1.charge_uah: 7\n");
	import_done(&fixture);
}

/* 117 is the state of a task: CPU, name, tid, state, priority. */
#define TASK(ts, tid, state)                                                                       \
	"packet { timestamp: " #ts " 117 { 1: 0 2: 'task' 3: " #tid " 4: " #state                  \
	" 5: 10 } trusted_packet_sequence_id: 1 }"

ORMA_TEST(a_task_whose_state_comes_without_a_name_keeps_its_name)
{
	import_text(&fixture, "packet { timestamp: 5 117 { 1: 0 2: 'task' 3: 7 4: 3 5: 10 } }\n"
			      "packet { timestamp: 6 117 { 1: 0 3: 7 4: 4 5: 10 } }\n"
			      "packet { timestamp: 7 117 { 1: 0 3: 8 4: 3 5: 10 } }\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name"), "0 swapper\n7 task\n8 -\n");
	import_done(&fixture);
}

ORMA_TEST(tasks_of_other_kernels_have_rows_and_states_whatever_order_they_switch_in)
{
	import_text(&fixture, TASK(10, 7, 1) TASK(20, 7, 3) TASK(30, 8, 3) TASK(30, 7, 4)
				      TASK(40, 8, 7) TASK(50, 8, 3) TASK(60, 8, 8) TASK(70, 9, 0));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SCHED, "ts dur utid end_state priority"),
		  "20 10 1 S 10\n30 10 2 Z 10\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD_STATE, "ts dur utid state ucpu"),
		  "10 10 1 Created -\n20 10 1 Running 0\n30 -1 1 S -\n30 10 2 Running 0\n"
		  "40 20 2 Z -\n60 -1 2 X -\n");
	CHECK_INT(import_stat(&fixture, "generic_task_state_invalid_order"), 1);
	CHECK_INT(import_stat(&fixture, "task_state_invalid"), 1);
	import_done(&fixture);
}

ORMA_TEST(what_a_streamed_trace_overwrote_is_a_loss)
{
	import_text(&fixture, PACKET("trace_config { buffers { size_kb: 4 } buffers { size_kb: 4 } "
				     "write_into_file: true }")
				      PACKET("trace_stats { buffer_stats { bytes_overwritten: 0 } "
					     "buffer_stats { bytes_overwritten: 9 } }"));
	CHECK_INT(import_stat(&fixture, "long_trace_mode_bytes_overwritten"), 9);
	CHECK_INT(import_stat(&fixture, "config_write_into_file_no_flush"), 1);
	import_done(&fixture);
}

ORMA_TEST(times_of_the_service_are_on_the_clock_of_the_boot)
{
	import_text(&fixture,
		    PACKET("clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } clocks { "
			   "clock_id: 5 timestamp: "
			   "100 } primary_trace_clock: BUILTIN_CLOCK_MONOTONIC_RAW }")
			    PACKET("timestamp: 1050 service_event { tracing_started: true }"));
	CHECK(strstr(import_rows(&fixture, ORMA_TABLE_METADATA, "name int_value"),
		     "tracing_started_ns 150\n"));
	import_done(&fixture);
}

#define SESSION(ts, content) PACKET("timestamp: " #ts " concurrent_session_event { " content " }")

ORMA_TEST(other_sessions_are_tracks_of_states)
{
	import_text(&fixture,
		    SESSION(10, "state: STATE_CONFIGURED session_name: 'a' session_id: 1 "
				"consumer_uid: 5 num_data_sources: 2")
			    SESSION(20, "state: STATE_STARTED session_name: 'a' session_id: 1")
				    SESSION(25, "state: STATE_CLONED_READ_ONLY session_id: 2")
					    SESSION(30, "state: STATE_DISABLED session_id: 1")
						    SESSION(40, "state: 77 session_id: 1"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "type name event_type"),
		  "concurrent_tracing_sessions a state\n"
		  "concurrent_tracing_sessions Session 2 (clone) state\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_STATE, "ts dur track_id value"),
		  "10 10 0 CONFIGURED\n20 10 0 STARTED\n25 -1 1 CLONED_READ_ONLY\n"
		  "30 0 0 DISABLED\n");
	int64_t set = orma_store_column_get(
		orma_tables_column(&fixture.tables, ORMA_TABLE_STATE, ORMA_STATE_ARG_SET_ID), 0);
	CHECK_STR(import_args(&fixture, set), "consumer_uid=5 num_data_sources=2");
	CHECK_INT(import_stat(&fixture, "concurrent_session_event_unknown_state"), 1);
	import_done(&fixture);
}

ORMA_TEST(a_machine_without_snapshots_has_the_time_of_the_host)
{
	import_text(
		&fixture, PACKET("timestamp: 10 sys_stats { num_forks: 1 }")
				  PACKET("machine_id: 7 timestamp: 20 sys_stats { num_forks: 2 }")
		/* Its monotonic clock is something else. */
		PACKET("machine_id: 7 timestamp: 30 timestamp_clock_id: 3 sys_stats { "
		       "num_forks: 3 }")
			PACKET("machine_id: 7 clock_snapshot { clocks { clock_id: 6 timestamp: 5 "
			       "} clocks { clock_id: 3 timestamp: 5 } }")
		/* Now the machine has a time of its own. */
		PACKET("machine_id: 7 timestamp: 40 sys_stats { num_forks: 4 }"));
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_COUNTER, "ts value"), "10 1\n20 2\n");
	import_done(&fixture);
}
