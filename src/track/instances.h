/* SPDX-License-Identifier: Apache-2.0
 * instances.h - emits events and packets to the instances of the data source "track_event".
 */
#ifndef ORMA_TRACK_INSTANCES_H
#define ORMA_TRACK_INSTANCES_H

#include "track/event.h"
#include "track/sequence_state.h"

/* Set from registration to orma_shutdown(). Written with release, read with acquire. */
extern struct orma_data_source *_Atomic orma_track_source;

/* Emits an event to the instances whose bits are set. Returns the bits of those that got it. */
uint32_t orma_track_emit_to_instances(const struct orma_track_event *event, uint32_t instances);

/* Writes packets into the calling thread's sequence of an instance, which has begun. False:
 * lost. */
typedef bool orma_track_write_fn(const void *ctx, struct orma_packet *slot, uint64_t now_ns);
/* Calls `fn` for each started instance. */
void orma_track_write_to_instances(orma_track_write_fn *fn, const void *ctx);

#endif
