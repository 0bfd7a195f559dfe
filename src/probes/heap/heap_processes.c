/* SPDX-License-Identifier: Apache-2.0
 * heap_processes.c - finds the process of a packet by the pid that the kernel told the private service.
 *
 * A process that replaces its program (exec) may be profiled again. The new program is another process here, with totals of its own,
 * because its serial numbers begin again. The exec has freed the memory of the old program, so its blocks count as freed. The old
 * one is kept until its last dump is written.
 */
#include "probes/heap/heap_processes.h"

#include <errno.h>
#include <stdio.h>
#include <sys/random.h>

#include "base/clock_ns.h"
#include "base/log_message.h"
#include "probes/heap/heap_guardrail.h"

/* On a busy machine, the table of a large program takes a second. Names that are missing then are found when the file has been
 * read. */
#define PATIENCE_NS (3 * ORMA_NS_PER_SEC)

int orma_heap_processes_init(struct orma_heap_processes *all, const struct orma_heap_config *config,
			     struct orma_unwind_files *files, const char *proc_path)
{
	*all = (struct orma_heap_processes){
		.config = config,
		.files = files,
		.proc_path = proc_path,
		.patience = {.max_ns = PATIENCE_NS, .left_ns = PATIENCE_NS},
	};
	if (getrandom(&all->seed, sizeof(all->seed), GRND_NONBLOCK) != (ssize_t)sizeof(all->seed))
		all->seed = orma_base_clock_ns(CLOCK_MONOTONIC);
	return 0;
}

void orma_heap_processes_done(struct orma_heap_processes *all)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&all->processes, &position)))
		orma_heap_process_free(slot->value);
	position = 0;
	while ((slot = orma_base_map_next(&all->ended, &position)))
		orma_heap_process_free(slot->value);
	orma_base_map_done(&all->processes);
	orma_base_map_done(&all->ended);
}

static struct orma_heap_process *add_process(struct orma_heap_processes *all, int32_t pid)
{
	struct orma_heap_process_options options = {
		.pid = pid,
		.seed = all->seed,
		.interval_bytes = all->config->interval_bytes,
		.tracks_max = all->config->dumps_at_max,
		.files = all->files,
		.patience = &all->patience,
	};
	struct orma_heap_process *process = NULL;

	if (all->processes.count + all->ended.count >= ORMA_HEAP_PROCESSES_MAX ||
	    orma_heap_process_new(&options, &process) < 0 ||
	    orma_base_map_put(&all->processes, (uint32_t)pid, process) < 0) {
		if (all->refused_processes++ == 0)
			orma_base_log(ORMA_LOG_WARNING,
				      "android.heapprofd: process %d is left out: there are too "
				      "many processes, or there is no memory",
				      (int)pid);
		orma_heap_process_free(process);
		return NULL;
	}
	if (all->config->min_anonymous_kb > 0) {
		char path[128];
		snprintf(path, sizeof(path), "%s/%d/status", all->proc_path, (int)pid);
		process->is_ignored = orma_heap_anonymous_kb(path) < all->config->min_anonymous_kb;
	}
	return process;
}

/* True if the record is of a new program in the process. A program that has only lost its connection for a while is not starting, and has
 * the same start time. */
static bool begins_program(const struct orma_heap_process *process,
			   const struct orma_heap_record *record)
{
	return record->kind == ORMA_HEAP_RECORD_PROCESS &&
	       (process->has_said_bye ||
		(process->is_introduced &&
		 (record->process.is_from_startup ||
		  record->process.program_start_ns != process->program_start_ns)));
}

/* Moves a process whose program was replaced to `ended`. */
static bool set_apart(struct orma_heap_processes *all, struct orma_heap_process *process)
{
	if (orma_base_map_put(&all->ended, ++all->ended_count, process) < 0)
		return false;
	(void)orma_base_map_remove(&all->processes, (uint32_t)process->pid);
	/* The blocks of one that has said goodbye are those that it did not free. */
	if (process->has_said_bye)
		process->is_replaced = true;
	else
		orma_heap_process_replace(process, all->event, all->event_ctx);
	return true;
}

bool orma_heap_processes_take(struct orma_heap_processes *all, struct orma_str packet_untrusted)
{
	struct orma_heap_record record;

	bool is_bad = orma_heap_record_parse(packet_untrusted, &record) < 0;
	if (record.pid <= 0 ||
	    (record.kind == ORMA_HEAP_RECORD_NONE && !record.is_after_loss && !is_bad))
		return false;
	struct orma_heap_process *process =
		orma_base_map_get(&all->processes, (uint32_t)record.pid);
	if (process && begins_program(process, &record) && set_apart(all, process))
		process = NULL;
	if (!process)
		process = add_process(all, record.pid);
	if (!process || process->is_ignored)
		return false;
	process->faults.gaps += record.is_after_loss;
	process->faults.bad_records += is_bad;
	orma_heap_process_take(process, &record, packet_untrusted, all->event, all->event_ctx);
	return process->waiting.size > 0;
}

void orma_heap_processes_settle(struct orma_heap_processes *all)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&all->processes, &position)))
		orma_heap_process_settle(slot->value);
	position = 0;
	while ((slot = orma_base_map_next(&all->ended, &position)))
		orma_heap_process_settle(slot->value);
}

static void visit(struct orma_map *map, orma_heap_process_fn *fn, void *ctx)
{
	struct orma_map_slot *slot;
	bool has_removed = true;

	/* A map must not change while it is walked, so the walk begins again after each removal. The remaining processes are marked, so
	 * that each is visited once. */
	for (size_t position = 0; has_removed; position = 0) {
		has_removed = false;
		while (!has_removed && (slot = orma_base_map_next(map, &position))) {
			struct orma_heap_process *process = slot->value;
			if (process->is_ignored || process->is_visited)
				continue;
			process->is_visited = true;
			if (!fn(ctx, process))
				continue;
			(void)orma_base_map_remove(map, slot->key);
			orma_heap_process_free(process);
			has_removed = true;
		}
	}
	for (size_t position = 0; (slot = orma_base_map_next(map, &position));)
		((struct orma_heap_process *)slot->value)->is_visited = false;
}

void orma_heap_processes_visit(struct orma_heap_processes *all, orma_heap_process_fn *fn, void *ctx)
{
	visit(&all->ended, fn, ctx);
	visit(&all->processes, fn, ctx);
}
