/* SPDX-License-Identifier: Apache-2.0
 * nesting.c - gaps in a nesting: begins that are not in the trace.
 *
 * A begin that is not in the trace extends the last gap if that reaches up to the depth, and makes
 * a new gap otherwise. A gap is removed when all its slices have ended. So the gaps are a stack,
 * and only the last one ever changes.
 *
 * The first few gaps are embedded; further ones need the heap, up to ORMA_TRACK_GAPS_MAX. One slot
 * is always kept free, because memory may be missing when it is needed. When the last slot is taken
 * and there is no memory for more, no begin may be written until that gap has ended
 * (orma_track_nesting_may_begin()): each further begin is lost and extends the gap. Begins and ends
 * in the trace always match; only the number of lost slices depends on memory.
 *
 * Rejected: a bit per open slice (it limits the depth, or takes memory per slice and two cache
 * lines per event even if nothing is lost); a fixed number of gaps (a recursion that alternates
 * between an enabled and a disabled category has as many gaps as levels).
 */
#include "track/nesting.h"

#include <string.h>

#include "base/alloc.h"
#include "base/macros.h"

static struct orma_track_gap *gaps(struct orma_track_nesting *nesting)
{
	return nesting->grown ? nesting->grown : nesting->embedded;
}

static uint32_t room(const struct orma_track_nesting *nesting)
{
	return nesting->grown ? nesting->grown_count : ORMA_TRACK_GAPS_EMBEDDED;
}

bool orma_track_nesting_may_begin(const struct orma_track_nesting *nesting)
{
	return nesting->gap_count < room(nesting);
}

/* Leaves everything as it is without memory. */
static void grow(struct orma_track_nesting *nesting)
{
	uint32_t next = ORMA_MIN(room(nesting) * 4, (uint32_t)ORMA_TRACK_GAPS_MAX);
	struct orma_track_gap *grown;

	if (next <= nesting->gap_count)
		return;
	grown = orma_base_alloc(next * sizeof(*grown));
	if (!grown)
		return;
	memcpy(grown, gaps(nesting), nesting->gap_count * sizeof(*grown));
	orma_base_free(nesting->grown);
	nesting->grown = grown;
	nesting->grown_count = next;
}

void orma_track_nesting_begin_lost(struct orma_track_nesting *nesting)
{
	uint64_t from = nesting->depth++;

	if (nesting->gap_end == from && nesting->gap_count > 0) {
		gaps(nesting)[nesting->gap_count - 1].to = nesting->depth;
	} else if (orma_track_nesting_may_begin(nesting)) {
		gaps(nesting)[nesting->gap_count++] = (struct orma_track_gap){from, nesting->depth};
		if (!orma_track_nesting_may_begin(nesting))
			grow(nesting);
	} else {
		/* Two threads began slices of one track at the same time. The end will be in the
		 * trace without its begin; readers skip such ends. */
		return;
	}
	nesting->gap_end = nesting->depth;
	ORMA_ASSERT(nesting->gap_count > 0 && nesting->gap_count <= room(nesting));
}

static void drop_last_gap(struct orma_track_nesting *nesting)
{
	ORMA_ASSERT(nesting->gap_count > 0);
	nesting->gap_count--;
	nesting->gap_end = nesting->gap_count > 0 ? gaps(nesting)[nesting->gap_count - 1].to : 0;
	if (nesting->gap_count > 0)
		return;
	orma_base_free(nesting->grown);
	nesting->grown = NULL;
}

bool orma_track_nesting_end(struct orma_track_nesting *nesting)
{
	struct orma_track_gap *last;

	if (orma_track_nesting_is_written(nesting)) {
		nesting->depth--;
		return true;
	}
	if (nesting->depth == 0)
		return false;
	ORMA_ASSERT(nesting->gap_count > 0 && nesting->gap_end == nesting->depth);
	last = &gaps(nesting)[nesting->gap_count - 1];
	ORMA_ASSERT(last->from < last->to && last->to == nesting->depth);
	nesting->depth--;
	last->to = nesting->gap_end = nesting->depth;
	if (last->to == last->from)
		drop_last_gap(nesting);
	return false;
}

void orma_track_nesting_done(struct orma_track_nesting *nesting)
{
	orma_base_free(nesting->grown);
	*nesting = (struct orma_track_nesting){0};
}
