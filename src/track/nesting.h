/* SPDX-License-Identifier: Apache-2.0
 * nesting.h - which slices are open, to any depth, and which of their begins are not in the trace.
 *
 * As long as every begin is in the trace, a nesting is a number: its depth. Begins that are not in
 * the trace (they found no room, or their category is not enabled) form *gaps*: ranges of depths,
 * in ascending order. The begin of the innermost slice is in the trace if the depth is above the
 * end of the last gap. Otherwise the end of the slice is left out, too. nesting.c says what happens
 * when there is no memory for another gap.
 */
#ifndef ORMA_TRACK_NESTING_H
#define ORMA_TRACK_NESTING_H

#include <stdbool.h>
#include <stdint.h>

#include "base/assert.h"
#include "track/track_limits.h"

/* The slices with the numbers from + 1 to `to` have no begin in the trace. The outermost slice has the number 1. */
struct orma_track_gap {
	uint64_t from, to;
};

/* {0} means that nothing is open. There is no lock. Invariant: gap_end <= depth, and the gaps are in ascending order with slices
 * between them. */
struct orma_track_nesting {
	uint64_t depth;   /* counts one by one, so it never overflows */
	uint64_t gap_end; /* `to` of the last gap, never above the depth; 0 = there is no gap */
	uint32_t gap_count, grown_count;
	struct orma_track_gap *grown; /* grown_count slots; NULL = those in `embedded` */
	struct orma_track_gap embedded[ORMA_TRACK_GAPS_EMBEDDED];
};

/* False: there is no slot for another gap, so a begin must not be written. */
bool orma_track_nesting_may_begin(const struct orma_track_nesting *nesting);
/* A slice begins, and its begin is not in the trace. */
void orma_track_nesting_begin_lost(struct orma_track_nesting *nesting);
/* The innermost slice ends. True: its begin is in the trace. */
bool orma_track_nesting_end(struct orma_track_nesting *nesting);
/* Frees memory; {0} afterwards. */
void orma_track_nesting_done(struct orma_track_nesting *nesting);

/* A slice begins, and its begin is in the trace. */
static inline void orma_track_nesting_begin(struct orma_track_nesting *nesting)
{
	nesting->depth++;
}

/* A slice is open, and the begin of the innermost one is in the trace. */
static inline bool orma_track_nesting_is_written(const struct orma_track_nesting *nesting)
{
	return nesting->depth > nesting->gap_end;
}

/* The innermost slice ends; orma_track_nesting_is_written() is true. */
static inline void orma_track_nesting_end_written(struct orma_track_nesting *nesting)
{
	ORMA_ASSERT(nesting->depth > nesting->gap_end);
	nesting->depth--;
}

#endif
