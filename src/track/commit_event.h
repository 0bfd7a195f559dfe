/* SPDX-License-Identifier: Apache-2.0
 * commit_event.h - the last step of the slow path: ends the packet and remembers how it went.
 */
#ifndef ORMA_TRACK_COMMIT_EVENT_H
#define ORMA_TRACK_COMMIT_EVENT_H

#include "track/encode_event.h"

/* `encoder` is NULL when there is no packet. */
void orma_track_commit(struct orma_packet *slot, uint32_t idx, const struct orma_track_event *event,
		       const struct orma_track_lookup *lookup, struct orma_track_encoder *encoder);
/* The end of a slice was lost, but its begin is in the trace: keeps the end until there is room. */
void orma_track_keep_end(struct orma_track_sequence *sequence, const struct orma_track_event *event,
			 const struct orma_track_lookup *lookup);

#endif
