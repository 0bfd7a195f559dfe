/* SPDX-License-Identifier: Apache-2.0
 * process_sighted.c - records of the tasks that ftrace has seen, and of the descriptors that they opened.
 *
 * Owns nothing. A task that still runs is explained by its status file: the record of its process,
 * if the trace lacks it, and the task itself, if it is not the main thread. A task that has ended
 * is explained by what ftrace knows: the event of its birth has its name, its parent, and whether
 * it was a thread. Without that event nobody knows whose thread it was; then nothing is written,
 * because a wrong process is worse than none. A second record of a process has the parent of the
 * first one: Trace Processor before release 58 takes another parent for another process.
 *
 * Without polling nobody drops entries of processes that have ended. So all are forgotten when
 * there are too many, and some records are written twice.
 */
#include <limits.h>

#include "base/clock_ns.h"
#include "probes/process_stats/process_stats.h"

#define UNPOLLED_PROCESSES_MAX 16384u

static void record_process(struct orma_probes_process_instance *instance, uint32_t pid,
			   const struct orma_probes_process_status *status)
{
	struct orma_probes_process *process = orma_probes_process_get(instance, pid);

	if (!process)
		return;
	process->generation = instance->generation;
	if (orma_probes_process_is_news(process, status))
		orma_probes_process_record(instance, pid, process, status, NULL);
	else
		orma_sightings_set_process(instance->seen, pid, pid);
}

static bool is_recorded(const struct orma_probes_process_instance *instance, uint32_t pid)
{
	const struct orma_probes_process *process = orma_base_map_get(&instance->processes, pid);

	return process && process->is_in_tree;
}

/* Returns the name, or nothing if the configuration does not ask for names of threads. */
static struct orma_str thread_name(const struct orma_probes_process_instance *instance,
				   struct orma_str name)
{
	return instance->config.thread_names ? name : (struct orma_str){0};
}

static void record_ended_task(struct orma_probes_process_instance *instance,
			      const struct orma_task_sighting *task)
{
	struct orma_str comm = orma_base_str(task->comm);
	uint32_t parent = orma_sightings_process_of(instance->seen, task->parent_tid);
	uint32_t pid = task->process == 0 && task->is_thread ? parent : task->process;

	if (pid == 0)
		return;
	if (pid != task->tid) {
		orma_probes_process_write_thread(instance, task->tid, pid, NULL,
						 thread_name(instance, comm));
		return;
	}
	struct orma_probes_process *process = orma_probes_process_get(instance, pid);
	int64_t ppid = parent;
	if (parent == 0 && process)
		ppid = process->ppid;
	if (process)
		process->ppid = ppid;
	struct orma_probes_process_status status = {
		.tgid = pid, .pid = pid, .ppid = ppid > 0 ? ppid : -1, .uid = -1, .kthread = -1};
	struct orma_probes_process_record record = {.pid = pid, .status = &status, .comm = comm};
	orma_probes_process_write_record(instance, &record);
}

/* Reads the status of a thread after the record of its process was written. Returns false when it
 * has ended. */
static bool read_thread(struct orma_probes_process_instance *instance, uint32_t tid, uint32_t pid,
			struct orma_probes_process_status *status)
{
	struct orma_probes_process_status leader;

	if (is_recorded(instance, pid))
		return true;
	if (orma_probes_process_read_status(instance, pid, &leader, NULL) == 0 &&
	    leader.tgid == (int64_t)pid)
		record_process(instance, pid, &leader);
	/* The buffer with the thread's status was used for its leader's. */
	return orma_probes_process_read_status(instance, tid, status, NULL) == 0 &&
	       status->tgid == (int64_t)pid;
}

static void record_task(struct orma_probes_process_instance *instance,
			const struct orma_task_sighting *task)
{
	struct orma_probes_process_status status;
	char comm_buf[ORMA_PROBES_COMM_BYTES];

	if (orma_probes_process_read_status(instance, task->tid, &status, NULL) < 0 ||
	    status.tgid <= 0 || status.tgid > INT_MAX) {
		record_ended_task(instance, task);
		return;
	}
	uint32_t pid = (uint32_t)status.tgid;
	if (pid == task->tid)
		record_process(instance, pid, &status);
	else if (read_thread(instance, task->tid, pid, &status))
		orma_probes_process_write_thread(
			instance, task->tid, pid, &status,
			thread_name(instance, orma_probes_process_unescape(status.name, comm_buf)));
	else
		record_ended_task(instance, task);
}

/* Commits what was written: it may be the answer to a flush whose turn has come for this instance
 * already. */
static void end_records(struct orma_probes_process_instance *instance)
{
	if (!instance->packet)
		return;
	orma_probes_process_packet_end(instance);
	orma_data_source_flush_thread(instance->probe->base.source, instance->base.idx);
}

static void on_tasks(void *ctx, const struct orma_task_sighting *tasks, size_t count)
{
	struct orma_probes_process_instance *instance = ctx;
	uint64_t begin_ns = instance->begin_ns; /* a scan or poll may be under way */

	instance->begin_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	if (instance->config.poll_ms == 0 && instance->processes.count > UNPOLLED_PROCESSES_MAX)
		orma_probes_process_forget_all(instance);
	for (size_t i = 0; i < count; i++)
		record_task(instance, &tasks[i]);
	end_records(instance);
	instance->begin_ns = begin_ns;
}

/* A task that the trace does not explain is left out; a poll finds its process and the descriptor. */
static void on_fds(void *ctx, const struct orma_fd_sighting *fds, size_t count)
{
	struct orma_probes_process_instance *instance = ctx;
	uint64_t begin_ns = instance->begin_ns; /* a scan or poll may be under way */

	instance->begin_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	for (size_t i = 0; i < count; i++) {
		uint32_t pid = orma_sightings_process_of(instance->seen, fds[i].tid);
		struct orma_probes_process *process =
			pid > 0 ? orma_base_map_get(&instance->processes, pid) : NULL;
		if (process)
			orma_probes_process_write_fd(instance, pid, process, fds[i].fd);
	}
	end_records(instance);
	instance->begin_ns = begin_ns;
}

void orma_probes_process_listen(struct orma_probes_process_instance *instance)
{
	instance->listener = (struct orma_sightings_listener){
		.on_tasks = on_tasks,
		.on_fds = instance->config.fds ? on_fds : NULL,
		.ctx = instance,
	};
	orma_sightings_listen(instance->seen, &instance->listener);
}
