/* SPDX-License-Identifier: Apache-2.0
 * ftrace_sink_test.c - raw pages become bundles.
 */
#include <limits.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "ftrace_sink_fixture.h"
#include "probes/ftrace/compact_sched.h"
#include "schema/gen/ftrace_config.pb.h"
#include "schema/gen/ftrace_event.pb.h"
#include "schema/gen/ftrace_print.pb.h"

ORMA_TEST(a_switch_becomes_a_typed_event)
{
	begin(OPTIONS(0), "sched/sched_switch");
	new_page(&pages, 1000000000);
	put_switch(&pages, 500, 7, "bash", 1234, "a name of 16 by.");
	put_switch(&pages, 250, 1234, "a name of 16 by.", -1, "swapper/0");
	CHECK_INT(drain_pages(&session, &pages), 1);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(
		fake_text(bundle_at(0)),
		"cpu: 2 "
		"event { timestamp: 1000000500 pid: 7 sched_switch { prev_comm: \"bash\" prev_pid: "
		"7 "
		"prev_prio: 120 prev_state: 1 next_comm: \"a name of 16 by.\" next_pid: 1234 "
		"next_prio: 110 } } "
		"event { timestamp: 1000000750 pid: 1234 sched_switch { prev_comm: \"a name of 16 "
		"by.\" prev_pid: 1234 prev_prio: 120 prev_state: 1 next_comm: \"swapper/0\" "
		"next_pid: "
		"-1 next_prio: 110 } } "
		"previous_bundle_end_timestamp: 0");
	close_session(&session);
}

ORMA_TEST(compact_sched_has_columns)
{
	begin(OPTIONS(.compact_sched = true), "sched/sched_waking sched/sched_switch");
	new_page(&pages, 1000000000);
	put_waking(&pages, 100, 0, 1234, "worker");
	put_switch(&pages, 400, 0, "swapper/0", 1234, "worker");
	put_waking(&pages, 10, 1234, 9, "other");
	put_switch(&pages, 240, 1234, "worker", 0, "swapper/0");
	drain_pages(&session, &pages);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(fake_text(bundle_at(0)),
		  "cpu: 2 compact_sched { "
		  "switch_timestamp: 1000000500 switch_timestamp: 250 "
		  "switch_prev_state: 1 switch_prev_state: 1 "
		  "switch_next_pid: 1234 switch_next_pid: 0 "
		  "switch_next_prio: 110 switch_next_prio: 110 "
		  "intern_table: \"worker\" intern_table: \"other\" intern_table: \"swapper/0\" "
		  "switch_next_comm_index: 0 switch_next_comm_index: 2 "
		  "waking_timestamp: 1000000100 waking_timestamp: 410 "
		  "waking_pid: 1234 waking_pid: 9 "
		  "waking_target_cpu: 3 waking_target_cpu: 3 "
		  "waking_prio: 100 waking_prio: 100 "
		  "waking_comm_index: 0 waking_comm_index: 1 "
		  "waking_common_flags: 1 waking_common_flags: 1 "
		  "} previous_bundle_end_timestamp: 0");
	close_session(&session);
}

/* ---- typed events ---- */

ORMA_TEST(arrays_texts_of_any_length_and_dynamic_texts_are_typed_fields)
{
	struct orma_ftrace_sink *sink =
		begin(OPTIONS(0), "raw_syscalls/sys_enter ftrace/print sched/sched_process_exec");
	new_page(&pages, 0);
	struct __attribute__((packed)) {
		struct test_common common;
		int64_t id;
		uint64_t args[6];
	} enter = {{ID_SYS_ENTER, 0, 0, 5}, -1, {1, 2, UINT64_MAX, 0, 5, 6}};
	put_event(&pages, 1, &enter, sizeof(enter));
	struct __attribute__((packed)) {
		struct test_common common;
		uint64_t ip;
		char text[300];
	} print = {{ID_PRINT, 0, 0, 5}, 9, {0}};
	memset(print.text, 'x', 290);
	put_event(&pages, 1, &print, sizeof(print));
	struct __attribute__((packed)) {
		struct test_common common;
		uint16_t offset, size;
		int32_t pid, old_pid;
		char name[12];
	} exec = {{ID_EXEC, 0, 0, 5}, 20, 9, 6, 7, "/bin/ls"};
	put_event(&pages, 1, &exec, sizeof(exec));
	exec.offset = 25;
	put_event(&pages, 1, &exec, sizeof(exec)); /* ends outside of the record */
	drain_pages(&session, &pages);
	struct orma_pb_ftrace_event_bundle *bundle = bundle_at(0);
	CHECK_INT(bundle->event.count, 4);
	CHECK_STR(fake_text(bundle->event.items[0]->sys_enter),
		  "id: -1 args: 1 args: 2 args: 18446744073709551615 args: 0 args: 5 args: 6");
	CHECK_INT(bundle->event.items[1]->print->buf.size, 290);
	/* The address of the code that wrote it is a secret. */
	CHECK(!orma_pb_print_ftrace_event_has_ip(bundle->event.items[1]->print));
	CHECK_STR(fake_text(bundle->event.items[2]->sched_process_exec),
		  "filename: \"/bin/ls\" pid: 6 old_pid: 7");
	CHECK_STR(fake_text(bundle->event.items[3]->sched_process_exec),
		  "filename: \"\" pid: 6 old_pid: 7");
	CHECK_INT(bundle->event.items[3]->timestamp, 4);
	CHECK_INT(orma_ftrace_sink_parse_errors(sink), 0);
	close_session(&session);
}

ORMA_TEST(a_changed_format_keeps_what_fits)
{
	put_tracefs();
	/* Moved, of other sizes, new fields, and prev_state of a type that is not a number. */
	fake_put("t/events/sched/sched_switch/format",
		 FORMAT("sched_switch", 314,
			FIELD("u64 new_one", 8, 8, 0) FIELD("char next_comm[8]", 16, 8, 0)
				FIELD("short next_pid", 24, 2, 1) FIELD("u8 next_prio", 26, 1, 0)
					FIELD("struct state prev_state", 28, 12, 0)));
	struct orma_ftrace_sink *sink = begin(OPTIONS(.compact_sched = true), "");
	CHECK(!orma_ftrace_events_fit_compact_sched(session.events));
	want(&session, sink, "sched", "sched_switch");
	struct __attribute__((packed)) {
		struct test_common common;
		uint64_t new_one;
		char comm[8];
		int16_t pid;
		uint8_t prio, padding, state[12];
	} event = {{ID_SWITCH, 0, 0, 5}, 1, "12345678", -2, 200, 0, {1}};
	memcpy(event.comm, "12345678", 8);
	new_page(&pages, 0);
	put_event(&pages, 1, &event, sizeof(event));
	drain_pages(&session, &pages);
	CHECK_STR(fake_text(bundle_at(0)->event.items[0]->sched_switch),
		  "next_comm: \"12345678\" next_pid: -2 next_prio: 200");
	close_session(&session);
}

ORMA_TEST(an_event_without_a_field_in_common_is_generic)
{
	const struct orma_ftrace_event *event;
	put_tracefs();
	fake_put("t/events/sched/sched_waking/format",
		 FORMAT("sched_waking", 317, FIELD("u64 other", 8, 8, 0)));
	fake_put("t/events/other/sched_switch/format",
		 FORMAT("sched_switch", 1999, FIELD("pid_t next_pid", 8, 4, 1)));
	open_session(&session);
	CHECK_INT(orma_ftrace_events_load(session.events, "sched", "sched_waking", &event), 0);
	CHECK_INT(event->encoding, ORMA_FTRACE_GENERIC);
	CHECK_INT(event->field_id, ORMA_FTRACE_GENERIC_FIELD_ID);
	/* The same name in another group. */
	CHECK_INT(orma_ftrace_events_load(session.events, "other", "sched_switch", &event), 0);
	CHECK_INT(event->encoding, ORMA_FTRACE_GENERIC);
	CHECK_INT(event->field_id, ORMA_FTRACE_GENERIC_FIELD_ID + 1);
	CHECK_INT(orma_ftrace_events_load(session.events, "sched", "sched_switch", &event), 0);
	CHECK_INT(event->encoding, ORMA_FTRACE_TYPED);
	CHECK_INT(event->field_id, 4);
	close_session(&session);
}

/* ---- generic events ---- */

struct __attribute__((packed)) made_up {
	struct test_common common;
	uint32_t count;
	int8_t level;
	uint8_t padding[3];
	uint16_t label_offset, label_size;
	uint8_t mac[6];
	uint16_t ports[3];
	uint8_t whole[12];
	uint16_t words_offset, words_size;
	char label[8];
	uint32_t words[2];
};

static void put_made_up(void)
{
	struct made_up event = {
		.common = {ID_GENERIC, 0, 0, 5},
		.count = 7,
		.level = -3,
		.label_offset = offsetof(struct made_up, label) - 20, /* from the field's end */
		.label_size = 8,
		.mac = {1, 2, 3, 4, 5, 6},
		.ports = {80, 443, 65535},
		.whole = {0xff},
		.words_offset = offsetof(struct made_up, words),
		.words_size = 8,
		.label = "label",
		.words = {1, UINT32_MAX},
	};
	put_event(&pages, 1, &event, sizeof(event));
}

/* Prints the event's own message as unknown fields. */
static const char *generic_fields(const struct orma_pb_ftrace_event *event)
{
	CHECK(event->base.unknown != NULL);
	return fake_text(event);
}

ORMA_TEST(a_generic_event_is_described_by_its_bundle)
{
	begin(OPTIONS(.describe_generic = true), "vendor/made_up");
	for (int i = 0; i < 2; i++) {
		new_page(&pages, 0);
		put_made_up();
		put_made_up();
		set_commit(&pages, UINT64_C(1) << 31);
	}
	drain_pages(&session, &pages);
	/* Each of the two pages begins a bundle, because events were lost before. */
	CHECK_INT(fake_packet_count, 2);
	for (size_t i = 0; i < 2; i++) {
		struct orma_pb_ftrace_event_bundle *bundle = bundle_at(i);
		CHECK_INT(bundle->event.count, 2);
		CHECK_STR(
			generic_fields(bundle->event.items[1]),
			"timestamp: 2 pid: 5 65536 { 1: 7 2: 18446744073709551613 5: 80 5: 443 5: "
			"65535 3: \"label\" 4: \"\\001\\002\\003\\004\\005\\006\" 6: "
			"\"\\377\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\\000\" 7: 1 7: "
			"4294967295 }");
		CHECK_INT(bundle->generic_event_descriptors.count, 1);
		CHECK_INT(bundle->generic_event_descriptors.items[0]->field_id, 65536);
		CHECK(orma_base_str_is(bundle->generic_event_descriptors.items[0]->group_name,
				       "vendor"));
	}
	/* DescriptorProto: name, and fields with name, number, label and type. */
	static const char expected[] = "\n\7made_up"
				       "\x12\x13\n\5count\x18\1\x20\1\x28\4";
	struct orma_str descriptor =
		bundle_at(0)->generic_event_descriptors.items[0]->event_descriptor;
	CHECK(descriptor.size > 20);
	CHECK_MEM(descriptor.data, 9, expected, 9);
	CHECK(memmem(descriptor.data, descriptor.size, "\n\5count\x18\1\x20\1\x28\4", 13));
	CHECK(memmem(descriptor.data, descriptor.size, "\n\5level\x18\2\x20\1\x28\3", 13));
	CHECK(memmem(descriptor.data, descriptor.size, "\n\5label\x18\3\x20\1\x28\x9", 13));
	CHECK(memmem(descriptor.data, descriptor.size, "\n\3mac\x18\4\x20\1\x28\xc", 11));
	CHECK(memmem(descriptor.data, descriptor.size, "\n\5ports\x18\5\x20\3\x28\4", 13));
	CHECK(memmem(descriptor.data, descriptor.size, "\n\5whole\x18\6\x20\1\x28\xc", 13));
	CHECK(memmem(descriptor.data, descriptor.size, "\n\5words\x18\7\x20\3\x28\4", 13));
	close_session(&session);
}

static void put_wide(uint16_t count)
{
	struct __attribute__((packed)) {
		struct test_common common;
		uint16_t offset, size;
		int16_t values[2000];
	} event = {.common = {1301, 0, 0, 5}, .offset = 12, .size = (uint16_t)(2 * count)};

	CHECK(count <= 2000);
	memset(event.values, 0xff, sizeof(event.values));
	put_event(&pages, 1, &event, 12u + 2u * count);
}

/* Events that grow when they are encoded fill a bundle up to a size that depends on `count`; then a described event follows.
 * Returns how many bundles there are. */
static size_t describe_behind(uint16_t count)
{
	char field[16];
	put_tracefs();
	fake_put("t/events/vendor/wide/format",
		 FORMAT("wide", 1301, FIELD("__data_loc s16[] values", 8, 4, 0)));
	struct orma_ftrace_sink *sink = begin(OPTIONS(.describe_generic = true), "vendor/wide");
	snprintf(field, sizeof(field), " %u {",
		 want(&session, sink, "vendor", "made_up")->field_id);
	for (int i = 0; i < 12; i++) {
		new_page(&pages, 0);
		put_wide(1900);
	}
	new_page(&pages, 0);
	put_wide(count);
	put_made_up();
	put_made_up();
	drain_pages(&session, &pages);
	size_t bundle_count = fake_packet_count, event_count = 0;
	for (size_t i = 0; i < bundle_count; i++) {
		struct orma_pb_ftrace_event_bundle *bundle = bundle_at(i);
		bool has_event = false, is_described = false;
		for (size_t j = 0; j < bundle->event.count; j++)
			if (strstr(fake_text(bundle->event.items[j]), field)) {
				has_event = true;
				event_count++;
			}
		for (size_t j = 0; j < bundle->generic_event_descriptors.count; j++) {
			struct orma_str type =
				bundle->generic_event_descriptors.items[j]->event_descriptor;
			is_described = is_described || memmem(type.data, type.size, "made_up", 7);
		}
		CHECK(has_event == is_described);
	}
	CHECK_INT(event_count, 2);
	close_session(&session);
	return bundle_count;
}

ORMA_TEST(a_generic_event_is_in_the_bundle_that_describes_it_wherever_that_ends)
{
	bool was_behind = false, was_before = false;

	for (uint16_t count = 900; count < 1050; count = (uint16_t)(count + 5)) {
		size_t bundle_count = describe_behind(count);
		was_before = was_before || bundle_count == 1;
		was_behind = was_behind || bundle_count == 2;
	}
	CHECK(was_before && was_behind);
}

ORMA_TEST(the_legacy_form_names_everything_in_each_event)
{
	begin(OPTIONS(0), "vendor/made_up");
	new_page(&pages, 0);
	put_made_up();
	drain_pages(&session, &pages);
	struct orma_pb_ftrace_event_bundle *bundle = bundle_at(0);
	CHECK_INT(bundle->generic_event_descriptors.count, 0);
	CHECK_STR(fake_text(bundle->event.items[0]),
		  "timestamp: 1 pid: 5 generic { event_name: \"made_up\" field { name: \"count\" "
		  "uint_value: 7 } field { name: \"level\" int_value: -3 } field { name: \"label\" "
		  "str_value: \"label\" } }");
	close_session(&session);
}

/* ---- bundles ---- */

ORMA_TEST(lost_events_begin_a_bundle_that_says_so)
{
	begin(OPTIONS(.compact_sched = true), "sched/sched_switch");
	new_page(&pages, 1000);
	put_switch(&pages, 1, 1, "a", 2, "b");
	new_page(&pages, 2000);
	put_switch(&pages, 1, 2, "b", 1, "a");
	set_commit(&pages, UINT64_C(1) << 31);
	CHECK_INT(drain_pages(&session, &pages), 2);
	CHECK_INT(fake_packet_count, 2);
	CHECK(!bundle_at(0)->lost_events);
	CHECK_INT(bundle_at(0)->previous_bundle_end_timestamp, 0);
	CHECK(bundle_at(1)->lost_events);
	CHECK_INT(bundle_at(1)->previous_bundle_end_timestamp, 1001);
	new_page(&pages, 5000);
	put_switch(&pages, 1, 1, "a", 2, "b");
	drain_pages(&session, &pages);
	CHECK_INT(bundle_at(2)->previous_bundle_end_timestamp, 2001);
	CHECK(!bundle_at(2)->lost_events);
	close_session(&session);
}

ORMA_TEST(a_page_that_was_left_half_empty_before_a_large_event_is_not_the_last)
{
	struct __attribute__((packed)) {
		struct test_common common;
		uint64_t ip;
		char text[3900];
	} print = {.common = {ID_PRINT, 0, 0, 5}};
	begin(OPTIONS(0), "ftrace/print");
	memset(print.text, 'x', sizeof(print.text) - 1);
	for (int i = 0; i < 80; i++) {
		new_page(&pages, 1000);
		put_event(&pages, 1, &print, i % 2 ? sizeof(print) : 24);
	}
	/* Two in a row are what the kernel is writing. */
	new_page(&pages, 1000);
	put_event(&pages, 1, &print, 24);
	for (int i = 0; i < 5; i++) {
		new_page(&pages, 1000);
		put_event(&pages, 1, &print, 24);
	}
	CHECK_INT(drain_pages(&session, &pages), 82);
	close_session(&session);
}

ORMA_TEST(wakings_alone_are_messages)
{
	struct orma_ftrace_sink *sink = begin(OPTIONS(.compact_sched = true), "sched/sched_waking");
	CHECK(!orma_ftrace_sink_wants(sink, ID_SWITCH));
	CHECK(orma_ftrace_sink_wants(sink, ID_WAKING));
	new_page(&pages, 1000);
	put_waking(&pages, 1, 0, 77, "woken");
	put_switch(&pages, 1, 0, "", 77, "woken");
	drain_pages(&session, &pages);
	CHECK_STR(events_of(0),
		  "cpu: 2 event { timestamp: 1001 pid: 0 sched_waking { comm: \"woken\" pid: 77 "
		  "prio: 100 target_cpu: 3 } } previous_bundle_end_timestamp: 0");
	close_session(&session);
}

ORMA_TEST(two_sessions_get_what_each_wants)
{
	struct orma_ftrace_sink *first = begin(OPTIONS(.compact_sched = true), "");
	struct orma_ftrace_sink *second = add_sink(&session, OPTIONS(0));
	struct orma_ftrace_sink *third = add_sink(&session, OPTIONS(0));
	want(&session, first, "sched", "sched_switch");
	want(&session, second, "sched", "sched_waking");
	want(&session, second, "sched", "sched_switch");
	want(&session, third, "ftrace", "print");
	new_page(&pages, 1000);
	put_waking(&pages, 1, 0, 77, "woken");
	put_switch(&pages, 1, 0, "", 77, "woken");
	drain_pages(&session, &pages);
	CHECK_INT(fake_packet_count, 2);
	CHECK_INT(fake_packets[0].idx, 0);
	CHECK_INT(bundle_at(0)->event.count, 0);
	CHECK_INT(bundle_at(0)->compact_sched->switch_next_pid.items[0], 77);
	CHECK_INT(bundle_at(0)->compact_sched->waking_pid.count, 0);
	CHECK_INT(fake_packets[1].idx, 1);
	CHECK_INT(bundle_at(1)->event.count, 2);
	CHECK(!bundle_at(1)->compact_sched);
	close_session(&session);
}

ORMA_TEST(bundles_have_the_pair_of_clocks_unless_the_clock_is_boot)
{
	begin(OPTIONS(0), "sched/sched_switch");
	session.drain.clock = (struct orma_ftrace_clock_pair){
		ORMA_PB_FTRACE_CLOCK_FTRACE_CLOCK_LOCAL, 5000, 7000};
	new_page(&pages, 1000);
	put_switch(&pages, 1, 0, "", 77, "woken");
	drain_pages(&session, &pages);
	has(events_of(0), "ftrace_clock: FTRACE_CLOCK_LOCAL ftrace_timestamp: 5000 boot_timestamp: "
			  "7000");
	close_session(&session);
}

/* ---- errors ---- */

ORMA_TEST(a_short_record_is_an_error_and_the_others_are_kept)
{
	struct orma_ftrace_sink *first = begin(OPTIONS(.compact_sched = true), "");
	struct orma_ftrace_sink *second = add_sink(&session, OPTIONS(0));
	want(&session, first, "sched", "sched_switch");
	want(&session, second, "sched", "sched_switch");
	new_page(&pages, 1000);
	struct test_common event = {ID_SWITCH, 0, 0, 1};
	put_event(&pages, 1, &event, sizeof(event));
	put_switch(&pages, 1, 0, "", 77, "woken");
	drain_pages(&session, &pages);
	has(events_of(0), "switch_next_pid: 77");
	has(events_of(0), "error { timestamp: 1001 status: FTRACE_STATUS_SHORT_COMPACT_EVENT }");
	has(events_of(1), "next_pid: 77");
	has(events_of(1), "error { timestamp: 1001 status: FTRACE_STATUS_INVALID_EVENT }");
	CHECK_INT(orma_ftrace_sink_parse_errors(first), 1u << 16);
	CHECK_INT(orma_ftrace_sink_parse_errors(second), 1u << 17);
	close_session(&session);
}

ORMA_TEST(a_broken_page_is_reported_and_kept_if_asked)
{
	begin(OPTIONS(.keep_broken_pages = true), "sched/sched_switch");
	new_page(&pages, 1000);
	put_switch(&pages, 1, 0, "", 77, "woken");
	put_u32(&pages, DELTA(20, 1));
	set_commit(&pages, 0);
	drain_pages(&session, &pages);
	struct orma_pb_ftrace_event_bundle *bundle = bundle_at(0);
	CHECK_INT(bundle->event.count, 1);
	CHECK_INT(bundle->error.count, 1);
	CHECK_INT(bundle->error.items[0]->status, ORMA_FTRACE_STATUS(ABI_END_OVERFLOW));
	CHECK_INT(bundle->error.items[0]->timestamp, 1000);
	CHECK_INT(bundle->broken_abi_trace_page.size, 4096);
	close_session(&session);
}

ORMA_TEST(a_partial_page_and_an_unreadable_buffer_are_counted)
{
	struct orma_ftrace_cpu_reader *reader;
	struct orma_ftrace_sink *sink = begin(OPTIONS(0), "");
	fake_put("t/per_cpu/cpu0/trace_pipe_raw", "too short");
	CHECK_INT(orma_ftrace_cpu_reader_new(tracefs_path(), 0, &reader), 0);
	CHECK_INT(orma_ftrace_cpu_reader_drain(reader, &session.drain, 8, false).pages, 0);
	orma_ftrace_cpu_reader_free(reader);
	CHECK_INT(orma_ftrace_sink_parse_errors(sink), 1u << ORMA_FTRACE_STATUS(PARTIAL_PAGE_READ));
	fake_put("t/per_cpu/cpu1/trace_pipe_raw/is_a_folder", "");
	CHECK_INT(orma_ftrace_cpu_reader_new(tracefs_path(), 1, &reader), 0);
	CHECK_INT(orma_ftrace_cpu_reader_drain(reader, &session.drain, 8, false).pages, 0);
	orma_ftrace_cpu_reader_free(reader);
	CHECK_INT(orma_ftrace_sink_parse_errors(sink),
		  1u << ORMA_FTRACE_STATUS(PARTIAL_PAGE_READ) |
			  1u << ORMA_FTRACE_STATUS(UNEXPECTED_READ_ERROR));
	CHECK_INT(orma_ftrace_cpu_reader_new(tracefs_path(), 3, &reader), -ENOENT);
	CHECK_INT(fake_packet_count, 0);
	close_session(&session);
}

/* ---- tasks, inodes, addresses, kprobes, prints ---- */

static struct orma_buf seen;

static void on_task(void *ctx, int32_t tid, struct orma_str comm)
{
	CHECK(ctx == &seen);
	orma_base_buf_printf(&seen, "task %d %.*s;", tid, (int)comm.size, comm.data);
}

static void on_task_renamed(void *ctx, int32_t tid, struct orma_str comm)
{
	CHECK(ctx == &seen);
	orma_base_buf_printf(&seen, "rename %d %.*s;", tid, (int)comm.size, comm.data);
}

static void on_new_task(void *ctx, int32_t parent_tid, int32_t tid, uint64_t clone_flags,
			struct orma_str comm)
{
	CHECK(ctx == &seen);
	orma_base_buf_printf(&seen, "new %d of %d %llx %.*s;", tid, parent_tid,
			     (unsigned long long)clone_flags, (int)comm.size, comm.data);
}

static void on_inode(void *ctx, uint64_t device, uint64_t inode)
{
	CHECK(ctx == &seen);
	orma_base_buf_printf(&seen, "inode %llx %llu;", (unsigned long long)device,
			     (unsigned long long)inode);
}

ORMA_TEST(tasks_renames_and_inodes_are_reported_once_per_drain)
{
	begin(OPTIONS(.ctx = &seen, .on_task = on_task, .on_task_renamed = on_task_renamed,
		      .on_new_task = on_new_task, .on_inode = on_inode),
	      "sched/sched_switch task/task_rename task/task_newtask "
	      "filemap/mm_filemap_add_to_page_cache");
	new_page(&pages, 1000);
	put_switch(&pages, 1, 5, "five", 0, "swapper/0");
	put_switch(&pages, 1, 0, "swapper/0", 5, "five");
	put_switch(&pages, 1, 5, "five", 5 + 1024, "same slot");
	struct __attribute__((packed)) {
		struct test_common common;
		int32_t pid;
		char old_name[16], new_name[16];
		int16_t score;
	} rename = {{ID_RENAME, 0, 0, 9}, 9, "before", "after", 0};
	put_event(&pages, 1, &rename, 46);
	struct __attribute__((packed)) {
		struct test_common common;
		int32_t pid;
		char comm[16];
		uint64_t clone_flags;
	} new_task = {{ID_NEWTASK, 0, 0, 9}, 10, "child", 0x10f00};
	put_event(&pages, 1, &new_task, sizeof(new_task));
	struct __attribute__((packed)) {
		struct test_common common;
		uint64_t pfn, inode, index;
		uint32_t device;
	} inode = {{ID_INODE, 0, 0, 9}, 1, 4711, 3, 8u << 20 | 17};
	put_event(&pages, 1, &inode, sizeof(inode));
	put_event(&pages, 1, &inode, sizeof(inode));
	drain_pages(&session, &pages);
	CHECK_STR(orma_base_buf_cstr(&seen),
		  "task 5 ;task 5 five;task 1029 same slot;task 9 ;rename 9 after;new 10 of 9 "
		  "10f00 child;inode 811 4711;");
	has(events_of(0), "i_ino: 4711");
	has(events_of(0), "s_dev: 2065");
	orma_base_buf_done(&seen);
	close_session(&session);
}

static void on_fd(void *ctx, int32_t tid, uint32_t fd)
{
	CHECK(ctx == &seen);
	orma_base_buf_printf(&seen, "fd %d %u;", tid, fd);
}

ORMA_TEST(descriptors_that_system_calls_return_are_reported)
{
	begin(OPTIONS(.ctx = &seen, .on_fd = on_fd), "raw_syscalls/sys_exit");
	new_page(&pages, 1000);
	const struct {
		int32_t tid;
		long number, result;
	} calls[] = {
		{9, SYS_openat, 7},          {9, SYS_openat, -ENOENT},   {9, SYS_read, 7},
		{9, SYS_socket, 0},          {9, SYS_dup, 1L + INT_MAX}, {9, -1, 7},
		{(int)gettid(), SYS_dup, 5}, {10, SYS_dup3, INT_MAX},
	};
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct __attribute__((packed)) {
			struct test_common common;
			int64_t id, result;
		} event = {{ID_SYS_EXIT, 0, 0, calls[i].tid}, calls[i].number, calls[i].result};
		put_event(&pages, 1, &event, sizeof(event));
	}
	drain_pages(&session, &pages);
	CHECK_STR(orma_base_buf_cstr(&seen), "fd 9 7;fd 9 0;fd 10 2147483647;");
	CHECK_INT(bundle_at(0)->event.count, 8);
	orma_base_buf_done(&seen);
	close_session(&session);
}

/* Tasks are remembered by the low 8 bits of their pids. */
ORMA_TEST(a_renamed_task_and_one_with_the_same_low_bits_have_their_own_names)
{
	begin(OPTIONS(.compact_sched = true, .ctx = &seen, .on_task = on_task),
	      "sched/sched_switch");
	for (int page = 0; page < 2; page++) {
		new_page(&pages, 1000);
		put_switch(&pages, 1, 0, "", 7, "first");
		put_switch(&pages, 1, 0, "", 7, "first");
		put_switch(&pages, 1, 0, "", 7, "renamed");
		put_switch(&pages, 1, 0, "", 7 + 256, "first");
		put_switch(&pages, 1, 0, "", 7, "renamed");
		drain_pages(&session, &pages);
		pages = (struct test_pages){0};
	}
	CHECK_INT(fake_packet_count, 2);
	for (size_t i = 0; i < 2; i++)
		has(events_of(i), "intern_table: \"first\" intern_table: \"renamed\" "
				  "switch_next_comm_index: 0 switch_next_comm_index: 0 "
				  "switch_next_comm_index: 1 switch_next_comm_index: 0 "
				  "switch_next_comm_index: 1 ");
	/* Each drain reports the tasks anew. */
	const char *tasks = orma_base_buf_cstr(&seen);
	const char *again = strstr(tasks + 1, "task 7 first;");
	CHECK(again != NULL);
	CHECK(strstr(tasks, "task 263 first;") < again);
	CHECK(strstr(again, "task 263 first;") != NULL);
	orma_base_buf_done(&seen);
	close_session(&session);
}

static const char *symbols_of(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	return packet->interned_data ? fake_text(packet->interned_data) : "none";
}

ORMA_TEST(addresses_become_indexes_with_names)
{
	struct orma_kallsyms *kallsyms;
	struct orma_ftrace_sink *sink = begin(OPTIONS(0), "workqueue/workqueue_execute_start");
	CHECK_INT(orma_kallsyms_parse(ORMA_STR("ffffffff81000000 T first\n"
					       "ffffffff81000100 T second\n"),
				      &kallsyms),
		  0);
	struct __attribute__((packed)) {
		struct test_common common;
		uint64_t work, function;
	} event = {{ID_WORK, 0, 0, 9}, 0xffff888000001000, 0xffffffff81000010};
	for (int i = 0; i < 5; i++) {
		new_page(&pages, 1000);
		put_event(&pages, 1, &event, sizeof(event));
		if (i == 3)
			event.function = 0xffffffff81000110;
		put_event(&pages, 1, &event, sizeof(event));
		if (i == 1)
			orma_ftrace_sink_set_kallsyms(sink, kallsyms);
		if (i == 4)
			fake_source.needs_state = 1;
		drain_pages(&session, &pages);
		has(events_of((size_t)i), i < 4 ? "work: 1 function: 2" : "work: 1 function: 3");
	}
	/* Without names; all names when they are there; nothing new; a new one; all after a loss. */
	CHECK_STR(symbols_of(0), "none");
	CHECK_STR(symbols_of(1), "kernel_symbols { iid: 2 str: \"first\" }");
	CHECK_INT(fake_packet(1)->sequence_flags, 1);
	CHECK_STR(symbols_of(2), "none");
	CHECK_INT(fake_packet(2)->sequence_flags, 0);
	CHECK_STR(symbols_of(3), "kernel_symbols { iid: 3 str: \"second\" }");
	CHECK_INT(fake_packet(3)->sequence_flags, 0);
	CHECK_STR(symbols_of(4), "kernel_symbols { iid: 2 str: \"first\" } kernel_symbols { iid: 3 "
				 "str: \"second\" }");
	CHECK_INT(fake_packet(4)->sequence_flags, 1);
	close_session(&session);
	orma_kallsyms_free(kallsyms);
}

ORMA_TEST(a_kprobe_has_its_name_and_the_type_of_the_session)
{
	const struct orma_ftrace_event *event;
	put_tracefs();
	fake_put("t/events/perfetto_kprobes/do_thing/format",
		 FORMAT("do_thing", 1500, FIELD("unsigned long __probe_ip", 8, 8, 0)));
	struct orma_ftrace_sink *sink = begin(OPTIONS(0), "");
	CHECK_INT(orma_ftrace_events_load_kprobe(session.events, "perfetto_kprobes", "do_thing",
						 &event),
		  0);
	CHECK_INT(orma_ftrace_sink_want(sink, event), 0);
	CHECK_INT(orma_ftrace_sink_set_kprobe_type(sink, event->id, 1), 0);
	CHECK_INT(orma_ftrace_sink_set_kprobe_type(sink, event->id, 3), 0);
	struct __attribute__((packed)) {
		struct test_common common;
		uint64_t ip;
	} record = {{1500, 0, 0, 9}, 1};
	new_page(&pages, 1000);
	put_event(&pages, 1, &record, sizeof(record));
	drain_pages(&session, &pages);
	has(events_of(0), "event { timestamp: 1001 pid: 9 kprobe_event { name: \"do_thing\" type: "
			  "KPROBE_TYPE_INSTANT } }");
	close_session(&session);
}

ORMA_TEST(prints_that_the_filter_refuses_are_left_out)
{
	struct orma_pb_ftrace_config_print_filter *filter;
	struct orma_error error;
	static const char rules[] = "rules { prefix: \"no\" allow: false }";
	CHECK_INT(orma_proto_text_parse(&orma_pb_ftrace_config_print_filter_desc, "f", rules,
					strlen(rules), 0, &fake_arena, &filter, &error),
		  0);
	begin(OPTIONS(.print_filter = filter), "ftrace/print");
	new_page(&pages, 1000);
	struct __attribute__((packed)) {
		struct test_common common;
		uint64_t ip;
		char text[12];
	} print = {{ID_PRINT, 0, 0, 5}, 9, "no, thanks"};
	put_event(&pages, 1, &print, sizeof(print));
	memcpy(print.text, "yes", 4);
	put_event(&pages, 1, &print, sizeof(print));
	drain_pages(&session, &pages);
	CHECK_INT(bundle_at(0)->event.count, 1);
	has(events_of(0), "buf: \"yes\"");
	close_session(&session);
}

/* ---- errors without memory ---- */

ORMA_TEST(no_memory_is_an_error_and_nothing_else)
{
	const struct orma_ftrace_event *event;
	struct orma_ftrace_sink *sink;
	struct orma_ftrace_sink_options options = {
		.source = &fake_source, .cpu_count = 4, .compact_sched = true};
	open_session(&session);
	for (uint64_t nth = 1;; nth++) {
		orma_test_fail_allocation(nth);
		int r = orma_ftrace_events_load(session.events, "vendor", "made_up", &event);
		if (r == 0)
			break;
		CHECK_INT(r, -ENOMEM);
	}
	orma_test_fail_allocation(1);
	CHECK_INT(orma_ftrace_sink_new(session.events, &options, &sink), -ENOMEM);
	orma_test_fail_allocation(2);
	CHECK_INT(orma_ftrace_sink_new(session.events, &options, &sink), -ENOMEM);
	orma_test_fail_allocation(0);
	CHECK_INT(orma_ftrace_sink_new(session.events, &options, &sink), 0);
	CHECK(orma_ftrace_events_fit_compact_sched(session.events));
	CHECK_INT(orma_ftrace_events_load(session.events, "sched", "sched_switch", &event), 0);
	for (uint64_t nth = 1;; nth++) {
		orma_test_fail_allocation(nth);
		int r = orma_ftrace_sink_want(sink, event);
		if (r == 0)
			break;
		CHECK_INT(r, -ENOMEM);
		CHECK(!orma_ftrace_sink_wants(sink, ID_SWITCH));
	}
	orma_test_fail_allocation(0);
	orma_ftrace_sink_free(sink);
	close_session(&session);
}

ORMA_TEST(events_without_memory_are_reported_as_lost)
{
	begin(OPTIONS(0), "sched/sched_switch");
	struct orma_ftrace_cpu_reader *reader;
	new_page(&pages, 1000);
	put_switch(&pages, 1, 0, "", 77, "woken");
	fake_put_bytes("t/per_cpu/cpu2/trace_pipe_raw", pages.bytes.data, pages.bytes.size);
	CHECK_INT(orma_ftrace_cpu_reader_new(tracefs_path(), 2, &reader), 0);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_ftrace_cpu_reader_drain(reader, &session.drain, 8, false).pages, 1);
	CHECK(orma_test_allocation_failed());
	orma_ftrace_cpu_reader_free(reader);
	CHECK_INT(fake_packet_count, 0);
	drain_pages(&session, &pages);
	CHECK(bundle_at(0)->lost_events);
	close_session(&session);
}
