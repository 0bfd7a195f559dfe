/* SPDX-License-Identifier: Apache-2.0
 * perf_instance.h - an instance of linux.perf, and how its events change while it runs.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_INSTANCE_H
#define ORMA_PROBES_PERF_PERF_INSTANCE_H

#include "base/arena.h"
#include "base/loop.h"
#include "base/macros.h"
#include "probes/perf/perf_budget.h"
#include "probes/perf/perf_choice.h"
#include "probes/perf/perf_names.h"
#include "probes/perf/perf_reader.h"
#include "probes/probe.h"
#include "probes/probe_files.h"
#include "symbols/kallsyms.h"

struct orma_perf_probe {
	struct orma_probe base; /* first */
	const struct orma_perf_kernel *kernel;
	struct orma_perf_paths paths;
	int proc_fd;
	struct orma_unwind_files *files;
	struct orma_watch files_watch;
	struct orma_sightings_list *sightings;
	void (*on_failure)(void *ctx); /* called when an instance cannot sample; NULL = nothing */
	void *on_failure_ctx;
	struct orma_list stalled; /* instances that wait for a file */
	uint64_t random;          /* chooses shards */
};

struct orma_perf_instance {
	struct orma_probe_instance base; /* first */
	struct orma_arena arena;
	struct orma_perf_config config;
	uint64_t session_id;
	struct orma_perf_events *events; /* NULL = not open */
	struct orma_perf_scope scope;
	struct orma_perf_processes processes;
	struct orma_sightings *seen; /* NULL = the session has none */
	struct orma_perf_names names;
	struct orma_perf_stacks stacks;
	struct orma_perf_packets packets;
	struct orma_perf_reader reader;
	struct orma_kallsyms *kallsyms;
	struct orma_kallsyms_load *kallsyms_load; /* NULL = not in progress */
	struct orma_unwind_process *prefetched;   /* NULL = not in progress */
	/* the start waits for the names of the kernel, and completes with this; 0 = it does not
	 * wait */
	uint64_t start_completion;
	struct orma_timer memory_timer;
	struct orma_perf_budget budget;
	struct orma_timer budget_timer; /* armed while N is more than 1 */
	struct orma_probes_numbers cpus;
	bool is_running;
	struct orma_list stalled_item;
	bool cannot_grow; /* the copies of stacks cannot become larger */
	/* whole CPUs were refused, so single tasks stay although they wait too often */
	bool cannot_watch;
	uint64_t clear_ns;
};

static inline struct orma_perf_probe *orma_perf_probe_of(struct orma_perf_instance *instance)
{
	return ORMA_CONTAINER_OF(instance->base.probe, struct orma_perf_probe, base);
}

/* Returns the CPUs, processes and paths of the instance, to open events with. */
struct orma_perf_choice orma_perf_instance_choice(struct orma_perf_instance *instance);
/* Finds the children that run already. From now on whole CPUs are watched, and the kernel records new
 * children. */
void orma_perf_instance_adopt_children(struct orma_perf_instance *instance);
/* Adapts the events to the budget of waits. Called after records were read. */
void orma_perf_instance_keep_budget(struct orma_perf_instance *instance);
/* Opens events with larger copies of stacks if the reader wants them, and if that is possible. */
void orma_perf_instance_grow_stacks(struct orma_perf_instance *instance);

#endif
