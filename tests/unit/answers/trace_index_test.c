/* SPDX-License-Identifier: Apache-2.0
 * trace_index_test.c - a trace that is opened by its index answers as the one that was read; indexes of other traces and keys,
 * and damaged ones, are not taken.
 */
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "codec/unpack.h"
#include "harness.h"
#include "trace_fixture.h"

static const char trace[] =
	"packet { trusted_packet_sequence_id: 2 clock_snapshot { "
	"clocks { clock_id: 6 timestamp: 1000 } clocks { clock_id: 1 timestamp: 5000000 } "
	"clocks { clock_id: 64 timestamp: 7 unit_multiplier_ns: 100 } } }"
	"packet { trusted_packet_sequence_id: 1 sequence_flags: 1 interned_data { "
	"event_names { iid: 1 name: 'one' } debug_annotation_names { iid: 1 name: 'size' } "
	"kernel_symbols { iid: 1 str: 'do_work' } } }"
	"packet { trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: 1100 track_event { "
	"type: 1 track_uuid: 3 name_iid: 1 debug_annotations { name_iid: 1 uint_value: 42 } } }"
	"packet { trusted_packet_sequence_id: 1 sequence_flags: 2 timestamp: 1200 track_event { "
	"type: 2 track_uuid: 3 debug_annotations { name: 'end' string_value: 'done' } } }"
	"packet { trusted_packet_sequence_id: 1 sequence_flags: 2 ftrace_events { cpu: 1 "
	"event { timestamp: 1300 pid: 7 sched_process_exec { filename: '/bin/ls' pid: 7 } } "
	"event { timestamp: 1301 pid: 7 sched_blocked_reason { pid: 7 caller: 1 io_wait: 1 } } "
	"compact_sched { intern_table: 'a' intern_table: 'b' switch_timestamp: 1310 "
	"switch_timestamp: 10 switch_prev_state: 1 switch_prev_state: 0 switch_next_pid: 8 "
	"switch_next_pid: 7 switch_next_prio: 120 switch_next_prio: 100 "
	"switch_next_comm_index: 0 switch_next_comm_index: 1 "
	"waking_timestamp: 1315 waking_pid: 9 waking_target_cpu: 1 waking_prio: 110 "
	"waking_comm_index: 1 } } }";

static void check_answers(struct orma_trace_database *database)
{
	fixture_check(database, "select ts, dur, name from slice", "1100,100,\"one\"\n");
	fixture_check(database, "select key, display_value from slice join args using (arg_set_id)",
		      "\"debug.size\",\"42\"\n\"debug.end\",\"done\"\n");
	fixture_check(database,
		      "select extract_arg(arg_set_id, 'filename'), extract_arg(arg_set_id, "
		      "'caller') from ftrace_event where ts < 1310",
		      "\"/bin/ls\",\"[NULL]\"\n\"[NULL]\",\"do_work\"\n");
	fixture_check(database,
		      "select ts, extract_arg(arg_set_id, 'prev_comm'), extract_arg(arg_set_id, "
		      "'next_prio') from ftrace_event where name = 'sched_switch'",
		      "1320,\"a\",100\n");
	fixture_check(database,
		      "select ts, extract_arg(arg_set_id, 'comm'), extract_arg(arg_set_id, 'prio') "
		      "from ftrace_event where name = 'sched_waking'",
		      "1315,\"b\",110\n");
	fixture_check(database, "select count(*), max(state) from thread_state", "3,\"Running\"\n");
	fixture_check(database, "select to_realtime(1500)", "5000500\n");
	fixture_check(database, "select clock_value from clock_snapshot where clock_id = 64",
		      "700\n");
	fixture_check(database, "select start_ts, end_ts from trace_bounds", "1100,1320\n");
	fixture_check(database,
		      "create perfetto table t as select name || 'x' as name from slice; "
		      "select name from t where name glob 'one*'",
		      "\"onex\"\n");
}

static struct orma_trace_index new_index(void)
{
	struct orma_trace_index index = {.fd = memfd_create("index", MFD_CLOEXEC), .key = "k"};
	CHECK(index.fd >= 0);
	return index;
}

static int reopen(int fd, const struct orma_trace_index *index, struct orma_trace_database **ret)
{
	struct orma_trace_options options = {.unpack = orma_codec_unpack};
	return orma_trace_database_open_index(fd, index, &options, ret, NULL);
}

ORMA_TEST(a_trace_that_is_opened_by_its_index_answers_as_before)
{
	struct orma_trace_database *database = fixture_open(trace), *again;
	struct orma_trace_index index = new_index();
	check_answers(database);
	int fd = database->input.fd;
	CHECK_INT(orma_trace_database_write_index(database, fd, &index), 0);
	CHECK_INT(reopen(fd, &index, &again), 0);
	check_answers(again);
	orma_trace_database_free(again);
	/* It is the same after a second time. */
	CHECK_INT(reopen(fd, &index, &again), 0);
	close(index.fd);
	check_answers(again);
	orma_trace_database_free(again);
	fixture_close(database);
}

ORMA_TEST(what_was_converted_is_in_the_index)
{
	static const char json[] = "[{\"ph\":\"X\",\"ts\":5,\"dur\":1,\"pid\":1,\"tid\":1,"
				   "\"name\":\"n\",\"args\":{\"k\":\"v\"}}]";
	struct orma_trace_database *database, *again;
	struct orma_trace_index index = new_index();
	int fd = memfd_create("json", MFD_CLOEXEC);
	CHECK_INT(write(fd, json, sizeof(json) - 1), sizeof(json) - 1);
	CHECK_INT(orma_trace_database_open(fd, NULL, &database, NULL), 0);
	CHECK_INT(orma_trace_database_write_index(database, fd, &index), 0);
	orma_trace_database_free(database);
	CHECK_INT(reopen(fd, &index, &again), 0);
	close(index.fd);
	fixture_check(again, "select name, extract_arg(arg_set_id, 'args.k') from slice",
		      "\"n\",\"v\"\n");
	fixture_check(again, "select name, trace_type from trace_file", "\"[NULL]\",\"json\"\n");
	orma_trace_database_free(again);
	close(fd);
}

ORMA_TEST(an_index_of_another_trace_or_key_is_not_taken)
{
	struct orma_trace_database *database = fixture_open(trace), *again;
	struct orma_trace_index index = new_index(), other;
	int fd = database->input.fd;
	CHECK_INT(orma_trace_database_write_index(database, fd, &index), 0);
	other = index;
	other.key[0] = 'l';
	CHECK_INT(reopen(fd, &other, &again), -ESTALE);
	CHECK(!again);
	struct orma_trace_options options = {.has_no_raw_events = true};
	CHECK_INT(orma_trace_database_open_index(fd, &index, &options, &again, NULL), -ESTALE);
	/* The same content at another time, and other content of the same size at the same time. */
	struct stat info;
	CHECK_INT(fstat(fd, &info), 0);
	struct timespec times[2] = {info.st_mtim, info.st_mtim};
	times[1].tv_sec++;
	CHECK_INT(futimens(fd, times), 0);
	CHECK_INT(reopen(fd, &index, &again), -ESTALE);
	CHECK_INT(pwrite(fd, "x", 1, info.st_size / 2), 1);
	times[1].tv_sec--;
	CHECK_INT(futimens(fd, times), 0);
	CHECK_INT(reopen(fd, &index, &again), -ESTALE);
	close(index.fd);
	fixture_close(database);
}

ORMA_TEST(a_trace_that_changed_while_it_was_read_gets_no_index)
{
	struct orma_trace_database *database = fixture_open(trace);
	struct orma_trace_index index = new_index();
	struct stat info;
	int fd = database->input.fd;
	/* Another size at the same time, and another time with the same size. */
	CHECK_INT(fstat(fd, &info), 0);
	struct timespec times[2] = {info.st_mtim, info.st_mtim};
	CHECK_INT(pwrite(fd, "x", 1, info.st_size), 1);
	CHECK_INT(futimens(fd, times), 0);
	CHECK_INT(orma_trace_database_write_index(database, fd, &index), -ESTALE);
	times[1].tv_sec++;
	CHECK_INT(ftruncate(fd, info.st_size), 0);
	CHECK_INT(futimens(fd, times), 0);
	CHECK_INT(orma_trace_database_write_index(database, fd, &index), -ESTALE);
	close(index.fd);
	fixture_close(database);
}

ORMA_TEST(a_damaged_index_is_not_taken)
{
	struct orma_trace_database *database = fixture_open(trace), *again;
	struct orma_trace_index index = new_index();
	struct stat info;
	int fd = database->input.fd;
	CHECK_INT(orma_trace_database_write_index(database, fd, &index), 0);
	CHECK_INT(fstat(index.fd, &info), 0);
	CHECK(info.st_size % ORMA_SUM_BLOCK_BYTES == 0);
	for (off_t at = 0; at < info.st_size; at += at < 96 ? 1 : 89) {
		char byte, other;
		CHECK_INT(pread(index.fd, &byte, 1, at), 1);
		other = (char)(byte ^ 0x40);
		CHECK_INT(pwrite(index.fd, &other, 1, at), 1);
		int r = reopen(fd, &index, &again);
		/* The rest of the head's page means nothing. */
		if (at >= 96 && at < ORMA_SUM_BLOCK_BYTES) {
			CHECK_INT(r, 0);
			orma_trace_database_free(again);
		} else {
			CHECK(r == -EBADMSG || r == -ESTALE);
		}
		CHECK_INT(pwrite(index.fd, &byte, 1, at), 1);
	}
	for (off_t size = info.st_size - 1; size >= 0; size -= 997) {
		CHECK_INT(ftruncate(index.fd, size), 0);
		int r = reopen(fd, &index, &again);
		CHECK(r == -EBADMSG || r == -ESTALE);
	}
	close(index.fd);
	fixture_close(database);
}

ORMA_TEST(no_failure_of_memory_is_overlooked)
{
	struct orma_trace_database *database = fixture_open(trace), *again;
	struct orma_trace_index index = new_index();
	int fd = database->input.fd;
	CHECK_INT(orma_trace_database_write_index(database, fd, &index), 0);
	/* Later allocations are SQL's. */
	for (uint64_t nth = 1; nth < 400; nth++) {
		orma_test_fail_allocation(nth);
		int r = reopen(fd, &index, &again);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK(has_failed ? r < 0 : r == 0);
		if (r == 0)
			orma_trace_database_free(again);
	}
	close(index.fd);
	fixture_close(database);
}
