/* SPDX-License-Identifier: Apache-2.0
 * packet_cut_test.c - what stays of the packets of a trace when a part of it is cut out.
 *
 * Traces are written as text. Each test compares the text of the packets that stay.
 */
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/fd.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/tool.h"
#include "tool/trace/packet_cut.h"
#include "tool/trace/trace_file.h"

/* The encoding of a trace that is written as text. */
static void encode(const char *text, struct orma_buf *ret)
{
	struct orma_arena arena = {0};
	struct orma_error error = {0};
	void *trace;

	if (orma_proto_text_parse(&orma_pb_trace_desc, "trace", text, strlen(text), 0, &arena,
				  &trace, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(orma_proto_encode(trace, ret), 0);
	orma_base_arena_done(&arena);
}

struct copy {
	struct orma_packet_cut cut;
	struct orma_buf text; /* the packets that stayed */
};

static int copy_packet(void *ctx, const void *data, size_t size)
{
	struct orma_arena arena = {0};
	struct copy *copy = ctx;
	struct orma_pb_trace_packet *packet;
	struct orma_str stays;
	int r = orma_packet_cut_take(&copy->cut, data, size, &stays);

	if (r <= 0)
		return r;
	CHECK_INT(orma_pb_trace_packet_decode(stays.data, stays.size, &arena, &packet), 0);
	CHECK_INT(orma_base_buf_append_str(&copy->text, "-\n"), 0);
	CHECK_INT(orma_proto_text_print(packet, 0, &copy->text), 0);
	orma_base_arena_done(&arena);
	return 0;
}

static int trace_file(const char *text)
{
	struct orma_buf bytes = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);

	encode(text, &bytes);
	CHECK(fd >= 0);
	CHECK_INT(orma_base_fd_write_all(fd, bytes.data, bytes.size), 0);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	orma_base_buf_done(&bytes);
	return fd;
}

static void copy_trace(struct copy *copy, struct orma_packet_select *select, const char *text)
{
	int fd = trace_file(text);

	copy->cut.select = select;
	orma_packet_cut_begin_trace(&copy->cut);
	CHECK_INT(orma_packet_select_prepare(select, fd, "trace"), ORMA_EXIT_OK);
	CHECK_INT(orma_tool_trace_read(fd, copy_packet, copy, NULL), 0);
	close(fd);
}

static void finish(struct copy *copy, struct orma_packet_select *select, const char *expected)
{
	CHECK_STR(orma_base_buf_cstr(&copy->text), expected);
	orma_packet_cut_done(&copy->cut);
	orma_packet_select_done(select);
	orma_base_buf_done(&copy->text);
}

static void check_cut(struct orma_packet_select *select, const char *text, const char *expected)
{
	struct copy copy = {0};

	copy_trace(&copy, select, text);
	finish(&copy, select, expected);
}

static void choose(struct orma_packet_select *select, const char *from, const char *to)
{
	if (from)
		CHECK_INT(orma_packet_select_take(select, ORMA_SELECT_FROM, from), -1);
	if (to)
		CHECK_INT(orma_packet_select_take(select, ORMA_SELECT_TO, to), -1);
}

/* Seconds 1 to 4, and a packet about the machine. */
#define SECONDS                                                                                    \
	"packet { timestamp: 1000000000 sys_stats {} } "                                           \
	"packet { timestamp: 2000000000 sys_stats {} } "                                           \
	"packet { timestamp: 500000000 system_info {} } "                                          \
	"packet { timestamp: 4000000000 sys_stats {} } "                                           \
	"packet { timestamp: 3000000000 sys_stats {} } "
#define MACHINE      "-\ntimestamp: 500000000\nsystem_info {\n}\n"
#define SECOND(time) "-\nsys_stats {\n}\ntimestamp: " #time "000000000\n"

ORMA_TEST(everything_stays_without_a_choice)
{
	struct orma_packet_select select = {0};

	check_cut(&select, SECONDS, SECOND(1) SECOND(2) MACHINE SECOND(4) SECOND(3));
}

ORMA_TEST(times_count_from_the_first_event_the_last_or_the_clocks_zero)
{
	static const struct {
		const char *from, *to, *expected;
	} cases[] = {
		{"1s", NULL, SECOND(2) MACHINE SECOND(4) SECOND(3)},
		{"0.9", "2000ms", SECOND(2) MACHINE SECOND(3)},
		{"-1s", NULL, MACHINE SECOND(4) SECOND(3)},
		{NULL, "-2s", SECOND(1) SECOND(2) MACHINE},
		{"@2000000000", "@2000000000", SECOND(2) MACHINE},
		{"@2000000001", "@2999999999", MACHINE},
		{"1h", NULL, MACHINE},
		{"-1h", "1h", SECOND(1) SECOND(2) MACHINE SECOND(4) SECOND(3)},
		{"18446744073s", NULL, MACHINE},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct orma_packet_select select = {0};

		choose(&select, cases[i].from, cases[i].to);
		check_cut(&select, SECONDS, cases[i].expected);
	}
}

ORMA_TEST(what_is_not_a_time_is_refused)
{
	static const char *const times[] = {"",    "s",   "1x",  "-",
					    "@",   "@1s", "1.",  ".5s",
					    "1 s", "+1",  "@-1", "99999999999999999999s"};
	struct orma_packet_select select = {0};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(times); i++) {
		bool is_time = strcmp(times[i], "1.") == 0; /* as in C */

		CHECK_INT(orma_packet_select_take(&select, ORMA_SELECT_TO, times[i]),
			  is_time ? -1 : ORMA_EXIT_USAGE);
	}
}

ORMA_TEST(other_clocks_are_converted_by_the_snapshot_before)
{
	struct orma_packet_select select = {0};

	choose(&select, "@1500", NULL);
	check_cut(&select,
		  "packet { clock_snapshot { clocks { clock_id: 6 timestamp: 1000 } "
		  "clocks { clock_id: 1 timestamp: 9000 } } } "
		  "packet { timestamp: 9499 timestamp_clock_id: 1 sys_stats {} } "
		  "packet { timestamp: 9500 timestamp_clock_id: 1 sys_stats {} } "
		  "packet { timestamp: 1 timestamp_clock_id: 3 sys_stats {} }",
		  "-\nclock_snapshot {\n  clocks {\n    clock_id: 6\n    timestamp: 1000\n  }\n  "
		  "clocks {\n    clock_id: 1\n    timestamp: 9000\n  }\n}\n"
		  "-\nsys_stats {\n}\ntimestamp: 9500\ntimestamp_clock_id: 1\n"
		  /* Its clock is not known, so it may have happened in time. */
		  "-\nsys_stats {\n}\ntimestamp: 1\ntimestamp_clock_id: 3\n");
}

/* A sequence with a clock of its own, whose timestamps are differences of a microsecond each. */
#define SEQUENCE                                                                                   \
	"packet { trusted_packet_sequence_id: 5 sequence_flags: 1 "                                \
	"trace_packet_defaults { timestamp_clock_id: 64 track_event_defaults { track_uuid: 7 } } " \
	"clock_snapshot { clocks { clock_id: 64 timestamp: 1 is_incremental: true "                \
	"unit_multiplier_ns: 1000 } clocks { clock_id: 6 timestamp: 1000 } } } "
#define EVENT(rest)                                                                                \
	"packet { trusted_packet_sequence_id: 5 sequence_flags: 2 timestamp: 1 " rest " } "
#define SEQUENCE_TEXT                                                                              \
	"-\nclock_snapshot {\n  clocks {\n    clock_id: 64\n    timestamp: 1\n    "                \
	"is_incremental: true\n    unit_multiplier_ns: 1000\n  }\n  clocks {\n    clock_id: 6\n "  \
	"   timestamp: 1000\n  }\n}\ntrusted_packet_sequence_id: 5\nsequence_flags: 1\n"           \
	"trace_packet_defaults {\n  track_event_defaults {\n    track_uuid: 7\n  }\n  "            \
	"timestamp_clock_id: 64\n}\n"

ORMA_TEST(declarations_and_differences_of_times_outlive_their_event)
{
	struct orma_packet_select select = {0};

	choose(&select, "@4000", NULL);
	check_cut(&select,
		  SEQUENCE EVENT("interned_data { event_names { iid: 1 name: 'a' } } "
				 "track_event { type: TYPE_INSTANT name_iid: 1 }")
			  EVENT("track_event { type: TYPE_INSTANT name_iid: 1 }")
				  EVENT("track_event { type: TYPE_INSTANT name_iid: 1 }")
					  EVENT("track_event { type: TYPE_INSTANT name_iid: 1 }"),
		  SEQUENCE_TEXT
		  "-\ntrusted_packet_sequence_id: 5\ninterned_data {\n  event_names {\n    iid: "
		  "1\n    "
		  "name: \"a\"\n  }\n}\nsequence_flags: 2\n"
		  /* 1000 + 3 * 1000: the first that is not before 4000 */
		  "-\ntimestamp: 3\ntrusted_packet_sequence_id: 5\ntrack_event {\n  type: "
		  "TYPE_INSTANT\n  name_iid: 1\n}\nsequence_flags: 2\n"
		  "-\ntimestamp: 1\ntrusted_packet_sequence_id: 5\ntrack_event {\n  type: "
		  "TYPE_INSTANT\n  name_iid: 1\n}\nsequence_flags: 2\n");
}

ORMA_TEST(the_end_of_a_slice_goes_with_its_begin)
{
#define TYPE(type) "track_event { type: TYPE_SLICE_" #type " }"
#define KEPT(ticks, type)                                                                          \
	"-\ntimestamp: " #ticks                                                                    \
	"\ntrusted_packet_sequence_id: 5\ntrack_event {\n  type: TYPE_SLICE_" #type                \
	"\n}\nsequence_flags: 2\n"
	struct orma_packet_select select = {0};

	choose(&select, "@4000", "@7000");
	check_cut(&select,
		  SEQUENCE EVENT(TYPE(BEGIN)) EVENT(TYPE(BEGIN)) EVENT(TYPE(BEGIN)) EVENT(TYPE(END))
			  EVENT(TYPE(END)) EVENT(TYPE(BEGIN)) EVENT(TYPE(END)) EVENT(TYPE(END)),
		  SEQUENCE_TEXT KEPT(3, BEGIN) KEPT(1, END) KEPT(2, BEGIN));
}

ORMA_TEST(a_loss_is_told_although_the_event_behind_it_is_cut_off)
{
	struct orma_packet_select select = {0};

	choose(&select, "@10", NULL);
	check_cut(&select,
		  "packet { timestamp: 5 previous_packet_dropped: 64 sys_stats {} } "
		  "packet { timestamp: 6 sys_stats {} } packet { timestamp: 20 sys_stats {} }",
		  "-\nprevious_packet_dropped: 64\n-\nsys_stats {\n}\ntimestamp: 20\n");
}

ORMA_TEST(bundles_of_kernel_events_stay_when_they_reach_into_the_period)
{
	struct orma_packet_select select = {0};

	choose(&select, "@100", "@200");
	check_cut(
		&select,
		"packet { ftrace_events { cpu: 0 event { timestamp: 90 } event { timestamp: 99 } } "
		"} "
		"packet { ftrace_events { cpu: 1 event { timestamp: 99 } event { timestamp: 100 } "
		"} } "
		"packet { ftrace_events { cpu: 2 compact_sched { switch_timestamp: [150, 100] } } "
		"} "
		"packet { ftrace_events { cpu: 3 compact_sched { waking_timestamp: [201, 1] } } } "
		"packet { ftrace_events { cpu: 4 ftrace_clock: FTRACE_CLOCK_LOCAL "
		"ftrace_timestamp: 1000 boot_timestamp: 100 event { timestamp: 1050 } } } ",
		"-\nftrace_events {\n  cpu: 1\n  event {\n    timestamp: 99\n  }\n  event {\n    "
		"timestamp: 100\n  }\n}\n"
		"-\nftrace_events {\n  cpu: 2\n  compact_sched {\n    switch_timestamp: 150\n    "
		"switch_timestamp: 100\n  }\n}\n"
		"-\nftrace_events {\n  cpu: 4\n  event {\n    timestamp: 1050\n  }\n  "
		"ftrace_clock: "
		"FTRACE_CLOCK_LOCAL\n  ftrace_timestamp: 1000\n  boot_timestamp: 100\n}\n");
}

ORMA_TEST(processes_are_chosen_by_id_and_by_name)
{
	static const char text[] =
		"packet { process_tree { processes { pid: 10 cmdline: '/usr/bin/server' cmdline: "
		"'-v' } "
		"processes { pid: 11 cmdline: 'client' } } } "
		"packet { trusted_pid: 10 trusted_packet_sequence_id: 1 track_event {} } "
		"packet { trusted_pid: 11 trusted_packet_sequence_id: 2 track_event {} } "
		"packet { trusted_pid: 11 trusted_packet_sequence_id: 2 interned_data {} } "
		"packet { trusted_pid: 12 trusted_packet_sequence_id: 3 track_descriptor { process "
		"{ "
		"pid: 12 process_name: 'server-2' } } } "
		"packet { trusted_pid: 13 trusted_packet_sequence_id: 4 sys_stats {} } ";
	static const struct {
		const char *process;
		bool has_10, has_11, has_12;
	} cases[] = {{"10", true, false, false},
		     {"server", true, false, false},
		     {"server*", true, false, true},
		     {"c*t", false, true, false}};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct orma_packet_select select = {0};
		struct copy copy = {0};

		CHECK_INT(orma_packet_select_add_process(&select, cases[i].process), -1);
		copy_trace(&copy, &select, text);
		const char *stays = orma_base_buf_cstr(&copy.text);
		CHECK_INT(strstr(stays, "trusted_pid: 10") != NULL, cases[i].has_10);
		CHECK_INT(strstr(stays, "trusted_pid: 11") != NULL, cases[i].has_11);
		CHECK_INT(strstr(stays, "interned_data") != NULL, cases[i].has_11);
		CHECK_INT(strstr(stays, "trusted_pid: 12") != NULL, cases[i].has_12);
		CHECK(strstr(stays, "trusted_pid: 13"));
		CHECK(strstr(stays, "process_tree"));
		orma_packet_cut_done(&copy.cut);
		orma_packet_select_done(&select);
		orma_base_buf_done(&copy.text);
	}
}

ORMA_TEST(kinds_and_sequences_are_chosen)
{
	static const char text[] = "packet { trusted_packet_sequence_id: 1 track_event {} } "
				   "packet { trusted_packet_sequence_id: 2 track_event {} } "
				   "packet { trusted_packet_sequence_id: 2 sys_stats {} } "
				   "packet { trusted_packet_sequence_id: 3 trace_config {} } ";
	struct orma_packet_select kind = {0}, sequence = {0};

	CHECK_INT(orma_packet_select_add_kind(&kind, "sys_stats"), -1);
	check_cut(&kind, text,
		  "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 2\n"
		  "-\ntrusted_packet_sequence_id: 3\ntrace_config {\n}\n");
	CHECK_INT(orma_packet_select_take(&sequence, ORMA_SELECT_SEQUENCE, "1"), -1);
	check_cut(&sequence, text,
		  "-\ntrusted_packet_sequence_id: 1\ntrack_event {\n}\n"
		  "-\ntrusted_packet_sequence_id: 3\ntrace_config {\n}\n");
}

ORMA_TEST(sequences_of_a_second_trace_get_ids_of_their_own)
{
	struct orma_packet_select select = {0};
	struct copy copy = {0};

	copy_trace(&copy, &select,
		   "packet { trusted_packet_sequence_id: 3 trace_uuid { msb: 1 } } "
		   "packet { trusted_packet_sequence_id: 1 sys_stats {} }");
	copy_trace(&copy, &select,
		   "packet { trusted_packet_sequence_id: 1 trace_uuid { msb: 2 } } "
		   "packet { sys_stats {} } packet { trusted_packet_sequence_id: 2 sys_stats {} }");
	copy_trace(&copy, &select, "packet { trusted_packet_sequence_id: 2 sys_stats {} }");
	finish(&copy, &select,
	       "-\ntrusted_packet_sequence_id: 3\ntrace_uuid {\n  msb: 1\n}\n"
	       "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 1\n"
	       "-\nsys_stats {\n}\n"
	       "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 5\n"
	       "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 7\n");
}

ORMA_TEST(sequences_without_an_id_left_are_refused)
{
	struct orma_packet_select select = {0};
	struct orma_buf bytes = {0};
	struct copy copy = {0};

	copy_trace(&copy, &select,
		   "packet { trusted_packet_sequence_id: 4294967295 sys_stats {} }");
	orma_packet_cut_begin_trace(&copy.cut);
	encode("packet { trusted_packet_sequence_id: 1 sys_stats {} }", &bytes);
	CHECK_INT(copy_packet(&copy, bytes.data + 2, bytes.size - 2), -EOVERFLOW);
	orma_base_buf_done(&bytes);
	finish(&copy, &select, "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 4294967295\n");
}

ORMA_TEST(behind_a_gap_every_sequence_reports_a_loss_once)
{
	struct orma_packet_select select = {0};
	struct orma_buf bytes = {0};
	struct orma_str packet;
	struct copy copy = {0};

	copy_trace(&copy, &select, "packet { trusted_packet_sequence_id: 1 sys_stats {} }");
	orma_packet_cut_note_gap(&copy.cut);
	encode("packet { trusted_packet_sequence_id: 1 sys_stats {} } "
	       "packet { trusted_packet_sequence_id: 1 sys_stats {} } "
	       "packet { trusted_packet_sequence_id: 2 previous_packet_dropped: 64 sys_stats {} } "
	       "packet { trusted_packet_sequence_id: 3 first_packet_on_sequence: true }",
	       &bytes);
	for (size_t at = 0, step;
	     (step = orma_tool_trace_next_packet(bytes.data + at, bytes.size - at, &packet));
	     at += step)
		CHECK_INT(copy_packet(&copy, packet.data, packet.size), 0);
	orma_base_buf_done(&bytes);
	finish(&copy, &select,
	       "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 1\n"
	       "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 1\nprevious_packet_dropped: 1\n"
	       "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 1\n"
	       "-\nsys_stats {\n}\ntrusted_packet_sequence_id: 2\nprevious_packet_dropped: 65\n"
	       "-\ntrusted_packet_sequence_id: 3\nfirst_packet_on_sequence: true\n");
}

ORMA_TEST(without_memory_a_cut_fails_and_leaks_nothing)
{
	for (uint64_t nth = 1;; nth++) {
		struct orma_packet_select select = {0};
		struct copy copy = {.cut.select = &select};
		struct orma_buf bytes = {0};
		struct orma_str packet, stays;
		int r = 0;

		choose(&select, "@2000", "@3000");
		select.from_ns = 2000;
		select.to_ns = 3000;
		encode(SEQUENCE EVENT(TYPE(BEGIN)) EVENT(TYPE(END)), &bytes);
		orma_test_fail_allocation(nth);
		for (size_t at = 0, step;
		     r >= 0 && (step = orma_tool_trace_next_packet(bytes.data + at, bytes.size - at,
								   &packet));
		     at += step)
			r = orma_packet_cut_take(&copy.cut, packet.data, packet.size, &stays);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, has_failed ? -ENOMEM : 1);
		orma_packet_cut_done(&copy.cut);
		orma_packet_select_done(&select);
		orma_base_buf_done(&bytes);
		if (!has_failed)
			break;
	}
}
