/* SPDX-License-Identifier: Apache-2.0
 * process_poll.c - polls of the values of all processes.
 *
 * A poll has two steps over the same list of ids. The first step reads the files of each process
 * once, keeps the values in its entry, and writes records of processes that are new or have a new
 * name, because they have executed another program. The second step writes the values. So a process
 * precedes its values in the trace, and no file is read twice. Kernel threads and zombies have no
 * memory. The first read shows that, and they are not read again. A process that sleeps is not read
 * either, as far as its guard tells (process_guard.c).
 */
#include <errno.h>

#include "base/clock_ns.h"
#include "base/macros.h"
#include "probes/process_stats/process_stats.h"

static void sample_adjustment(struct orma_probes_process_instance *instance, uint32_t pid,
			      struct orma_probes_process_sample *sample)
{
	char path[ORMA_PROBES_PATH_BYTES];
	int64_t adjustment;

	if (orma_probes_file_read_i64(instance->probe->proc_fd,
				      orma_probes_path(path, "", pid, "/oom_score_adj"),
				      &adjustment) == 0)
		orma_probes_process_sample_set(sample, ORMA_PROCESS_OOM_SCORE_ADJ,
					       (uint64_t)adjustment);
}

/* Reads the files besides status. */
static void sample_more(struct orma_probes_process_instance *instance, uint32_t pid,
			struct orma_probes_process_sample *sample)
{
	struct orma_probes_process_probe *probe = instance->probe;
	char path[ORMA_PROBES_PATH_BYTES];
	struct orma_str text;
	uint64_t bytes;

	if (instance->config.dmabuf_rss &&
	    orma_probes_file_read_u64(probe->proc_fd,
				      orma_probes_path(path, "", pid, "/dmabuf_rss"), &bytes) == 0)
		orma_probes_process_sample_set(sample, ORMA_PROCESS_DMABUF_RSS, bytes / 1024);
	if (instance->config.smaps_rollup &&
	    orma_probes_process_read_file(probe, pid, "/smaps_rollup", &probe->other_text, &text) ==
		    0)
		orma_probes_process_smaps_parse(text, sample);
	sample_adjustment(instance, pid, sample);
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
	for (uint32_t bits = sample->present; bits; bits &= bits - 1) {
		int value = __builtin_ctz(bits);
		process->sample.values[value] = sample->values[value];
	}
}

/* Gets the text of stat, which is the guard's or is read now. */
static bool get_stat(struct orma_probes_process_instance *instance, uint32_t pid,
		     const struct orma_probes_process *process, struct orma_str guard,
		     struct orma_str *ret)
{
	struct orma_probes_process_probe *probe = instance->probe;

	*ret = guard;
	return !process->has_one_thread ||
	       orma_probes_process_read_file(probe, pid, "/stat", &probe->other_text, ret) == 0;
}

static bool sample_times(struct orma_probes_process_instance *instance, uint32_t pid,
			 struct orma_probes_process *process, struct orma_str guard,
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
	orma_probes_process_choose_guard(instance->probe, process, times->thread_count);
	return true;
}

/* Reads the files of a process whose guard has news. Returns false when it has ended. */
static bool read_process(struct orma_probes_process_instance *instance, uint32_t pid,
			 struct orma_probes_process *process, struct orma_str guard)
{
	struct orma_probes_process_sample sample = {0};
	struct orma_probes_process_status status;
	struct orma_probes_process_times times;

	process->changed = 0;
	process->sample.present = 0;
	bool has_times = sample_times(instance, pid, process, guard, &times, &sample);
	if (process->is_without_memory && !has_times)
		return false;
	if (!process->is_without_memory || !process->is_in_tree) {
		int r = orma_probes_process_read_leader(instance, pid, &status, &sample);
		if (r < 0)
			return r != -ENOENT && r != -ESRCH;
		bool has_memory = sample.present >> ORMA_PROCESS_VM_SIZE & 1;
		process->is_without_memory = !has_memory;
		if (has_memory)
			sample_more(instance, pid, &sample);
		if (has_memory ? orma_probes_process_is_news(process, &status)
			       : has_times && !process->is_in_tree)
			orma_probes_process_record(instance, pid, process, &status,
						   has_times ? &times : NULL);
	}
	process->sample.present = sample.present;
	keep_sample(process, &sample);
	return true;
}

static void read_adjustment(struct orma_probes_process_instance *instance, uint32_t pid,
			    struct orma_probes_process *process)
{
	struct orma_probes_process_sample sample = {0};

	sample_adjustment(instance, pid, &sample);
	process->sample.present |= sample.present;
	keep_sample(process, &sample);
}

void orma_probes_process_poll(struct orma_probes_process_instance *instance, uint32_t pid)
{
	struct orma_probes_process *process = orma_probes_process_get(instance, pid);
	enum orma_probes_process_news news;
	struct orma_str guard;

	if (!process)
		return;
	process->generation = instance->generation;
	process->is_listed = true;
	if (process->is_without_memory && !instance->config.runtime)
		return;
	news = orma_probes_process_read_guard(instance, pid, process, &guard);
	if (news == ORMA_PROCESS_NEWS) {
		if (!read_process(instance, pid, process, guard))
			process->generation--;
		return;
	}
	process->changed = 0;
	if (news == ORMA_PROCESS_ADJUSTMENT && !process->is_without_memory)
		read_adjustment(instance, pid, process);
	process->changed |= process->sample.present & ~process->cached;
}

int orma_probes_process_poll_begin(struct orma_probes_process_instance *instance)
{
	instance->begin_ns = orma_base_clock_ns(CLOCK_BOOTTIME);
	instance->generation++;
	if (instance->config.runtime && instance->probe->has_schedstat)
		orma_probes_process_look_for_reclaim(instance);
	return orma_probes_process_find(instance);
}

void orma_probes_process_poll_end(struct orma_probes_process_instance *instance)
{
	orma_probes_process_drop_gone(instance);
	orma_probes_process_expire_cache(instance);
}
