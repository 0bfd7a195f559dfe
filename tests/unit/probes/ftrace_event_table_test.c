/* SPDX-License-Identifier: Apache-2.0
 * ftrace_event_table_test.c - the table of events that sessions ask for by name and records by id.
 */
#include "ftrace_sink_fixture.h"

ORMA_TEST(events_are_found_by_group_and_name)
{
	const struct orma_ftrace_event *event, *again;
	struct orma_buf names = {0};
	put_tracefs();
	fake_put("t/events/a_group/sched_waking/format", FORMAT_WAKING);
	open_session(&session);
	CHECK_INT(orma_ftrace_events_load(session.events, "sched", "sched_switch", &event), 0);
	CHECK_INT(orma_ftrace_events_load(session.events, "sched", "sched_switch", &again), 0);
	CHECK(event == again);
	CHECK(orma_ftrace_events_by_id(session.events, ID_SWITCH) == event);
	CHECK(!orma_ftrace_events_by_id(session.events, ID_WAKING));
	CHECK(!orma_ftrace_events_by_id(session.events, 65535));
	CHECK_INT(orma_ftrace_events_load(session.events, "sched", "none", &event), -ENOENT);
	CHECK_INT(orma_ftrace_events_load(session.events, "..", "none", &event), -EINVAL);
	CHECK_INT(orma_ftrace_events_load(session.events, "sched/x", "none", &event), -EINVAL);
	CHECK_INT(orma_ftrace_events_load(session.events, "sched", "", &event), -EINVAL);
	fake_put("t/events/sched/broken/format", "name: broken\n");
	CHECK_INT(orma_ftrace_events_load(session.events, "sched", "broken", &event), -EBADMSG);
	CHECK_INT(orma_ftrace_events_names_in(session.events, "task", &names), 0);
	CHECK_INT(names.size, strlen("task_rename") + strlen("task_newtask") + 2);
	CHECK_INT(orma_ftrace_events_names_in(session.events, "none", &names), -ENOENT);
	orma_base_buf_done(&names);
	close_session(&session);
}

ORMA_TEST(the_group_of_an_event_is_the_catalogues_or_that_of_the_kernels_list)
{
	const char *group;

	put_tracefs();
	fake_put("t/events/ftrace/print/format", FORMAT_PRINT);
	fake_put("t/available_events",
		 "a_group:sched_waking\nperfetto_kprobes:made_up\nvendor:made_up\n"
		 "other:made_up\nno colon\n:\nx:cut");
	open_session(&session);
	CHECK_INT(orma_ftrace_events_group_of(session.events, "sched_waking", &group), 0);
	CHECK_STR(group, "sched");
	/* The list does not have it. */
	CHECK_INT(orma_ftrace_events_group_of(session.events, "print", &group), 0);
	CHECK_STR(group, "ftrace");
	CHECK_INT(orma_ftrace_events_group_of(session.events, "made_up", &group), 0);
	CHECK_STR(group, "vendor");
	/* The kernel does not have it where the catalogue has it. */
	CHECK_INT(orma_ftrace_events_group_of(session.events, "sched_wakeup", &group), -ENOENT);
	CHECK_INT(orma_ftrace_events_group_of(session.events, "cut", &group), -ENOENT);
	CHECK_INT(orma_ftrace_events_group_of(session.events, "", &group), -EINVAL);
	/* The list is read once for each set-up of a session. */
	fake_put("t/available_events", "mine:sched_wakeup\n");
	CHECK_INT(orma_ftrace_events_group_of(session.events, "sched_wakeup", &group), -ENOENT);
	orma_ftrace_events_forget_names(session.events);
	CHECK_INT(orma_ftrace_events_group_of(session.events, "sched_wakeup", &group), 0);
	CHECK_STR(group, "mine");
	close_session(&session);
}

ORMA_TEST(generic_events_of_two_tables_have_different_numbers)
{
	struct test_session other = {0};
	const struct orma_ftrace_event *event, *twin;

	open_session(&session);
	open_session(&other);
	CHECK_INT(orma_ftrace_events_load(session.events, "vendor", "made_up", &event), 0);
	CHECK_INT(orma_ftrace_events_load(other.events, "vendor", "made_up", &twin), 0);
	CHECK(event->encoding == ORMA_FTRACE_GENERIC && twin->encoding == ORMA_FTRACE_GENERIC);
	CHECK(event->field_id != twin->field_id);
	close_session(&session);
	close_session(&other);
}

ORMA_TEST(an_id_that_the_kernel_gives_away_again_is_the_new_event)
{
	const struct orma_ftrace_event *event;
	put_tracefs();
	fake_put("t/events/kprobes/one/format", FORMAT("one", 2000, FIELD("u32 x", 8, 4, 0)));
	fake_put("t/events/kprobes/two/format", FORMAT("two", 2000, FIELD("u64 x", 8, 8, 0)));
	open_session(&session);
	CHECK_INT(orma_ftrace_events_load(session.events, "kprobes", "one", &event), 0);
	CHECK_INT(orma_ftrace_events_load(session.events, "kprobes", "two", &event), 0);
	CHECK_STR(orma_ftrace_events_by_id(session.events, 2000)->name, "two");
	orma_ftrace_events_unload(session.events, 2000);
	CHECK(!orma_ftrace_events_by_id(session.events, 2000));
	orma_ftrace_events_unload(session.events, 2000);
	CHECK_INT(orma_ftrace_events_load(session.events, "kprobes", "one", &event), 0);
	CHECK_INT(event->field_id, ORMA_FTRACE_GENERIC_FIELD_ID + 2);
	close_session(&session);
}

static void put_values(uint16_t id)
{
	struct __attribute__((packed)) {
		struct test_common common;
		uint32_t x, y;
	} event = {{id, 0, 0, 5}, 1, 2};

	put_event(&pages, 1, &event, sizeof(event));
}

ORMA_TEST(an_event_that_the_kernel_has_replaced_reaches_only_those_who_want_the_new_one)
{
	put_tracefs();
	fake_capture_log();
	fake_put("t/events/kprobes/one/format", FORMAT("one", 2000, FIELD("u32 x", 8, 4, 0)));
	fake_put("t/events/kprobes/two/format", FORMAT("two", 2001, FIELD("u32 x", 8, 4, 0)));
	open_session(&session);
	struct orma_ftrace_sink_options options = {.compact_sched = true};
	struct orma_ftrace_sink *first = add_sink(&session, options);
	struct orma_ftrace_sink *second = add_sink(&session, options);
	want(&session, first, "kprobes", "one");
	want(&session, first, "kprobes", "two");
	want(&session, first, "sched", "sched_switch");
	/* The same name with another format; the id of one event given to another, also that of the columns. */
	fake_put("t/events/kprobes/one/format", FORMAT("one", 2000, FIELD("u32 y", 12, 4, 0)));
	want(&session, second, "kprobes", "one");
	fake_put("t/events/kprobes/new/format", FORMAT("new", 2001, FIELD("u32 x", 8, 4, 0)));
	want(&session, second, "kprobes", "new");
	fake_put("t/events/kprobes/odd/format", FORMAT("odd", 314, FIELD("u32 x", 8, 4, 0)));
	want(&session, second, "sched", "sched_waking");
	want(&session, second, "kprobes", "odd");
	CHECK(!orma_ftrace_sink_wants(first, 2000) && !orma_ftrace_sink_wants(first, 2001));
	CHECK(!orma_ftrace_sink_wants(first, ID_SWITCH));
	CHECK(fake_log_has("replaced the event kprobes/one") &&
	      fake_log_has("replaced the event kprobes/two"));
	new_page(&pages, 0);
	put_values(2000);
	put_values(2001);
	put_values(314);
	drain_pages(&session, &pages);
	CHECK_INT(fake_packet_count, 1);
	CHECK_INT(fake_packets[0].idx, 1);
	CHECK_INT(bundle_at(0)->event.count, 3);
	has(events_of(0), "event_name: \"one\" field { name: \"y\" uint_value: 2 }");
	has(events_of(0), "event_name: \"new\" field { name: \"x\" uint_value: 1 }");
	has(events_of(0), "event_name: \"odd\" field { name: \"x\" uint_value: 1 }");
	/* An event that is gone cannot be wanted again; one that moved to another id can. */
	fake_remove("t/events/kprobes/new/format");
	const struct orma_ftrace_event *event;
	CHECK_INT(orma_ftrace_events_load(session.events, "kprobes", "new", &event), -ENOENT);
	fake_put("t/events/kprobes/one/format", FORMAT("one", 2002, FIELD("u32 y", 12, 4, 0)));
	want(&session, first, "kprobes", "one");
	CHECK(orma_ftrace_sink_wants(first, 2002) && !orma_ftrace_sink_wants(second, 2000));
	CHECK(!orma_ftrace_events_by_id(session.events, 2000));
	close_session(&session);
}
