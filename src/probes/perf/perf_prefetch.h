/* SPDX-License-Identifier: Apache-2.0
 * perf_prefetch.h - unwind tables that are made before sampling begins.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_PERF_PERF_PREFETCH_H
#define ORMA_PROBES_PERF_PERF_PREFETCH_H

#include "unwind/unwind_process.h"

/* Begins to read the files that nearly all programs map. `files` is borrowed. The caller frees *ret with
 * orma_unwind_process_free(); the files that have been read stay in the cache. 0 or -errno. */
int orma_perf_prefetch_start(struct orma_unwind_files *files, struct orma_unwind_process **ret);
/* Waits until the files have been read, for a tenth of a second at most. */
void orma_perf_prefetch_wait(struct orma_unwind_process *process);

#endif
