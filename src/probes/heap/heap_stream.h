/* SPDX-License-Identifier: Apache-2.0
 * heap_stream.h - stream_allocations: each sampled allocation and free as it comes, without stacks.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_STREAM_H
#define ORMA_PROBES_HEAP_STREAM_H

#include "probes/heap/heap_output.h"

#define ORMA_HEAP_STREAM_EVENTS 512u

struct orma_heap_stream {
	struct orma_heap_output *output;
	uint32_t sample_count, free_count;
	struct orma_heap_event samples[ORMA_HEAP_STREAM_EVENTS], frees[ORMA_HEAP_STREAM_EVENTS];
};

/* An orma_heap_event_fn; ctx is a struct orma_heap_stream. */
void orma_heap_stream_take(void *ctx, const struct orma_heap_event *event);
/* Writes the events since the last call. */
void orma_heap_stream_flush(struct orma_heap_stream *stream);

#endif
