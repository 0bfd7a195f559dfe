/* SPDX-License-Identifier: Apache-2.0
 * heap_processes.h - the profiled processes of an instance.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_PROCESSES_H
#define ORMA_PROBES_HEAP_PROCESSES_H

#include "base/map.h"
#include "probes/heap/heap_config.h"
#include "probes/heap/heap_process.h"

struct orma_heap_processes {
	const struct orma_heap_config *config; /* borrowed, as files and the path */
	struct orma_unwind_files *files;
	const char *proc_path;
	struct orma_unwind_patience patience; /* with the files of all processes */
	uint64_t seed;
	struct orma_map processes; /* by pid */
	struct orma_map ended;     /* by number: processes whose program was replaced by another */
	uint64_t ended_count;
	uint64_t refused_processes;
	orma_heap_event_fn *event; /* NULL = there is no stream */
	void *event_ctx;
};

int orma_heap_processes_init(struct orma_heap_processes *all, const struct orma_heap_config *config,
			     struct orma_unwind_files *files, const char *proc_path);
void orma_heap_processes_done(struct orma_heap_processes *all);
/* Takes a packet of the private service. True when its process has samples that wait for its maps. */
bool orma_heap_processes_take(struct orma_heap_processes *all, struct orma_str packet_untrusted);
/* Ends all waiting, after everything that was written before a flush has been taken. */
void orma_heap_processes_settle(struct orma_heap_processes *all);
/* Calls fn() for each process that is not ignored. If it returns true, the process is forgotten. */
typedef bool orma_heap_process_fn(void *ctx, struct orma_heap_process *process);
void orma_heap_processes_visit(struct orma_heap_processes *all, orma_heap_process_fn *fn,
			       void *ctx);

#endif
