/* SPDX-License-Identifier: Apache-2.0
 * process_scan.c - reads /proc: scans of all processes and threads, and polls of values.
 *
 * A poll has two passes over the same list of ids. The first pass reads the files of each process
 * once, keeps the values in its entry, and writes records of processes that are new or have a new
 * name, because they have executed another program. The second pass writes the values. So a process
 * precedes its values in the trace, and no file is read twice. Kernel threads and zombies have no
 * memory. The first read shows that, and they are not read again.
 *
 * System calls take most of the time, about three per file: status and oom_score_adj of 5,000
 * processes are 30,000 calls. So the code reads as few files as it can: comm instead of status when
 * only a thread's name is wanted, smaps_rollup and fd only if the configuration asks for them.
 * Rejected: netlink's process events instead of polling /proc (they need root, and do not report
 * processes that already exist); noticing new threads by comparing their ids (without ftrace, each
 * poll would have to list every task folder).
 */
#include <errno.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_text.h"
#include "probes/process_stats/process_stats.h"

static int read_pid_file(struct orma_probes_process_probe *probe, uint32_t pid, const char *name,
			 struct orma_buf *buf, struct orma_str *ret)
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
	    read_pid_file(probe, pid, "/stat", &probe->other_text, &text) == 0 &&
	    orma_probes_process_stat_parse(text, &own_times) == 0)
		times = &own_times;
	if (instance->config.age && times) {
		record.has_start = true;
		record.start_ns = times->start_ticks * probe->ns_per_tick;
	}
	if (read_pid_file(probe, pid, "/cmdline", &probe->other_text, &text) == 0)
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
	int r = read_pid_file(instance->probe, pid, "/status", &instance->probe->status_text,
			      &text);
	if (r == 0)
		orma_probes_process_status_parse(text, ret, sample);
	return r;
}

/* Reads the status of a process. Since the folder was listed, the process may have ended and a
 * thread may have its id. */
static int read_status(struct orma_probes_process_instance *instance, uint32_t pid,
		       struct orma_probes_process_status *ret,
		       struct orma_probes_process_sample *sample)
{
	int r = orma_probes_process_read_status(instance, pid, ret, sample);
	if (r < 0)
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
		if (read_status(instance, pid, &status, NULL) < 0)
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

/* ---- values ---- */

/* Reads the files besides status. */
static void sample_more(struct orma_probes_process_instance *instance, uint32_t pid,
			struct orma_probes_process_sample *sample)
{
	struct orma_probes_process_probe *probe = instance->probe;
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str text;
	int64_t adjustment;
	uint64_t bytes;
	if (instance->config.dmabuf_rss &&
	    orma_probes_file_read_u64(probe->proc_fd,
				      orma_probes_path(path, "", pid, "/dmabuf_rss"), &bytes) == 0)
		orma_probes_process_sample_set(sample, ORMA_PROCESS_DMABUF_RSS, bytes / 1024);
	if (instance->config.smaps_rollup &&
	    read_pid_file(probe, pid, "/smaps_rollup", &probe->other_text, &text) == 0)
		orma_probes_process_smaps_parse(text, sample);
	if (orma_probes_file_read_i64(probe->proc_fd,
				      orma_probes_path(path, "", pid, "/oom_score_adj"),
				      &adjustment) == 0)
		orma_probes_process_sample_set(sample, ORMA_PROCESS_OOM_SCORE_ADJ,
					       (uint64_t)adjustment);
}

static uint32_t changed_values(const struct orma_probes_process *process,
			       const struct orma_probes_process_sample *sample)
{
	uint32_t changed = sample->present & ~process->cached;
	for (uint32_t bits = sample->present & process->cached; bits; bits &= bits - 1) {
		int value = __builtin_ctz(bits);
		if (sample->values[value] != process->sample.values[value])
			changed |= UINT32_C(1) << value;
	}
	return changed;
}

/* Finds the values that have changed, and stores them. A value that was not read keeps its cached
 * state. */
static void keep_sample(struct orma_probes_process *process,
			const struct orma_probes_process_sample *sample)
{
	process->changed = changed_values(process, sample);
	process->sample.present = sample->present;
	for (uint32_t bits = sample->present; bits; bits &= bits - 1) {
		int value = __builtin_ctz(bits);
		process->sample.values[value] = sample->values[value];
	}
}

static bool read_times(struct orma_probes_process_instance *instance, uint32_t pid,
		       struct orma_probes_process_times *times,
		       struct orma_probes_process_sample *sample)
{
	struct orma_probes_process_probe *probe = instance->probe;
	struct orma_str text;
	if (!instance->config.runtime ||
	    read_pid_file(probe, pid, "/stat", &probe->other_text, &text) < 0 ||
	    orma_probes_process_stat_parse(text, times) < 0)
		return false;
	orma_probes_process_sample_set(sample, ORMA_PROCESS_RUNTIME_USER,
				       times->user_ticks * probe->ns_per_tick);
	orma_probes_process_sample_set(sample, ORMA_PROCESS_RUNTIME_KERNEL,
				       times->kernel_ticks * probe->ns_per_tick);
	return true;
}

static void poll_process(struct orma_probes_process_instance *instance, uint32_t pid)
{
	struct orma_probes_process_sample sample = {0};
	struct orma_probes_process_status status;
	struct orma_probes_process_times times;
	struct orma_probes_process *process = orma_probes_process_get(instance, pid);
	if (!process)
		return;
	process->generation = instance->generation;
	process->changed = 0;
	process->sample.present = 0;
	bool has_times = read_times(instance, pid, &times, &sample);
	if (!process->is_without_memory || (has_times && !process->is_in_tree)) {
		if (read_status(instance, pid, &status, &sample) < 0)
			return;
		bool has_memory = sample.present >> ORMA_PROCESS_VM_SIZE & 1;
		process->is_without_memory = !has_memory;
		if (has_memory)
			sample_more(instance, pid, &sample);
		if (has_memory ? orma_probes_process_is_news(process, &status)
			       : has_times && !process->is_in_tree)
			orma_probes_process_record(instance, pid, process, &status,
						   has_times ? &times : NULL);
	}
	keep_sample(process, &sample);
}

void orma_probes_process_poll(struct orma_probes_process_instance *instance)
{
	struct orma_probes_process_probe *probe = instance->probe;
	instance->begin_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	if (orma_probes_dir_numbers(probe->proc_fd, ".", "", &probe->pids) < 0)
		return;
	instance->generation++;
	for (size_t i = 0; i < probe->pids.count; i++)
		poll_process(instance, probe->pids.items[i]);
	for (size_t i = 0; i < probe->pids.count; i++) {
		struct orma_probes_process *process =
			orma_base_map_get(&instance->processes, probe->pids.items[i]);
		if (process && (process->changed || !process->is_without_memory))
			orma_probes_process_write_values(instance, probe->pids.items[i], process);
	}
	orma_probes_process_packet_end(instance);
	orma_probes_process_drop_gone(instance);
	orma_probes_process_expire_cache(instance);
}
