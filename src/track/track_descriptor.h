/* SPDX-License-Identifier: Apache-2.0
 * track_descriptor.h - packets that describe tracks to the reader of a sequence.
 */
#ifndef ORMA_TRACK_TRACK_DESCRIPTOR_H
#define ORMA_TRACK_TRACK_DESCRIPTOR_H

#include <orma/track.h>

#include "track/sequence_state.h"

/* The registered root of the trace, or NULL. Written with release, read with acquire. */
extern const struct orma_track *_Atomic orma_track_root;

/* Describes the track and its parents as far as the sequence has not. False: there was no room. */
bool orma_track_describe(struct orma_packet *slot, const struct orma_track *track, uint64_t now_ns);
/* The same, but describes the track itself in any case. */
bool orma_track_describe_anew(struct orma_packet *slot, const struct orma_track *track,
			      uint64_t now_ns);

#endif
