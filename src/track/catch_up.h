/* SPDX-License-Identifier: Apache-2.0
 * catch_up.h - begins a sequence, and writes in it what could not be written before.
 */
#ifndef ORMA_TRACK_CATCH_UP_H
#define ORMA_TRACK_CATCH_UP_H

#include "track/sequence_state.h"

/* Begins the sequence, then writes its pending ends and reports its losses. Afterwards events can
 * be read. False: there was not enough room. */
bool orma_track_catch_up(struct orma_packet *slot, uint32_t idx, uint64_t now_ns);

#endif
