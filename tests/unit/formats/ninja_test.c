/* SPDX-License-Identifier: Apache-2.0
 * ninja_test.c - logs of ninja.
 */
#include "convert_fixture.h"

ORMA_TEST(commands_go_to_the_worker_that_has_been_idle_for_the_shortest_time)
{
	static struct import_fixture fixture;
	convert_text(&fixture, "# ninja log v5\n"
			       "10\t14\t7\td.o\taa\n"
			       "0\t9\t7\ta.o\t832a958a9e234dfa\n"
			       "2\t5\t7\tb.o\tbb\n"
			       "10\t30\t7\tc.o\tcc\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name depth"),
		  "0 9000000 a.o 0\n2000000 3000000 b.o 0\n10000000 4000000 d.o 0\n"
		  "10000000 20000000 c.o 0\n");
	/* Row 1 is the process's main thread, which is the first worker. */
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid name upid"),
		  "0 - 0\n1 Worker 1\n2 Worker 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_PROCESS, "pid name"), "0 -\n1 Build\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_TRACK, "utid"), "1\n2\n");
	import_done(&fixture);
}

ORMA_TEST(outputs_of_one_command_are_one_slice)
{
	static struct import_fixture fixture;
	convert_text(&fixture, "# ninja log v6\r\n1\t2\t0\tone.h\tff\r\n1\t2\t0\tone.c\tff\r\n"
			       "1\t2\t0\tother\tfe");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name track_id"),
		  "1000000 1000000 one.h one.c 0\n1000000 1000000 other 1\n");
	import_done(&fixture);
}

ORMA_TEST(lines_that_make_no_sense_are_counted)
{
	static struct import_fixture fixture;
	convert_text(&fixture,
		     "# ninja log v5\nnothing\n1\t2\n5\t4\t0\tback\tff\n-5\t4\t0\tneg\tff\n"
		     "1\t99999999999999999\t0\tlate\tff\n1\t2\t0\t\tff\n1\t2\t0\tx\tgg\n"
		     "1\t2\t0\tgood\tff\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "good\n");
	CHECK_INT(import_stat(&fixture, "ninja_parse_errors"), 7);
	import_done(&fixture);
}

ORMA_TEST(a_log_of_another_version_is_refused)
{
	static struct import_fixture fixture;
	static const char text[] = "# ninja log v4\n1\t2\t0\tx\tff\n";
	struct orma_error error = {0};
	CHECK_INT(convert_bytes(&fixture, text, sizeof(text) - 1, &error), -EPROTONOSUPPORT);
	CHECK_STR(error.message, "this log of ninja is not of version 5, 6 or 7");
}
