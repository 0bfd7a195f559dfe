/* SPDX-License-Identifier: Apache-2.0
 * track_set.h - the tracks that a sequence has described, and the last values of its counters.
 */
#ifndef ORMA_TRACK_TRACK_SET_H
#define ORMA_TRACK_TRACK_SET_H

#include <orma/track.h>
#include <stdbool.h>
#include <stdint.h>

#include "track/track_limits.h"

struct orma_track_set_entry {
	uint64_t uuid; /* 0 = a free slot */
	uint64_t last; /* last value of an incremental counter: an integer or a double's bits */
};

/* {0} is an empty set. At most three quarters of the slots are used. Has no lock. */
struct orma_track_set {
	uint32_t count, grown_bits;
	struct orma_track_set_entry *grown; /* 1 << grown_bits slots; NULL = those in `embedded` */
	struct orma_track_set_entry embedded[1 << ORMA_TRACK_SET_EMBEDDED_BITS];
};

struct orma_track_set_entry *orma_track_set_find(struct orma_track_set *set, uint64_t uuid);
/* False: there are too many, or no memory. */
bool orma_track_set_add(struct orma_track_set *set, uint64_t uuid);
/* Frees memory; {0} afterwards. */
void orma_track_set_done(struct orma_track_set *set);

/* Returns what to write for a value of a counter track. That is the difference to the last value if
 * the track is incremental and in the set, which then remembers the value; else it is the value
 * itself. */
int64_t orma_track_set_delta_int(struct orma_track_set *set, const struct orma_track *track,
				 uint64_t uuid, int64_t value);
double orma_track_set_delta_double(struct orma_track_set *set, const struct orma_track *track,
				   uint64_t uuid, double value);

#endif
