/* SPDX-License-Identifier: Apache-2.0
 * process_find_test.c - new and ended processes are found without a listing of /proc, when that is possible.
 */
#include "process_fixture.h"
#include "schema/gen/process_tree.pb.h"

static void put_last_pid(unsigned pid)
{
	char text[16];
	snprintf(text, sizeof(text), "%u\n", pid);
	fake_put("proc/sys/kernel/ns_last_pid", text);
}

/* Makes /proc one of the namespace of this process, unless there are `other_ids`. */
static void put_self(const char *other_ids)
{
	char text[128];
	snprintf(text, sizeof(text), "Name:\ttest\nPid:\t%d\nNSpid:\t%d%s\n", (int)getpid(),
		 (int)getpid(), other_ids);
	fake_put("proc/self/status", text);
}

static bool is_known(uint32_t pid)
{
	return process_of(pid) != NULL;
}

/* Makes 20 processes from pid 100 on, and polls until /proc needs no listing. */
static void start_with_twenty(const char *config)
{
	struct person person = cat;
	for (person.pid = 100; person.pid < 120; person.pid++)
		put_person(&person);
	start_polling(config);
	poll(0);
	poll(0);
}

ORMA_TEST(new_processes_are_found_by_the_last_id_that_the_kernel_gave)
{
	put_self("");
	put_last_pid(119);
	fake_open(orma_probe_process_stats_new);
	start_with_twenty(CONFIG("proc_stats_poll_ms: 1000 proc_stats_cache_ttl_ms: 100000"));
	struct person person = cat;
	person.pid = 50; /* a listing would find it */
	put_person(&person);
	person.pid = 120;
	put_person(&person);
	person.pid = 121;
	person.thread_of = 120;
	put_person(&person);
	put_last_pid(121);
	fake_forget_packets();
	poll(0);
	CHECK(is_known(120) && !is_known(121) && !is_known(50));
	CHECK_INT(fake_packet(0)->process_tree->processes.count, 1);
	CHECK_STR(stats_text(1), "processes { pid: 120 vm_size_kb: 100 vm_rss_kb: 50 "
				 "oom_score_adj: -17 }");
	/* It had its id at the poll before, but was not in /proc yet. */
	person = cat;
	person.pid = 121;
	put_person(&person);
	poll(0);
	CHECK(is_known(121) && !is_known(50));
	for (int i = 0; i < 16; i++)
		poll(0);
	CHECK(is_known(50));
	fake_close();
}

ORMA_TEST(a_process_that_has_ended_is_forgotten_without_a_listing)
{
	put_self("");
	put_last_pid(119);
	fake_open(orma_probe_process_stats_new);
	start_with_twenty(CONFIG("proc_stats_poll_ms: 1000"));
	fake_remove("proc/105/status");
	poll(0);
	CHECK(!is_known(105) && is_known(106));
	CHECK_INT(instance(0)->pids.count, 19);
	/* Its id is given again, after the others. */
	struct person person = cat;
	person.pid = 105;
	put_person(&person);
	put_last_pid(105);
	poll(0);
	CHECK(is_known(105));
	fake_close();
}

ORMA_TEST(many_new_ids_are_listed)
{
	put_self("");
	put_last_pid(119);
	fake_open(orma_probe_process_stats_new);
	start_with_twenty(CONFIG("proc_stats_poll_ms: 1000"));
	struct person person = cat;
	person.pid = 50;
	put_person(&person);
	put_last_pid(122);
	poll(0);
	CHECK(is_known(50));
	fake_close();
}

ORMA_TEST(every_poll_lists_processes_of_another_namespace)
{
	put_self("\t7");
	put_last_pid(119);
	fake_open(orma_probe_process_stats_new);
	start_with_twenty(CONFIG("proc_stats_poll_ms: 1000"));
	struct person person = cat;
	person.pid = 50;
	put_person(&person);
	poll(0);
	CHECK(is_known(50));
	fake_close();
}
