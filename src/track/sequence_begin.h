/* SPDX-License-Identifier: Apache-2.0
 * sequence_begin.h - the packets that a sequence begins with.
 */
#ifndef ORMA_TRACK_SEQUENCE_BEGIN_H
#define ORMA_TRACK_SEQUENCE_BEGIN_H

#include "track/sequence_state.h"

/* Describes clock, thread and process. False: lost, and no event may be written. */
bool orma_track_sequence_begin(struct orma_packet *slot, uint32_t idx, uint64_t now_ns);

#endif
