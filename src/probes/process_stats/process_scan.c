/* SPDX-License-Identifier: Apache-2.0
 * process_scan.c - scans of all processes and threads in /proc, and records of processes.
 *
 * The code reads as few files as it can: comm instead of status when only a thread's name is
 * wanted. Rejected: netlink's process events instead of polling /proc (they need root, and do not
 * report processes that already exist); noticing new threads by comparing their ids (without
 * ftrace, each poll would have to list every task folder).
 */
#include <errno.h>

#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_text.h"
#include "probes/process_stats/process_stats.h"

int orma_probes_process_read_file(struct orma_probes_process_probe *probe, uint32_t pid,
				  const char *name, struct orma_buf *buf, struct orma_str *ret)
{
	char path[ORMA_PROBES_PATH_BYTES];
	return orma_probes_file_read_record(probe->proc_fd, orma_probes_path(path, "", pid, name),
					    buf, ret);
}

/* ---- records ---- */

static uint64_t comm_hash(struct orma_str comm)
{
	return orma_base_fnv1a(ORMA_FNV1A_INIT, comm.data, comm.size);
}

bool orma_probes_process_is_news(const struct orma_probes_process *process,
				 const struct orma_probes_process_status *status)
{
	return !process->is_in_tree || process->comm_hash != comm_hash(status->name);
}

void orma_probes_process_record(struct orma_probes_process_instance *instance, uint32_t pid,
				struct orma_probes_process *process,
				const struct orma_probes_process_status *status,
				const struct orma_probes_process_times *times)
{
	struct orma_probes_process_probe *probe = instance->probe;
	char comm_buf[ORMA_PROBES_COMM_BYTES];
	struct orma_probes_process_record record = {
		.pid = pid,
		.status = status,
		.comm = orma_probes_process_unescape(status->name, comm_buf),
	};
	struct orma_probes_process_times own_times;
	struct orma_str text;
	if (instance->config.age && !times &&
	    orma_probes_process_read_file(probe, pid, "/stat", &probe->other_text, &text) == 0 &&
	    orma_probes_process_stat_parse(text, &own_times) == 0)
		times = &own_times;
	if (instance->config.age && times) {
		record.has_start = true;
		record.start_ns = times->start_ticks * probe->ns_per_tick;
	}
	if (orma_probes_process_read_file(probe, pid, "/cmdline", &probe->other_text, &text) == 0)
		record.cmdline = text;
	if (!orma_probes_process_write_record(instance, &record))
		return;
	process->is_in_tree = true;
	process->ppid = ORMA_MAX(status->ppid, 0);
	process->comm_hash = comm_hash(status->name);
}

int orma_probes_process_read_status(struct orma_probes_process_instance *instance, uint32_t pid,
				    struct orma_probes_process_status *ret,
				    struct orma_probes_process_sample *sample)
{
	struct orma_str text;
	int r = orma_probes_process_read_file(instance->probe, pid, "/status",
					      &instance->probe->status_text, &text);
	if (r == 0)
		orma_probes_process_status_parse(text, ret, sample);
	return r;
}

int orma_probes_process_read_leader(struct orma_probes_process_instance *instance, uint32_t pid,
				    struct orma_probes_process_status *ret,
				    struct orma_probes_process_sample *sample)
{
	int r = orma_probes_process_read_status(instance, pid, ret, sample);
	if (r)
		return r;
	return ret->tgid == (int64_t)pid ? 0 : -ESRCH;
}

static void scan_thread(struct orma_probes_process_instance *instance, int tasks, uint32_t pid,
			uint32_t tid)
{
	struct orma_buf *buf = &instance->probe->other_text;
	char path[ORMA_PROBES_PATH_BYTES], comm_buf[ORMA_PROBES_COMM_BYTES];
	struct orma_probes_process_status status, *ids = NULL;
	struct orma_str text, comm = {0};

	if (instance->is_namespaced &&
	    orma_probes_file_read_record(tasks, orma_probes_path(path, "", tid, "/status"), buf,
					 &text) == 0) {
		orma_probes_process_status_parse(text, &status, NULL);
		ids = &status;
		comm = orma_probes_process_unescape(status.name, comm_buf);
	} else if (instance->config.thread_names && !instance->is_namespaced &&
		   orma_probes_file_read_record(tasks, orma_probes_path(path, "", tid, "/comm"),
						buf, &text) == 0 &&
		   text.size > 0) {
		/* The file contains the name without escapes, and a newline. */
		comm = (struct orma_str){text.data, text.size - 1};
	}
	if (!instance->config.thread_names)
		comm.size = 0;
	orma_probes_process_write_thread(instance, tid, pid, ids, comm);
}

/* Writes the record of the process, and lists its threads. */
static void scan_process(struct orma_probes_process_instance *instance, uint32_t pid)
{
	struct orma_probes_process_status status;
	char path[ORMA_PROBES_PATH_BYTES];

	if (orma_probes_process_read_leader(instance, pid, &status, NULL))
		return;
	struct orma_probes_process *process = orma_probes_process_get(instance, pid);
	if (!process)
		return;
	process->generation = instance->generation;
	instance->is_namespaced = status.nspid.size > 0;
	orma_probes_process_record(instance, pid, process, &status, NULL);
	/* The list is empty when the process has ended. */
	(void)orma_probes_dir_numbers(instance->probe->proc_fd,
				      orma_probes_path(path, "", pid, "/task"), "",
				      &instance->tids);
}

bool orma_probes_process_scan(struct orma_probes_process_instance *instance, uint32_t pid)
{
	struct orma_probes_numbers *tids = &instance->tids;
	char path[ORMA_PROBES_PATH_BYTES];

	if (tids->count == 0)
		scan_process(instance, pid);
	/* Most processes have one thread, which is in their record. */
	if (tids->count > 1) {
		ORMA_AUTO(orma_base_fd_closep)
		int tasks = orma_probes_dir_open(instance->probe->proc_fd,
						 orma_probes_path(path, "", pid, "/task"));
		while (tasks >= 0 && instance->next_tid < tids->count) {
			uint32_t tid = tids->items[instance->next_tid++];
			if (tid != pid)
				scan_thread(instance, tasks, pid, tid);
			if (instance->next_tid % ORMA_PROBES_PROCESS_CLOCK_STEP == 0 &&
			    instance->next_tid < tids->count &&
			    orma_probe_is_turn_over(&instance->base))
				return false;
		}
	}
	tids->count = instance->next_tid = 0;
	return true;
}
