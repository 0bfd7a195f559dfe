/* SPDX-License-Identifier: Apache-2.0
 * perf_budget.h - how many of the waits on a CPU are recorded; see perf_budget.c.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_BUDGET_H
#define ORMA_PROBES_PERF_PERF_BUDGET_H

#include <stdint.h>

#include "probes/perf/perf_events.h"

struct orma_perf_budget_cpu {
	uint64_t count, time_ns; /* waits so far, and when they were read */
	uint64_t one_in;         /* the period that the kernel has; 0 = the first one */
};

/* {0} is empty. */
struct orma_perf_budget {
	struct orma_perf_budget_cpu *cpus; /* one for each CPU of the events */
	size_t cpu_count;
};

void orma_perf_budget_done(struct orma_perf_budget *budget);
/* Begins again, because other events are watched from now on. */
void orma_perf_budget_reset(struct orma_perf_budget *budget);
/* True if the single tasks that are watched wait more often than the budget permits. Call it after records
 * were read. */
bool orma_perf_budget_is_exceeded(struct orma_perf_budget *budget,
				  const struct orma_perf_events *events, uint64_t now_ns);
/* Reads how many waits each watched CPU had, and sets N in the kernel. Call it after records were read, and
 * also after the returned number of milliseconds; 0 = N is 1 on all CPUs. */
uint64_t orma_perf_budget_adapt(struct orma_perf_budget *budget, struct orma_perf_events *events,
				uint64_t now_ns);

#endif
