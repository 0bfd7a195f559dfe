/* SPDX-License-Identifier: Apache-2.0
 * thread_descriptor.h - packets that describe threads and the process.
 */
#ifndef ORMA_TRACK_THREAD_DESCRIPTOR_H
#define ORMA_TRACK_THREAD_DESCRIPTOR_H

#include "track/sequence_state.h"
#include "track/thread_info.h"

/* All return false when the packet was lost. `tid`: any thread of this process. */
bool orma_track_write_thread(struct orma_packet *slot, int32_t tid,
			     const struct orma_track_thread_info *info, uint64_t now_ns);
bool orma_track_write_process(struct orma_packet *slot, uint64_t now_ns);
/* Which process forked this one. */
bool orma_track_write_parent_process(struct orma_packet *slot, uint64_t now_ns);
/* The counter track of the sequence's thread's CPU time. */
bool orma_track_write_thread_time(struct orma_packet *slot, uint64_t now_ns);
uint64_t orma_track_thread_time_uuid(int32_t tid);

#endif
