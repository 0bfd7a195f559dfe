/* SPDX-License-Identifier: Apache-2.0
 * perf_processes.h - the processes of an instance: whether they are in its scope, and their code.
 *
 * Threads: the loop's thread calls all functions.
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
	char comm[ORMA_SIGHTINGS_COMM_BYTES]; /* the main thread's; "" = not known */
	bool is_helper; /* a child of the profiler that has not called exec() */
	uint64_t end_ns;
	struct orma_unwind_process *code; /* NULL = not needed yet */
	uint64_t reread_ns;               /* when the mappings were read last */
	uint32_t sample_count, cut_count; /* samples with copies of stacks; copies that were cut */
	struct orma_perf_process *next_ended;
};

struct orma_perf_processes {
	struct orma_map by_pid;
	struct orma_unwind_files *files; /* borrowed */
	struct orma_perf_scope *scope;   /* borrowed */
	struct orma_sightings *seen;     /* gets the tasks in scope; borrowed; may be NULL */
	int proc_fd;                     /* borrowed */
	bool wants_cmdlines;             /* the scope names command lines */
	bool is_all_in;                  /* the events cover the scope and nothing else */
	/* The profiler's. Its children are helpers until they call exec(). 0 = none. */
	uint32_t own_pid;
	bool follows_children;
	struct orma_buf text;
	/* Processes in scope that began and ended during the recording, and how many of them have no sample. */
	uint64_t ended_count, unsampled_count;
	struct orma_perf_process *first_ended, *last_ended; /* in the order of their ends */
};

void orma_perf_processes_done(struct orma_perf_processes *processes);
/* Returns the process with this id, and decides whether it is in scope. NULL without memory, or beyond
 * ORMA_PERF_PROCESSES_MAX. */
struct orma_perf_process *orma_perf_processes_get(struct orma_perf_processes *processes,
						  uint32_t pid);
/* Adds a process that runs already and is in scope because of its parent. */
void orma_perf_processes_adopt(struct orma_perf_processes *processes, uint32_t pid);
/* Takes a record about a mapping, a name, or the beginning or end of a task. */
void orma_perf_processes_take(struct orma_perf_processes *processes,
			      const struct orma_perf_record *record);
/* Notes that the trace mentions a thread of a process in scope. Both then need names. */
void orma_perf_processes_mention(struct orma_perf_processes *processes,
				 const struct orma_perf_process *process, uint32_t tid);
/* Returns the mappings of a process, for walks. NULL without memory. */
struct orma_unwind_process *orma_perf_process_code(struct orma_perf_processes *processes,
						   struct orma_perf_process *process);
/* Sets the counts of cut stacks to 0. */
void orma_perf_processes_reset_cuts(struct orma_perf_processes *processes);
/* Forgets the mappings of processes that are older than the recording. They are read again when needed. */
void orma_perf_processes_drop_code(struct orma_perf_processes *processes);
/* Reads the mappings again, because an address lies in none of them; at most once a second. True if they were
 * read. */
bool orma_perf_process_reread(struct orma_perf_process *process, uint64_t now_ns);

#endif
