/* SPDX-License-Identifier: Apache-2.0
 * perf_prefetch.h - unwind tables that are made before sampling begins.
 */
#ifndef ORMA_PROBES_PERF_PERF_PREFETCH_H
#define ORMA_PROBES_PERF_PERF_PREFETCH_H

#include "unwind/unwind_process.h"

/* Begins to read the files that nearly all programs map. `files` is borrowed. The caller frees *ret with
 * orma_unwind_process_free(), which keeps the files that have been read. 0 or a negative errno value. */
int orma_perf_prefetch_start(struct orma_unwind_files *files, struct orma_unwind_process **ret);
/* Waits until they are read, for a tenth of a second at most. */
void orma_perf_prefetch_wait(struct orma_unwind_process *process);

#endif
