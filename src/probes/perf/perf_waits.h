/* SPDX-License-Identifier: Apache-2.0
 * perf_waits.h - threads that do not run: since when, and where they stopped.
 */
#ifndef ORMA_PROBES_PERF_PERF_WAITS_H
#define ORMA_PROBES_PERF_PERF_WAITS_H

#include "base/map.h"
#include "probes/perf/perf_packets.h"
#include "probes/perf/perf_stack.h"

#define ORMA_PERF_WAITS_MAX 65536u /* threads that wait at the same time */

struct orma_perf_waits {
	struct orma_map by_tid; /* struct orma_perf_wait */
	uint64_t dropped_count; /* waits that were not kept: no memory, or too many */
};

void orma_perf_waits_done(struct orma_perf_waits *waits);
/* A thread has stopped here. `stacks` holds the addresses of the stack. */
void orma_perf_waits_begin(struct orma_perf_waits *waits, const struct orma_perf_fact *fact,
			   const struct orma_perf_stack *stack,
			   const struct orma_perf_stacks *stacks);
/* A thread runs again: writes how long it waited. */
void orma_perf_waits_end(struct orma_perf_waits *waits, uint32_t tid, uint64_t time,
			 struct orma_perf_stacks *stacks, struct orma_perf_packets *packets);
/* A thread has ended. */
void orma_perf_waits_forget(struct orma_perf_waits *waits, uint32_t tid);
/* The recording ends: writes what is known of those that still wait. */
void orma_perf_waits_end_all(struct orma_perf_waits *waits, uint64_t time,
			     struct orma_perf_stacks *stacks, struct orma_perf_packets *packets);

#endif
