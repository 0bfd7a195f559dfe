/* SPDX-License-Identifier: Apache-2.0
 * process_seen_test.c - tasks and descriptors that ftrace has seen are recorded on demand.
 */
#include "process_fixture.h"
#include "schema/gen/process_stats.pb.h"

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

/* Trace Processor before release 58 takes another parent for another process. */
ORMA_TEST(a_process_that_changes_its_program_and_ends_keeps_its_parent)
{
	fake_open(orma_probe_process_stats_new);
	put_person(&cat);
	fake_start(0, SEEN_CONFIG("record_thread_names: true"));
	struct orma_sightings *seen = orma_sightings_get(fake_sightings, 7);
	orma_sightings_note_new_task(seen, 10, 50, 0, ORMA_STR("sh"));
	orma_sightings_deliver(seen);
	fake_forget_packets();
	orma_sightings_note_rename(seen, 50, ORMA_STR("ls"));
	orma_sightings_note_member(seen, 50, 50, ORMA_STR("ls"));
	orma_sightings_deliver(seen);
	CHECK_STR(tree_text(0),
		  "processes { pid: 50 ppid: 10 cmdline: \"ls\" cmdline_is_comm: true } "
		  "threads { tid: 50 name: \"ls\" tgid: 50 }");
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
