/* SPDX-License-Identifier: Apache-2.0
 * perf_targets_test.c - which tasks are opened one by one.
 */
#include "probes/perf/perf_targets.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness.h"

static sem_t is_running, must_end;

static void *run_thread(void *unused)
{
	sem_post(&is_running);
	sem_wait(&must_end);
	return unused;
}

static int list_tasks(const int32_t *pids, size_t count, struct orma_probes_numbers *ret)
{
	const struct orma_perf_scope_config config = {.target_pids = pids,
						      .target_pid_count = count};
	struct orma_perf_scope scope;
	int proc_fd = open("/proc", O_PATH | O_CLOEXEC);

	CHECK(proc_fd >= 0);
	orma_perf_scope_init(&scope, &config, 0);
	int r = orma_perf_targets_tasks(proc_fd, &scope, false, ret);
	orma_perf_scope_done(&scope);
	close(proc_fd);
	return r;
}

ORMA_TEST(a_process_that_is_named_twice_is_opened_once)
{
	struct orma_probes_numbers tids = {0};
	const int32_t pids[] = {getpid(), getppid(), getpid()};
	pthread_t thread;

	sem_init(&is_running, 0, 0);
	sem_init(&must_end, 0, 0);
	CHECK_INT(pthread_create(&thread, NULL, run_thread, NULL), 0);
	sem_wait(&is_running);
	CHECK_INT(list_tasks(pids, 3, &tids), 0);
	unsigned own_count = 0;
	for (size_t i = 0; i < tids.count; i++) {
		own_count += tids.items[i] == (uint32_t)getpid();
		CHECK(i == 0 || tids.items[i - 1] < tids.items[i]);
	}
	CHECK_INT(own_count, 1);
	CHECK(tids.count >= 3);
	orma_probes_numbers_done(&tids);
	sem_post(&must_end);
	pthread_join(thread, NULL);
}

ORMA_TEST(a_process_that_has_ended_has_no_tasks)
{
	struct orma_probes_numbers tids = {0};
	int32_t pids[2];
	pid_t child = fork();

	if (child == 0)
		_exit(0);
	CHECK_INT(waitpid(child, NULL, 0), child);
	pids[0] = child;
	CHECK_INT(list_tasks(pids, 1, &tids), -ENODATA);
	/* The other one is there. */
	pids[1] = getpid();
	CHECK_INT(list_tasks(pids, 2, &tids), 0);
	CHECK_INT(tids.count, 1);
	orma_probes_numbers_done(&tids);
}
