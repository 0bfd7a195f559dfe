/* SPDX-License-Identifier: Apache-2.0
 * ftrace_columns_test.c - scheduling events become columns.
 */
#include <limits.h>

#include "ftrace_sink_fixture.h"
#include "probes/ftrace/compact_sched.h"

ORMA_TEST(columns_with_many_names_are_divided)
{
	char comm[24] = "";
	begin(OPTIONS(.compact_sched = true), "sched/sched_switch");
	int next = 0;
	for (int page = 0; page < 2; page++) {
		new_page(&pages, 1000);
		for (int i = 0; i < 55; i++, next++) {
			snprintf(comm, sizeof(comm), "task %d", next);
			put_switch(&pages, 1, 0, "", next + 1, comm);
		}
	}
	CHECK_INT(drain_pages(&session, &pages), 2);
	CHECK_INT(fake_packet_count, 2);
	CHECK_INT(bundle_at(0)->compact_sched->intern_table.count, 64);
	CHECK_INT(bundle_at(0)->compact_sched->switch_next_pid.count, 64);
	CHECK_INT(bundle_at(1)->compact_sched->intern_table.count, 46);
	CHECK_INT(bundle_at(1)->compact_sched->switch_next_comm_index.items[45], 45);
	CHECK_INT(bundle_at(1)->compact_sched->switch_timestamp.items[0], 1010);
	/* The bundle before ended within a page. */
	CHECK_INT(bundle_at(1)->previous_bundle_end_timestamp, 1009);
	close_session(&session);
}

ORMA_TEST(columns_that_are_full_are_divided)
{
	enum { PAGES = 32, WAKINGS = 100 };
	begin(OPTIONS(.compact_sched = true), "sched/sched_switch sched/sched_waking");
	for (int page = 0; page < PAGES; page++) {
		new_page(&pages, 1000);
		for (int i = 0; i < WAKINGS; i++)
			put_waking(&pages, 1, 7, 8, "task");
	}
	CHECK_INT(drain_pages(&session, &pages), PAGES);
	CHECK_INT(fake_packet_count, 2);
	CHECK_INT(bundle_at(0)->compact_sched->waking_pid.count, ORMA_COMPACT_EVENTS_MAX);
	CHECK_INT(bundle_at(1)->compact_sched->waking_pid.count,
		  PAGES * WAKINGS - ORMA_COMPACT_EVENTS_MAX);
	close_session(&session);
}

ORMA_TEST(names_differ_in_what_is_before_their_nul_only)
{
	static const char names[][16] = {"abc\0old bytes",  "abc\0older bytes", "abcdefgh",
					 "abcdefgh\0later", "abcdefghi",        ""};
	begin(OPTIONS(.compact_sched = true), "sched/sched_switch");
	new_page(&pages, 1000);
	for (size_t i = 0; i < 6; i++) {
		struct test_switch event = {.common = {ID_SWITCH, 0, 0, 1}};
		memcpy(event.next_comm, names[i], 16);
		put_event(&pages, 1, &event, sizeof(event));
	}
	drain_pages(&session, &pages);
	has(events_of(0), "intern_table: \"abc\" intern_table: \"abcdefgh\" intern_table: "
			  "\"abcdefghi\" intern_table: \"\" switch_next_comm_index: 0 "
			  "switch_next_comm_index: 0 switch_next_comm_index: 1 "
			  "switch_next_comm_index: 1 switch_next_comm_index: 2 "
			  "switch_next_comm_index: 3");
	close_session(&session);
}

ORMA_TEST(numbers_of_all_lengths_are_in_columns)
{
	static const uint32_t deltas[] = {0, 0x7f, 0x80, 0x3fff, 0x4000, 0x1fffff, 0x200000};
	static const int32_t pids[] = {0x7f, 0x80, 0x3fff, 0x4000, 0x1fffff, 0x200000, -1};
	begin(OPTIONS(.compact_sched = true), "sched/sched_switch sched/sched_waking");
	new_page(&pages, 1000);
	put_switch(&pages, 0, 0, "", 1, "task");
	put_waking(&pages, 0, 0, 1, "task");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(deltas); i++) {
		put_switch(&pages, deltas[i], 0, "", pids[i], "task");
		put_waking(&pages, 0, 0, pids[i], "task");
	}
	drain_pages(&session, &pages);
	struct orma_pb_ftrace_event_bundle_compact_sched *compact = bundle_at(0)->compact_sched;
	CHECK_INT(compact->switch_timestamp.count, ORMA_ARRAY_SIZE(deltas) + 1);
	CHECK_INT(compact->waking_pid.count, ORMA_ARRAY_SIZE(deltas) + 1);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(deltas); i++) {
		CHECK_INT(compact->switch_timestamp.items[i + 1], deltas[i]);
		CHECK_INT(compact->waking_timestamp.items[i + 1], deltas[i]);
		CHECK_INT(compact->switch_next_pid.items[i + 1], pids[i]);
		CHECK_INT(compact->waking_pid.items[i + 1], pids[i]);
	}
	close_session(&session);
}

/* Numbers that take different paths: of one byte, two, and more than the short paths know. */
static const int64_t test_states[] = {0, 1, 0x7f, 0x80, 0x100, 0x3fff, 0x4000, -1};
static const int32_t test_prios[] = {0, 120, 0x7f, 0x80, 139, 0x3fff, 0x4000, -1};
static const int32_t test_pids[] = {0,        1,        0x7f,          0x80,          256, 0x4000,
				    0x1fffff, 0x200000, (1 << 28) - 1, (1 << 28) + 5, -1};
static const int32_t test_cpus[] = {0, 3, 0x7f, 0x80, 0x3fff, 0x4000, -1};
static const uint32_t test_deltas[] = {0,      9,        0x7f,     0x80,     0x3fff,
				       0x4000, 0x1fffff, 0x200000, 0x7ffffff};

#define PICK(array)                                                                                \
	array[(random = random * 1664525 + 1013904223, (random >> 16) % ORMA_ARRAY_SIZE(array))]

/* An event of either kind, and what the columns must have of it. */
struct test_event {
	bool is_switch;
	uint64_t timestamp;
	int64_t state;
	int32_t pid, prio, cpu;
	uint8_t flags;
	char comm[16];
};

static struct test_event put_random(uint32_t random, uint64_t *now, size_t state_bytes)
{
	static const char comms[][16] = {"", "a", "worker", "worker/1:2", "fifteen letters"};
	static const uint8_t flags[] = {0, 1, 0x7f, 0x80, 0xff};
	static const bool kinds[] = {true, false};
	struct test_event event = {.is_switch = PICK(kinds)};
	event.state = PICK(test_states);
	uint32_t delta = PICK(test_deltas);
	event.pid = PICK(test_pids);
	event.prio = PICK(test_prios);
	event.cpu = PICK(test_cpus);
	event.flags = PICK(flags);
	memcpy(event.comm, PICK(comms), sizeof(event.comm));
	event.timestamp = *now += delta;
	if (event.is_switch) {
		struct test_switch record = {.common = {ID_SWITCH, 0, 0, 7},
					     .prev_state = event.state,
					     .next_pid = event.pid,
					     .next_prio = event.prio};
		memcpy(record.next_comm, event.comm, 16);
		/* With four bytes of state the rest is another field. */
		if (state_bytes == 4)
			event.state = (int32_t)event.state;
		put_event(&pages, delta, &record, sizeof(record));
	} else {
		struct test_waking record = {.common = {ID_WAKING, event.flags, 0, 7},
					     .pid = event.pid,
					     .prio = event.prio,
					     .target_cpu = event.cpu};
		memcpy(record.comm, event.comm, 16);
		put_event(&pages, delta, &record, sizeof(record));
	}
	return event;
}

/* Compares the events with the columns of all bundles. */
static void check_columns(const struct test_event *events, size_t count)
{
	struct orma_pb_ftrace_event_bundle_compact_sched *compact = bundle_at(0)->compact_sched;
	size_t bundle = 0, switch_at = 0, waking_at = 0;
	uint64_t switch_ns = 0, waking_ns = 0;
	for (size_t i = 0; i < count; i++) {
		const struct test_event *event = &events[i];
		if (switch_at == compact->switch_timestamp.count &&
		    waking_at == compact->waking_timestamp.count) {
			compact = bundle_at(++bundle)->compact_sched;
			switch_at = waking_at = 0;
			switch_ns = waking_ns = 0;
		}
		size_t at = event->is_switch ? switch_at++ : waking_at++;
		uint32_t comm = event->is_switch ? compact->switch_next_comm_index.items[at]
						 : compact->waking_comm_index.items[at];
		CHECK(comm < compact->intern_table.count);
		struct orma_str name = compact->intern_table.items[comm];
		CHECK_INT(name.size, strnlen(event->comm, 16));
		CHECK(memcmp(name.data, event->comm, name.size) == 0);
		if (event->is_switch) {
			CHECK_INT(switch_ns += compact->switch_timestamp.items[at],
				  event->timestamp);
			CHECK_INT(compact->switch_prev_state.items[at], event->state);
			CHECK_INT(compact->switch_next_pid.items[at], event->pid);
			CHECK_INT(compact->switch_next_prio.items[at], event->prio);
		} else {
			CHECK_INT(waking_ns += compact->waking_timestamp.items[at],
				  event->timestamp);
			CHECK_INT(compact->waking_pid.items[at], event->pid);
			CHECK_INT(compact->waking_prio.items[at], event->prio);
			CHECK_INT(compact->waking_target_cpu.items[at], event->cpu);
			CHECK_INT(compact->waking_common_flags.items[at], event->flags);
		}
	}
	CHECK_INT(bundle + 1, fake_packet_count);
}

/* In every second page are the same four events again and again, so that nearly all of them are known. */
static void check_random_events(size_t state_bytes)
{
	enum { PAGES = 150, EVENTS_MAX = PAGES * 100 };
	struct test_event *events = orma_base_alloc_array(EVENTS_MAX, sizeof(*events));
	uint64_t now = 5000;
	size_t count = 0;
	begin(OPTIONS(.compact_sched = true), "sched/sched_switch sched/sched_waking");
	for (uint32_t page = 0; page < PAGES; page++) {
		new_page(&pages, now);
		for (uint32_t i = 0; pages.used + 68 <= 4080; i++)
			events[count++] =
				put_random(page % 2 ? page * 1000 + i : page * 1000 + i % 4, &now,
					   state_bytes);
	}
	drain_pages(&session, &pages);
	check_columns(events, count);
	orma_base_free(events);
	close_session(&session);
}

ORMA_TEST(columns_have_every_number_whatever_was_before)
{
	check_random_events(8);
}

ORMA_TEST(columns_have_every_number_of_a_format_that_is_not_the_usual_one)
{
	put_tracefs();
	fake_put("t/events/sched/sched_switch/format",
		 FORMAT("sched_switch", 314,
			FIELD("char prev_comm[16]", 8, 16, 0) FIELD("pid_t prev_pid", 24, 4, 1)
				FIELD("int prev_prio", 28, 4, 1) FIELD("long prev_state", 32, 4, 1)
					FIELD("int more", 36, 4, 1)
						FIELD("char next_comm[16]", 40, 16, 0)
							FIELD("pid_t next_pid", 56, 4, 1)
								FIELD("int next_prio", 60, 4, 1)));
	check_random_events(4);
}

/* A kernel may add a field behind the others. */
ORMA_TEST(longer_records_are_in_columns)
{
	begin(OPTIONS(.compact_sched = true), "sched/sched_switch sched/sched_waking");
	new_page(&pages, 1000);
	for (int i = 0; i < 3; i++) {
		struct {
			struct test_switch event;
			uint64_t more;
		} longer = {{.common = {ID_SWITCH, 0, 0, 7}, .next_pid = 5, .next_prio = 120},
			    UINT64_MAX};
		put_event(&pages, 10, &longer, sizeof(longer));
		struct {
			struct test_waking event;
			uint32_t more;
		} waking = {{.common = {ID_WAKING, 0, 0, 7}, .pid = 6, .prio = 120}, 1};
		put_event(&pages, 20, &waking, sizeof(waking));
	}
	drain_pages(&session, &pages);
	has(events_of(0), "switch_timestamp: 1010 switch_timestamp: 30 switch_timestamp: 30 "
			  "switch_prev_state: 0 switch_prev_state: 0 switch_prev_state: 0 "
			  "switch_next_pid: 5 switch_next_pid: 5 switch_next_pid: 5 ");
	has(events_of(0), "waking_timestamp: 1030 waking_timestamp: 30 waking_timestamp: 30 "
			  "waking_pid: 6 waking_pid: 6 waking_pid: 6 ");
	close_session(&session);
}

/* All of its fields are zero, as is what is known of tasks at first. */
ORMA_TEST(a_task_of_zeros_is_not_taken_for_one_that_is_known)
{
	begin(OPTIONS(.compact_sched = true), "sched/sched_switch sched/sched_waking");
	new_page(&pages, 1000);
	put_switch(&pages, 1, 0, "", 1, "first");
	struct test_switch zeros = {.common = {ID_SWITCH, 0, 0, 7}};
	put_event(&pages, 1, &zeros, sizeof(zeros));
	put_event(&pages, 1, &zeros, sizeof(zeros));
	drain_pages(&session, &pages);
	has(events_of(0), "switch_next_pid: 1 switch_next_pid: 0 switch_next_pid: 0 "
			  "switch_next_prio: 110 switch_next_prio: 0 switch_next_prio: 0 "
			  "intern_table: \"first\" intern_table: \"\" switch_next_comm_index: 0 "
			  "switch_next_comm_index: 1 switch_next_comm_index: 1");
	close_session(&session);
}
