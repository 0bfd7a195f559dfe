/* SPDX-License-Identifier: Apache-2.0
 * perf_processes_test.c - what the records of a recording say about its processes.
 */
#include "probes/perf/perf_processes.h"

#include <fcntl.h>
#include <linux/perf_event.h>
#include <unistd.h>

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
