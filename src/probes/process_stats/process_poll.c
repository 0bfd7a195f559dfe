/* SPDX-License-Identifier: Apache-2.0
 * process_poll.c - polls of the values of all processes.
 *
 * A poll has two passes over the same list of ids. The first pass reads the files of each process
 * once, keeps the values in its entry, and writes records of processes that are new or have a new
 * name, because they have executed another program. The second pass writes the values. So a process
 * precedes its values in the trace, and no file is read twice. Kernel threads and zombies have no
 * memory. The first read shows that, and they are not read again.
 *
 * Most processes sleep, and their values stay the same. So each process has a guard: files that are
 * cheap to read, and whose text changes whenever the process runs, faults or loses pages. Without
 * times it is statm. With times it is schedstat and statm; but schedstat is about one thread, so a
 * process with several has stat, which costs the kernel three times as much. The guard's files stay
 * open, which saves two of three system calls. The other files (status, oom_score_adj,
 * smaps_rollup) are read when the guard's text has changed, and after a number of polls in any
 * case, because another process may set oom_score_adj. Descriptors are limited: beyond that the
 * guard is opened for each read. A guard that fails belonged to a process that has ended; the id is
 * another process's now.
 *
 * Rejected: keeping all files open, five for each process.
 */
#include <errno.h>
#include <fcntl.h>

#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/process_stats/process_stats.h"

/* A process that sleeps is read again after this number of polls. */
#define POLLS_PER_READ 16u

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
	    orma_probes_process_read_file(probe, pid, "/smaps_rollup", &probe->other_text, &text) ==
		    0)
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

/* ---- guards ---- */

/* The files of a guard, and the result of reading them. */
struct guard {
	const char *names[ORMA_PROBES_GUARD_FILES]; /* NULL = fewer files */
	uint64_t hash;                              /* over all texts */
	struct orma_str text; /* the last text: stat's, if that is the guard */
};

/* Reads one file of a guard, and keeps it open if there are descriptors left. 0 or -errno. */
static int read_guard_file(struct orma_probes_process_probe *probe, uint32_t pid, const char *name,
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

static int read_guard_files(struct orma_probes_process_probe *probe, uint32_t pid,
			    struct orma_probes_process *process, struct guard *guard)
{
	guard->hash = ORMA_FNV1A_INIT;
	for (size_t i = 0; i < ORMA_PROBES_GUARD_FILES && guard->names[i]; i++) {
		int r = read_guard_file(probe, pid, guard->names[i], &process->guard_fds[i],
					&guard->text);
		if (r < 0)
			return r;
		guard->hash = orma_base_fnv1a(guard->hash, guard->text.data, guard->text.size);
	}
	return 0;
}

static void name_guard(const struct orma_probes_process_instance *instance,
		       const struct orma_probes_process *process, struct guard *guard)
{
	if (!instance->config.runtime)
		*guard = (struct guard){.names = {"/statm"}};
	else if (process->has_one_thread)
		*guard = (struct guard){.names = {"/schedstat", "/statm"}};
	else
		*guard = (struct guard){.names = {"/stat"}};
}

/* Reads the guard. The text is empty when there is none. */
static void read_guard(struct orma_probes_process_instance *instance, uint32_t pid,
		       struct orma_probes_process *process, struct guard *ret)
{
	struct orma_probes_process_probe *probe = instance->probe;
	bool is_kept = process->guard_fds[0] >= 0;

	name_guard(instance, process, ret);
	int r = read_guard_files(probe, pid, process, ret);
	if (r < 0 && r != -ENOMEM && is_kept) {
		orma_probes_process_restart(probe, process);
		name_guard(instance, process, ret);
		r = read_guard_files(probe, pid, process, ret);
	}
	if (r < 0)
		ret->text.size = 0;
}

/* Returns true when the files of the process must be read. */
static bool has_news(struct orma_probes_process *process, uint32_t pid, const struct guard *guard)
{
	bool is_same = guard->text.size > 0 && process->guard_hash == guard->hash;

	process->guard_hash = guard->hash;
	/* Processes that are new together are not all read again in one poll. */
	if (!is_same)
		process->polls_asleep = pid % POLLS_PER_READ;
	return !is_same || !process->is_in_tree || ++process->polls_asleep % POLLS_PER_READ == 0;
}

/* Gets the text of stat, which is the guard's or is read now. */
static bool get_stat(struct orma_probes_process_instance *instance, uint32_t pid,
		     const struct orma_probes_process *process, const struct guard *guard,
		     struct orma_str *ret)
{
	struct orma_probes_process_probe *probe = instance->probe;

	*ret = guard->text;
	return !process->has_one_thread ||
	       orma_probes_process_read_file(probe, pid, "/stat", &probe->other_text, ret) == 0;
}

/* A process with one thread gets the cheaper guard. Its next poll opens the new files. */
static void choose_guard(struct orma_probes_process_probe *probe,
			 struct orma_probes_process *process, uint64_t thread_count)
{
	bool has_one_thread = probe->has_schedstat && thread_count == 1;

	if (has_one_thread == process->has_one_thread)
		return;
	orma_probes_process_close_guard(probe, process);
	process->has_one_thread = has_one_thread;
}

static bool sample_times(struct orma_probes_process_instance *instance, uint32_t pid,
			 struct orma_probes_process *process, const struct guard *guard,
			 struct orma_probes_process_times *times,
			 struct orma_probes_process_sample *sample)
{
	uint64_t ns_per_tick = instance->probe->ns_per_tick;
	struct orma_str stat;

	if (!instance->config.runtime || !get_stat(instance, pid, process, guard, &stat) ||
	    orma_probes_process_stat_parse(stat, times) < 0)
		return false;
	orma_probes_process_sample_set(sample, ORMA_PROCESS_RUNTIME_USER,
				       times->user_ticks * ns_per_tick);
	orma_probes_process_sample_set(sample, ORMA_PROCESS_RUNTIME_KERNEL,
				       times->kernel_ticks * ns_per_tick);
	choose_guard(instance->probe, process, times->thread_count);
	return true;
}

/* ---- polls ---- */

/* Reads the files of a process whose guard has news. */
static void read_process(struct orma_probes_process_instance *instance, uint32_t pid,
			 struct orma_probes_process *process, const struct guard *guard)
{
	struct orma_probes_process_sample sample = {0};
	struct orma_probes_process_status status;
	struct orma_probes_process_times times;

	process->changed = 0;
	process->sample.present = 0;
	bool has_times = sample_times(instance, pid, process, guard, &times, &sample);
	if (!process->is_without_memory || (has_times && !process->is_in_tree)) {
		if (orma_probes_process_read_leader(instance, pid, &status, &sample) < 0)
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

static void poll_process(struct orma_probes_process_instance *instance, uint32_t pid)
{
	struct orma_probes_process *process = orma_probes_process_get(instance, pid);
	struct guard guard;

	if (!process)
		return;
	process->generation = instance->generation;
	if (process->is_without_memory && !instance->config.runtime)
		return;
	read_guard(instance, pid, process, &guard);
	if (has_news(process, pid, &guard))
		read_process(instance, pid, process, &guard);
	else
		process->changed = process->sample.present & ~process->cached;
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
