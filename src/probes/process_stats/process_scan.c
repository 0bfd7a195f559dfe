/* SPDX-License-Identifier: Apache-2.0
 * process_scan.c - scans of all processes and threads in /proc, and records of processes.
 *
 * The code reads as few files as it can: comm instead of status when only a thread's name is
 * wanted. Rejected: netlink's process events instead of polling /proc (they need root, and do not
 * report processes that already exist); noticing new threads by comparing their ids (without
 * ftrace, each poll would have to list every task folder).
 */
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
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

static void scan_threads(struct orma_probes_process_instance *instance, uint32_t pid,
			 bool is_namespaced)
{
	struct orma_probes_process_probe *probe = instance->probe;
	char path[ORMA_PROBES_PATH_BYTES], comm_buf[ORMA_PROBES_COMM_BYTES];
	ORMA_AUTO(orma_base_fd_closep)
	int tasks = orma_probes_dir_open(probe->proc_fd, orma_probes_path(path, "", pid, "/task"));
	if (tasks < 0 || orma_probes_dir_numbers(tasks, ".", "", &probe->tids) < 0)
		return;
	for (size_t i = 0; i < probe->tids.count; i++) {
		uint32_t tid = probe->tids.items[i];
		struct orma_probes_process_status status, *ids = NULL;
		struct orma_str text, comm = {0};
		if (tid == pid)
			continue;
		if (is_namespaced &&
		    orma_probes_file_read_record(tasks, orma_probes_path(path, "", tid, "/status"),
						 &probe->other_text, &text) == 0) {
			orma_probes_process_status_parse(text, &status, NULL);
			ids = &status;
			comm = orma_probes_process_unescape(status.name, comm_buf);
		} else if (instance->config.thread_names && !is_namespaced &&
			   orma_probes_file_read_record(tasks,
							orma_probes_path(path, "", tid, "/comm"),
							&probe->other_text, &text) == 0 &&
			   text.size > 0) {
			/* The file contains the name without escapes, and a newline. */
			comm = (struct orma_str){text.data, text.size - 1};
		}
		if (!instance->config.thread_names)
			comm.size = 0;
		orma_probes_process_write_thread(instance, tid, pid, ids, comm);
	}
}

void orma_probes_process_scan(struct orma_probes_process_instance *instance)
{
	struct orma_probes_process_probe *probe = instance->probe;
	struct orma_probes_process_status status;
	instance->begin_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	if (orma_probes_dir_numbers(probe->proc_fd, ".", "", &probe->pids) < 0)
		return;
	for (size_t i = 0; i < probe->pids.count; i++) {
		uint32_t pid = probe->pids.items[i];
		if (orma_probes_process_read_leader(instance, pid, &status, NULL))
			continue;
		struct orma_probes_process *process = orma_probes_process_get(instance, pid);
		if (!process)
			continue;
		process->generation = instance->generation;
		orma_probes_process_record(instance, pid, process, &status, NULL);
		scan_threads(instance, pid, status.nspid.size > 0);
	}
	for (size_t i = 0; instance->config.fds && i < probe->pids.count; i++) {
		struct orma_probes_process *process =
			orma_base_map_get(&instance->processes, probe->pids.items[i]);
		if (process)
			orma_probes_process_write_values(instance, probe->pids.items[i], process);
	}
	orma_probes_process_packet_end(instance);
}
