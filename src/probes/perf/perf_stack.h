/* SPDX-License-Identifier: Apache-2.0
 * perf_stack.h - the call stack of a sample: walked in the ring, and known by number afterwards.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_STACK_H
#define ORMA_PROBES_PERF_PERF_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "probes/perf/perf_config.h"
#include "probes/perf/perf_parse.h"
#include "probes/perf/perf_processes.h"
#include "profile/module_symbols.h"
#include "profile/stack_intern.h"
#include "symbols/kallsyms.h"
#include "unwind/patience.h"

#define ORMA_PERF_STACK_FRAMES_MAX 1024u

struct orma_perf_stacks {
	const struct orma_perf_config *config;
	struct orma_perf_processes *processes;
	struct orma_stack_intern *intern;
	struct orma_unwind_cache *cache; /* rules that were found before, of all processes */
	/* addresses whose functions are named at the end of the recording */
	struct orma_module_symbols *symbols;
	const struct orma_kallsyms *kallsyms; /* NULL = the kernel's functions have no names */
	/* the reader of the trace should forget what it knows */
	bool is_full;
	/* Set by the reader of records. never_waits: do not wait for files that are being read. takes_parts:
	 * end the stack where a file is missing. */
	bool never_waits, takes_parts;
	/* Limits all waits for such files together, unless max_ns is 0. */
	struct orma_unwind_patience patience;
	uint64_t walk_count, frame_count, error_count;
	uint64_t kernel[ORMA_PERF_STACK_FRAMES_MAX], user[ORMA_PERF_STACK_FRAMES_MAX];
};

/* The addresses of a sample. They lie in the buffers `kernel` and `user` of struct orma_perf_stacks. */
struct orma_perf_stack {
	size_t kernel_count, user_count;
	struct orma_perf_process *process;
	int error; /* enum orma_pb_profiling_stack_unwind_error; 1 = the stack is whole */
	uint64_t time;
	bool is_in_kernel;
	bool is_pending; /* it ends at code whose file is being read */
};

/* The caller sets the other members. 0 or -ENOMEM; orma_perf_stacks_done() follows in both cases. */
int orma_perf_stacks_init(struct orma_perf_stacks *stacks);
void orma_perf_stacks_done(struct orma_perf_stacks *stacks);
/* Forgets all numbers, because the reader of the trace has forgotten all stacks. */
void orma_perf_stacks_clear(struct orma_perf_stacks *stacks);
/* Finds the addresses of a sample. False: a file that it needs is being read; call again later, or with
 * takes_parts, which ends the stack there. */
bool orma_perf_stacks_walk(struct orma_perf_stacks *stacks, struct orma_perf_process *process,
			   const struct orma_perf_record *record, struct orma_perf_stack *ret);
/* Returns the number of a stack whose addresses are still in the buffers; 0 = it is empty, or there is no
 * memory. orma_stack_intern_write() describes it to the reader. */
uint64_t orma_perf_stacks_number(struct orma_perf_stacks *stacks,
				 const struct orma_perf_stack *stack);

#endif
