/* SPDX-License-Identifier: Apache-2.0
 * process_guard_test.c - processes that sleep are not read again.
 */
#include "process_fixture.h"

ORMA_TEST(a_process_that_sleeps_is_read_again_when_its_guard_changes)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_put("proc/10/statm", "25 12 3 1 0 8 0\n");
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 100000"));
	put_memory("VmSize:\t100 kB\nVmRSS:\t60 kB\n");
	poll(0);
	CHECK_INT(fake_packet_count, 0);
	fake_put("proc/10/statm", "25 15 3 1 0 8 0\n");
	poll(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(stats_text(0), "processes { pid: 10 vm_rss_kb: 60 }");
	/* Another process may set the adjustment of one that sleeps. */
	fake_put("proc/10/oom_score_adj", "5\n");
	for (int i = 0; i < 15; i++)
		poll(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK_STR(stats_text(1), "processes { pid: 10 oom_score_adj: 5 }");
	fake_close();
}

ORMA_TEST(known_values_of_a_process_that_sleeps_are_repeated_after_the_cache_time_and_a_clearing)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	start_polling(CONFIG("proc_stats_poll_ms: 1000 record_process_runtime: true"));
	fake_remove("proc/10/status");
	poll(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(stats_text(0),
		  "processes { pid: 10 vm_size_kb: 100 vm_rss_kb: 50 oom_score_adj: -17 "
		  "runtime_user_mode: 1500000000 runtime_kernel_mode: 250000000 }");
	put_person(&cat);
	fake_clear(0);
	poll(0);
	CHECK_INT(fake_packet_count, 3);
	CHECK(strstr(tree_text(1), "pid: 10") != NULL);
	CHECK_STR(stats_text(2), stats_text(0));
	fake_close();
}

ORMA_TEST(a_guard_of_a_process_that_has_ended_is_closed_and_its_id_starts_from_nothing)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_put("proc/10/statm", "25 12 3 1 0 8 0\n");
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 100000"));
	struct orma_probes_process_probe *probe = (void *)fake_probe;
	CHECK_INT(probe->kept_fd_count, 1);
	CHECK(process_of(10)->guard_fds[0] >= 0);
	/* A descriptor that cannot be read stands for one of a process that has ended. */
	CHECK(dup3(probe->proc_fd, process_of(10)->guard_fds[0], O_CLOEXEC) >= 0);
	struct person other = cat;
	other.name = "other";
	other.cmdline = NULL;
	other.cmdline_size = 0;
	put_person(&other);
	poll(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK(strstr(tree_text(0), "cmdline: \"other\"") != NULL);
	CHECK(strstr(stats_text(1), "vm_size_kb: 100") != NULL);
	CHECK_INT(probe->kept_fd_count, 1);
	fake_close();
}

/* A process with run times and this number of threads. */
static void put_stat(unsigned user_ticks, unsigned thread_count)
{
	char text[256];
	snprintf(text, sizeof(text),
		 "10 (cat) S 1 1 1 0 -1 4194304 99 0 0 0 %u 25 0 0 20 0 %u 0 1234 0 0\n",
		 user_ticks, thread_count);
	fake_put("proc/10/stat", text);
}

ORMA_TEST(run_times_of_a_process_with_one_thread_are_read_when_its_thread_has_run)
{
	fake_put("proc/self/schedstat", "5000 0 1\n");
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_stat(100, 1);
	fake_put("proc/10/statm", "25 12 3 1 0 8 0\n");
	fake_put("proc/10/schedstat", "1000 0 1\n");
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 100000 "
			     "record_process_runtime: true"));
	struct orma_probes_process_probe *probe = (void *)fake_probe;
	CHECK(process_of(10)->has_one_thread);
	poll(0);
	CHECK_INT(probe->kept_fd_count, 2);
	CHECK_INT(fake_packet_count, 0);
	put_stat(200, 1);
	poll(0);
	CHECK_INT(fake_packet_count, 0);
	fake_put("proc/10/schedstat", "2000 0 2\n");
	poll(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(stats_text(0), "processes { pid: 10 runtime_user_mode: 2000000000 }");
	/* The pages of a process may be taken away while it sleeps. */
	put_memory("VmSize:\t100 kB\nVmRSS:\t7 kB\n");
	fake_put("proc/10/statm", "25 2 3 1 0 8 0\n");
	poll(0);
	CHECK_STR(stats_text(1), "processes { pid: 10 vm_rss_kb: 7 }");
	/* Another thread may run while the first one sleeps. */
	put_stat(200, 2);
	fake_put("proc/10/schedstat", "3000 0 3\n");
	poll(0);
	CHECK(!process_of(10)->has_one_thread);
	CHECK_INT(probe->kept_fd_count, 0);
	put_stat(300, 2);
	poll(0);
	CHECK_STR(stats_text(2), "processes { pid: 10 runtime_user_mode: 3000000000 }");
	CHECK_INT(probe->kept_fd_count, 1);
	fake_close();
}

ORMA_TEST(pages_of_a_process_that_sleeps_are_counted_again_when_the_kernel_has_reclaimed_some)
{
	fake_put("proc/self/schedstat", "5000 0 1\n");
	fake_put("proc/vmstat", "pgsteal_kswapd 3\npgsteal_anon 1\npgsteal_file 2\n");
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_stat(100, 1);
	fake_put("proc/10/statm", "25 12 3 1 0 8 0\n");
	fake_put("proc/10/schedstat", "1000 0 1\n");
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 100000 "
			     "record_process_runtime: true"));
	poll(0); /* opens the files of the cheaper guard */
	put_memory("VmSize:\t100 kB\nVmRSS:\t7 kB\n");
	fake_put("proc/10/statm", "25 2 3 1 0 8 0\n");
	poll(0);
	CHECK_INT(fake_packet_count, 0);
	fake_put("proc/vmstat", "pgsteal_kswapd 3\npgsteal_anon 1\npgsteal_file 9\n");
	poll(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(stats_text(0), "processes { pid: 10 vm_rss_kb: 7 }");
	fake_close();
}

ORMA_TEST(a_process_that_sleeps_is_read_after_many_polls_in_any_case)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_put("proc/10/statm", "25 12 3 1 0 8 0\n");
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 100000"));
	put_memory("VmSize:\t100 kB\nVmRSS:\t50 kB\nVmHWM:\t90 kB\n");
	fake_put("proc/10/oom_score_adj", "5\n");
	for (int i = 0; i < 16; i++)
		poll(0);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(stats_text(0), "processes { pid: 10 oom_score_adj: 5 }");
	for (int i = 0; i < 48; i++)
		poll(0);
	CHECK_INT(fake_packet_count, 2);
	CHECK_STR(stats_text(1), "processes { pid: 10 vm_hwm_kb: 90 }");
	fake_close();
}

ORMA_TEST(a_kernel_without_times_of_threads_needs_stat)
{
	fake_put("proc/self/schedstat", "0 0 0\n");
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_put("proc/10/schedstat", "0 0 0\n");
	put_stat(100, 1);
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 100000 "
			     "record_process_runtime: true"));
	CHECK(!process_of(10)->has_one_thread);
	put_stat(200, 1);
	poll(0);
	CHECK_STR(stats_text(0), "processes { pid: 10 runtime_user_mode: 2000000000 }");
	fake_close();
}

ORMA_TEST(without_descriptors_to_spare_guards_are_opened_for_each_read)
{
	fake_open(orma_probe_process_stats_new);
	struct orma_probes_process_probe *probe = (void *)fake_probe;
	CHECK(probe->kept_fd_max > 0);
	probe->kept_fd_max = 0;
	put_person(&cat);
	fake_put("proc/10/statm", "25 12 3 1 0 8 0\n");
	start_polling(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 100000"));
	CHECK_INT(process_of(10)->guard_fds[0], -1);
	put_memory("VmSize:\t100 kB\nVmRSS:\t60 kB\n");
	poll(0);
	CHECK_INT(fake_packet_count, 0);
	fake_put("proc/10/statm", "25 15 3 1 0 8 0\n");
	poll(0);
	CHECK_INT(fake_packet_count, 1);
	fake_close();
}
