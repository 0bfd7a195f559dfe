/* SPDX-License-Identifier: Apache-2.0
 * slow_path.h - emits any event, in any state of its sequence.
 */
#ifndef ORMA_TRACK_SLOW_PATH_H
#define ORMA_TRACK_SLOW_PATH_H

#include "track/event.h"
#include "track/sequence_state.h"

/* Emits an event that the fast path cannot emit. The first event of a sequence and the first one
 * after a loss are among them. */
void orma_track_emit_slow(struct orma_packet *slot, uint32_t idx,
			  const struct orma_track_event *event);

#endif
