/* SPDX-License-Identifier: Apache-2.0
 * task_times_test.c - CPU times and waits for a CPU; values of counters at a glance.
 */
#include "answers/counter_groups.h"
#include "answers/task_times.h"
#include "harness.h"
#include "trace_fixture.h"

#define SWITCH(time, prev, state, next)                                                            \
	"event { timestamp: " time " pid: " prev " sched_switch { prev_pid: " prev                 \
	" prev_state: " state " next_pid: " next " prev_comm: 'p" prev "' next_comm: 'p" next      \
	"' } } "
#define WAKING(time, by, tid)                                                                      \
	"event { timestamp: " time " pid: " by " sched_waking { pid: " tid " comm: 'p" tid         \
	"' target_cpu: 0 } } "

/* Thread 5 is woken at 100 and waits for 60 while 6 runs; then it is preempted for 10; 6 waits for 5 when it is woken. */
static const char trace[] =
	"packet { system_info { utsname { sysname: 'Linux' release: '6.1.0' machine: 'x86_64' } } "
	"trusted_packet_sequence_id: 1 }"
	"packet { ftrace_events { cpu: 0 " SWITCH("80", "0", "0", "6") WAKING("100", "6", "5")
		SWITCH("160", "6", "1", "5") SWITCH("200", "5", "0", "7") SWITCH(
			"210", "7", "1", "5") WAKING("245", "5", "6") SWITCH("250", "5", "1", "6")
			SWITCH("300", "6", "1", "0") "} trusted_packet_sequence_id: 1 }";

static const struct orma_task_time *time_of(struct orma_trace_database *database,
					    const struct orma_task_times *times, int64_t tid)
{
	for (size_t i = 0; i < times->thread_count; i++)
		if (orma_trace_database_cell(database, ORMA_TABLE_THREAD, ORMA_THREAD_TID, i) ==
		    tid)
			return &times->threads[i];
	return NULL;
}

ORMA_TEST(threads_have_their_time_on_cpus)
{
	struct orma_trace_database *database = fixture_open(trace);
	struct orma_task_times times;
	CHECK_INT(orma_task_times_read(database, 10, &times), 0);
	CHECK_INT(time_of(database, &times, 5)->running_ns, 40 + 40);
	CHECK_INT(time_of(database, &times, 5)->runs, 2);
	CHECK_INT(time_of(database, &times, 5)->runnable_ns, 70);
	CHECK_INT(time_of(database, &times, 5)->max_delay_ns, 60);
	CHECK_INT(time_of(database, &times, 6)->running_ns, 80 + 50);
	CHECK_INT(times.cpus, 1);
	CHECK_INT(times.busy_ns, 80 + 40 + 10 + 40 + 50);
	orma_task_times_done(&times);
	fixture_close(database);
}

ORMA_TEST(the_longest_delays_come_first_with_what_ran_meanwhile)
{
	struct orma_trace_database *database = fixture_open(trace);
	struct orma_task_times times;
	CHECK_INT(orma_task_times_read(database, 2, &times), 0);
	CHECK_INT(times.delays.count, 3);
	CHECK_INT(times.longest_count, 2);
	CHECK_INT(times.longest[0].ts, 100);
	CHECK_INT(times.longest[0].length_ns, 60);
	CHECK(!times.longest[0].is_preempted);
	CHECK_INT(times.longest[0].ucpu, 0);
	CHECK_INT(times.longest[0].other_ns, 60);
	CHECK_INT(orma_trace_database_cell(database, ORMA_TABLE_THREAD, ORMA_THREAD_TID,
					   (uint64_t)times.longest[0].other_utid),
		  6);
	CHECK_INT(times.longest[1].length_ns, 10);
	CHECK(times.longest[1].is_preempted);
	CHECK_INT(orma_trace_database_cell(database, ORMA_TABLE_THREAD, ORMA_THREAD_TID,
					   (uint64_t)times.longest[1].other_utid),
		  7);
	orma_task_times_done(&times);
	fixture_close(database);
}

ORMA_TEST(task_times_report_that_memory_is_short)
{
	struct orma_trace_database *database = fixture_open(trace);
	for (uint64_t n = 1; n <= 4; n++) {
		struct orma_task_times times;
		orma_test_fail_allocation(n);
		CHECK_INT(orma_task_times_read(database, 2, &times), -ENOMEM);
		orma_task_times_done(&times);
	}
	fixture_close(database);
}

#define VALUE(time, value)                                                                         \
	"packet { timestamp: " time " track_event { type: TYPE_COUNTER track_uuid: 1 "             \
	"counter_value: " value " } trusted_packet_sequence_id: 1 }"

/* The trace lasts from 1000 to 1000 + 24 * 10, so each point stands for 10. */
static const char values[] =
	"packet { incremental_state_cleared: true track_descriptor { uuid: 1 name: 'n' counter { "
	"} } trusted_packet_sequence_id: 1 }"
	"packet { timestamp: 1000 track_event { type: TYPE_INSTANT name: 'first' track_uuid: 9 } "
	"trusted_packet_sequence_id: 1 }" VALUE("1015", "5") VALUE("1017", "7") VALUE("1045", "7")
		VALUE("1100", "-3") VALUE("1240", "4");

ORMA_TEST(counters_have_their_range_and_points_over_time)
{
	struct orma_trace_database *database = fixture_open(values);
	struct orma_counter_groups groups;
	uint64_t track = 0;
	CHECK_INT(orma_counter_groups_read(database, &groups), 0);
	CHECK_INT(groups.values, 5);
	while (groups.tracks[track].count == 0)
		track++;
	struct orma_counter_group *group = &groups.tracks[track];
	CHECK_INT(group->count, 5);
	CHECK_INT(group->changes, 3);
	CHECK(group->min == -3 && group->max == 7 && group->first == 5 && group->last == 4 &&
	      group->sum == 20);
	CHECK(!group->points);
	group->is_chosen = true;
	CHECK_INT(orma_counter_groups_draw(database, &groups), 0);
	CHECK(group->points[0] != group->points[0]); /* nothing yet: NaN */
	CHECK(group->points[1] == 7 && group->points[2] == 7 && group->points[9] == 7);
	CHECK(group->points[10] == -3 && group->points[22] == -3 && group->points[23] == 4);
	orma_counter_groups_done(&groups);
	fixture_close(database);
}
