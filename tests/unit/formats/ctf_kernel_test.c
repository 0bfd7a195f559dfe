/* SPDX-License-Identifier: Apache-2.0
 * ctf_kernel_test.c - events of LTTng's kernel tracer become scheduling, slices, counters and processes.
 */
#include "ctf_fixture.h"

#define COMM "integer { size = 8; encoding = UTF8; } "
#define EVENT_OF(id, name, fields)                                                                 \
	"event { name = \"" name "\"; id = " #id "; stream_id = 0; fields := struct { " fields     \
	" }; };\n"
#define TASK COMM "_comm[16]; int32_t _tid; int32_t _prio;"

static const char events[] = "};\n" EVENT_OF(
	1, "sched_switch",
	COMM
	"_prev_comm[16]; int32_t _prev_tid; int32_t _prev_prio; int64_t "
	"_prev_state;" COMM
	"_next_comm[16]; int32_t _next_tid; int32_t _next_prio;") EVENT_OF(2, "sched_waking",
									   TASK
									   "int32_t _target_cpu;")
	EVENT_OF(3, "irq_handler_entry", "int32_t _irq; string _name;") EVENT_OF(
		4, "irq_handler_exit",
		"int32_t _irq; int32_t _ret;") EVENT_OF(5, "irq_softirq_entry", "uint32_t _vec;")
		EVENT_OF(6, "irq_softirq_exit", "uint32_t _vec;") EVENT_OF(
			7, "syscall_entry_openat",
			"int32_t _dfd; string _filename; int32_t _flags;")
			EVENT_OF(8, "syscall_exit_openat", "int64_t _ret;") EVENT_OF(
				9, "power_cpu_frequency", "uint32_t _state; uint32_t _cpu_id;")
				EVENT_OF(10, "sched_process_fork",
					 COMM "_parent_comm[16]; int32_t _parent_tid; int32_t "
					      "_parent_pid; " COMM
					      "_child_comm[16]; int32_t _child_tid; uint8_t "
					      "__vtids_length; int32_t "
					      "_vtids[__vtids_length]; int32_t _child_pid;")
					EVENT_OF(
						11, "sched_process_exec",
						"string _filename; int32_t _tid; int32_t _old_tid;")
						EVENT_OF(12, "sched_process_free", TASK) EVENT_OF(
							13, "lttng_statedump_process_state",
							"int32_t _tid; int32_t _pid; int32_t "
							"_ppid; " COMM "_name[16]; int32_t _type;")
							EVENT_OF(14, "block_rq_issue",
								 "uint32_t _dev; uint64_t _sector; "
								 "uint32_t _nr_sector; uint32_t "
								 "_bytes; int32_t _tid; "
								 "uint32_t _rwbs; " COMM
								 "_comm[16];")
								EVENT_OF(15, "my_driver_event",
									 "int32_t _a; struct { "
									 "string b; uint8_t c[2]; "
									 "} s;"
									 "floating_point { exp_dig "
									 "= 11; mant_dig = 53; } "
									 "f; enum : uint8_t { ON = "
									 "1 } e;")
									EVENT_OF(16,
										 "syscall_entry_"
										 "newfstat",
										 "uint32_t _fd;")
										EVENT_OF(17,
											 "sched_"
											 "process_"
											 "exit",
											 TASK);

static struct ctf_bytes bytes;
static struct import_fixture fixture;
static struct orma_ctf_report report;

static void put_task(const char *comm, int tid, int prio)
{
	ctf_put_array(&bytes, comm, 16);
	ctf_put(&bytes, 32, 8, (uint32_t)tid);
	ctf_put(&bytes, 32, 8, (uint32_t)prio);
}

static void put_switch(uint64_t ns, const char *prev, int prev_tid, uint64_t state,
		       const char *next, int next_tid)
{
	ctf_event(&bytes, 1, ns);
	put_task(prev, prev_tid, 120);
	ctf_put(&bytes, 64, 8, state);
	put_task(next, next_tid, 110);
}

static void end_stream(const char *name)
{
	ctf_packet_end(&bytes, 9000);
	ctf_write_stream(orma_test_tmpdir(), name, &bytes);
	bytes = (struct ctf_bytes){0};
}

static void import(void)
{
	ctf_write_metadata(orma_test_tmpdir(), "le", "kernel", events);
	ctf_import(orma_test_tmpdir(), &fixture, &report);
	CHECK_INT(report.counts.bad_packets, 0);
}

ORMA_TEST(switches_and_wakings_become_scheduling)
{
	ctf_packet_begin(&bytes, 1000, 3, 0, 0);
	ctf_event(&bytes, 2, 1005);
	put_task("b", 20, 110);
	ctf_put(&bytes, 32, 8, 3);
	put_switch(1010, "a", 10, 1, "b", 20);
	put_switch(1020, "b", 20, 0, "swapper/3", 0);
	end_stream("channel_3");
	import();
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SCHED, "ts dur utid priority"),
		  "1010 10 2 110\n1020 -1 0 110\n");
	/* The first switch says that thread 10 ran before it, so it has woken thread 20. */
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD_STATE, "ts dur utid state waker_utid"),
		  "1005 5 2 R 1\n1010 -1 1 S -\n1010 10 2 Running -\n1020 -1 2 R -\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name"), "0 swapper\n10 a\n20 b\n");
	import_done(&fixture);
}

ORMA_TEST(channels_of_one_cpu_are_merged)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	put_switch(1010, "a", 10, 1, "b", 20);
	put_switch(1030, "b", 20, 1, "c", 30);
	end_stream("sched_0");
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	bytes.data[8] = 99; /* another instance */
	ctf_event(&bytes, 16, 1005);
	ctf_put(&bytes, 32, 8, 4);
	ctf_event(&bytes, 16, 1020);
	ctf_put(&bytes, 32, 8, 5);
	ctf_event(&bytes, 16, 1040);
	ctf_put(&bytes, 32, 8, 6);
	end_stream("syscalls_0");
	import();
	CHECK_INT(report.streams, 2);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts name utid"),
		  "1005 sys_enter 1\n1010 sched_switch 1\n1020 sys_enter 2\n1030 sched_switch 2\n"
		  "1040 sys_enter 3\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts name"),
		  "1005 sys_fstat\n1020 sys_fstat\n1040 sys_fstat\n");
	import_done(&fixture);
}

ORMA_TEST(interrupts_and_system_calls_become_slices)
{
	ctf_packet_begin(&bytes, 1000, 1, 0, 0);
	put_switch(1001, "a", 10, 1, "b", 20);
	ctf_event(&bytes, 7, 1010);
	ctf_put(&bytes, 32, 8, (uint32_t)-100);
	ctf_put_text(&bytes, "/etc/hosts");
	ctf_put(&bytes, 32, 8, 2);
	ctf_event(&bytes, 3, 1011);
	ctf_put(&bytes, 32, 8, 9);
	ctf_put_text(&bytes, "eth0");
	ctf_event(&bytes, 4, 1012);
	ctf_put(&bytes, 32, 8, 9);
	ctf_put(&bytes, 32, 8, 1);
	ctf_event(&bytes, 5, 1013);
	ctf_put(&bytes, 32, 8, 3);
	ctf_event(&bytes, 6, 1015);
	ctf_put(&bytes, 32, 8, 3);
	ctf_event(&bytes, 8, 1020);
	ctf_put(&bytes, 64, 8, (uint64_t)-2);
	ctf_event(&bytes, 9, 1030);
	ctf_put(&bytes, 32, 8, 2400000);
	ctf_put(&bytes, 32, 8, 1);
	end_stream("channel_1");
	import();
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"),
		  "1010 10 sys_openat\n1011 1 IRQ (eth0)\n1013 2 NET_RX\n");
	CHECK_STR(import_slice_args(&fixture, 0), "args[0]=-100 args[1]=2 ret=-2");
	CHECK_STR(import_slice_args(&fixture, 1), "ret=handled");
	/* The text is not in the message of a system call, so there is a second event. */
	const char *rows = import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts name");
	CHECK(strstr(rows, "1010 sys_enter\n1010 syscall_entry_openat\n"));
	CHECK_STR(import_event_args(&fixture, 2), "dfd=-100 filename=/etc/hosts flags=2");
	CHECK_STR(import_counters(&fixture) ? strstr(fixture.text, "cpufreq") : NULL,
		  "cpufreq: 2400000\n");
	import_done(&fixture);
}

ORMA_TEST(forks_and_the_dump_of_processes_become_processes)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	put_switch(1001, "idle", 0, 0, "bash", 50);
	for (int tid = 50; tid <= 51; tid++) {
		ctf_event(&bytes, 13, 1002);
		ctf_put(&bytes, 32, 8, (uint32_t)tid);
		ctf_put(&bytes, 32, 8, 50);
		ctf_put(&bytes, 32, 8, 1);
		ctf_put_array(&bytes, tid == 50 ? "bash" : "helper", 16);
		ctf_put(&bytes, 32, 8, 0);
	}
	for (int i = 0; i < 2; i++) { /* a process, and a thread */
		ctf_event(&bytes, 10, 1010);
		ctf_put_array(&bytes, "bash", 16);
		ctf_put(&bytes, 32, 8, 50);
		ctf_put(&bytes, 32, 8, 50);
		ctf_put_array(&bytes, i == 0 ? "child" : "thread", 16);
		ctf_put(&bytes, 32, 8, 60 + (uint32_t)i);
		ctf_put(&bytes, 8, 8, 1);
		ctf_put(&bytes, 32, 8, 60 + (uint32_t)i);
		ctf_put(&bytes, 32, 8, i == 0 ? 60 : 50);
	}
	put_switch(1011, "bash", 50, 0, "child", 60);
	ctf_event(&bytes, 11, 1020);
	ctf_put_text(&bytes, "/usr/bin/a-very-long-program");
	ctf_put(&bytes, 32, 8, 60);
	ctf_put(&bytes, 32, 8, 60);
	ctf_event(&bytes, 12, 1030);
	put_task("a-very-long-pro", 60, 120);
	end_stream("channel_0");
	import();
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "pid name start_ts end_ts parent_upid"),
		  "0 - - - -\n1 - - - -\n50 bash - - 1\n60 a-very-long-pro 1010 1030 2\n");
	CHECK_STR(
		import_rows(&fixture, ORMA_TABLE_THREAD, "tid name upid"),
		"0 swapper 0\n50 bash 2\n1 - 1\n51 helper 2\n60 a-very-long-pro 3\n61 thread 2\n");
	import_done(&fixture);
}

ORMA_TEST(other_events_keep_all_their_fields)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	ctf_event(&bytes, 15, 1010);
	ctf_put(&bytes, 32, 8, (uint32_t)-4);
	ctf_put_text(&bytes, "text");
	ctf_put(&bytes, 8, 8, 7);
	ctf_put(&bytes, 8, 8, 8);
	ctf_put_double(&bytes, 0.5);
	ctf_put(&bytes, 8, 8, 1);
	ctf_event(&bytes, 14, 1020);
	ctf_put(&bytes, 32, 8, 8388608);
	ctf_put(&bytes, 64, 8, 2048);
	ctf_put(&bytes, 32, 8, 8);
	ctf_put(&bytes, 32, 8, 4096);
	ctf_put(&bytes, 32, 8, 5);
	ctf_put(&bytes, 32, 8, 1 | 32 | 64 | 1024);
	ctf_put_array(&bytes, "jbd2", 16);
	end_stream("channel_0");
	import();
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_FTRACE_EVENT, "ts name"),
		  "1010 my_driver_event\n1020 block_rq_issue\n");
	CHECK_STR(import_event_args(&fixture, 0), "a=-4 s.b=text s.c[0]=7 s.c[1]=8 f=0.5 e=ON");
	CHECK_STR(import_event_args(&fixture, 1),
		  "dev=8388608 sector=2048 nr_sector=8 bytes=4096 rwbs=FWSM comm=jbd2");
	import_done(&fixture);
}

ORMA_TEST(losses_of_a_cpu_are_said)
{
	ctf_packet_begin(&bytes, 1000, 2, 0, 0);
	put_switch(1010, "a", 10, 1, "b", 20);
	ctf_packet_end(&bytes, 1999);
	ctf_packet_begin(&bytes, 2000, 2, 1, 40);
	put_switch(2010, "c", 30, 1, "d", 40);
	end_stream("channel_2");
	import();
	CHECK_INT(report.counts.discarded_events, 40);
	CHECK_INT(import_stat(&fixture, "ftrace_cpu_has_data_loss"), 1);
	import_done(&fixture);
}

ORMA_TEST(the_machine_is_told_by_its_system_calls)
{
	ctf_packet_begin(&bytes, 1000, 2, 0, 0);
	put_switch(1010, "a", 10, 1, "b", 20);
	end_stream("channel_2");
	import();
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_MACHINE, "sysname release arch"),
		  "Linux 6.1.0 x86_64\n");
	import_done(&fixture);
}
