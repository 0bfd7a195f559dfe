/* SPDX-License-Identifier: Apache-2.0
 * process_guard.c - the files that tell whether a process must be read again.
 *
 * Most processes sleep, and their values stay the same. So each process has a guard: files that are
 * cheap to read, and whose text changes whenever the process runs, faults or loses pages. Without
 * times it is statm. With times it is schedstat and statm; but schedstat is about one thread, so a
 * process with several has stat, which costs the kernel three times as much. A process that has not
 * run loses pages only to the kernel, so behind schedstat statm is read only if the kernel has
 * reclaimed pages since the last poll. The guard's files stay open, which saves two of three system
 * calls. Descriptors are limited: beyond that the guard is opened for each read. A guard that fails
 * belonged to a process that has ended; the id is another process's now.
 *
 * Another process may set oom_score_adj, so that file is read after a number of polls in any case.
 * statm does not show everything either: a process that has run may have the same pages as before,
 * and another name. So all files are read after a larger number.
 *
 * Rejected: keeping all files open, five for each process, because each that has been read holds a
 * page of the kernel's memory.
 */
#include <errno.h>

#include "base/fd.h"
#include "base/macros.h"
#include "probes/probe_text.h"
#include "probes/process_stats/process_stats.h"

/* Numbers of polls after which a process that sleeps is read. */
#define POLLS_PER_ADJUSTMENT 16u
#define POLLS_PER_READ       64u

/* ---- reclaim ---- */

void orma_probes_process_look_for_reclaim(struct orma_probes_process_instance *instance)
{
	struct orma_probes_process_probe *probe = instance->probe;
	struct orma_str text, line;
	uint64_t hash = ORMA_FNV1A_INIT;
	bool counts_all = false;

	if (orma_probes_file_read(probe->proc_fd, "vmstat", &probe->other_text, &text) < 0)
		text.size = 0;
	while (orma_probes_text_line(&text, &line)) {
		if (!orma_probes_text_has_prefix(line, "pgsteal_"))
			continue;
		/* Other counters leave out what a control group's limit has reclaimed. */
		counts_all |= orma_probes_text_has_prefix(line, "pgsteal_file ");
		hash = orma_base_fnv1a(hash, line.data, line.size);
	}
	instance->has_reclaimed = !counts_all || hash != instance->reclaim_hash;
	instance->reclaim_hash = hash;
}

/* ---- reading ---- */

/* Reads one file of a guard, and keeps it open if there are descriptors left. 0 or -errno. */
static int read_file(struct orma_probes_process_probe *probe, uint32_t pid, const char *name,
		     int *kept_fd, struct orma_str *ret)
{
	char path[ORMA_PROBES_PATH_BYTES];

	if (*kept_fd >= 0)
		return orma_probes_file_pread(*kept_fd, &probe->other_text, ret);
	ORMA_AUTO(orma_base_fd_closep)
	int fd = orma_probes_file_open(probe->proc_fd, orma_probes_path(path, "", pid, name));
	if (fd < 0)
		return fd;
	int r = orma_probes_file_pread(fd, &probe->other_text, ret);
	if (r == 0 && probe->kept_fd_count < probe->kept_fd_max) {
		probe->kept_fd_count++;
		*kept_fd = fd;
		fd = -1;
	}
	return r;
}

/* Reads a file of the guard, and clears `is_same` if its text has changed. 0 or -errno. */
static int check_file(struct orma_probes_process_probe *probe, uint32_t pid,
		      struct orma_probes_process *process, size_t idx, const char *name,
		      bool *is_same, struct orma_str *ret)
{
	int r = read_file(probe, pid, name, &process->guard_fds[idx], ret);

	if (r < 0)
		return r;
	uint64_t hash = orma_base_fnv1a(ORMA_FNV1A_INIT, ret->data, ret->size);
	*is_same &= hash == process->guard_hashes[idx];
	process->guard_hashes[idx] = hash;
	return 0;
}

static int check_files(struct orma_probes_process_instance *instance, uint32_t pid,
		       struct orma_probes_process *process, bool *is_same, struct orma_str *ret)
{
	struct orma_probes_process_probe *probe = instance->probe;

	*is_same = true;
	if (!instance->config.runtime)
		return check_file(probe, pid, process, 0, "/statm", is_same, ret);
	if (!process->has_one_thread)
		return check_file(probe, pid, process, 0, "/stat", is_same, ret);
	int r = check_file(probe, pid, process, 0, "/schedstat", is_same, ret);
	if (r == 0 && (!*is_same || instance->has_reclaimed))
		r = check_file(probe, pid, process, 1, "/statm", is_same, ret);
	return r;
}

enum orma_probes_process_news
orma_probes_process_read_guard(struct orma_probes_process_instance *instance, uint32_t pid,
			       struct orma_probes_process *process, struct orma_str *ret)
{
	bool is_kept = process->guard_fds[0] >= 0, is_same;
	int r = check_files(instance, pid, process, &is_same, ret);

	if (r < 0 && r != -ENOMEM && is_kept) {
		orma_probes_process_restart(instance->probe, process);
		r = check_files(instance, pid, process, &is_same, ret);
	}
	if (r < 0)
		ret->size = 0;
	if (r < 0 || !is_same) {
		/* Processes that are new together are not all read again in one poll. */
		process->polls_asleep = pid % POLLS_PER_READ;
		return ORMA_PROCESS_NEWS;
	}
	process->polls_asleep++;
	if (!process->is_in_tree || process->polls_asleep % POLLS_PER_READ == 0)
		return ORMA_PROCESS_NEWS;
	return process->polls_asleep % POLLS_PER_ADJUSTMENT == 0 ? ORMA_PROCESS_ADJUSTMENT
								 : ORMA_PROCESS_NO_NEWS;
}

void orma_probes_process_choose_guard(struct orma_probes_process_probe *probe,
				      struct orma_probes_process *process, uint64_t thread_count)
{
	bool has_one_thread = probe->has_schedstat && thread_count == 1;

	if (has_one_thread == process->has_one_thread)
		return;
	/* The next poll opens the new files. */
	orma_probes_process_close_guard(probe, process);
	process->has_one_thread = has_one_thread;
}
