/* SPDX-License-Identifier: Apache-2.0
 * pending_ends.h - ends of slices that found no room, kept until there is some.
 */
#ifndef ORMA_TRACK_PENDING_ENDS_H
#define ORMA_TRACK_PENDING_ENDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/macros.h"
#include "track/track_limits.h"

/* The items of an end: encoded fields of a TrackEvent, and perhaps a time of its own. */
struct orma_track_pending_items {
	uint32_t size; /* bytes of `data` */
	uint32_t clock;
	uint64_t time;
	bool has_time; /* `clock` and `time` are valid */
	uint8_t data[];
};

struct orma_track_pending_end {
	uint64_t ns;
	uint64_t uuid;                          /* its track; 0 = the thread's own */
	struct orma_track_pending_items *items; /* NULL = none */
	uint32_t ends;       /* at least 1; more: later ends joined this one for want of a slot */
	uint32_t lost_items; /* items that could not be kept */
};

/* In the order of their times, except that an end that joins another one updates its time. {0} is
 * an empty list. Has no lock. */
struct orma_track_pending_ends {
	uint32_t count, grown_count;
	uint32_t items_bytes;                 /* sum of the sizes of all `items` */
	struct orma_track_pending_end *grown; /* grown_count slots; NULL = those in `embedded` */
	struct orma_track_pending_end embedded[ORMA_TRACK_PENDING_ENDS_EMBEDDED];
};

/* The items of a new end; borrowed for the call. */
struct orma_track_end_content {
	const void *data; /* encoded fields */
	size_t size;
	size_t item_count; /* to say how many were lost, if they are */
	bool is_too_large; /* `data` could not be encoded */
	bool has_time;
	uint32_t clock;
	uint64_t time;
};

/* Remembers an end; `uuid` as above. False: it has no slot and no other end of its track to
 * join. */
bool orma_track_pending_ends_add(struct orma_track_pending_ends *ends, uint64_t now_ns,
				 uint64_t uuid, const struct orma_track_end_content *content);
/* One of the ends of `end` has been written, with what it carried. */
void orma_track_pending_ends_written(struct orma_track_pending_ends *ends,
				     struct orma_track_pending_end *end);
/* Removes the first `count`, which have been written. */
void orma_track_pending_ends_remove(struct orma_track_pending_ends *ends, uint32_t count);
/* Frees memory; {0} afterwards. */
void orma_track_pending_ends_done(struct orma_track_pending_ends *ends);

static inline struct orma_track_pending_end *
orma_track_pending_ends_array(struct orma_track_pending_ends *ends)
{
	return ends->grown ? ends->grown : ends->embedded;
}

#endif
