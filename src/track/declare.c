/* SPDX-License-Identifier: Apache-2.0
 * declare.c - writes the packets that a reader needs before an event.
 *
 * These are the begin of a sequence with its clock, process and thread (catch_up.c,
 * sequence_begin.c), and the descriptor of the event's track (track_descriptor.c). Names, keys and
 * categories are declared in the event's own packet, see encode_event.c.
 */
#include "track/declare.h"

#include "base/assert.h"
#include "track/async_slices.h"
#include "track/call_site.h"
#include "track/catch_up.h"
#include "track/track_descriptor.h"
#include "track/track_uuid.h"

/* Returns false when the sequence must begin anew and could not, so that a reader could not
 * understand the event. */
static bool begin_if_necessary(struct orma_packet *slot, uint32_t idx,
			       const struct orma_track_event *event,
			       const struct orma_track_lookup *lookup)
{
	const struct orma_track_sequence *sequence = slot->state;

	if (!slot->needs_state)
		return true;
	/* When ends are pending, even an unwanted event begins the sequence, because there may be
	 * room for the ends now. */
	if (!lookup->is_wanted && sequence->pending_ends.count == 0)
		return false;
	if (orma_track_catch_up(slot, idx, event->now_ns))
		return true;
	slot->needs_state = true;
	return false;
}

/* Returns false for a begin that must not be written; see orma_track_nesting_may_begin(). */
static bool may_write(const struct orma_track_sequence *sequence, uint32_t idx,
		      const struct orma_track_event *event, const struct orma_track_lookup *lookup)
{
	if (event->type != ORMA_EVENT_BEGIN)
		return true;
	return lookup->slice_uuid ? orma_track_async_may_begin(idx, lookup->slice_uuid)
				  : orma_track_nesting_may_begin(&sequence->nesting);
}

bool orma_track_declare(struct orma_packet *slot, uint32_t idx,
			const struct orma_track_event *event, struct orma_track_lookup *lookup)
{
	struct orma_track_sequence *sequence = slot->state;

	if (!begin_if_necessary(slot, idx, event, lookup) || !lookup->is_wanted ||
	    !may_write(sequence, idx, event, lookup))
		return false;
	ORMA_ASSERT(sequence->unit_ns > 0 && sequence->tid > 0);
	lookup->can_learn_site = event->site && sequence->known.allows_fast_path &&
				 !orma_track_is_fast(sequence, event->site) &&
				 orma_track_site_arm(event);
	if (!lookup->track)
		return true;
	lookup->track_uuid = orma_track_uuid_at(sequence->tid, lookup->track);
	return orma_track_describe(slot, lookup->track, event->now_ns);
}
