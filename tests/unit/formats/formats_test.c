/* SPDX-License-Identifier: Apache-2.0
 * formats_test.c - telling formats, lines of text, and the writer of packets.
 */
#include "formats/formats.h"

#include <fcntl.h>
#include <unistd.h>

#include "../../import_run.h"
#include "convert_fixture.h"
#include "formats/event_output.h"
#include "formats/packet_output.h"
#include "formats/text_lines.h"
#include "formats/zstd_unpack.h"
#include "schema/gen/interned_data.pb.h"

ORMA_TEST(formats_are_told_by_their_beginnings)
{
	CHECK_STR(orma_formats_name(-1, ORMA_STR("# ninja log v5\n")), "ninja_log");
	CHECK_STR(orma_formats_name(-1, ORMA_STR("\x0a\x02xy")), "proto");
	CHECK(!orma_formats_name(-1, ORMA_STR("nothing")));
	CHECK(!orma_formats_name(-1, ORMA_STR("")));
}

ORMA_TEST(a_file_of_no_known_format_is_refused)
{
	static struct import_fixture fixture;
	struct orma_error error = {0};
	CHECK_INT(convert_bytes(&fixture, "garbage", 7, &error), -EPROTONOSUPPORT);
	CHECK_STR(error.message, "Unknown trace type provided (ERR:fmt)");
}

ORMA_TEST(a_trace_of_packets_and_an_empty_file_are_read_where_they_are)
{
	static struct import_fixture fixture, empty;
	CHECK_INT(convert_bytes(&fixture, "\x0a\x02\x40\x01", 4, NULL), 0);
	CHECK_INT(fixture.input.size, 4);
	CHECK_INT(fixture.result, 0);
	import_done(&fixture);
	CHECK(convert_bytes(&empty, "", 0, NULL) >= 0);
	CHECK_INT(empty.result, 0);
	import_done(&empty);
}

ORMA_TEST(a_conversion_says_what_the_trace_was)
{
	static struct import_fixture fixture;
	convert_text(&fixture, "# ninja log v5\n");
	const char *rows = import_rows(&fixture, ORMA_TABLE_METADATA, "name int_value str_value");
	CHECK(strstr(rows, "trace_type - ninja_log\n"));
	CHECK(strstr(rows, "trace_size_bytes 15 -\n"));
	CHECK(strstr(rows, "trace_time_clock_id 11 -\n"));
	import_done(&fixture);
}

static int open_pipe(const char *text)
{
	int ends[2];
	CHECK_INT(pipe2(ends, O_CLOEXEC), 0);
	CHECK_INT(write(ends[1], text, strlen(text)), (long long)strlen(text));
	close(ends[1]);
	return ends[0];
}

ORMA_TEST(a_pipe_is_converted_too)
{
	struct orma_trace_bytes bytes;
	int fd = open_pipe("# ninja log v5\n0\t1\t0\ta\tff\n");
	CHECK_INT(orma_formats_open(fd, NULL, &bytes, NULL), 1);
	CHECK(bytes.spool_size > 0);
	orma_trace_bytes_done(&bytes);
	close(fd);
}

static struct orma_trace_bytes spool_of(const char *data, size_t size)
{
	struct orma_trace_bytes bytes = {.fd = -1, .spool_fd = -1};
	uint64_t address;
	CHECK_INT(orma_trace_bytes_add(&bytes, data, size, &address), 0);
	return bytes;
}

ORMA_TEST(lines_have_any_length_and_either_end)
{
	enum { LONG = 700000 };
	static char text[LONG + 100];
	size_t size = (size_t)sprintf(text, "one\r\n\ntwo\n");
	memset(text + size, 'x', LONG);
	size += LONG;
	size += (size_t)sprintf(text + size, "\nlast");
	struct orma_trace_bytes bytes = spool_of(text, size);
	struct orma_text_lines lines = {.input = &bytes};
	struct orma_str line;
	static const struct {
		const char *begin;
		size_t size;
	} expected[] = {{"one", 3}, {"", 0}, {"two", 3}, {"xxxx", LONG}, {"last", 4}};
	for (size_t i = 0; i < sizeof(expected) / sizeof(*expected); i++) {
		CHECK_INT(orma_text_lines_next(&lines, &line), 1);
		CHECK_INT(line.size, (long long)expected[i].size);
		CHECK(orma_text_starts_with(line, expected[i].begin));
	}
	CHECK_INT(orma_text_lines_next(&lines, &line), 0);
	orma_text_lines_done(&lines);
	orma_trace_bytes_done(&bytes);
}

ORMA_TEST(numbers_of_a_text_are_read_whole_or_not_at_all)
{
	int64_t number, ns;
	uint64_t value;
	CHECK(orma_text_read_i64(ORMA_STR("-9223372036854775808"), &number));
	CHECK_INT(number, INT64_MIN);
	CHECK(!orma_text_read_i64(ORMA_STR("9223372036854775808"), &number));
	CHECK(!orma_text_read_i64(ORMA_STR("12x"), &number) &&
	      !orma_text_read_i64(ORMA_STR(""), &number) &&
	      !orma_text_read_i64(ORMA_STR("-"), &number));
	CHECK(orma_text_read_u64(ORMA_STR("fFffffffffffffff"), 16, &value) && value == UINT64_MAX);
	CHECK(!orma_text_read_u64(ORMA_STR("10000000000000000"), 16, &value));
	CHECK(orma_text_read_seconds(ORMA_STR("12.000000345"), &ns));
	CHECK_INT(ns, 12000000345);
	CHECK(orma_text_read_seconds(ORMA_STR("-1.5"), &ns));
	CHECK_INT(ns, -1500000000);
	CHECK(orma_text_read_seconds(ORMA_STR("7.1234567891"), &ns));
	CHECK_INT(ns, 7123456789);
	CHECK(!orma_text_read_seconds(ORMA_STR("7.12x"), &ns) &&
	      !orma_text_read_seconds(ORMA_STR("99999999999"), &ns));
}

ORMA_TEST(text_is_cut_at_separators)
{
	struct orma_str rest = ORMA_STR("a||b");
	CHECK(orma_base_str_is(orma_text_cut(&rest, '|'), "a"));
	CHECK(orma_base_str_is(orma_text_cut(&rest, '|'), ""));
	CHECK(orma_base_str_is(orma_text_cut(&rest, '|'), "b"));
	CHECK(!rest.data);
	CHECK(orma_base_str_is(orma_text_trim(ORMA_STR(" \tx y\r\n")), "x y"));
}

static void write_slices(struct orma_packet_output *output, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct orma_output_event slice = {.sequence = 1 + i % 3,
						  .ns = i * 10,
						  .phase = 'X',
						  .dur_ns = 7,
						  .pid = 5,
						  .tid = 6 + i % 3,
						  .category = ORMA_STR("cat"),
						  .name = i % 2 ? ORMA_STR("odd")
								: ORMA_STR("even")};
		orma_output_event(output, &slice);
		orma_output_arg_text(output, ORMA_STR("a.b"), ORMA_STR("text"));
		orma_packet_output_end(output);
	}
}

ORMA_TEST(each_sequence_gets_the_strings_that_it_uses)
{
	static struct import_fixture fixture;
	static struct orma_packet_output output;
	struct orma_trace_bytes bytes = {.fd = -1, .spool_fd = -1};
	orma_packet_output_init(&output, &bytes);
	write_slices(&output, 4);
	CHECK_INT(orma_packet_output_finish(&output, "test", 0), 0);
	fixture.input = bytes;
	CHECK_INT(orma_tables_init(&fixture.tables, 0, NULL), 0);
	CHECK_INT(import_run(&fixture.importer, &fixture.tables, &fixture.input, NULL, NULL), 0);
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur category name track_id"),
		  "0 7 cat even 0\n10 7 cat odd 1\n20 7 cat even 2\n30 7 cat odd 0\n");
	CHECK_STR(import_slice_args(&fixture, 3), "debug.a_b=text");
	import_done(&fixture);
}

ORMA_TEST(an_error_of_the_spool_is_reported_at_the_end)
{
	static struct orma_packet_output output;
	struct orma_trace_bytes bytes = {.fd = -1,
					 .spool_fd = open("/dev/full", O_RDWR | O_CLOEXEC)};
	orma_packet_output_init(&output, &bytes);
	write_slices(&output, 20000);
	CHECK(output.error < 0);
	CHECK(orma_packet_output_finish(&output, "test", 0) < 0);
	orma_trace_bytes_done(&bytes);
}

ORMA_TEST(interned_strings_have_a_limit)
{
	static struct orma_packet_output output;
	struct orma_trace_bytes bytes = {.fd = -1, .spool_fd = -1};
	char text[4096] = "";
	int interned = 0, count = 17000;
	orma_packet_output_init(&output, &bytes);
	for (int i = 0; i < count; i++) {
		(void)orma_packet_output_begin(&output, 1, 0);
		memcpy(text, &i, sizeof(i));
		struct orma_str name = {text, sizeof(text)};
		interned += orma_packet_output_intern(&output, ORMA_PB_INTERNED_DATA_EVENT_NAMES,
						      name) > 0;
		CHECK_INT(orma_packet_output_end(&output), 0);
	}
	CHECK(interned > 16000 && interned < 16500);
	CHECK_INT(orma_packet_output_finish(&output, "test", 0), 0);
	orma_trace_bytes_done(&bytes);
}

ORMA_TEST(a_pipe_of_no_format_is_refused_before_its_end)
{
	static const char zeros[8192];
	struct orma_trace_bytes bytes;
	int fds[2];
	CHECK_INT(pipe(fds), 0);
	CHECK_INT(write(fds[1], zeros, sizeof(zeros)), sizeof(zeros));
	CHECK_INT(orma_formats_open(fds[0], NULL, &bytes, NULL), -EPROTONOSUPPORT);
	orma_trace_bytes_done(&bytes);
	close(fds[0]);
	close(fds[1]);
}

ORMA_TEST(a_frame_of_zstd_that_fills_the_last_buffer_is_whole)
{
	/* A block of 128 KB, as large as the buffer, that repeats one byte, and a frame without content. */
	static const uint8_t frames[] = {0x28, 0xb5, 0x2f, 0xfd, 0, 0x50, 0x03, 0, 0x10, ' ',
					 0x28, 0xb5, 0x2f, 0xfd, 0, 0x50, 0x01, 0, 0};
	for (size_t size = 9; size <= sizeof(frames); size++) {
		struct orma_trace_bytes bytes = {.fd = -1, .spool_fd = -1};
		struct orma_str data = {(const char *)frames, size};
		int r = orma_zstd_unpack(data, 1 << 20, &bytes);
		if (r == -ENOTSUP)
			orma_test_skip("built without zstd");
		CHECK_INT(r, size == 10 || size == sizeof(frames) ? 0 : -EBADMSG);
		CHECK_INT(bytes.spool_size, size == 9 ? 0 : 128 << 10);
		orma_trace_bytes_done(&bytes);
	}
}

ORMA_TEST(a_conversion_without_memory_fails)
{
	for (uint64_t nth = 1;; nth++) {
		struct orma_trace_bytes bytes;
		int fd = open_pipe("# ninja log v5\n0\t1\t0\ta\tff\n0\t2\t0\tb\tfe\n");
		orma_test_fail_allocation(nth);
		int r = orma_formats_open(fd, NULL, &bytes, NULL);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		orma_trace_bytes_done(&bytes);
		close(fd);
		CHECK(has_failed ? r == -ENOMEM || r == 1 : r == 1);
		if (!has_failed)
			break;
	}
}
