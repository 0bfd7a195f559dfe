/* SPDX-License-Identifier: Apache-2.0
 * perf_names_test.c - the names of sampled tasks, from a made-up /proc.
 */
#include "perf_fixture.h"
#include "probes/perf/perf_names.h"
#include "schema/gen/process_tree.pb.h"

static struct perf_fixture fixture;
static struct orma_sightings_list *list;
static struct orma_sightings *seen;
static struct orma_perf_names names;
static int proc_fd;

static void begin(void)
{
	char path[512];

	fake_put_bytes("proc/10/cmdline", "/bin/cat\0-n\0", 12);
	fake_put("proc/10/stat", "10 (c) 7 at) S 1 10 10");
	fake_put("proc/10/task/10/comm", "cat\n");
	fake_put("proc/10/task/11/comm", "reader\n");
	fake_put("proc/2/cmdline", "");
	fake_put("proc/2/task/2/comm", "kthreadd\n");
	snprintf(path, sizeof(path), "%s/proc", fake_root);
	proc_fd = open(path, O_PATH | O_CLOEXEC);
	CHECK(proc_fd >= 0);
	perf_fixture_start(&fixture);
	CHECK(orma_sightings_list_new(&list) == 0);
	seen = orma_sightings_get(list, 1);
	orma_perf_names_init(&names, seen, &fixture.packets, proc_fd);
}

static void end(void)
{
	orma_perf_names_done(&names);
	orma_sightings_put(seen);
	orma_sightings_list_free(list);
	close(proc_fd);
	perf_fixture_end(&fixture);
}

static void note(uint32_t pid, uint32_t tid, const char *comm)
{
	orma_sightings_note_member(seen, tid, pid, orma_base_str(comm));
}

/* The tree of the only packet since the last call; "" = there is no packet. */
static const char *deliver(void)
{
	orma_perf_names_deliver(&names);
	CHECK(fake_packet_count <= 1);
	const char *text = fake_packet_count > 0 ? fake_text(fake_packet(0)->process_tree) : "";
	fake_forget_packets();
	return text;
}

static const char all[] = "processes { pid: 10 ppid: 1 cmdline: \"/bin/cat\" cmdline: \"-n\" } "
			  "processes { pid: 2 cmdline: \"kthreadd\" cmdline_is_comm: true } "
			  "processes { pid: 50 cmdline: \"ls\" cmdline_is_comm: true } "
			  "threads { tid: 10 name: \"cat\" tgid: 10 } "
			  "threads { tid: 11 name: \"reader\" tgid: 10 } "
			  "threads { tid: 2 name: \"kthreadd\" tgid: 2 } "
			  "threads { tid: 50 name: \"ls\" tgid: 50 } "
			  "threads { tid: 51 name: \"sorter\" tgid: 50 }";

static void note_all(void)
{
	note(10, 10, "");
	note(10, 11, "cat");
	note(2, 2, "");
	/* These have ended. */
	note(50, 50, "ls");
	note(50, 51, "sorter");
	note(60, 60, "");
	/* ftrace does not know whose thread this is. */
	orma_sightings_note_task(seen, 70);
}

ORMA_TEST(tasks_have_the_names_of_proc_or_those_of_their_records)
{
	begin();
	note_all();
	CHECK_STR(deliver(), all);
	end();
}

ORMA_TEST(a_name_is_written_once_and_after_a_rename)
{
	begin();
	note_all();
	deliver();
	note_all();
	CHECK_STR(deliver(), "");
	fake_put("proc/10/task/11/comm", "writer\n");
	orma_sightings_note_rename(seen, 11, ORMA_STR("writer"));
	CHECK_STR(deliver(), "threads { tid: 11 name: \"writer\" tgid: 10 }");
	end();
}

/* Trace Processor before release 58 takes another parent for another process. */
ORMA_TEST(a_process_that_changes_its_program_and_ends_keeps_its_parent)
{
	begin();
	note(10, 10, "");
	deliver();
	orma_sightings_note_new_task(seen, 10, 80, 0, ORMA_STR("sh"));
	CHECK_STR(deliver(), "processes { pid: 80 ppid: 10 cmdline: \"sh\" cmdline_is_comm: true } "
			     "threads { tid: 80 name: \"sh\" tgid: 80 }");
	orma_sightings_note_rename(seen, 80, ORMA_STR("ls"));
	note(80, 80, "");
	CHECK_STR(deliver(), "processes { pid: 80 ppid: 10 cmdline: \"ls\" cmdline_is_comm: true } "
			     "threads { tid: 80 name: \"ls\" tgid: 80 }");
	end();
}

ORMA_TEST(names_are_written_again_when_the_state_of_the_sequence_is_lost)
{
	static const struct orma_perf_fact fact = {.time = 1, .pid = 10, .tid = 10};

	begin();
	note_all();
	deliver();
	fake_source.needs_state = 1;
	orma_perf_packets_sample(&fixture.packets, &fact, NULL);
	fake_forget_packets();
	CHECK_STR(deliver(), "");
	note_all();
	CHECK_STR(deliver(), all);
	end();
}

static size_t told_count;

static void tell(void *ctx, const struct orma_task_sighting *tasks, size_t count)
{
	(void)ctx, (void)tasks;
	told_count += count;
}

ORMA_TEST(nothing_is_written_when_another_data_source_of_the_session_names_tasks)
{
	struct orma_sightings_listener process_stats = {.on_tasks = tell};

	begin();
	orma_sightings_listen(seen, &process_stats);
	note_all();
	CHECK_STR(deliver(), "");
	CHECK_INT(told_count, 7);
	orma_sightings_unlisten(seen, &process_stats);
	end();
}

ORMA_TEST(many_names_are_several_packets)
{
	begin();
	for (uint32_t pid = 1000; pid < 1600; pid++)
		note(pid, pid, "short-lived");
	orma_perf_names_deliver(&names);
	CHECK(fake_packet_count >= 2);
	size_t count = 0;
	for (size_t i = 0; i < fake_packet_count; i++)
		count += fake_packet(i)->process_tree->processes.count;
	CHECK_INT(count, 600);
	fake_forget_packets();
	end();
}
