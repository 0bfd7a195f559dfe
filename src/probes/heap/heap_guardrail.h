/* SPDX-License-Identifier: Apache-2.0
 * heap_guardrail.h - the limits that a config sets on the memory and CPU time of the profiler itself.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_GUARDRAIL_H
#define ORMA_PROBES_HEAP_GUARDRAIL_H

#include "probes/heap/heap_config.h"

struct orma_heap_guardrail {
	uint32_t max_memory_kb; /* 0 = no limit */
	uint64_t max_cpu_ns;    /* CPU time of the whole process; 0 = no limit */
	uint64_t next_check_ns;
};

void orma_heap_guardrail_init(struct orma_heap_guardrail *guardrail,
			      const struct orma_heap_config *config, uint64_t now_ns);
/* Checks the limits, at most every 30 seconds. An exceeded limit is logged. */
bool orma_heap_guardrail_is_hit(struct orma_heap_guardrail *guardrail, uint64_t now_ns);
/* Anonymous memory of a process, in RAM or swapped out, from its file `status`; UINT64_MAX = unknown. */
uint64_t orma_heap_anonymous_kb(const char *status_path);

#endif
