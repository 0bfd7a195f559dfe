/* SPDX-License-Identifier: Apache-2.0
 * strace_test.c - the output of strace.
 */
#include "convert_fixture.h"

ORMA_TEST(a_call_is_a_slice_of_its_thread)
{
	static struct import_fixture fixture;
	convert_text(&fixture, "7 1700000000.000001 openat(AT_FDCWD, \"/a=)b\", O_RDONLY) = -1 "
			       "ENOENT (No such file)\n"
			       "8 1700000000.000002 close(3)      = 0 <0.000010>\n"
			       "7 1700000000.000003 getpid() = 7\n");
	CHECK_STR(
		import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur category name track_id"),
		"1700000000000001000 0 strace openat 0\n1700000000000002000 10000 strace close 1\n"
		"1700000000000003000 0 strace getpid 0\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_THREAD, "tid upid"), "0 0\n7 -\n8 -\n");
	CHECK_STR(import_slice_args(&fixture, 0), "args=AT_FDCWD, \"/a=)b\", O_RDONLY "
						  "ret=-1 ENOENT (No such file)");
	CHECK_STR(import_slice_args(&fixture, 1), "args=3 ret=0");
	CHECK_STR(import_slice_args(&fixture, 2), "ret=7");
	import_done(&fixture);
}

ORMA_TEST(a_call_that_is_resumed_goes_on_from_its_first_line)
{
	static struct import_fixture fixture;
	convert_text(&fixture, "7 1700000000.5 poll(4, <unfinished ...>\n"
			       "8 1700000000.6 <... read resumed>\"x\", 1) = 1\n"
			       "7 1700000000.7 <... poll resumed>{}, 64 <unfinished ...>\n"
			       "7 1700000001 <... poll resumed>) = 1\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "ts dur name"),
		  "1700000000500000000 200000000 poll\n1700000000700000000 300000000 poll\n");
	CHECK_STR(import_slice_args(&fixture, 0), "args={}, 64");
	import_done(&fixture);
}

ORMA_TEST(lines_of_strace_that_are_no_calls_are_counted)
{
	static struct import_fixture fixture;
	convert_text(&fixture, "7 1700000000.000001 close(3) = 0\n"
			       "--- SIGCHLD {si_signo=SIGCHLD} ---\n"
			       "+++ exited with 0 +++\n"
			       "7 nothing close(3) = 0\n"
			       "7 1700000000.2 close 3\n"
			       "7 1700000000.2 close(3)\n"
			       "7 12:00:01 close(3) = 0\n"
			       "1700000000.3 close(3) = 0\n"
			       "7 99999999999999.3 close(3) = 0\n"
			       "7\n");
	CHECK_STR(import_rows(&fixture, ORMA_TABLE_SLICE, "name"), "close\n");
	CHECK_INT(import_stat(&fixture, "strace_parse_failure"), 7);
	CHECK_INT(import_stat(&fixture, "strace_unsupported_timestamp_format"), 1);
	CHECK_INT(import_stat(&fixture, "strace_missing_pid"), 1);
	import_done(&fixture);
}
