/* SPDX-License-Identifier: Apache-2.0
 * perf_processes.h - the processes of an instance: whether they are in its scope, and their code.
 */
#ifndef ORMA_PROBES_PERF_PERF_PROCESSES_H
#define ORMA_PROBES_PERF_PERF_PROCESSES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buf.h"
#include "base/map.h"
#include "probes/perf/perf_parse.h"
#include "probes/perf/perf_scope.h"
#include "probes/sightings.h"
#include "unwind/unwind_process.h"

#define ORMA_PERF_PROCESSES_MAX 65536u

struct orma_perf_process {
	uint32_t pid;
	bool is_decided, is_in_scope;
	/* The process began during the recording, so that its mappings come from records. */
	bool is_young;
	bool has_ended;
	bool is_sampled;
	char comm[ORMA_SIGHTINGS_COMM_BYTES]; /* the name of the main thread; "" = not known */
	bool is_helper; /* a child of the profiler that has not called exec() */
	uint64_t end_ns;
	struct orma_unwind_process *code; /* NULL = not needed yet */
	uint64_t reread_ns;               /* when the mappings were read last */
	uint32_t sample_count, cut_count; /* with copies of stacks; those that were cut */
	struct orma_perf_process *next_ended;
};

struct orma_perf_processes {
	struct orma_map by_pid;
	struct orma_unwind_files *files; /* borrowed */
	struct orma_perf_scope *scope;   /* borrowed */
	struct orma_sightings *seen;     /* gets the tasks in scope; borrowed; may be NULL */
	int proc_fd;                     /* borrowed */
	bool wants_cmdlines;             /* the scope names command lines */
	bool is_all_in;                  /* the events are those of the scope */
	uint32_t own_pid;                /* the profiler's; 0 = its children are as others */
	bool follows_children;
	struct orma_buf text;
	uint64_t ended_count, unsampled_count; /* in scope and young; those without any sample */
	struct orma_perf_process *first_ended, *last_ended; /* in the order of their ends */
};

void orma_perf_processes_done(struct orma_perf_processes *processes);
/* A process, decided; NULL without memory, or beyond ORMA_PERF_PROCESSES_MAX. */
struct orma_perf_process *orma_perf_processes_get(struct orma_perf_processes *processes,
						  uint32_t pid);
/* A process that runs already, and that is in the scope because of its parent. */
void orma_perf_processes_adopt(struct orma_perf_processes *processes, uint32_t pid);
/* Takes a record about mappings, names, begins and ends. */
void orma_perf_processes_take(struct orma_perf_processes *processes,
			      const struct orma_perf_record *record);
/* A thread of a process in scope is mentioned in the trace, so its process and it need names. */
void orma_perf_processes_mention(struct orma_perf_processes *processes,
				 const struct orma_perf_process *process, uint32_t tid);
/* The code of a process, for walking. NULL without memory. */
struct orma_unwind_process *orma_perf_process_code(struct orma_perf_processes *processes,
						   struct orma_perf_process *process);
/* Counts cut stacks anew. */
void orma_perf_processes_reset_cuts(struct orma_perf_processes *processes);
/* Forgets the code of processes that are older than the recording; it is read again when needed. */
void orma_perf_processes_drop_code(struct orma_perf_processes *processes);
/* An address of the process lies in no mapping: reads the mappings again, at most once a second.
 * True when they were read. */
bool orma_perf_process_reread(struct orma_perf_processes *processes,
			      struct orma_perf_process *process, uint64_t now_ns);

#endif
