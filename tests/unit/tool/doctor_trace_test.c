/* SPDX-License-Identifier: Apache-2.0
 * doctor_trace_test.c - what `orma doctor` finds in traces, which are written as text here.
 */
#include <sys/mman.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "proto/codec.h"
#include "schema/gen/trace.pb.h"
#include "tool/doctor/doctor.h"

#define BEGIN_STATE                                                                                \
	"packet { trusted_packet_sequence_id: 7 trusted_pid: 42 sequence_flags: 1 timestamp: 5 "   \
	"timestamp_clock_id: 6 trace_packet_defaults { timestamp_clock_id: 64 "                    \
	"track_event_defaults { track_uuid: 11 } } clock_snapshot { clocks { clock_id: 6 "         \
	"timestamp: 5 } clocks { clock_id: 64 timestamp: 5 } } interned_data { "                   \
	"event_names { iid: 1 name: \"a\" } event_categories { iid: 2 name: \"c\" } "              \
	"debug_annotation_names { iid: 3 name: \"k\" } } }\n"
#define EVENT(fields)                                                                              \
	"packet { trusted_packet_sequence_id: 7 sequence_flags: 2 timestamp: 1 track_event { "     \
	"" fields " } }\n"

static struct orma_findings findings;

/* Examines the trace with this text, and cuts `cut` bytes off its end. */
static void examine_cut(const char *text, size_t cut)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace *trace;
	struct orma_error error = {0};
	struct orma_buf bytes = {0};
	int fd = memfd_create("trace", MFD_CLOEXEC);

	orma_findings_done(&findings);
	findings = (struct orma_findings){0};
	CHECK_INT(orma_proto_text_parse(&orma_pb_trace_desc, "trace", text, strlen(text), 0, &arena,
					&trace, &error),
		  0);
	CHECK_INT(orma_proto_encode(trace, &bytes), 0);
	CHECK_INT(orma_base_fd_write_all(fd, bytes.data, bytes.size - cut), 0);
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	orma_doctor_examine_trace(fd, &findings);
	CHECK(!findings.is_out_of_memory);
	close(fd);
	orma_base_buf_done(&bytes);
	orma_base_arena_done(&arena);
}

static void examine(const char *text)
{
	examine_cut(text, 0);
}

/* Checks that there is a finding with this text, and that its advice contains `advice`. */
static void check_found(bool is_note, const char *id, const char *text, const char *advice)
{
	const struct orma_finding *all = (const void *)findings.items.data;

	for (size_t i = 0; i < findings.items.size / sizeof(*all); i++) {
		if (strcmp(all[i].id, id) != 0 || strcmp(all[i].text, text) != 0)
			continue;
		CHECK_INT(all[i].is_note, is_note);
		CHECK(advice ? all[i].advice && strstr(all[i].advice, advice) : !all[i].advice);
		return;
	}
	orma_findings_print(&findings, text);
	orma_test_fail(__FILE__, __LINE__, "no finding of that kind");
}

static void check_problem(const char *id, const char *text, const char *advice)
{
	check_found(false, id, text, advice);
}

static void check_healthy(void)
{
	if (findings.problem_count)
		orma_findings_print(&findings, "healthy");
	CHECK_INT(findings.problem_count, 0);
	orma_findings_done(&findings);
	findings = (struct orma_findings){0};
}

static void finish(void)
{
	orma_findings_done(&findings);
	findings = (struct orma_findings){0};
}

ORMA_TEST(a_whole_trace_has_no_problem)
{
	examine(BEGIN_STATE EVENT("type: TYPE_SLICE_BEGIN name_iid: 1 category_iids: 2 "
				  "debug_annotations { name_iid: 3 }")
			EVENT("type: TYPE_SLICE_END") "packet { trace_stats { } }");
	check_found(true, "clocks", "1 snapshot of the clocks BOOTTIME.", NULL);
	check_healthy();
}

ORMA_TEST(values_of_tracks_that_are_no_counters_are_a_problem)
{
	static const char counter[] =
		"packet { trusted_packet_sequence_id: 7 track_descriptor { uuid: 1 counter { } } }";
	static const char value[] =
		"packet { trusted_packet_sequence_id: 7 timestamp: 5 track_event { type: "
		"TYPE_COUNTER track_uuid: 1 counter_value: 3 } }";
	char text[1024];

	/* The description may come later. */
	snprintf(text, sizeof(text), "%s%s packet { trace_stats { } }", value, counter);
	examine(text);
	check_healthy();
	snprintf(text, sizeof(text),
		 "packet { trusted_packet_sequence_id: 7 track_descriptor { uuid: 1 name: 'queue' "
		 "} } "
		 "%s%s packet { trace_stats { } }",
		 value, value);
	examine(text);
	check_problem("values_without_counter",
		      "2 values of counters cannot be shown, because no description says that "
		      "their tracks are counters.",
		      "orma_track_counter()");
	CHECK_INT(findings.problem_count, 1);
	finish();
}

ORMA_TEST(samples_that_the_kernel_dropped_are_a_problem)
{
	examine("packet { trusted_packet_sequence_id: 7 timestamp: 5 perf_sample { "
		"kernel_records_lost: 12 } } packet { trusted_packet_sequence_id: 7 timestamp: 6 "
		"perf_sample { cpu: 1 kernel_records_lost: 3 } } packet { trace_stats { } }");
	check_problem("lost_samples",
		      "The kernel dropped 15 records of perf events, which came faster than they "
		      "were read.",
		      "lower frequency");
	CHECK_INT(findings.problem_count, 1);
	finish();
}

ORMA_TEST(an_empty_trace_is_a_problem)
{
	examine("");
	check_problem("empty",
		      "The trace has no packets: nothing was recorded, or the recorder was killed "
		      "before it wrote.",
		      "orma doctor");
	CHECK_INT(findings.problem_count, 1);
	finish();
}

ORMA_TEST(a_trace_that_is_cut_is_examined_up_to_the_cut)
{
	examine_cut(BEGIN_STATE EVENT("type: TYPE_SLICE_BEGIN name_iid: 1") EVENT("type: 3"), 2);
	CHECK(findings.problem_count == 2);
	check_problem("unclosed_slices", "1 slice has no end, in sequences that lost data.", NULL);
	finish();
}

ORMA_TEST(a_ring_that_wrapped_names_the_size_that_would_do)
{
	examine("packet { trusted_packet_sequence_id: 1 timestamp: 1000000000 }"
		"packet { trusted_packet_sequence_id: 1 timestamp: 11000000000 trace_stats { "
		"buffer_stats { buffer_size: 1048576 bytes_written: 10485760 "
		"chunks_overwritten: 9 } } }");
	check_problem("buffer_overwritten",
		      "Buffer 0 was too small and overwrote its oldest data: 10240 KB were written "
		      "in 10.0 s, and it has 1024 KB.",
		      "buffers[0] needs size_kb: 16384 (`orma record -b 16384k`)");
	finish();
}

ORMA_TEST(a_streamed_trace_needs_two_write_periods)
{
	examine("packet { trusted_packet_sequence_id: 1 timestamp: 1000000000 trace_config { "
		"write_into_file: true file_write_period_ms: 1000 } }"
		"packet { trusted_packet_sequence_id: 1 timestamp: 11000000000 trace_stats { "
		"buffer_stats { buffer_size: 65536 bytes_written: 10485760 "
		"chunks_overwritten: 9 } } }");
	check_problem("buffer_overwritten",
		      "Buffer 0 was too small and overwrote its oldest data: 10240 KB were written "
		      "in 10.0 s, and it has 64 KB.",
		      "buffers[0] needs size_kb: 4096 (`orma record -b 4096k --stream`)");
	finish();
}

ORMA_TEST(each_buffer_has_a_size_of_its_own)
{
	/* The padding belongs to what was written. A polled buffer has a quarter of -b. */
	examine("packet { trace_stats { buffer_stats { buffer_size: 65536 bytes_written: 400000 "
		"padding_bytes_written: 200000 chunks_overwritten: 9 } "
		"buffer_stats { buffer_size: 65536 bytes_written: 100000 chunks_overwritten: 9 } } "
		"}");
	check_problem("buffer_overwritten",
		      "Buffer 0 was too small and overwrote its oldest data: 585 KB were written "
		      "in 0.0 s, and it has 64 KB.",
		      "buffers[0] needs size_kb: 1024 (`orma record -b 1024k`)");
	check_problem("buffer_overwritten",
		      "Buffer 1 was too small and overwrote its oldest data: 97 KB were written "
		      "in 0.0 s, and it has 64 KB.",
		      "buffers[1] needs size_kb: 128 (`orma record -b 512k`)");
	finish();
}

#define DISCARD                                                                                    \
	"packet { trusted_packet_sequence_id: 1 trace_config { buffers { fill_policy: DISCARD } "  \
	"} }"

ORMA_TEST(a_buffer_that_discards_counts_what_it_had_no_room_for)
{
	/* Few chunks do not show the usual size; many do. */
	examine(DISCARD "packet { trace_stats { buffer_stats { buffer_size: 32768 "
			"bytes_written: 7040 chunks_written: 2 chunks_discarded: 37 } } }");
	check_problem("buffer_discarded",
		      "Buffer 0 (32 KB, DISCARD) was full and discarded 37 chunks of data.",
		      "buffers[0] needs size_kb: 2048 ");
	examine(DISCARD "packet { trace_stats { buffer_stats { buffer_size: 32768 "
			"bytes_written: 32768 chunks_written: 32 chunks_discarded: 37 } } }");
	check_problem("buffer_discarded",
		      "Buffer 0 (32 KB, DISCARD) was full and discarded 37 chunks of data.",
		      "buffers[0] needs size_kb: 128 ");
	finish();
}

ORMA_TEST(more_than_a_buffer_can_have_is_not_advised)
{
	examine("packet { trace_stats { buffer_stats { buffer_size: 1048576 "
		"bytes_written: 9000000000 chunks_overwritten: 9 } } }");
	check_problem("buffer_overwritten",
		      "Buffer 0 was too small and overwrote its oldest data: 8789062 KB were "
		      "written in 0.0 s, and it has 1024 KB.",
		      "No buffer can hold that");
	finish();
}

ORMA_TEST(losses_that_the_service_counted_are_reported_by_cause)
{
	examine("packet { trace_stats { invalid_packets: 1 flushes_failed: 2 buffer_stats { } "
		"buffer_stats { buffer_size: 4096 chunks_discarded: 3 trace_writer_packet_loss: 4 "
		"} } }");
	check_problem("invalid_packets",
		      "The service refused 1 packet, because a program wrote invalid data.", NULL);
	check_problem("late_flushes",
		      "2 flushes were not answered in time, so the last data of a program may be "
		      "missing.",
		      "flush_timeout_ms");
	check_problem(
		"buffer_discarded",
		"Buffer 1 (4 KB) discarded 3 chunks of data: later data of the same writer was "
		"read before.",
		"late");
	check_problem("shared_memory_full",
		      "4 packets of buffer 1 found no room in a program's shared memory.",
		      "shm_size_kb");
	CHECK_INT(findings.problem_count, 4);
	finish();
}

ORMA_TEST(gaps_are_reported_by_sequence_and_cause)
{
	examine(BEGIN_STATE EVENT("type: 3") "packet { trusted_packet_sequence_id: 7 "
					     "previous_packet_dropped: 257 sequence_flags: 2 }"
					     "packet { trusted_packet_sequence_id: 7 "
					     "previous_packet_dropped: 65 }"
					     "packet { trusted_packet_sequence_id: 8 "
					     "previous_packet_dropped: 3 }"
					     "packet { trusted_packet_sequence_id: 9 "
					     "previous_packet_dropped: 1 }");
	check_problem("sequence_gaps",
		      "Sequence 7 (track_event, process 42) lost data at 1 place, because shared "
		      "memory was full.",
		      NULL);
	check_problem("sequence_gaps",
		      "Sequence 7 (track_event, process 42) lost data at 1 place, because newer "
		      "data overwrote it in the buffer.",
		      NULL);
	check_problem("sequence_gaps",
		      "Sequence 8 (other data) lost data at 1 place, because chunks are missing or "
		      "damaged.",
		      NULL);
	check_problem("missing_state",
		      "Sequence 7 (track_event, process 42) has 1 packet that cannot be decoded, "
		      "because earlier packets are lost.",
		      NULL);
	check_found(true, "no_statistics",
		    "The trace has no statistics of its service, so not every loss is known.",
		    NULL);
	CHECK_INT(findings.problem_count, 4);
	finish();
}

ORMA_TEST(events_with_undeclared_names_are_counted)
{
	examine(BEGIN_STATE EVENT("type: 3 name_iid: 9") EVENT("type: 3 category_iids: 1")
			EVENT("type: 3 debug_annotations { name_iid: 4 }")
				EVENT("type: 3 source_location_iid: 1")
					EVENT("type: 3 name_iid: 1"));
	check_problem(
		"unknown_names",
		"Sequence 7 (track_event, process 42) has 4 events whose names, categories or "
		"arguments are not declared (unknown interned ids).",
		NULL);
	CHECK_INT(findings.problem_count, 1);
	/* A new state forgets the names of the one before. */
	examine(BEGIN_STATE "packet { trusted_packet_sequence_id: 7 sequence_flags: 1 }" EVENT(
		"type: 3 name_iid: 1"));
	CHECK_INT(findings.problem_count, 1);
	finish();
}

ORMA_TEST(timestamps_of_clocks_without_a_snapshot_are_reported)
{
	examine("packet { trusted_packet_sequence_id: 3 timestamp: 1 timestamp_clock_id: 65 }"
		"packet { trusted_packet_sequence_id: 3 timestamp: 1 timestamp_clock_id: 3 }");
	check_problem("unknown_clock",
		      "Sequence 3 (other data) has 1 timestamp in a clock of its own that has no "
		      "snapshot, so the times are not known.",
		      NULL);
	check_problem(
		"unknown_clock",
		"Timestamps are in MONOTONIC (clock 3), of which the trace has no snapshot, so "
		"they cannot be compared with others.",
		NULL);
	finish();
}

ORMA_TEST(slices_without_an_end_or_a_begin_are_counted)
{
	examine(BEGIN_STATE EVENT("type: TYPE_SLICE_BEGIN") EVENT("type: TYPE_SLICE_BEGIN")
			EVENT("type: TYPE_SLICE_END") EVENT("type: TYPE_SLICE_END track_uuid: 99"));
	check_found(true, "unclosed_slices", "1 slice was still open when the recording ended.",
		    NULL);
	check_problem("ends_without_begin", "1 slice has no begin.", NULL);
	examine(BEGIN_STATE EVENT("type: TYPE_SLICE_END") "packet { trace_stats { buffer_stats { "
							  "chunks_overwritten: 1 } } }");
	check_found(true, "ends_without_begin", "The buffer overwrote the begin of 1 slice.", NULL);
	finish();
}

ORMA_TEST(losses_of_ftrace_are_reported_by_cpu)
{
	examine("packet { ftrace_stats { phase: START_OF_TRACE cpu_stats { cpu: 0 overrun: 10 } } }"
		"packet { ftrace_events { cpu: 2 lost_events: true } }"
		"packet { ftrace_events { cpu: 0 } }"
		"packet { ftrace_stats { phase: END_OF_TRACE cpu_buffer_size_pages: 8 "
		"unknown_ftrace_events: \"sched/nonsense\" failed_ftrace_events: \"x/y\" "
		"ftrace_parse_errors: 2 cpu_stats { cpu: 0 overrun: 13 dropped_events: 2 } } }");
	check_problem("ftrace_lost",
		      "CPU 0 lost 5 kernel events, because its ftrace buffer was full.", NULL);
	check_problem("ftrace_lost",
		      "CPU 2 lost kernel events at 1 place, because its ftrace buffer was full.",
		      "(it was 32 KB per CPU)");
	check_problem("ftrace_event_refused",
		      "The ftrace event \"sched/nonsense\" of the config was not recorded: this "
		      "kernel does not have it, or refused to enable it.",
		      "orma doctor --config");
	check_problem("ftrace_parse_errors",
		      "Pages of the kernel could not be parsed: 1 kind of error.", NULL);
	CHECK_INT(findings.problem_count, 5);
	finish();
}

ORMA_TEST(not_all_of_many_cpus_are_listed)
{
	struct orma_buf text = {0};

	for (int i = 0; i < 20; i++)
		CHECK_INT(
			orma_base_buf_printf(
				&text, "packet { ftrace_events { cpu: %d lost_events: true } }", i),
			0);
	examine(orma_base_buf_cstr(&text));
	check_found(true, "more_cpus",
		    "4 more CPUs are not listed; they may have lost events, too.",
		    "buffer_size_kb");
	CHECK_INT(findings.problem_count, 16);
	orma_base_buf_done(&text);
	finish();
}

#define THREE_SOURCES                                                                              \
	"data_sources { config { name: \"linux.sys_stats\" } } "                                   \
	"data_sources { config { name: \"linux.process_stats\" } } "                               \
	"data_sources { config { name: \"my.own\" } } "
#define PROCESS_STATS "packet { trusted_packet_sequence_id: 2 process_stats { } }"

ORMA_TEST(a_data_source_that_wrote_nothing_is_named)
{
	examine("packet { trusted_packet_sequence_id: 1 trace_config { " THREE_SOURCES
		"} }" PROCESS_STATS "packet { trace_stats { writer_stats { sequence_id: 2 } } }");
	check_problem(
		"silent_source",
		"The config asks for the data source \"linux.sys_stats\", which wrote nothing.",
		"orma status");
	CHECK_INT(findings.problem_count, 1);
	finish();
}

ORMA_TEST(a_trace_without_programs_is_healthy)
{
	examine("packet { trusted_packet_sequence_id: 1 trace_config { data_sources { config { "
		"name: \"track_event\" } } } } packet { trace_stats { } }");
	check_found(true, "silent_source", "No program wrote track events that the config enables.",
		    "orma status --long");
	check_healthy();
}

/* Another part may have it. */
ORMA_TEST(a_part_of_a_trace_need_not_have_every_source)
{
	static const char *const parts[] = {
		/* one of several files */
		"packet { trusted_packet_sequence_id: 1 trace_config { " THREE_SOURCES
		"max_file_count: 2 } }" PROCESS_STATS "packet { trace_stats { } }",
		/* not the end */
		"packet { trusted_packet_sequence_id: 1 trace_config { " THREE_SOURCES
		"} }" PROCESS_STATS,
		/* cut by time: no packet of sequence 3 is left */
		"packet { trusted_packet_sequence_id: 1 trace_config { " THREE_SOURCES
		"} }" PROCESS_STATS "packet { trace_stats { writer_stats { sequence_id: 2 } "
		"writer_stats { sequence_id: 3 } } }",
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(parts); i++) {
		examine(parts[i]);
		check_found(true, "silent_source",
			    "Nothing of the data source \"linux.sys_stats\" is in the file, which "
			    "has only a part of what was recorded.",
			    NULL);
		check_healthy();
	}
}

ORMA_TEST(many_bad_sequences_are_summed_up)
{
	struct orma_buf text = {0};

	for (int i = 1; i <= 13; i++)
		CHECK_INT(orma_base_buf_printf(&text,
					       "packet { trusted_packet_sequence_id: %d "
					       "previous_packet_dropped: 3 }",
					       i),
			  0);
	examine(orma_base_buf_cstr(&text));
	check_problem("more_sequences", "3 more sequences lost data or cannot be decoded in part.",
		      NULL);
	CHECK_INT(findings.problem_count, 11);
	orma_base_buf_done(&text);
	finish();
}

ORMA_TEST(json_escapes_what_others_chose)
{
	struct orma_buf json = {0};

	orma_findings_add(&findings, "id", "%s", "a\"\\\n\xff\xc3\xa9");
	orma_findings_advise(&findings, "%s", "do");
	CHECK_INT(orma_findings_append_json(&findings, "s", &json), 0);
	CHECK_STR(orma_base_buf_cstr(&json),
		  "{\"subject\": \"s\", \"problems\": 1, \"findings\": [\n  {\"id\": \"id\", "
		  "\"severity\": \"problem\", \"text\": \"a\\\"\\\\\\u000a\\ufffd\xc3\xa9\", "
		  "\"advice\": \"do\"}]}");
	orma_base_buf_done(&json);
	finish();
}
