/* SPDX-License-Identifier: Apache-2.0
 * slow_path.h - emits any event, in any state of its sequence.
 */
#ifndef ORMA_TRACK_SLOW_PATH_H
#define ORMA_TRACK_SLOW_PATH_H

#include "track/event.h"
#include "track/sequence_state.h"

/* What the fast path cannot do, the first event of a sequence and the first after a loss included. */
void orma_track_emit_slow(struct orma_packet *slot, uint32_t idx,
			  const struct orma_track_event *event);

#endif
