/* SPDX-License-Identifier: Apache-2.0
 * slice_groups_test.c - sums, self times and the slowest slices of each name, and what a slow slice waited for.
 */
#include "answers/slice_causes.h"
#include "answers/slice_groups.h"
#include "harness.h"
#include "trace_fixture.h"

#define EVENT(time, type, name)                                                                    \
	"packet { timestamp: " time " track_event { type: TYPE_" type " name: '" name              \
	"' categories: 'c' track_uuid: 1 } trusted_packet_sequence_id: 1 }"
#define THREAD                                                                                     \
	"packet { incremental_state_cleared: true track_descriptor { uuid: 1 thread { pid: 10 "    \
	"tid: 11 } } trusted_packet_sequence_id: 1 }"
#define END(time)                                                                                  \
	"packet { timestamp: " time " track_event { type: TYPE_SLICE_END track_uuid: 1 } "         \
	"trusted_packet_sequence_id: 1 }"

static struct orma_slice_group *find(struct orma_trace_database *database,
				     struct orma_slice_groups *groups, const char *name)
{
	struct orma_string_pool *strings = &database->tables.strings;
	return orma_slice_groups_find(groups, orma_store_pool_find(strings, ORMA_STR("c")),
				      orma_store_pool_find(strings, orma_base_str(name)));
}

/* outer [100, 200) holds inner [110, 140) and inner [150, 160); inner [300, 370) is alone; open begins at 400. */
static const char nested[] = THREAD EVENT("100", "SLICE_BEGIN", "outer")
	EVENT("110", "SLICE_BEGIN", "inner") END("140") EVENT("150", "SLICE_BEGIN", "inner")
		END("160") END("200") EVENT("300", "SLICE_BEGIN", "inner") END("370")
			EVENT("390", "INSTANT", "mark") EVENT("400", "SLICE_BEGIN", "open")
				EVENT("450", "SLICE_BEGIN", "deep") EVENT("500", "INSTANT", "mark");

ORMA_TEST(groups_have_totals_and_self_times)
{
	struct orma_trace_database *database = fixture_open(nested);
	struct orma_slice_groups groups;
	CHECK_INT(orma_slice_groups_read(database, &groups), 0);
	CHECK_INT(groups.slices, 8);
	CHECK_INT(groups.instants, 2);
	CHECK_INT(groups.unfinished, 2);
	struct orma_slice_group *outer = find(database, &groups, "outer"),
				*inner = find(database, &groups, "inner");
	CHECK_INT(outer->count, 1);
	CHECK_INT(outer->total_ns, 100);
	CHECK_INT(outer->self_ns, 60);
	CHECK_INT(inner->count, 3);
	CHECK_INT(inner->total_ns, 110);
	CHECK_INT(inner->self_ns, 110);
	CHECK_INT(inner->max_ns, 70);
	CHECK_INT(find(database, &groups, "mark")->instants, 2);
	/* It has no length that is known. */
	CHECK_INT(find(database, &groups, "open")->unfinished, 1);
	CHECK_INT(find(database, &groups, "open")->total_ns, 0);
	orma_slice_groups_done(&groups);
	fixture_close(database);
}

ORMA_TEST(chosen_groups_have_percentiles_and_their_slowest_slices)
{
	struct orma_trace_database *database = fixture_open(nested);
	struct orma_slice_groups groups;
	CHECK_INT(orma_slice_groups_read(database, &groups), 0);
	struct orma_slice_group *inner = find(database, &groups, "inner");
	inner->is_chosen = true;
	CHECK_INT(orma_slice_groups_measure(database, &groups), 0);
	CHECK_INT(orma_sample_quantile(&inner->lengths, 500), 30);
	CHECK_INT(inner->slowest_count, 3);
	CHECK_INT(inner->slowest_ns[0], 70);
	CHECK_INT(inner->slowest_ns[1], 30);
	CHECK_INT(inner->slowest_ns[2], 10);
	CHECK_INT(inner->slowest[0], 3);
	CHECK_INT(find(database, &groups, "outer")->slowest_count, 0);
	orma_slice_groups_done(&groups);
	fixture_close(database);
}

ORMA_TEST(the_innermost_open_slice_of_a_thread_is_known)
{
	struct orma_trace_database *database = fixture_open(nested);
	struct orma_slice_groups groups;
	CHECK_INT(orma_slice_groups_read(database, &groups), 0);
	CHECK_INT(groups.open_count, 1);
	fixture_check(database, "select name from slice where id = 6", "\"deep\"\n");
	CHECK_INT(groups.open_rows[0], 6);
	orma_slice_groups_done(&groups);
	fixture_close(database);
}

ORMA_TEST(groups_report_that_memory_is_short)
{
	struct orma_trace_database *database = fixture_open(nested);
	for (uint64_t n = 1; n <= 3; n++) {
		struct orma_slice_groups groups;
		orma_test_fail_allocation(n);
		CHECK_INT(orma_slice_groups_read(database, &groups), -ENOMEM);
		orma_slice_groups_done(&groups);
	}
	fixture_close(database);
}

#define SWITCH(time, prev, state, next)                                                            \
	"event { timestamp: " time " pid: " prev " sched_switch { prev_pid: " prev                 \
	" prev_state: " state " next_pid: " next " prev_comm: 'p" prev "' next_comm: 'p" next      \
	"' } } "
#define WAKING(time, by, tid)                                                                      \
	"event { timestamp: " time " pid: " by " sched_waking { pid: " tid " comm: 'p" tid         \
	"' target_cpu: 0 } } "

/*
 * The slice of thread 11 lasts from 100 to 1000. It runs until 200, sleeps until thread 22 wakes it at 600, and gets the
 * CPU at 650. From 700 it waits for I/O, until thread 33 wakes it at 800, and it runs at once.
 */
static const char blocked[] =
	"packet { system_info { utsname { sysname: 'Linux' release: '6.1.0' machine: 'x86_64' } } "
	"trusted_packet_sequence_id: 3 }" THREAD EVENT("100", "SLICE_BEGIN", "work") EVENT(
		"220", "SLICE_BEGIN", "read") END("680") EVENT("690", "SLICE_BEGIN", "write")
		END("720") END("1000") "packet { ftrace_events { cpu: 0 " SWITCH("50", "0", "0",
										 "11")
			SWITCH("200", "11", "1", "22") WAKING("600", "22", "11") SWITCH(
				"650", "22", "1",
				"11") "event { timestamp: 700 pid: 11 sched_switch { prev_pid: 11 "
				      "prev_state: 2 next_pid: 33 "
				      "prev_comm: 'p11' next_comm: 'p33' } } "
				      "event { timestamp: 705 pid: 33 sched_blocked_reason { pid: "
				      "11 caller: 77 io_wait: 1 } } " WAKING("800", "33", "11")
					      SWITCH("800", "33", "1", "11") SWITCH(
						      "1100", "11", "1",
						      "0") "} trusted_packet_sequence_id: 2 }";

ORMA_TEST(a_cause_has_the_states_of_the_thread_within_the_slice)
{
	struct orma_trace_database *database = fixture_open(blocked);
	struct orma_slice_cause cause = {.row = 0};
	CHECK_INT(orma_slice_causes_find(database, &cause, 1), 0);
	CHECK_INT(cause.ts, 100);
	CHECK_INT(cause.length_ns, 900);
	CHECK(cause.has_states);
	CHECK_INT(cause.running_ns, 100 + 50 + 200);
	CHECK_INT(cause.asleep_ns, 400);
	CHECK_INT(cause.runnable_ns, 50);
	CHECK_INT(cause.uninterruptible_ns, 100);
	CHECK_INT(cause.io_ns, 100);
	fixture_check(database, "select utid from thread where tid = 22", "3\n");
	CHECK_INT(cause.waker_utid, 3);
	CHECK_INT(cause.woken_ns, 400);
	fixture_close(database);
}

ORMA_TEST(a_cause_has_the_name_below_that_took_longest)
{
	struct orma_trace_database *database = fixture_open(blocked);
	struct orma_slice_cause cause = {.row = 0};
	CHECK_INT(orma_slice_causes_find(database, &cause, 1), 0);
	CHECK_INT(cause.child_name,
		  orma_store_pool_find(&database->tables.strings, ORMA_STR("read")));
	CHECK_INT(cause.child_ns, 460);
	CHECK_INT(cause.child_count, 1);
	fixture_close(database);
}

/* A slice within one sleep of the thread is asleep all the time, and the waker outside does not count. */
ORMA_TEST(a_cause_has_only_the_part_of_a_state_within_the_slice)
{
	struct orma_trace_database *database = fixture_open(
		THREAD EVENT("300", "SLICE_BEGIN", "short") END(
			"400") "packet { ftrace_events { cpu: 0 " SWITCH("50", "0", "0", "11")
			SWITCH("200", "11", "1", "22") WAKING("600", "22", "11")
				SWITCH("650", "22", "1", "11") "} trusted_packet_sequence_id: 2 }");
	struct orma_slice_cause cause = {.row = 0};
	CHECK_INT(orma_slice_causes_find(database, &cause, 1), 0);
	CHECK_INT(cause.asleep_ns, 100);
	CHECK_INT(cause.running_ns, 0);
	CHECK_INT(cause.waker_utid, -1);
	fixture_close(database);
}

ORMA_TEST(a_cause_without_kernel_events_has_no_states)
{
	struct orma_trace_database *database = fixture_open(nested);
	struct orma_slice_cause cause = {.row = 0};
	CHECK_INT(orma_slice_causes_find(database, &cause, 1), 0);
	CHECK(!cause.has_states);
	CHECK(cause.utid >= 0);
	CHECK_INT(cause.child_ns, 40);
	CHECK_INT(cause.child_count, 2);
	fixture_close(database);
}
