/* SPDX-License-Identifier: Apache-2.0
 * declared.c - the tracks that a sequence has described: a set of their uuids, and the last value
 * of each incremental counter.
 *
 * Open addressing with linear probing, at most three quarters full; a place with the uuid 0 is
 * free, and nothing is ever taken out but everything at once. A few places lie in the sequence's
 * own state, so that most threads allocate nothing; more are allocated, four times as many at a
 * time, up to a limit. Whoever finds the set full has the sequence's whole state forgotten, which
 * is correct at any time.
 *
 * Rejected: a small set that forgets when it is full (the last values of counters cannot be
 * forgotten without the reader), ids for tracks and bitmaps (tracks come and go with requests, ids
 * would not).
 */
#include "base/alloc.h"
#include "track/track.h"

#define GROWTH_BITS 2

static struct orma_track_known *places(struct orma_track_set *set, uint32_t *ret_bits)
{
	*ret_bits = set->grown ? set->grown_bits : ORMA_TRACK_SET_BITS;
	return set->grown ? set->grown : set->few;
}

/* The root of the trace has the uuid 0. */
static uint64_t key(uint64_t uuid)
{
	return uuid ? uuid : 1;
}

/* The place of the uuid, or the free one where it belongs. Names' hashes are spread anyway; ids are
 * not. */
static struct orma_track_known *probe(struct orma_track_known *at, uint32_t bits, uint64_t uuid)
{
	uint32_t mask = (UINT32_C(1) << bits) - 1;
	uint32_t idx = (uint32_t)(uuid * UINT64_C(0x9e3779b97f4a7c15) >> (64 - bits));

	while (at[idx].uuid != 0 && at[idx].uuid != uuid)
		idx = (idx + 1) & mask;
	return &at[idx];
}

static bool grow(struct orma_track_set *set)
{
	uint32_t old_bits, bits;
	struct orma_track_known *old = places(set, &old_bits), *grown;

	if (old_bits >= ORMA_TRACK_SET_BITS_MAX)
		return false;
	bits = ORMA_MIN(old_bits + GROWTH_BITS, (uint32_t)ORMA_TRACK_SET_BITS_MAX);
	grown = orma_base_alloc_array((size_t)1 << bits, sizeof(*grown));
	if (!grown)
		return false;
	for (size_t i = 0; i < (size_t)1 << old_bits; i++)
		if (old[i].uuid != 0)
			*probe(grown, bits, old[i].uuid) = old[i];
	orma_base_free(set->grown);
	set->grown = grown;
	set->grown_bits = bits;
	return true;
}

struct orma_track_known *orma_track_set_find(struct orma_track_set *set, uint64_t uuid)
{
	uint32_t bits;
	struct orma_track_known *at = places(set, &bits);

	at = probe(at, bits, key(uuid));
	return at->uuid ? at : NULL;
}

bool orma_track_set_add(struct orma_track_set *set, uint64_t uuid)
{
	uint32_t bits;
	struct orma_track_known *at = places(set, &bits), *place = probe(at, bits, key(uuid));

	if (place->uuid)
		return true;
	if ((set->count + 1) * 4 > (UINT32_C(3) << bits)) {
		if (!grow(set))
			return false;
		at = places(set, &bits);
		place = probe(at, bits, key(uuid));
	}
	*place = (struct orma_track_known){.uuid = key(uuid)};
	set->count++;
	return true;
}

void orma_track_set_done(struct orma_track_set *set)
{
	orma_base_free(set->grown);
	*set = (struct orma_track_set){0};
}
