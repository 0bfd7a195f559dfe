/* SPDX-License-Identifier: Apache-2.0
 * perf_budget.h - how many of the waits on a CPU are recorded; see perf_budget.c.
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
	struct orma_perf_budget_cpu *cpus; /* as those of the events */
	size_t cpu_count;
};

void orma_perf_budget_done(struct orma_perf_budget *budget);
/* The events were replaced by others. */
void orma_perf_budget_reset(struct orma_perf_budget *budget);
/* True: the single tasks that are watched wait more often than the budget permits. It should be called after
 * records were read. */
bool orma_perf_budget_is_exceeded(struct orma_perf_budget *budget,
				  const struct orma_perf_events *events, uint64_t now_ns);
/* Reads how many waits each of the CPUs had that are watched, and tells the kernel to record one in N. It should be called after
 * records were read, and after the returned number of milliseconds even if there are none; 0 = N is 1. */
uint64_t orma_perf_budget_adapt(struct orma_perf_budget *budget, struct orma_perf_events *events,
				uint64_t now_ns);

#endif
