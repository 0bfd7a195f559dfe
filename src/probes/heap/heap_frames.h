/* SPDX-License-Identifier: Apache-2.0
 * heap_frames.h - the frames of a sample.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_FRAMES_H
#define ORMA_PROBES_HEAP_FRAMES_H

#include "probes/heap/heap_process.h"

/* Finds the frames of a sample's stack, innermost first, in process->frames. Returns their number, or
 * -ENOBUFS (a limit of the process was reached) or -ENOMEM. */
int orma_heap_frames_find(struct orma_heap_process *process,
			  const struct orma_heap_record_sample *sample);
/* Empties the cache, because the mappings have changed. */
void orma_heap_frames_forget(struct orma_heap_process *process);

#endif
