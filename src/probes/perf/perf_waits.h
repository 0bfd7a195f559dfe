/* SPDX-License-Identifier: Apache-2.0
 * perf_waits.h - threads that do not run: since when, and where they have stopped.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_WAITS_H
#define ORMA_PROBES_PERF_PERF_WAITS_H

#include "base/map.h"
#include "probes/perf/perf_packets.h"
#include "probes/perf/perf_stack.h"

#define ORMA_PERF_WAITS_MAX 65536u /* threads that wait at the same time */

struct orma_perf_waits {
	struct orma_map by_tid; /* struct orma_perf_wait */
	/* waits that were not kept for lack of memory, or because there were too many */
	uint64_t dropped_count;
};

void orma_perf_waits_done(struct orma_perf_waits *waits);
/* Notes that a thread stops. `stacks` has the addresses of its stack. */
void orma_perf_waits_begin(struct orma_perf_waits *waits, const struct orma_perf_fact *fact,
			   const struct orma_perf_stack *stack,
			   const struct orma_perf_stacks *stacks);
/* Writes how long a thread has waited, which runs again. */
void orma_perf_waits_end(struct orma_perf_waits *waits, uint32_t tid, uint64_t time,
			 struct orma_perf_stacks *stacks, struct orma_perf_packets *packets);
/* Forgets a thread that has ended. */
void orma_perf_waits_forget(struct orma_perf_waits *waits, uint32_t tid);
/* Writes the waits that have not ended, because the recording ends. */
void orma_perf_waits_end_all(struct orma_perf_waits *waits, uint64_t time,
			     struct orma_perf_stacks *stacks, struct orma_perf_packets *packets);

#endif
