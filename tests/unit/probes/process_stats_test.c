/* SPDX-License-Identifier: Apache-2.0
 * process_stats_test.c - the data source linux.process_stats over made-up trees.
 */
#include "fake_api.h"
#include "probes/process_stats/process_stats.h"

#define CONFIG(text) "name: 'linux.process_stats' process_stats_config { " text " }"

/* The files of a process; NULL = no such file. */
struct person {
	uint32_t pid;
	const char *name, *cmdline, *memory, *adjustment;
	size_t cmdline_size;
	const char *nspid; /* after the root's */
	uint32_t thread_of;
};

static void put_file(const char *folder, const char *name, const char *data, size_t size)
{
	char path[256];
	snprintf(path, sizeof(path), "%s/%s", folder, name);
	fake_put_bytes(path, data, size);
}

static void put_status(const char *folder, const struct person *person)
{
	char text[1024];
	int size = snprintf(text, sizeof(text),
			    "Name:\t%s\nState:\tS (sleeping)\nTgid:\t%u\nPid:\t%u\nPPid:\t1\n"
			    "Uid:\t1000\t1000\t1000\t1000\nNSpid:\t%u%s\n%s",
			    person->name, person->thread_of ? person->thread_of : person->pid,
			    person->pid, person->pid, person->nspid ? person->nspid : "",
			    person->memory ? person->memory : "");
	put_file(folder, "status", text, (size_t)size);
}

static void put_person(const struct person *person)
{
	char folder[128], text[256];
	snprintf(folder, sizeof(folder), "proc/%u", person->pid);
	put_status(folder, person);
	put_file(folder, "cmdline", person->cmdline ? person->cmdline : "", person->cmdline_size);
	if (person->adjustment)
		put_file(folder, "oom_score_adj", person->adjustment, strlen(person->adjustment));
	int size = snprintf(text, sizeof(text),
			    "%u (%s) S 1 1 1 0 -1 4194304 99 0 0 0 150 25 0 0 20 0 1 0 1234 0 0\n",
			    person->pid, person->name);
	put_file(folder, "stat", text, (size_t)size);
	snprintf(folder, sizeof(folder), "proc/%u/task/%u", person->pid, person->pid);
	put_status(folder, person);
}

static void put_thread(uint32_t pid, uint32_t tid, const char *name, const char *nspid)
{
	char folder[128], text[128];
	struct person thread = {.pid = tid, .name = name, .nspid = nspid, .thread_of = pid};
	snprintf(folder, sizeof(folder), "proc/%u/task/%u", pid, tid);
	put_status(folder, &thread);
	int size = snprintf(text, sizeof(text), "%s\n", name);
	put_file(folder, "comm", text, (size_t)size);
}

static const struct person cat = {
	.pid = 10,
	.name = "cat",
	.cmdline = "/bin/cat\0-n\0\0x y",
	.cmdline_size = 17,
	.memory = "VmSize:\t100 kB\nVmRSS:\t50 kB\n",
	.adjustment = "-17\n",
};

static const struct person kernel_thread = {.pid = 2, .name = "kthreadd"};

static struct orma_probes_process_instance *instance(uint32_t idx)
{
	return fake_source.instance_ctx[idx];
}

/* Polls at once, in one turn of the loop. */
static void poll(uint32_t idx)
{
	instance(idx)->base.turn_end_ns = UINT64_MAX;
	fake_probe->ops->run(&instance(idx)->base);
}

static const char *tree_text(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	CHECK(packet->process_tree != NULL);
	CHECK(packet->timestamp > 0);
	CHECK(packet->process_tree->collection_end_timestamp >= packet->timestamp);
	packet->process_tree->has[0] = 0;
	return fake_text(packet->process_tree);
}

static const char *stats_text(size_t at)
{
	struct orma_pb_trace_packet *packet = fake_packet(at);
	CHECK(packet->process_stats != NULL);
	CHECK(packet->timestamp > 0);
	CHECK(packet->process_stats->collection_end_timestamp >= packet->timestamp);
	packet->process_stats->has[0] = 0;
	return fake_text(packet->process_stats);
}

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

/* Starts, does the first poll, and forgets its packets. */
static void start_polling(const char *config)
{
	fake_start(0, config);
	fake_flush(0);
	orma_base_timer_disarm(&instance(0)->base.timer);
	fake_forget_packets();
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

static void put_many_fds(int count)
{
	char path[600];

	fake_put("proc/10/fd/keep", "");
	for (int i = 0; i < count; i++) {
		snprintf(path, sizeof(path), "%s/proc/10/fd/%d", fake_root, i);
		CHECK_INT(symlink("/a/path/that/is/about/as/long/as/they/are", path), 0);
	}
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

/* ---- guards ---- */

static struct orma_probes_process *process_of(uint32_t pid)
{
	return orma_base_map_get(&instance(0)->processes, pid);
}

/* Replaces the memory in status, and nothing else. */
static void put_memory(const char *memory)
{
	struct person person = cat;
	person.memory = memory;
	put_status("proc/10", &person);
}

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

/* ---- new processes ---- */

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

/* ---- turns of the loop ---- */

static enum orma_completion flush(uint64_t completion)
{
	struct orma_instance made = fake_instance(0);
	made.completion = completion;
	return fake_source.options.on_flush(fake_source.options.ctx, &made);
}

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

static void put_crowd(void)
{
	struct person person = cat;
	for (person.pid = 100; person.pid < 150; person.pid++)
		put_person(&person);
	for (uint32_t tid = 200; tid < 250; tid++)
		put_thread(120, tid, "worker", "");
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

/* ---- tasks that ftrace has seen ---- */

#define SEEN_CONFIG(text)                                                                          \
	"name: 'linux.process_stats' tracing_session_id: 7 process_stats_config { " text " }"

ORMA_TEST(tasks_that_ftrace_sees_are_recorded_with_their_processes)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_person(&kernel_thread);
	struct person reader = {.pid = 11, .name = "reader", .thread_of = 10};
	put_status("proc/11", &reader);
	fake_start(0, SEEN_CONFIG("record_thread_names: true"));
	struct orma_sightings *seen = orma_sightings_get(fake_sightings, 7);
	orma_sightings_note_task(seen, 11);
	orma_sightings_note_task(seen, 999);
	orma_sightings_deliver(seen);
	CHECK_INT(fake_packet_count, 1);
	CHECK_STR(tree_text(0),
		  "processes { pid: 10 ppid: 1 cmdline: \"/bin/cat\" cmdline: \"-n\" cmdline: \"\" "
		  "cmdline: \"x y\" uid: 1000 } "
		  "threads { tid: 10 name: \"cat\" tgid: 10 } "
		  "threads { tid: 11 name: \"reader\" tgid: 10 }");
	CHECK(fake_source.flushed > 0);
	/* Known tasks are not read again, but a new name is. */
	orma_sightings_note_task(seen, 10);
	orma_sightings_note_task(seen, 11);
	orma_sightings_deliver(seen);
	CHECK_INT(fake_packet_count, 1);
	reader.name = "writer";
	put_status("proc/11", &reader);
	orma_sightings_note_rename(seen, 11, ORMA_STR("writer"));
	orma_sightings_note_rename(seen, 10, ORMA_STR("cat"));
	orma_sightings_deliver(seen);
	CHECK_STR(tree_text(1), "threads { tid: 11 name: \"writer\" tgid: 10 }");
	orma_sightings_put(seen);
	fake_close();
}

ORMA_TEST(tasks_that_have_ended_are_recorded_with_what_ftrace_knows)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_start(0, SEEN_CONFIG("record_thread_names: true"));
	struct orma_sightings *seen = orma_sightings_get(fake_sightings, 7);
	orma_sightings_note_new_task(seen, 10, 50, 0, ORMA_STR("cat"));
	orma_sightings_note_rename(seen, 50, ORMA_STR("ls"));
	orma_sightings_note_new_task(seen, 50, 51, ORMA_SIGHTINGS_CLONE_THREAD, ORMA_STR("ls"));
	orma_sightings_note_new_task(seen, 51, 52, ORMA_SIGHTINGS_CLONE_THREAD, ORMA_STR("w"));
	/* Nobody knows whose threads these were. */
	orma_sightings_note_task(seen, 60);
	orma_sightings_note_new_task(seen, 60, 61, ORMA_SIGHTINGS_CLONE_THREAD, ORMA_STR("lost"));
	orma_sightings_note_rename(seen, 62, ORMA_STR("lost"));
	orma_sightings_deliver(seen);
	CHECK_STR(tree_text(0),
		  "processes { pid: 10 ppid: 1 cmdline: \"/bin/cat\" cmdline: \"-n\" cmdline: \"\" "
		  "cmdline: \"x y\" uid: 1000 } "
		  "processes { pid: 50 ppid: 10 cmdline: \"ls\" cmdline_is_comm: true } "
		  "threads { tid: 10 name: \"cat\" tgid: 10 } "
		  "threads { tid: 50 name: \"ls\" tgid: 50 } "
		  "threads { tid: 51 name: \"ls\" tgid: 50 } "
		  "threads { tid: 52 name: \"w\" tgid: 50 }");
	orma_sightings_put(seen);
	fake_close();
}

static void put_fd(int fd, const char *target)
{
	char path[600];
	fake_put("proc/10/fd/keep", "");
	snprintf(path, sizeof(path), "%s/proc/10/fd/%d", fake_root, fd);
	unlink(path);
	CHECK_INT(symlink(target, path), 0);
}

ORMA_TEST(descriptors_that_ftrace_sees_are_resolved_at_once)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_thread(10, 11, "reader", NULL);
	put_fd(3, "/tmp/first");
	put_fd(5, "/tmp/third");
	fake_start(0, SEEN_CONFIG("resolve_process_fds: true proc_stats_poll_ms: 100000 "
				  "skip_main_thread_message: true"));
	struct orma_sightings *seen = orma_sightings_get(fake_sightings, 7);
	/* The task is explained in the same delivery, and a descriptor may be closed again. */
	struct person reader = {.pid = 11, .name = "reader", .thread_of = 10};
	put_status("proc/11", &reader);
	orma_sightings_note_fd(seen, 11, 5);
	orma_sightings_note_fd(seen, 11, 3);
	orma_sightings_note_fd(seen, 11, 4);
	orma_sightings_note_fd(seen, 999, 3);
	orma_sightings_note_task(seen, 11);
	orma_sightings_deliver(seen);
	CHECK_INT(fake_packet_count, 2);
	CHECK_STR(stats_text(1), "processes { pid: 10 fds { fd: 5 path: \"/tmp/third\" } } "
				 "processes { pid: 10 fds { fd: 3 path: \"/tmp/first\" } }");
	/* A poll does not repeat them, and the number may have another file. */
	put_fd(4, "/tmp/second");
	fake_forget_packets();
	poll(0);
	CHECK_STR(stats_text(fake_packet_count - 1),
		  "processes { pid: 10 vm_size_kb: 100 vm_rss_kb: 50 oom_score_adj: -17 fds { fd: "
		  "4 path: \"/tmp/second\" } }");
	put_fd(3, "/tmp/other");
	fake_forget_packets();
	orma_sightings_note_fd(seen, 10, 3);
	orma_sightings_deliver(seen);
	CHECK_STR(stats_text(0), "processes { pid: 10 fds { fd: 3 path: \"/tmp/other\" } }");
	orma_sightings_put(seen);
	/* A session that has not asked for descriptors does not get them. */
	fake_stop(0);
	fake_start(0, SEEN_CONFIG(""));
	seen = orma_sightings_get(fake_sightings, 7);
	CHECK(seen->wants_tasks && !seen->wants_fds);
	orma_sightings_put(seen);
	fake_close();
}

ORMA_TEST(descriptors_that_ftrace_sees_during_a_poll_leave_its_time_as_it_was)
{
	fake_env.turn_ns = 1;
	fake_open(orma_probe_process_stats_new);
	put_crowd();
	put_person(&cat);
	put_fd(3, "/tmp/first");
	fake_start(0, SEEN_CONFIG("scan_all_processes_on_start: true resolve_process_fds: true "
				  "proc_stats_poll_ms: 100000"));
	struct orma_sightings *seen = orma_sightings_get(fake_sightings, 7);
	CHECK_INT(flush(5), ORMA_POSTPONE);
	uint64_t begin_ns = fake_packet(0)->timestamp;
	CHECK_INT(orma_sightings_process_of(seen, 10), 10);
	orma_sightings_note_fd(seen, 10, 3);
	orma_sightings_deliver(seen);
	CHECK(fake_packet(fake_packet_count - 1)->process_stats->processes.items[0]->fds.count > 0);
	CHECK(fake_packet(fake_packet_count - 1)->timestamp > begin_ns);
	fake_forget_packets();
	CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	CHECK_INT(fake_packet(0)->timestamp, begin_ns);
	while (fake_completed != 5)
		CHECK(orma_base_loop_turn(fake_loop, -1) >= 0);
	orma_sightings_put(seen);
	fake_close();
}

ORMA_TEST(on_demand_records_are_left_out_when_the_quirk_says_so_and_in_other_sessions)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_start(0, SEEN_CONFIG("quirks: DISABLE_ON_DEMAND"));
	fake_start(1, "name: 'linux.process_stats' tracing_session_id: 8");
	struct orma_sightings *seen = orma_sightings_get(fake_sightings, 7);
	CHECK(!seen->wants_tasks);
	orma_sightings_note_task(seen, 10);
	orma_sightings_deliver(seen);
	CHECK_INT(fake_packet_count, 0);
	struct orma_sightings *other = orma_sightings_get(fake_sightings, 8);
	CHECK(other->wants_tasks);
	orma_sightings_put(other);
	orma_sightings_put(seen);
	fake_close();
}

ORMA_TEST(a_scan_tells_ftrace_what_is_known_and_a_clearing_makes_it_forget)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	put_thread(10, 11, "reader", NULL);
	fake_start(0, SEEN_CONFIG("scan_all_processes_on_start: true"));
	fake_flush(0);
	struct orma_sightings *seen = orma_sightings_get(fake_sightings, 7);
	CHECK_INT(orma_sightings_process_of(seen, 10), 10);
	CHECK_INT(orma_sightings_process_of(seen, 11), 10);
	fake_clear(0);
	CHECK_INT(orma_sightings_process_of(seen, 11), 0);
	orma_sightings_put(seen);
	fake_close();
}
