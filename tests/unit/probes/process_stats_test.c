/* SPDX-License-Identifier: Apache-2.0
 * process_stats_test.c - the data source linux.process_stats over made-up trees.
 */
#include "probes/process_cmdline.h"
#include "process_fixture.h"
#include "schema/gen/process_stats.pb.h"
#include "schema/gen/process_tree.pb.h"

ORMA_TEST(a_scan_records_every_process_and_thread_once)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_person(&kernel_thread);
	put_thread(10, 11, "reader", NULL);
	fake_start(0, CONFIG("scan_all_processes_on_start: true"));
	fake_run_until(1);
	CHECK_STR(tree_text(0),
		  "processes { pid: 2 ppid: 1 cmdline: \"kthreadd\" uid: 1000 cmdline_is_comm: "
		  "true } "
		  "processes { pid: 10 ppid: 1 cmdline: \"/bin/cat\" cmdline: \"-n\" cmdline: \"\" "
		  "cmdline: \"x y\" uid: 1000 } "
		  "threads { tid: 2 tgid: 2 } threads { tid: 10 tgid: 10 } "
		  "threads { tid: 11 tgid: 10 }");
	CHECK(fake_packet(0)->incremental_state_cleared);
	/* Nothing is polled. */
	CHECK(!instance(0)->base.timer.is_armed);
	CHECK_INT(fake_packet_count, 1);
	fake_close();
}

ORMA_TEST(names_of_threads_and_ages_are_recorded_when_asked_for)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_thread(10, 11, "a (b) c", NULL);
	put_thread(10, 12, "two\nlines", NULL);
	fake_start(0, CONFIG("scan_all_processes_on_start: true record_thread_names: true "
			     "record_process_age: true"));
	fake_flush(0);
	CHECK_STR(tree_text(0),
		  "processes { pid: 10 ppid: 1 cmdline: \"/bin/cat\" cmdline: \"-n\" cmdline: \"\" "
		  "cmdline: \"x y\" uid: 1000 process_start_from_boot: 12340000000 } "
		  "threads { tid: 10 name: \"cat\" tgid: 10 } "
		  "threads { tid: 11 name: \"a (b) c\" tgid: 10 } "
		  "threads { tid: 12 name: \"two\\nlines\" tgid: 10 }");
	CHECK_INT(fake_source.flushed, 1);
	fake_close();
}

ORMA_TEST(the_main_thread_is_left_out_when_asked_for)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&kernel_thread);
	fake_start(0, CONFIG("scan_all_processes_on_start: true skip_main_thread_message: true"));
	fake_flush(0);
	CHECK_STR(tree_text(0), "processes { pid: 2 ppid: 1 cmdline: \"kthreadd\" uid: 1000 "
				"cmdline_is_comm: true }");
	fake_close();
}

ORMA_TEST(ids_in_nested_namespaces_are_recorded)
{
	struct person inner = kernel_thread;
	inner.nspid = "\t7\t1";
	fake_open(orma_probe_process_stats_new);
	put_person(&inner);
	put_thread(2, 3, "worker", "\t8\t2");
	fake_start(0, CONFIG("scan_all_processes_on_start: true"));
	fake_flush(0);
	CHECK_STR(tree_text(0),
		  "processes { pid: 2 ppid: 1 cmdline: \"kthreadd\" uid: 1000 nspid: 7 nspid: 1 "
		  "cmdline_is_comm: true } threads { tid: 2 tgid: 2 nstid: 7 nstid: 1 } "
		  "threads { tid: 3 tgid: 2 nstid: 8 nstid: 2 }");
	fake_close();
}

ORMA_TEST(command_lines_that_are_rewritten_or_long_are_cut)
{
	static char cmdline[ORMA_PROBES_PROCESS_CMDLINE_BYTES * 2];
	struct person writer = cat;
	writer.cmdline = "nginx: worker\0\0\0\0";
	writer.cmdline_size = 17;
	fake_open(orma_probe_process_stats_new);
	put_person(&writer);
	memset(cmdline, 'x', sizeof(cmdline));
	struct person talker = {20, "talker", cmdline, NULL, NULL, sizeof(cmdline), NULL, 0};
	put_person(&talker);
	struct person zeros = {30, "zeros", "\0\0", NULL, NULL, 2, NULL, 0};
	put_person(&zeros);
	fake_start(0, CONFIG("scan_all_processes_on_start: true"));
	fake_flush(0);
	struct orma_pb_process_tree *tree = fake_packet(0)->process_tree;
	CHECK_INT(tree->processes.items[0]->cmdline.count, 1);
	CHECK_INT(tree->processes.items[0]->cmdline.items[0].size, 13);
	CHECK_INT(tree->processes.items[1]->cmdline.count, 1);
	CHECK_INT(tree->processes.items[1]->cmdline.items[0].size,
		  ORMA_PROBES_PROCESS_CMDLINE_BYTES);
	/* The second one was large, so a separate packet follows. */
	tree = fake_packet(1)->process_tree;
	CHECK(tree->processes.items[tree->processes.count - 1]->cmdline_is_comm);
	CHECK(fake_packet(0)->timestamp == fake_packet(1)->timestamp);
	fake_close();
}

ORMA_TEST(thousands_of_threads_are_cut_into_packets)
{
	char path[64], text[64];
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	for (int tid = 1000; tid < 4000; tid++) {
		snprintf(path, sizeof(path), "proc/10/task/%d/comm", tid);
		snprintf(text, sizeof(text), "thread number %d\n", tid);
		fake_put(path, text);
	}
	fake_start(0, CONFIG("scan_all_processes_on_start: true record_thread_names: true"));
	fake_flush(0);
	size_t threads = 0;
	CHECK(fake_packet_count > 2);
	for (size_t i = 0; i < fake_packet_count; i++) {
		threads += fake_packet(i)->process_tree->threads.count;
		CHECK(fake_packets[i].buf.size < 2 * ORMA_PROBES_PROCESS_PACKET_BYTES);
		CHECK(fake_packet(i)->incremental_state_cleared == (i == 0));
	}
	CHECK_INT(threads, 3001);
	fake_close();
}

/* ---- polling ---- */

ORMA_TEST(a_poll_records_new_processes_before_their_values)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_person(&kernel_thread);
	fake_start(0, CONFIG("proc_stats_poll_ms: 100"));
	fake_run_until(2);
	CHECK_STR(tree_text(0),
		  "processes { pid: 10 ppid: 1 cmdline: \"/bin/cat\" cmdline: \"-n\" cmdline: \"\" "
		  "cmdline: \"x y\" uid: 1000 } threads { tid: 10 tgid: 10 }");
	CHECK_STR(stats_text(1),
		  "processes { pid: 10 vm_size_kb: 100 vm_rss_kb: 50 oom_score_adj: -17 }");
	CHECK(fake_packet(0)->timestamp == fake_packet(1)->timestamp);
	/* The timer continues by itself. */
	fake_run_until(4);
	CHECK_INT(instance(0)->base.timer.deadline_ns % 100000000, 0);
	CHECK_STR(stats_text(3),
		  "processes { pid: 10 vm_size_kb: 100 vm_rss_kb: 50 oom_score_adj: -17 }");
	fake_close();
}

ORMA_TEST(values_are_written_when_they_change_and_when_the_cache_expires)
{
	struct person person = cat;
	fake_open(orma_probe_process_stats_new);
	put_person(&person);
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 4000"));
	poll(0);
	CHECK_INT(fake_packet_count, 0);
	person.memory = "VmSize:\t100 kB\nVmRSS:\t51 kB\nVmSwap:\t3 kB\n";
	put_person(&person);
	poll(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(stats_text(0), "processes { pid: 10 vm_rss_kb: 51 vm_swap_kb: 3 }");
	poll(0); /* the fourth poll; the cache is emptied after it */
	CHECK_INT(fake_packet_count, 1);
	poll(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK_STR(stats_text(1), "processes { pid: 10 vm_size_kb: 100 vm_rss_kb: 51 vm_swap_kb: 3 "
				 "oom_score_adj: -17 }");
	fake_close();
}

ORMA_TEST(without_a_cache_time_every_poll_writes_everything)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	start_polling(CONFIG("proc_stats_poll_ms: 1000"));
	for (int i = 0; i < 3; i++)
		poll(0);
	CHECK_INT(fake_packet_count, 3);
	fake_close();
}

ORMA_TEST(another_program_in_the_same_process_is_recorded_anew)
{
	struct person person = cat;
	fake_open(orma_probe_process_stats_new);
	put_person(&person);
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 9000"));
	person.name = "dog";
	person.cmdline = "/bin/dog";
	person.cmdline_size = 9;
	put_person(&person);
	poll(0);
	poll(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(tree_text(0), "processes { pid: 10 ppid: 1 cmdline: \"/bin/dog\" uid: 1000 } "
				"threads { tid: 10 tgid: 10 }");
	fake_close();
}

ORMA_TEST(an_id_that_was_free_in_between_starts_from_nothing)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 9000"));
	char from[600], to[600];
	snprintf(from, sizeof(from), "%s/proc/10", fake_root);
	snprintf(to, sizeof(to), "%s/away", fake_root);
	CHECK_INT(rename(from, to), 0);
	poll(0);
	CHECK_INT(fake_packet_count, 0);
	CHECK_INT(instance(0)->processes.count, 0);
	CHECK_INT(rename(to, from), 0);
	poll(0);
	CHECK_INT(fake_packet_count, 2);
	fake_close();
}

ORMA_TEST(a_kernel_thread_is_not_read_again_but_its_run_time_is)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&kernel_thread);
	start_polling(CONFIG("proc_stats_poll_ms: 1000"));
	CHECK(((struct orma_probes_process *)orma_base_map_get(&instance(0)->processes, 2))
		      ->is_without_memory);
	fake_start(1, CONFIG("proc_stats_poll_ms: 1000 record_process_runtime: true"));
	fake_flush(1);
	CHECK_INT(fake_packet_count, 2);
	CHECK_STR(tree_text(0), "processes { pid: 2 ppid: 1 cmdline: \"kthreadd\" uid: 1000 "
				"cmdline_is_comm: true } threads { tid: 2 tgid: 2 }");
	CHECK_STR(stats_text(1), "processes { pid: 2 runtime_user_mode: 1500000000 "
				 "runtime_kernel_mode: 250000000 }");
	fake_remove("proc/2/status");
	poll(1);
	CHECK_INT(fake_packet_count, 3);
	fake_close();
}

ORMA_TEST(smaps_and_dmabuf_are_read_when_asked_for)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_put("proc/10/smaps_rollup", "0-1 ---p 0 00:00 0 [rollup]\nRss: 7 kB\nPss: 6 kB\n"
					 "Pss_Anon: 5 kB\nPss_File: 4 kB\nPss_Shmem: 3 kB\n"
					 "SwapPss: 2 kB\n");
	fake_put("proc/10/dmabuf_rss", "8192\n");
	fake_start(0, CONFIG("proc_stats_poll_ms: 1000 scan_smaps_rollup: true "
			     "record_process_dmabuf_rss: true"));
	fake_flush(0);
	CHECK_STR(stats_text(1),
		  "processes { pid: 10 vm_size_kb: 100 vm_rss_kb: 50 oom_score_adj: -17 "
		  "smr_rss_kb: 7 smr_pss_kb: 6 smr_pss_anon_kb: 5 smr_pss_file_kb: 4 "
		  "smr_pss_shmem_kb: 3 smr_swap_pss_kb: 2 dmabuf_rss_kb: 8 }");
	fake_close();
}

ORMA_TEST(descriptors_are_resolved_once_until_the_cache_expires)
{
	char path[600];
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_put("proc/10/fd/keep", "");
	snprintf(path, sizeof(path), "%s/proc/10/fd/0", fake_root);
	CHECK_INT(symlink("/dev/null", path), 0);
	snprintf(path, sizeof(path), "%s/proc/10/fd/12", fake_root);
	CHECK_INT(symlink("socket:[123]", path), 0);
	start_polling(CONFIG("scan_all_processes_on_start: true resolve_process_fds: true"));
	fake_stop(0);
	fake_start(0, CONFIG("scan_all_processes_on_start: true resolve_process_fds: true"));
	fake_flush(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK_STR(stats_text(1), "processes { pid: 10 fds { fd: 0 path: \"/dev/null\" } "
				 "fds { fd: 12 path: \"socket:[123]\" } }");
	fake_start(1, CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 9000 "
			     "resolve_process_fds: true"));
	fake_flush(1);
	fake_forget_packets();
	poll(1);
	CHECK_INT(fake_packet_count, 0);
	/* Closed, seen as closed, and opened again: it may be another file. */
	fake_remove("proc/10/fd/12");
	poll(1);
	CHECK_INT(symlink("/tmp/file", path), 0);
	poll(1);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(stats_text(0), "processes { pid: 10 fds { fd: 12 path: \"/tmp/file\" } }");
	fake_close();
}

ORMA_TEST(many_descriptors_are_cut_into_packets)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_many_fds(3000);
	fake_start(0, CONFIG("proc_stats_poll_ms: 1000 resolve_process_fds: true"));
	fake_flush(0);
	size_t fds = 0;
	for (size_t i = 1; i < fake_packet_count; i++) {
		struct orma_pb_process_stats *stats = fake_packet(i)->process_stats;
		CHECK_INT(stats->processes.count, 1);
		CHECK_INT(stats->processes.items[0]->pid, 10);
		fds += stats->processes.items[0]->fds.count;
		CHECK(fake_packets[i].buf.size < 2 * ORMA_PROBES_PROCESS_PACKET_BYTES);
	}
	CHECK_INT(fds, 3000);
	CHECK(fake_packet_count > 3);
	fake_close();
}

/* ---- state ---- */

ORMA_TEST(clearing_makes_everything_be_written_again)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 9000"));
	fake_clear(0);
	poll(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK(fake_packet(0)->incremental_state_cleared);
	CHECK(fake_packet(0)->process_tree != NULL);
	CHECK(!fake_packet(1)->incremental_state_cleared);
	fake_close();
}

ORMA_TEST(clearing_repeats_the_scan)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_thread(10, 11, "reader", NULL);
	fake_start(0, CONFIG("scan_all_processes_on_start: true"));
	fake_run_until(1);
	fake_clear(0);
	fake_run_until(2);
	CHECK(fake_packet(1)->incremental_state_cleared);
	CHECK_INT(fake_packet(1)->process_tree->threads.count, 2);
	fake_close();
}

/* The data of one scan may make the service ask for the next clearing. */
ORMA_TEST(clearing_again_and_again_does_not_scan_all_the_time)
{
	const uint64_t far_ns = UINT64_MAX / 2;

	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_start(0, CONFIG("scan_all_processes_on_start: true"));
	fake_run_until(1);
	CHECK(instance(0)->scan_again_ns > 0);
	/* Pretend that the scan took long. */
	instance(0)->scan_again_ns = far_ns;
	fake_clear(0);
	CHECK(instance(0)->base.timer.deadline_ns == far_ns);
	fake_flush(0);
	CHECK_INT(fake_packet_count, 1);
	/* Until that is over. */
	instance(0)->scan_again_ns = 0;
	fake_clear(0);
	fake_run_until(2);
	CHECK(fake_packet(1)->process_tree != NULL);
	fake_close();
}

ORMA_TEST(a_scan_that_is_due_too_early_waits_for_a_later_poll)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_thread(10, 11, "reader", NULL);
	fake_start(0, CONFIG("scan_all_processes_on_start: true proc_stats_poll_ms: 100 "
			     "proc_stats_cache_ttl_ms: 9000"));
	fake_run_until(2); /* the scan, the poll */
	instance(0)->scan_again_ns = UINT64_MAX / 2;
	fake_clear(0);
	fake_run_until(4);
	CHECK(fake_packet(2)->process_tree != NULL);
	CHECK_INT(fake_packet(2)->process_tree->threads.count, 1);
	instance(0)->scan_again_ns = 0;
	fake_run_until(5);
	CHECK_INT(fake_packet(4)->process_tree->threads.count, 2);
	fake_close();
}

ORMA_TEST(a_loss_in_the_middle_of_a_poll_makes_everything_be_written_again)
{
	struct person person = cat;
	fake_open(orma_probe_process_stats_new);
	put_person(&person);
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 9000"));
	person.memory = "VmSize:\t100 kB\nVmRSS:\t99 kB\n";
	put_person(&person);
	fake_source.needs_state = 1;
	poll(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK(fake_packet(0)->incremental_state_cleared);
	CHECK_STR(stats_text(0),
		  "processes { pid: 10 vm_size_kb: 100 vm_rss_kb: 99 oom_score_adj: -17 }");
	poll(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK(fake_packet(1)->process_tree != NULL);
	fake_close();
}

ORMA_TEST(sessions_do_not_share_what_they_know)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_start(0, CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 9000"));
	fake_start(3, CONFIG("scan_all_processes_on_start: true"));
	fake_flush(0);
	fake_flush(3);
	CHECK_INT(fake_packet_count, 3);
	CHECK_INT(fake_packets[0].idx, 0);
	CHECK_INT(fake_packets[2].idx, 3);
	fake_stop(0);
	CHECK(fake_packet(2)->process_tree != NULL);
	fake_close();
}

ORMA_TEST(a_stopped_instance_polls_no_more)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_start(0, CONFIG("proc_stats_poll_ms: 100"));
	fake_stop(0);
	CHECK_INT(orma_base_loop_turn(fake_loop, 0), 0);
	CHECK_INT(fake_packet_count, 0);
	fake_close();
}

ORMA_TEST(processes_that_vanish_while_they_are_read_are_left_out)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_remove("proc/10/oom_score_adj");
	fake_put("proc/20/cmdline", "gone");
	fake_put("proc/30/status", "");
	/* The id now belongs to a thread. */
	fake_put("proc/40/status", "Name:\tx\nTgid:\t39\nPid:\t40\nVmSize:\t1 kB\n");
	fake_start(0, CONFIG("scan_all_processes_on_start: true proc_stats_poll_ms: 1000"));
	fake_flush(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK_INT(fake_packet(0)->process_tree->processes.count, 1);
	CHECK_STR(stats_text(1), "processes { pid: 10 vm_size_kb: 100 vm_rss_kb: 50 }");
	fake_close();
}

/* ---- configuration ---- */

static struct orma_probes_process_config parse(const char *text)
{
	struct orma_buf buf = fake_config(text);
	struct orma_probes_process_config config;
	CHECK_INT(orma_probes_process_config_parse(buf.data, buf.size, &config), 0);
	orma_base_buf_done(&buf);
	return config;
}

ORMA_TEST(a_period_below_the_minimum_is_raised_and_said)
{
	fake_capture_log();
	CHECK_INT(parse(CONFIG("proc_stats_poll_ms: 1")).poll_ms, 100);
	CHECK(fake_log_has("I: linux.process_stats: proc_stats_poll_ms: 1 is below the minimum"));
	CHECK_INT(parse(CONFIG("proc_stats_poll_ms: 100")).poll_ms, 100);
	CHECK_INT(parse(CONFIG("proc_stats_poll_ms: 4294967295")).poll_ms, UINT32_MAX);
	CHECK_INT(parse(CONFIG("")).poll_ms, 0);
	CHECK_INT(parse("name: 'x'").poll_ms, 0);
	orma_base_buf_done(&fake_log);
}

ORMA_TEST(the_cache_time_is_counted_in_polls)
{
	fake_capture_log();
	CHECK_INT(parse(CONFIG("proc_stats_poll_ms: 200 proc_stats_cache_ttl_ms: 1000"))
			  .cache_ttl_polls,
		  5);
	CHECK_INT(fake_log.size, 0);
	CHECK_INT(parse(CONFIG("proc_stats_poll_ms: 200 proc_stats_cache_ttl_ms: 500"))
			  .cache_ttl_polls,
		  2);
	CHECK(fake_log_has(
		"W: linux.process_stats: proc_stats_cache_ttl_ms: 500 is not a multiple"));
	CHECK_INT(
		parse(CONFIG("proc_stats_poll_ms: 200 proc_stats_cache_ttl_ms: 7")).cache_ttl_polls,
		1);
	CHECK_INT(parse(CONFIG("proc_stats_cache_ttl_ms: 7")).cache_ttl_polls, 1);
	orma_base_buf_done(&fake_log);
}

ORMA_TEST(every_field_of_the_configuration_is_read)
{
	struct orma_probes_process_config config = parse(
		CONFIG("quirks: DISABLE_ON_DEMAND scan_all_processes_on_start: true "
		       "record_thread_names: true "
		       "resolve_process_fds: true scan_smaps_rollup: true record_process_age: true "
		       "record_process_runtime: true record_process_dmabuf_rss: true "
		       "skip_main_thread_message: true"));
	CHECK(config.scan_on_start && config.thread_names && config.fds && config.smaps_rollup &&
	      config.age && config.runtime && config.dmabuf_rss && config.skip_main_thread);
}

ORMA_TEST(a_configuration_that_does_not_decode_disables_the_instance)
{
	fake_capture_log();
	fake_open(orma_probe_process_stats_new);
	fake_setup_bytes(0, "\xff", 1);
	CHECK(fake_source.instance_ctx[0] == NULL);
	CHECK(fake_log_has("E: linux.process_stats: the configuration is not usable"));
	struct orma_instance instance = fake_instance(0);
	fake_source.options.on_start_postponable(fake_source.options.ctx, &instance);
	fake_flush(0);
	fake_clear(0);
	fake_stop(0);
	fake_close();
}

ORMA_TEST(every_allocation_may_fail)
{
	struct orma_buf config =
		fake_config(CONFIG("scan_all_processes_on_start: true proc_stats_poll_ms: 1000 "
				   "resolve_process_fds: true"));
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_person(&kernel_thread);
	put_thread(10, 11, "reader", NULL);
	fake_put("proc/10/fd/keep", "");
	bool has_failed = true;
	for (uint64_t nth = 1; has_failed; nth++) {
		struct orma_probes_process_probe *probe = (void *)fake_probe;
		CHECK_INT(orma_base_buf_append(&fake_source.config[0], config.data, config.size),
			  0);
		fake_source.started = 0;
		orma_test_fail_allocation(nth);
		struct orma_instance made = fake_instance(0);
		fake_source.options.on_setup(probe, &made, &fake_source.instance_ctx[0]);
		made = fake_instance(0);
		fake_source.options.on_start_postponable(probe, &made);
		/* Packets of the fake allocate too; without a packet the probe still does the
		 * rest. */
		fake_flush(0);
		has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		fake_stop(0);
		/* The state is as after the start. */
		orma_base_buf_done(&probe->status_text);
		orma_base_buf_done(&probe->other_text);
		probe->status_text = probe->other_text = (struct orma_buf){0};
	}
	orma_base_buf_done(&config);
	fake_close();
}

ORMA_TEST(a_probe_that_cannot_register_leaves_nothing_behind)
{
	struct orma_probe_env env = {.proc_path = "/proc", .sys_path = "/sys"};
	struct orma_probe *probe = NULL;
	fake_register_result = -ENOSPC;
	CHECK_INT(orma_probe_process_stats_new(&env, &probe), -ENOSPC);
	env.proc_path = "/nonexistent";
	CHECK_INT(orma_probe_process_stats_new(&env, &probe), -ENOENT);
	orma_test_fail_allocation(1);
	CHECK_INT(orma_probe_process_stats_new(&env, &probe), -ENOMEM);
	CHECK(probe == NULL);
}
