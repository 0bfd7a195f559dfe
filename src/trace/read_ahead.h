/* SPDX-License-Identifier: Apache-2.0
 * read_ahead.h - fills batches of events on a thread of its own, while those before are imported.
 */
#ifndef ORMA_TRACE_READ_AHEAD_H
#define ORMA_TRACE_READ_AHEAD_H

#include "trace/event_batch.h"

/* Adds events to an empty batch until it is full. 1, 0 (these are the last ones), or a negative errno value. */
typedef int orma_batch_fill_fn(void *ctx, struct orma_event_batch *batch);

/*
 * Gives all events of all batches to the reader, in their order. With `has_thread`, `fill` is called on another thread, if one
 * can be made. 0, -ENOMEM, or the error of `fill` or of the reader.
 */
int orma_read_ahead(orma_batch_fill_fn *fill, void *ctx, struct orma_batch_reader *reader,
		    bool has_thread);
/* Returns true when this thread may run on two CPUs or more. */
bool orma_read_ahead_has_cpus(void);

#endif
