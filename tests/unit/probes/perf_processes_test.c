/* SPDX-License-Identifier: Apache-2.0
 * perf_processes_test.c - what the records of a recording say about its processes.
 */
#include "probes/perf/perf_processes.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/macros.h"
#include "harness.h"

enum { PARENT = 4000000, CHILD = 4000001, OTHER = 4000002, OTHERS_CHILD = 4000003 };

static const int32_t parent_pid = PARENT;
static const struct orma_perf_scope_config parents_scope = {.target_pids = &parent_pid,
							    .target_pid_count = 1};
static struct orma_perf_scope scope;

static struct orma_perf_processes make_processes(void)
{
	struct orma_perf_processes processes = {.scope = &scope, .follows_children = true};

	orma_perf_scope_init(&scope, &parents_scope, 0);
	CHECK(orma_unwind_files_new(NULL, &processes.files) == 0);
	processes.proc_fd = open("/proc", O_PATH | O_CLOEXEC);
	CHECK(processes.proc_fd >= 0);
	return processes;
}

static void free_processes(struct orma_perf_processes *processes)
{
	orma_perf_processes_done(processes);
	orma_unwind_files_free(processes->files);
	close(processes->proc_fd);
}

static void take_fork(struct orma_perf_processes *processes, uint32_t pid, uint32_t parent)
{
	struct orma_perf_record record = {
		.type = PERF_RECORD_FORK, .pid = pid, .tid = pid, .time = 1};

	record.parent.pid = record.parent.tid = parent;
	orma_perf_processes_take(processes, &record);
}

static void take_exit(struct orma_perf_processes *processes, uint32_t pid, uint32_t tid,
		      uint64_t time)
{
	struct orma_perf_record record = {
		.type = PERF_RECORD_EXIT, .pid = pid, .tid = tid, .time = time};

	orma_perf_processes_take(processes, &record);
}

ORMA_TEST(only_children_of_the_scope_are_followed)
{
	struct orma_perf_processes processes = make_processes();

	take_fork(&processes, CHILD, PARENT);
	take_fork(&processes, OTHERS_CHILD, OTHER);
	CHECK(orma_perf_processes_get(&processes, CHILD)->is_in_scope);
	CHECK(!orma_perf_processes_get(&processes, OTHERS_CHILD)->is_in_scope);
	free_processes(&processes);
}

/* unwind_state_clear_period_ms. Nothing but the records of a young process says what its mappings are. */
ORMA_TEST(code_is_forgotten_if_it_can_be_read_again)
{
	struct orma_perf_processes processes = make_processes();
	struct orma_perf_process *old = orma_perf_processes_get(&processes, (uint32_t)getpid());

	take_fork(&processes, CHILD, PARENT);
	struct orma_perf_process *young = orma_perf_processes_get(&processes, CHILD);
	CHECK(old && young && young->is_young);
	CHECK(orma_perf_process_code(&processes, old) && orma_perf_process_code(&processes, young));
	uint64_t generation = orma_unwind_process_generation(old->code);
	orma_perf_processes_drop_code(&processes);
	CHECK(!old->code);
	CHECK(young->code);
	CHECK(orma_perf_process_code(&processes, old));
	/* Rules that were found before do not hold any more. */
	CHECK(orma_unwind_process_generation(old->code) != generation);
	free_processes(&processes);
}

ORMA_TEST(processes_that_end_without_a_sample_are_counted)
{
	struct orma_perf_processes processes = make_processes();

	take_fork(&processes, CHILD, PARENT);
	take_exit(&processes, CHILD, CHILD, 2);
	take_fork(&processes, CHILD, PARENT);
	orma_perf_processes_get(&processes, CHILD)->is_sampled = true;
	take_exit(&processes, CHILD, CHILD, 3);
	take_fork(&processes, OTHERS_CHILD, OTHER);
	take_exit(&processes, OTHERS_CHILD, OTHERS_CHILD, 4);
	CHECK(processes.ended_count == 2 && processes.unsampled_count == 1);
	free_processes(&processes);
}

#define STAT_PARENT 1

/* Writes PID/stat below a /proc of our own, with STAT_PARENT as its parent. */
static void write_stat(int proc_fd, uint32_t pid, char state, unsigned thread_count)
{
	char name[32];

	snprintf(name, sizeof(name), "%u", pid);
	CHECK(mkdirat(proc_fd, name, 0700) == 0 || errno == EEXIST);
	snprintf(name, sizeof(name), "%u/stat", pid);
	int fd = openat(proc_fd, name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	dprintf(fd, "%u (a ) Z b) %c %d 2 3 0 -1 4 5 6 7 8 9 10 11 12 20 0 %u 0 13 14\n", pid,
		state, STAT_PARENT, thread_count);
	close(fd);
}

ORMA_TEST(a_process_stays_as_long_as_it_has_threads)
{
	struct orma_perf_processes processes = make_processes();
	enum { S = 1000000000 };

	close(processes.proc_fd);
	processes.proc_fd = open(orma_test_tmpdir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	take_fork(&processes, CHILD, PARENT);
	const struct orma_perf_process *process = orma_perf_processes_get(&processes, CHILD);
	write_stat(processes.proc_fd, CHILD, 'Z', 2);
	take_exit(&processes, CHILD, CHILD, 1 * S);
	/* The end of another process, so that time goes on. */
	take_exit(&processes, OTHER, OTHER, UINT64_C(3) * S);
	take_exit(&processes, OTHER, OTHER, UINT64_C(6) * S);
	CHECK(processes.by_pid.count == 2);
	CHECK(orma_perf_processes_get(&processes, CHILD) == process && process->is_in_scope);
	/* Another process has the id. */
	write_stat(processes.proc_fd, CHILD, 'S', 2);
	take_exit(&processes, OTHER, OTHER, UINT64_C(9) * S);
	CHECK(processes.by_pid.count == 1);
	free_processes(&processes);
}

static void take_exec(struct orma_perf_processes *processes)
{
	orma_perf_processes_take(processes, &(struct orma_perf_record){
						    .type = PERF_RECORD_COMM,
						    .misc = PERF_RECORD_MISC_COMM_EXEC,
						    .pid = CHILD,
						    .tid = CHILD,
						    .time = 2,
					    });
}

/* The builder of unwind tables is a child of the profiler, too. */
ORMA_TEST(a_child_of_the_profiler_is_in_scope_from_its_exec_on)
{
	struct orma_perf_processes processes = make_processes();

	processes.own_pid = PARENT;
	/* Events of single tasks are inherited by all children. */
	processes.is_all_in = true;
	take_fork(&processes, CHILD, PARENT);
	take_fork(&processes, OTHER, PARENT);
	CHECK(!orma_perf_processes_get(&processes, CHILD)->is_in_scope);
	CHECK(!orma_perf_processes_get(&processes, OTHER)->is_in_scope);
	take_exec(&processes);
	CHECK(orma_perf_processes_get(&processes, CHILD)->is_in_scope);
	CHECK(orma_perf_processes_get(&processes, CHILD)->is_young);
	CHECK(!orma_perf_processes_get(&processes, OTHER)->is_in_scope);
	/* Children of the program need no exec(). */
	take_fork(&processes, OTHERS_CHILD, CHILD);
	CHECK(orma_perf_processes_get(&processes, OTHERS_CHILD)->is_in_scope);
	free_processes(&processes);
}

/* The builder of unwind tables has begun before the events were enabled, and inherits them. */
ORMA_TEST(a_child_of_the_profiler_that_is_older_than_the_events_is_not_in_scope)
{
	struct orma_perf_processes processes = make_processes();

	close(processes.proc_fd);
	processes.proc_fd = open(orma_test_tmpdir(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	processes.own_pid = STAT_PARENT;
	processes.is_all_in = true;
	write_stat(processes.proc_fd, CHILD, 'S', 1);
	CHECK(!orma_perf_processes_get(&processes, CHILD)->is_in_scope);
	/* It was a program that waited for the beginning. */
	take_exec(&processes);
	CHECK(orma_perf_processes_get(&processes, CHILD)->is_in_scope);
	CHECK(orma_perf_processes_get(&processes, OTHER)->is_in_scope);
	free_processes(&processes);
}

/* ---- names ---- */

static struct orma_task_sighting seen_tasks[16];
static size_t seen_count;

static void on_tasks(void *ctx, const struct orma_task_sighting *tasks, size_t count)
{
	(void)ctx;
	for (size_t i = 0; i < count && seen_count < ORMA_ARRAY_SIZE(seen_tasks); i++)
		seen_tasks[seen_count++] = tasks[i];
}

static const struct orma_task_sighting *seen_task(uint32_t tid)
{
	for (size_t i = 0; i < seen_count; i++)
		if (seen_tasks[i].tid == tid)
			return &seen_tasks[i];
	return NULL;
}

static void take_comm(struct orma_perf_processes *processes, uint32_t pid, uint32_t tid,
		      uint16_t misc, const char *name)
{
	struct orma_perf_record record = {.type = PERF_RECORD_COMM,
					  .misc = misc,
					  .pid = pid,
					  .tid = tid,
					  .time = 2,
					  .comm = orma_base_str(name)};

	orma_perf_processes_take(processes, &record);
}

/* They have ended by the time that their records are read, so /proc has nothing about them. */
ORMA_TEST(processes_in_scope_have_the_names_of_their_records)
{
	enum { THREAD = CHILD + 100, GRANDCHILD = CHILD + 200 };
	struct orma_perf_processes processes = make_processes();
	struct orma_sightings_list *list = NULL;
	struct orma_sightings_listener listener = {.on_tasks = on_tasks};

	CHECK(orma_sightings_list_new(&list) == 0);
	processes.seen = orma_sightings_get(list, 1);
	orma_sightings_listen(processes.seen, &listener);
	take_fork(&processes, CHILD, PARENT);
	take_comm(&processes, CHILD, CHILD, PERF_RECORD_MISC_COMM_EXEC, "worker");
	take_comm(&processes, CHILD, THREAD, 0, "its thread");
	/* A child without exec() has the name of its parent. */
	take_fork(&processes, GRANDCHILD, CHILD);
	take_fork(&processes, OTHERS_CHILD, OTHER);
	take_comm(&processes, OTHERS_CHILD, OTHERS_CHILD, PERF_RECORD_MISC_COMM_EXEC, "other");
	orma_sightings_deliver(processes.seen);
	CHECK(seen_task(CHILD) && seen_task(THREAD) && seen_task(GRANDCHILD));
	CHECK_STR(seen_task(CHILD)->comm, "worker");
	CHECK_INT(seen_task(CHILD)->process, CHILD);
	CHECK_STR(seen_task(THREAD)->comm, "its thread");
	CHECK_INT(seen_task(THREAD)->process, CHILD);
	CHECK_STR(seen_task(GRANDCHILD)->comm, "worker");
	CHECK(!seen_task(OTHERS_CHILD));
	orma_sightings_unlisten(processes.seen, &listener);
	free_processes(&processes);
	orma_sightings_put(processes.seen);
	orma_sightings_list_free(list);
}

ORMA_TEST(a_process_without_records_has_the_name_that_proc_gives)
{
	struct orma_perf_processes processes = make_processes();
	struct orma_sightings_list *list = NULL;
	struct orma_sightings_listener listener = {.on_tasks = on_tasks};
	uint32_t own = (uint32_t)getpid();

	CHECK(orma_sightings_list_new(&list) == 0);
	processes.seen = orma_sightings_get(list, 1);
	processes.is_all_in = true;
	orma_sightings_listen(processes.seen, &listener);
	orma_perf_processes_mention(&processes, orma_perf_processes_get(&processes, own), own);
	/* It was mentioned already. */
	orma_perf_processes_mention(&processes, orma_perf_processes_get(&processes, own), own);
	orma_sightings_deliver(processes.seen);
	CHECK_INT(seen_count, 1);
	CHECK(strncmp(seen_task(own)->comm, "unit_probes_per", 15) == 0);
	orma_sightings_unlisten(processes.seen, &listener);
	free_processes(&processes);
	orma_sightings_put(processes.seen);
	orma_sightings_list_free(list);
}

ORMA_TEST(a_thread_that_calls_exec_goes_on_as_the_main_thread)
{
	struct orma_perf_processes processes = make_processes();
	struct orma_perf_record exec = {.type = PERF_RECORD_COMM,
					.misc = PERF_RECORD_MISC_COMM_EXEC,
					.pid = CHILD,
					.tid = CHILD,
					.time = 3};

	take_fork(&processes, CHILD, PARENT);
	take_exit(&processes, CHILD, CHILD, 2);
	orma_perf_processes_take(&processes, &exec);
	/* Later than a second after the end. */
	take_exit(&processes, OTHER, OTHER, UINT64_C(3000000000));
	const struct orma_perf_process *process = orma_perf_processes_get(&processes, CHILD);
	CHECK(process->is_in_scope && !process->has_ended && process->is_young);
	free_processes(&processes);
}
