/* SPDX-License-Identifier: Apache-2.0
 * ctf_stream_test.c - packets and events of streams: times that wrap around, losses, damage, several files and traces.
 */
#include <sys/stat.h>

#include "ctf_fixture.h"

#define ONE_EVENT                                                                                  \
	"};\nevent { name = \"p:e\"; id = 1; stream_id = 0; fields := struct { uint8_t x; }; };\n"

static struct ctf_bytes bytes;
static struct import_fixture fixture;
static struct orma_ctf_report report;

static void add_event(uint64_t ns)
{
	ctf_event(&bytes, 1, ns);
	ctf_put(&bytes, 8, 8, 7);
}

static void import(void)
{
	ctf_write_metadata(orma_test_tmpdir(), bytes.is_big_endian ? "be" : "le", "ust", ONE_EVENT);
	ctf_write_stream(orma_test_tmpdir(), "stream", &bytes);
	ctf_import(orma_test_tmpdir(), &fixture, &report);
}

static void check_times(const char *expected)
{
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts name category"), expected);
}

ORMA_TEST(times_of_27_bits_wrap_around)
{
	const uint64_t wrap = UINT64_C(1) << 27;
	ctf_packet_begin(&bytes, 5 * wrap - 10, 0, 0, 0);
	add_event(5 * wrap - 5);
	add_event(5 * wrap + 3);
	add_event(6 * wrap + 2);
	ctf_packet_end(&bytes, 7 * wrap);
	import();
	check_times("671088635 e p\n671088643 e p\n805306370 e p\n");
	import_done(&fixture);
}

ORMA_TEST(extended_headers_have_whole_times_and_numbers)
{
	bytes.is_big_endian = true;
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	ctf_put(&bytes, 5, 8, 31);
	ctf_put(&bytes, 32, 8, 1);
	ctf_put(&bytes, 64, 8, UINT64_C(5000000000));
	ctf_put(&bytes, 8, 8, 7);
	add_event(UINT64_C(5000000001));
	ctf_packet_end(&bytes, UINT64_C(6000000000));
	import();
	check_times("5000000000 e p\n5000000001 e p\n");
	import_done(&fixture);
}

static const char large[] =
	"/* CTF 1.8 */ typealias integer { size = 32; } := u32; typealias integer { size = 16; } "
	":= u16;"
	"trace { byte_order = le; packet.header := struct { u32 magic; u32 stream_id; }; };"
	"clock { name = c; freq = 1000; offset_s = 100; };"
	"typealias integer { size = 32; map = clock.c.value; } := t32;"
	"typealias integer { size = 64; map = clock.c.value; } := t64;"
	"stream { id = 4; packet.context := struct { t64 timestamp_begin; };"
	" event.header := struct { enum : u16 { compact = 0 ... 65534, extended = 65535 } id;"
	" variant <id> { struct { t32 timestamp; } compact; struct { u32 id; t64 timestamp; } "
	"extended; } v; } align(8); };"
	"event { name = \"plain\"; id = 70000; stream_id = 4; fields := struct { }; };"
	"event { name = \"other\"; id = 2; stream_id = 4; fields := struct { }; };";

ORMA_TEST(large_headers_and_slow_clocks_are_read)
{
	/* Without sizes, the file is one packet. */
	ctf_put(&bytes, 32, 8, 0xc1fc1fc1);
	ctf_put(&bytes, 32, 8, 4);
	ctf_put(&bytes, 64, 8, UINT64_C(0x1fffffff0));
	ctf_put(&bytes, 16, 8, 2);
	ctf_put(&bytes, 32, 8, 5);
	ctf_put(&bytes, 16, 8, 65535);
	ctf_put(&bytes, 32, 8, 70000);
	ctf_put(&bytes, 64, 8, UINT64_C(0x300000000));
	ctf_write(orma_test_tmpdir(), "metadata", large, sizeof(large) - 1);
	ctf_write_stream(orma_test_tmpdir(), "stream", &bytes);
	ctf_import(orma_test_tmpdir(), &fixture, &report);
	/* The clock ticks each millisecond, and is not one that others have: times are those of the day. */
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts name category"),
		  "8590034597000000 other -\n12885001888000000 plain -\n");
	import_done(&fixture);
}

ORMA_TEST(what_the_tracer_lost_is_counted)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 2);
	add_event(1001);
	ctf_packet_end(&bytes, 1999);
	ctf_packet_begin(&bytes, 2000, 0, 1, 7);
	add_event(2001);
	ctf_packet_end(&bytes, 2999);
	ctf_packet_begin(&bytes, 3000, 0, 5, 7);
	add_event(3001);
	ctf_packet_end(&bytes, 3999);
	import();
	CHECK_INT(report.counts.discarded_events, 7);
	CHECK_INT(report.counts.lost_packets, 3);
	check_times("1001 e p\n2001 e p\n3001 e p\n");
	CHECK_INT(import_stat(&fixture, "traced_buf_sequence_packet_loss") <= 0, 1);
	import_done(&fixture);
}

ORMA_TEST(the_counter_of_a_stream_that_has_no_beginning_is_not_a_loss)
{
	ctf_packet_begin(&bytes, 1000, 0, 12, 1000);
	add_event(1001);
	ctf_packet_end(&bytes, 1999);
	ctf_packet_begin(&bytes, 2000, 0, 13, 1001);
	ctf_packet_end(&bytes, 2999);
	import();
	CHECK_INT(report.counts.discarded_events, 1);
	CHECK_INT(report.counts.lost_packets, 0);
	import_done(&fixture);
}

ORMA_TEST(a_counter_that_makes_no_sense_is_no_number_of_events)
{
	const uint64_t counters[] = {3, (UINT64_C(1) << 63) + 4, 5, 0, 6};
	for (unsigned i = 0; i < 5; i++) {
		ctf_packet_begin(&bytes, 1000 * (i + 1), 0, i, counters[i]);
		add_event(1000 * (i + 1) + 1);
		ctf_packet_end(&bytes, 1000 * (i + 1) + 999);
	}
	import();
	CHECK_INT(report.counts.discarded_events, 6);
	import_done(&fixture);
}

ORMA_TEST(a_first_counter_that_makes_no_sense_is_left_out)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, UINT64_C(9223372036855041503));
	ctf_packet_end(&bytes, 1999);
	ctf_packet_begin(&bytes, 2000, 0, 1, 4);
	ctf_packet_end(&bytes, 2999);
	import();
	CHECK_INT(report.counts.discarded_events, 4);
	import_done(&fixture);
}

ORMA_TEST(a_packet_that_is_cut_keeps_its_whole_events)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	add_event(1001);
	ctf_packet_end(&bytes, 1999);
	ctf_packet_begin(&bytes, 2000, 0, 1, 0);
	add_event(2001);
	size_t end = bytes.at;
	add_event(2002);
	ctf_packet_end(&bytes, 2999);
	bytes.at = end + 16;
	import();
	check_times("1001 e p\n2001 e p\n");
	CHECK_INT(report.counts.cut_packets, 1);
	CHECK_INT(report.counts.bad_packets, 0);
	import_done(&fixture);
	bytes.at = end - 400; /* in the context */
	import();
	check_times("1001 e p\n");
	CHECK_INT(report.counts.cut_packets, 1);
	import_done(&fixture);
}

ORMA_TEST(after_an_event_that_makes_no_sense_the_next_packet_is_read)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	add_event(1001);
	ctf_event(&bytes, 9, 1002); /* nothing has this number */
	add_event(1003);
	ctf_packet_end(&bytes, 1999);
	ctf_packet_begin(&bytes, 2000, 0, 1, 0);
	add_event(2001);
	ctf_packet_end(&bytes, 2999);
	import();
	check_times("1001 e p\n2001 e p\n");
	CHECK_INT(report.counts.bad_packets, 1);
	import_done(&fixture);
}

ORMA_TEST(a_packet_with_wrong_sizes_ends_its_file)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	add_event(1001);
	ctf_packet_end(&bytes, 1999);
	size_t second = bytes.at / 8;
	ctf_packet_begin(&bytes, 2000, 0, 1, 0);
	add_event(2001);
	ctf_packet_end(&bytes, 2999);
	bytes.data[second + 16 + 16 + 7] = 0xff; /* more content than packet */
	import();
	check_times("1001 e p\n");
	CHECK_INT(report.counts.bad_packets, 1);
	import_done(&fixture);
}

ORMA_TEST(files_that_are_not_streams_are_left_out)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	add_event(1001);
	ctf_packet_end(&bytes, 1999);
	ctf_write(orma_test_tmpdir(), "notes.txt",
		  "something else entirely ............................", 50);
	ctf_write(orma_test_tmpdir(), "empty", "", 0);
	import();
	check_times("1001 e p\n");
	CHECK_INT(report.foreign_files, 1);
	CHECK_INT(report.streams, 1);
	import_done(&fixture);
}

/* A packet of stream instance `cpu`, alone in a file. */
static void write_file(const char *name, uint64_t ns, uint32_t cpu, uint64_t number,
		       uint64_t discarded)
{
	bytes = (struct ctf_bytes){0};
	ctf_packet_begin(&bytes, ns, cpu, number, discarded);
	add_event(ns + 1);
	ctf_packet_end(&bytes, ns + 999);
	ctf_write_stream(orma_test_tmpdir(), name, &bytes);
}

ORMA_TEST(files_of_one_stream_are_one_sequence_in_the_order_of_time)
{
	ctf_write_metadata(orma_test_tmpdir(), "le", "ust", ONE_EVENT);
	write_file("channel_0_0", 5000, 0, 2, 10);
	write_file("channel_0_1", 1000, 0, 0, 0);
	write_file("channel_0_2", 3000, 0, 1, 4);
	write_file("channel_1_0", 2000, 1, 0, 0);
	ctf_import(orma_test_tmpdir(), &fixture, &report);
	check_times("1001 e p\n2001 e p\n3001 e p\n5001 e p\n");
	CHECK_INT(report.streams, 2);
	CHECK_INT(report.counts.discarded_events, 10);
	CHECK_INT(report.counts.lost_packets, 0);
	import_done(&fixture);
}

static void make_folder(const char *name)
{
	char path[512];
	snprintf(path, sizeof(path), "%s/%s", orma_test_tmpdir(), name);
	CHECK_INT(mkdir(path, 0700), 0);
}

ORMA_TEST(traces_in_folders_below_share_one_timeline)
{
	char path[512];
	make_folder("kernel");
	make_folder("ust");
	make_folder("ust/uid");
	make_folder("ust/uid/index");
	snprintf(path, sizeof(path), "%s/kernel", orma_test_tmpdir());
	ctf_write_metadata(path, "le", "ust", ONE_EVENT);
	snprintf(path, sizeof(path), "%s/ust/uid", orma_test_tmpdir());
	ctf_write_metadata(path, "le", "ust", ONE_EVENT);
	write_file("kernel/a", 1000, 0, 0, 0);
	write_file("ust/uid/b", 2000, 0, 0, 0);
	write_file("ust/uid/index/c", 3000, 0, 0, 0);
	ctf_import(orma_test_tmpdir(), &fixture, &report);
	check_times("1001 e p\n2001 e p\n");
	CHECK_INT(report.traces, 2);
	import_done(&fixture);
}

ORMA_TEST(traces_of_two_clocks_meet_at_the_time_of_day)
{
	char path[512];
	make_folder("a");
	make_folder("b");
	snprintf(path, sizeof(path), "%s/a", orma_test_tmpdir());
	ctf_write_metadata(path, "le", "ust", ONE_EVENT);
	write_file("a/stream", 1000, 0, 0, 0);
	snprintf(path, sizeof(path), "%s/b", orma_test_tmpdir());
	ctf_write(path, "metadata", large, sizeof(large) - 1);
	bytes = (struct ctf_bytes){0};
	ctf_put(&bytes, 32, 8, 0xc1fc1fc1);
	ctf_put(&bytes, 32, 8, 4);
	ctf_put(&bytes, 64, 8, 0);
	ctf_put(&bytes, 16, 8, 2);
	ctf_put(&bytes, 32, 8, 5);
	ctf_write_stream(path, "stream", &bytes);
	ctf_import(orma_test_tmpdir(), &fixture, &report);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts name"),
		  "100005000000 other\n1600000000000001001 e\n");
	import_done(&fixture);
}

ORMA_TEST(a_folder_without_traces_is_none)
{
	struct orma_buf packets = {0};
	struct orma_error error = {0};
	ctf_write(orma_test_tmpdir(), "metadata", "something else", 14);
	CHECK_INT(ctf_convert(orma_test_tmpdir(), &packets, &report, &error), -ENOENT);
	ctf_write(orma_test_tmpdir(), "metadata", "/* CTF 1.8 */ what", 18);
	CHECK_INT(ctf_convert(orma_test_tmpdir(), &packets, &report, &error), -EBADMSG);
	CHECK(strstr(error.message, "metadata:1:15: found \"what\", expected a declaration"));
	orma_base_buf_done(&packets);
}

ORMA_TEST(no_failure_of_memory_is_overlooked_in_streams)
{
	ctf_packet_begin(&bytes, 1000, 0, 0, 0);
	add_event(1001);
	ctf_packet_end(&bytes, 1999);
	ctf_write_metadata(orma_test_tmpdir(), "le", "ust", ONE_EVENT);
	ctf_write_stream(orma_test_tmpdir(), "stream", &bytes);
	for (uint64_t nth = 1;; nth++) {
		struct orma_buf packets = {0};
		struct orma_error error = {0};
		orma_test_fail_allocation(nth);
		int r = ctf_convert(orma_test_tmpdir(), &packets, &report, &error);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		orma_base_buf_done(&packets);
		CHECK_INT(r, has_failed ? -ENOMEM : 0);
		if (!has_failed)
			break;
	}
}

/* --- the meaning of programs' events ---------------------------------------------------------- */

#define PROGRAM                                                                                    \
	" event.context := struct { int32_t _vpid; int32_t _vtid; integer { size = 8; encoding = " \
	"UTF8; } "                                                                                 \
	"_procname[16]; }; };\n"                                                                   \
	"event { name = \"lttng_ust_cyg_profile:func_entry\"; id = 1; stream_id = 0; fields := "   \
	"struct { uint64_t _addr; uint64_t _call_site; }; };\n"                                    \
	"event { name = \"lttng_ust_cyg_profile:func_exit\"; id = 2; stream_id = 0; fields := "    \
	"struct { uint64_t _addr; uint64_t _call_site; }; };\n"                                    \
	"event { name = \"lttng_ust_tracef:event\"; id = 3; stream_id = 0; fields := struct { "    \
	"string _msg; }; };\n"                                                                     \
	"event { name = \"lttng_ust_tracelog:TRACE_WARNING\"; id = 4; stream_id = 0; fields := "   \
	"struct { int32_t _line; string _file; string _msg; }; };\n"

static void begin_program_event(unsigned id, uint64_t ns, int tid, const char *name)
{
	ctf_event(&bytes, id, ns);
	ctf_put(&bytes, 32, 8, 100);
	ctf_put(&bytes, 32, 8, (uint32_t)tid);
	ctf_put_array(&bytes, name, 16);
}

static void import_program(void)
{
	ctf_write_metadata(orma_test_tmpdir(), "le", "ust", PROGRAM);
	ctf_write_stream(orma_test_tmpdir(), "stream", &bytes);
	ctf_import(orma_test_tmpdir(), &fixture, &report);
}

ORMA_TEST(functions_are_slices_of_their_threads)
{
	ctf_packet_begin(&bytes, 1000, 2, 0, 0);
	for (int i = 0; i < 2; i++) {
		begin_program_event(1, 1001 + (unsigned)i, 101 + i, "worker");
		ctf_put(&bytes, 64, 8, 0x400abc);
		ctf_put(&bytes, 64, 8, 0x400def);
	}
	begin_program_event(2, 1010, 101, "worker");
	ctf_put(&bytes, 64, 8, 0x400abc);
	ctf_put(&bytes, 64, 8, 0x400def);
	ctf_packet_end(&bytes, 2000);
	import_program();
	CHECK_STR(
		import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name category"),
		"1001 9 0x400abc lttng_ust_cyg_profile\n1002 -1 0x400abc lttng_ust_cyg_profile\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name upid"),
		  "0 swapper 0\n100 - 1\n101 worker 1\n102 worker 1\n");
	import_done(&fixture);
}

ORMA_TEST(messages_are_the_names_of_instants)
{
	ctf_packet_begin(&bytes, 1000, 2, 0, 0);
	begin_program_event(3, 1001, 100, "main");
	ctf_put_text(&bytes, "hello 1");
	begin_program_event(4, 1002, 100, "renamed");
	ctf_put(&bytes, 32, 8, 12);
	ctf_put_text(&bytes, "a.c");
	ctf_put_text(&bytes, "careful");
	ctf_packet_end(&bytes, 2000);
	import_program();
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name category"),
		  "1001 0 hello 1 lttng_ust_tracef\n1002 0 careful lttng_ust_tracelog\n");
	CHECK_STR(import_slice_args(&fixture, 1),
		  "debug.level=TRACE_WARNING debug.context.cpu_id=2 debug.context.vpid=100 "
		  "debug.context.vtid=100 debug.context.procname=renamed debug.line=12 "
		  "debug.file=a.c debug.msg=careful");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "pid name"), "0 -\n100 renamed\n");
	import_done(&fixture);
}

ORMA_TEST(the_time_of_day_and_the_environment_are_known)
{
	ctf_packet_begin(&bytes, 1000, 2, 0, 0);
	begin_program_event(3, 1001, 100, "main");
	ctf_put_text(&bytes, "hello");
	ctf_packet_end(&bytes, 2000);
	import_program();
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CLOCK_SNAPSHOT, "ts clock_name clock_value"),
		  "1000 MONOTONIC 1000\n1000 REALTIME 1600000000000001000\n");
	CHECK(strstr(import_rows(&fixture, ORMA_TABLE_METADATA, "name str_value"),
		     "trace_attribute.ctf.hostname host\n"));
	import_done(&fixture);
}

ORMA_TEST(the_clocks_are_related_from_the_first_event_of_any_stream)
{
	ctf_write_metadata(orma_test_tmpdir(), "le", "ust", ONE_EVENT);
	write_file("channel_0", 5000, 0, 0, 0);
	write_file("channel_1", 2000, 1, 0, 0);
	write_file("channel_2", 3000, 2, 0, 0);
	ctf_import(orma_test_tmpdir(), &fixture, &report);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_CLOCK_SNAPSHOT, "ts clock_name clock_value"),
		  "2000 MONOTONIC 2000\n2000 REALTIME 1600000000000002000\n");
	import_done(&fixture);
}
