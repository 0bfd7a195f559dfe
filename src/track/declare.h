/* SPDX-License-Identifier: Apache-2.0
 * declare.h - the second step of the slow path: packets that have to come before an event's.
 */
#ifndef ORMA_TRACK_DECLARE_H
#define ORMA_TRACK_DECLARE_H

#include "track/lookup.h"

/*
 * Brings the sequence into a state in which the event can be read: begins it if necessary,
 * describes the event's track, and arms the call site. False: nothing can or must be written.
 */
bool orma_track_declare(struct orma_packet *slot, uint32_t idx,
			const struct orma_track_event *event, struct orma_track_lookup *lookup);

#endif
