/* SPDX-License-Identifier: Apache-2.0
 * process_turns_test.c - scans and polls that take several turns of the loop.
 */
#include "process_fixture.h"
#include "schema/gen/process_stats.pb.h"
#include "schema/gen/process_tree.pb.h"

/* Counts the processes in all records, and in all values. */
static void count_written(size_t *ret_records, size_t *ret_threads, size_t *ret_values)
{
	*ret_records = *ret_threads = *ret_values = 0;
	for (size_t i = 0; i < fake_packet_count; i++) {
		struct orma_pb_trace_packet *packet = fake_packet(i);
		if (packet->process_tree) {
			*ret_records += packet->process_tree->processes.count;
			*ret_threads += packet->process_tree->threads.count;
		} else {
			*ret_values += packet->process_stats->processes.count;
		}
	}
}

ORMA_TEST(a_flush_in_the_middle_of_a_scan_and_a_poll_waits_for_their_end)
{
	size_t records, threads, values;
	fake_env.turn_ns = 1;
	fake_open(orma_probe_process_stats_new);
	put_crowd();
	fake_start(0, CONFIG("scan_all_processes_on_start: true proc_stats_poll_ms: 100000 "
			     "record_thread_names: true"));
	CHECK_INT(flush(5), ORMA_POSTPONE);
	count_written(&records, &threads, &values);
	CHECK_INT(records, ORMA_PROBES_PROCESS_CLOCK_STEP);
	CHECK_INT(flush(6), ORMA_POSTPONE);
	unsigned turns = 0;
	while (fake_completed == 0) {
		CHECK_INT(fake_source.flushed, 0);
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
		turns++;
	}
	/* 50 processes take 3 more turns of the scan, and 6 of the poll; 50 threads take 3. */
	CHECK(turns >= 12);
	CHECK_INT(fake_completed, 6);
	CHECK_INT(fake_source.flushed, 1);
	count_written(&records, &threads, &values);
	CHECK_INT(records, 50);
	CHECK_INT(threads, 100);
	CHECK_INT(values, 50);
	uint64_t begin_ns = fake_packet(fake_packet_count - 1)->timestamp;
	for (size_t i = 0; i < fake_packet_count; i++)
		if (fake_packet(i)->process_stats)
			CHECK_INT(fake_packet(i)->timestamp, begin_ns);
	CHECK_INT(flush(7), ORMA_COMPLETE);
	fake_close();
}

ORMA_TEST(a_stop_in_the_middle_of_a_poll_waits_for_its_end)
{
	size_t records, threads, values;
	fake_env.turn_ns = 1;
	fake_open(orma_probe_process_stats_new);
	put_crowd();
	fake_start(0, CONFIG("proc_stats_poll_ms: 100"));
	CHECK_INT(flush(5), ORMA_POSTPONE);
	struct orma_instance made = fake_instance(0);
	made.completion = 6;
	CHECK_INT(fake_source.options.on_stop(fake_source.options.ctx, &made), ORMA_POSTPONE);
	while (fake_completed != 6)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	count_written(&records, &threads, &values);
	CHECK_INT(records, 50);
	CHECK_INT(values, 50);
	CHECK(!instance(0)->base.timer.is_armed);
	fake_close();
}

static size_t count_fds(void)
{
	size_t count = 0;

	for (size_t i = 0; i < fake_packet_count; i++) {
		struct orma_pb_process_stats *stats = fake_packet(i)->process_stats;
		for (size_t k = 0; stats && k < stats->processes.count; k++)
			count += stats->processes.items[k]->fds.count;
	}
	return count;
}

/* Returns the number of turns. */
static unsigned turn_until_flushed(uint64_t completion)
{
	unsigned turns = 0;

	for (; fake_completed != completion; turns++)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	return turns;
}

ORMA_TEST(many_descriptors_of_a_process_are_resolved_over_turns_of_the_loop)
{
	fake_env.turn_ns = 1;
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_many_fds(1000);
	fake_start(0, CONFIG("proc_stats_poll_ms: 100000 proc_stats_cache_ttl_ms: 900000 "
			     "resolve_process_fds: true"));
	CHECK_INT(flush(5), ORMA_POSTPONE);
	CHECK(count_fds() <= 2 * ORMA_PROBES_PROCESS_CLOCK_STEP);
	CHECK(turn_until_flushed(5) >= 1000 / ORMA_PROBES_PROCESS_CLOCK_STEP - 1);
	CHECK_INT(count_fds(), 1000);
	/* All of them are remembered. */
	fake_forget_packets();
	poll(0);
	CHECK_INT(count_fds(), 0);
	fake_close();
}

ORMA_TEST(a_clearing_in_the_middle_of_a_process_repeats_its_descriptors)
{
	fake_env.turn_ns = 1;
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_many_fds(1000);
	fake_start(0, CONFIG("proc_stats_poll_ms: 100000 resolve_process_fds: true"));
	CHECK_INT(flush(5), ORMA_POSTPONE);
	fake_forget_packets();
	fake_clear(0);
	(void)turn_until_flushed(5);
	CHECK_INT(count_fds(), 1000);
	fake_close();
}

ORMA_TEST(a_process_that_ends_in_the_middle_of_its_descriptors_affects_no_other)
{
	fake_env.turn_ns = 1;
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_crowd();
	put_many_fds(1000);
	fake_put("proc/101/fd/keep", "");
	char path[600];
	snprintf(path, sizeof(path), "%s/proc/101/fd/3", fake_root);
	CHECK_INT(symlink("/a/file", path), 0);
	fake_start(0, CONFIG("proc_stats_poll_ms: 100000 resolve_process_fds: true"));
	CHECK_INT(flush(5), ORMA_POSTPONE);
	while (count_fds() == 0)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	size_t before = count_fds();
	char gone[600];
	snprintf(path, sizeof(path), "%s/proc/10/fd", fake_root);
	snprintf(gone, sizeof(gone), "%s/proc/10/gone", fake_root);
	CHECK_INT(rename(path, gone), 0);
	(void)turn_until_flushed(5);
	CHECK_INT(count_fds(), before + 1);
	fake_close();
}

ORMA_TEST(a_clearing_in_the_middle_of_a_scan_repeats_it)
{
	size_t records, threads, values;
	fake_env.turn_ns = 1;
	fake_open(orma_probe_process_stats_new);
	put_crowd();
	fake_start(0, CONFIG("scan_all_processes_on_start: true"));
	CHECK_INT(flush(5), ORMA_POSTPONE);
	fake_clear(0);
	do {
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
		count_written(&records, &threads, &values);
	} while (records < 100);
	CHECK_INT(fake_completed, 5);
	fake_close();
}
