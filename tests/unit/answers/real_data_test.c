/* SPDX-License-Identifier: Apache-2.0
 * real_data_test.c - traces that Perfetto recorded, in ../shared/data beside the repository. The numbers were counted from the bytes
 * of the traces, by a program that knows nothing of this one: events by field, switches and wakings by entries of packed fields.
 */
#include "harness.h"
#include "trace_fixture.h"

static struct orma_trace_database *open_trace(const char *name)
{
	char path[512], chunk[4096];
	struct orma_buf bytes = {0};
	size_t size;
	snprintf(path, sizeof(path), "%s/../shared/data/%s", ORMA_SOURCE_DIR, name);
	FILE *file = fopen(path, "rbe");
	if (!file)
		orma_test_skip(path);
	while ((size = fread(chunk, 1, sizeof(chunk), file)) > 0)
		CHECK_INT(orma_base_buf_append(&bytes, chunk, size), 0);
	fclose(file);
	struct orma_trace_database *database = fixture_open_bytes(bytes.data, bytes.size, 0);
	orma_base_buf_done(&bytes);
	fixture_check(
		database,
		"select count(*) from stats where severity in ('error', 'data_loss') and value "
		"<> 0",
		"0\n");
	return database;
}

ORMA_TEST(each_kernel_event_of_a_real_trace_is_a_row)
{
	struct orma_trace_database *database = open_trace("linux-ftrace.pftrace");
	fixture_check(database, "select name, count(*) from ftrace_event group by name",
		      "\"cpu_idle\",1726\n\"irq_handler_entry\",2\n\"irq_handler_exit\",2\n"
		      "\"print\",2\n\"sched_process_exit\",84\n\"sched_process_free\",84\n"
		      "\"sched_switch\",1029\n\"sched_waking\",457\n\"softirq_entry\",1309\n"
		      "\"softirq_exit\",1309\n\"softirq_raise\",1317\n\"sys_enter\",7103\n"
		      "\"sys_exit\",7103\n\"task_newtask\",82\n\"task_rename\",123\n");
	/* 500 and 531 switches, of which the first of each CPU says only what came before. */
	fixture_check(database, "select cpu, count(*) from sched group by cpu", "0,499\n1,530\n");
	fixture_check(database,
		      "select name, value from stats where name glob 'compact_sched_*_skipped'",
		      "\"compact_sched_switch_skipped\",2\n\"compact_sched_waking_skipped\",3\n");
	/* A CPU always runs something, so its rows are one after the other. */
	fixture_check(
		database,
		"select cpu, sum(iif(dur < 0, 0, dur)) = max(ts) - min(ts), sum(dur < 0) from "
		"sched group by cpu",
		"0,1,1\n1,1,1\n");
	/* Each system call that begins is a slice. */
	fixture_check(database, "select count(*) from slice where name glob 'sys_*'", "7103\n");
	fixture_check(
		database,
		"select count(*) from slice join track on track_id = track.id where track.type = "
		"'cpu_softirq'",
		"1309\n");
	fixture_close(database);
}

ORMA_TEST(each_track_event_of_a_real_trace_is_a_row)
{
	struct orma_trace_database *database = open_trace("track-event-csdk.pftrace");
	/* 25 instants, 8 begins with as many ends, 16 values of counters. */
	fixture_check(database, "select dur = 0, count(*) from slice group by 1", "0,8\n1,25\n");
	fixture_check(database, "select count(*) from slice where dur < 0", "0\n");
	fixture_check(database, "select count(*), count(distinct track_id) from counter", "16,2\n");
	fixture_close(database);
}

ORMA_TEST(each_process_of_a_real_trace_is_a_row)
{
	struct orma_trace_database *database = open_trace("linux-procfs.pftrace");
	/* 21 samples of sys_stats, with 651 values of meminfo, 3108 of vmstat and two CPUs each. */
	fixture_check(
		database,
		"select iif(type in ('meminfo', 'vmstat'), type, name) as what, count(*) from "
		"counter join counter_track on track_id = counter_track.id where type in "
		"('meminfo', 'vmstat') or name in ('cpu.times.user_ns', 'mem.rss', 'num_forks') "
		"group by what",
		"\"cpu.times.user_ns\",42\n\"mem.rss\",168\n\"meminfo\",651\n\"num_forks\",21\n"
		"\"vmstat\",3108\n");
	fixture_check(database, "select count(*) from process where pid > 0", "67\n");
	fixture_close(database);
}
