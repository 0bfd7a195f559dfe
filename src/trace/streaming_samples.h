/* SPDX-License-Identifier: Apache-2.0
 * streaming_samples.h - call stacks that Chrome's sampler took of its own threads.
 *
 * A packet has several samples, of which each says how much later it was than the one before. The packet's time is that of
 * the earliest, and the others wait until no earlier sample of any profiler can come.
 */
#ifndef ORMA_TRACE_STREAMING_SAMPLES_H
#define ORMA_TRACE_STREAMING_SAMPLES_H

#include "trace/profiler_samples.h"

struct orma_streaming_sample {
	int64_t ts, task_id, callsite_id, priority;
	uint64_t order;
};

/* {.profiler = ...} is empty. `waiting` is a heap with the earliest sample on top. */
struct orma_streaming_samples {
	struct orma_profiler *profiler;
	struct orma_streaming_sample *waiting;
	uint32_t count, capacity;
	uint64_t order;
};

void orma_streaming_samples_done(struct orma_streaming_samples *samples);
/* Takes a StreamingProfilePacket. 0 or a negative errno value. */
int orma_streaming_samples_take(struct orma_streaming_samples *samples,
				const struct orma_ordered_event *event);
/* Writes the rows of samples up to a time. 0 or a negative errno value. */
int orma_streaming_samples_write(struct orma_streaming_samples *samples, int64_t until);

#endif
