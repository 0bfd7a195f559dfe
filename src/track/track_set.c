/* SPDX-License-Identifier: Apache-2.0
 * track_set.c - the tracks that a sequence has described: a set of their uuids, with the last value
 * of each incremental counter.
 *
 * Open addressing with linear probing, at most three quarters full. An entry with the uuid 0 is
 * free. Entries are never removed one by one, only all at once. A few entries lie in the sequence's
 * own state, so that most threads allocate nothing. More are allocated, four times as many at a
 * time, up to a limit. A caller that finds the set full makes the sequence begin anew, which is
 * correct at any time.
 *
 * Rejected: a small set that forgets entries when it is full (the reader relies on the last values
 * of counters), ids for tracks and bitmaps (tracks come and go with requests, and ids would run
 * out).
 */
#include "track/track_set.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

#define GROWTH_BITS 2

static struct orma_track_set_entry *entries(struct orma_track_set *set, uint32_t *ret_bits)
{
	*ret_bits = set->grown ? set->grown_bits : ORMA_TRACK_SET_EMBEDDED_BITS;
	return set->grown ? set->grown : set->embedded;
}

/* The root of the trace has the uuid 0, which marks free entries here. */
static uint64_t key(uint64_t uuid)
{
	return uuid ? uuid : 1;
}

/* The entry of the uuid, or the free one where it belongs. The multiplication spreads uuids that
 * are small numbers. */
static struct orma_track_set_entry *probe(struct orma_track_set_entry *at, uint32_t bits,
					  uint64_t uuid)
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
	struct orma_track_set_entry *old = entries(set, &old_bits), *grown;

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

struct orma_track_set_entry *orma_track_set_find(struct orma_track_set *set, uint64_t uuid)
{
	uint32_t bits;
	struct orma_track_set_entry *at = entries(set, &bits);

	at = probe(at, bits, key(uuid));
	return at->uuid ? at : NULL;
}

bool orma_track_set_add(struct orma_track_set *set, uint64_t uuid)
{
	uint32_t bits;
	struct orma_track_set_entry *at = entries(set, &bits), *entry = probe(at, bits, key(uuid));

	if (entry->uuid)
		return true;
	if ((set->count + 1) * 4 > (UINT32_C(3) << bits)) {
		if (!grow(set))
			return false;
		at = entries(set, &bits);
		entry = probe(at, bits, key(uuid));
	}
	ORMA_ASSERT(entry->uuid == 0);
	*entry = (struct orma_track_set_entry){.uuid = key(uuid)};
	set->count++;
	ORMA_ASSERT(set->count * 4 <= UINT32_C(3) << bits);
	return true;
}

void orma_track_set_done(struct orma_track_set *set)
{
	orma_base_free(set->grown);
	*set = (struct orma_track_set){0};
}

/* --- incremental counters --------------------------------------------------------------------- */

int64_t orma_track_set_delta_int(struct orma_track_set *set, const struct orma_track *track,
				 uint64_t uuid, int64_t value)
{
	struct orma_track_set_entry *entry = orma_track_set_find(set, uuid);
	uint64_t last;

	if (!track->is_incremental || !entry)
		return value;
	last = entry->last;
	entry->last = (uint64_t)value;
	return (int64_t)((uint64_t)value - last);
}

double orma_track_set_delta_double(struct orma_track_set *set, const struct orma_track *track,
				   uint64_t uuid, double value)
{
	struct orma_track_set_entry *entry = orma_track_set_find(set, uuid);
	double last;

	if (!track->is_incremental || !entry)
		return value;
	memcpy(&last, &entry->last, sizeof(last));
	memcpy(&entry->last, &value, sizeof(value));
	return value - last;
}
