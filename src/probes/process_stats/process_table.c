/* SPDX-License-Identifier: Apache-2.0
 * process_table.c - the table of processes of an instance.
 *
 * Owns the entries in instance->processes. Invariant: after a poll they are exactly the processes
 * that the poll has found, unless memory ran out. So when an id is used again, it has a new entry.
 */
#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "probes/process_stats/process_stats.h"

void orma_probes_process_forget(struct orma_probes_process_instance *instance)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&instance->processes, &position))) {
		struct orma_probes_process *process = slot->value;
		process->is_in_tree = false;
		process->cached = 0;
		process->changed = process->sample.present;
		process->fds.count = 0;
	}
	instance->polls_cached = 0;
	orma_sightings_forget_tasks(instance->seen);
}

void orma_probes_process_close_guard(struct orma_probes_process_probe *probe,
				     struct orma_probes_process *process)
{
	for (size_t i = 0; i < ORMA_PROBES_GUARD_FILES; i++) {
		if (process->guard_fds[i] >= 0)
			probe->kept_fd_count--;
		process->guard_fds[i] = orma_base_fd_close(process->guard_fds[i]);
	}
}

void orma_probes_process_restart(struct orma_probes_process_probe *probe,
				 struct orma_probes_process *process)
{
	orma_probes_process_close_guard(probe, process);
	orma_probes_numbers_done(&process->fds);
	*process = (struct orma_probes_process){.generation = process->generation,
						.is_listed = process->is_listed,
						.guard_fds = {-1, -1}};
}

static void process_free(struct orma_probes_process_probe *probe,
			 struct orma_probes_process *process)
{
	if (!process)
		return;
	orma_probes_process_restart(probe, process);
	orma_base_free(process);
}

void orma_probes_process_forget_all(struct orma_probes_process_instance *instance)
{
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&instance->processes, &position)))
		process_free(instance->probe, slot->value);
	orma_base_map_done(&instance->processes);
	instance->processes = (struct orma_map){0};
}

struct orma_probes_process *orma_probes_process_get(struct orma_probes_process_instance *instance,
						    uint32_t pid)
{
	struct orma_probes_process *process = orma_base_map_get(&instance->processes, pid);
	if (process)
		return process;
	process = orma_base_zalloc(sizeof(*process));
	if (!process)
		return NULL;
	process->guard_fds[0] = process->guard_fds[1] = -1;
	if (orma_base_map_put(&instance->processes, pid, process) < 0) {
		process_free(instance->probe, process);
		return NULL;
	}
	return process;
}

static void keep_known(struct orma_probes_process_instance *instance)
{
	struct orma_probes_numbers *pids = &instance->pids;
	size_t kept = 0;

	for (size_t i = 0; i < pids->count; i++)
		if (orma_base_map_get(&instance->processes, pids->items[i]))
			pids->items[kept++] = pids->items[i];
	pids->count = kept;
}

void orma_probes_process_drop_gone(struct orma_probes_process_instance *instance)
{
	struct orma_probes_numbers *gone = &instance->fds;
	gone->count = 0; /* no process is being written at the end of a poll */
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&instance->processes, &position))) {
		struct orma_probes_process *process = slot->value;
		if (process->generation == instance->generation)
			continue;
		if (orma_probes_numbers_add(gone, (uint32_t)slot->key) < 0)
			break; /* out of memory: the next poll drops the others */
	}
	for (size_t i = 0; i < gone->count; i++)
		process_free(instance->probe,
			     orma_base_map_remove(&instance->processes, gone->items[i]));
	if (gone->count > 0)
		keep_known(instance);
}

void orma_probes_process_expire_cache(struct orma_probes_process_instance *instance)
{
	if (++instance->polls_cached < instance->config.cache_ttl_polls)
		return;
	instance->polls_cached = 0;
	struct orma_map_slot *slot;
	size_t position = 0;
	while ((slot = orma_base_map_next(&instance->processes, &position))) {
		struct orma_probes_process *process = slot->value;
		process->cached = 0;
		process->fds.count = 0;
	}
}
