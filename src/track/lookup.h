/* SPDX-License-Identifier: Apache-2.0
 * lookup.h - the first step of the slow path: the contents of an event, and whether it is wanted.
 */
#ifndef ORMA_TRACK_LOOKUP_H
#define ORMA_TRACK_LOOKUP_H

#include "track/event_items.h"
#include "track/sequence_state.h"

struct orma_track_lookup {
	struct orma_str name; /* data NULL = none; of a state, the new value */
	bool is_name_dynamic; /* known only at run time */
	bool is_name_inline;  /* ORMA_NO_INTERN: not interned */
	/* The items with a meaning of their own, at most one of each; NULL = none. */
	const struct orma_track *track;
	const struct orma_item *time, *category, *value;
	size_t first;            /* index of the first item behind the value of a state */
	struct orma_track named; /* `track` of a counter or state that names none */
	/* The uuid of the track, if the event begins or ends a slice on a track that is not the
	 * thread's own; else 0. */
	uint64_t slice_uuid;
	/* False: the category is not enabled; or an end whose begin is not in the trace. */
	bool is_wanted;

	/* Set by orma_track_declare(). */
	uint64_t track_uuid; /* the uuid of `track` */
	bool can_learn_site; /* the site has been armed; its bit may be set after this packet */
};

/* Whether the instance enables the category of an event that names it itself; `name` and `tags` may
 * be NULL. The category of such an event is orma_category_dynamic. */
bool orma_track_named_category_is_wanted(struct orma_track_sequence *sequence, uint32_t idx,
					 const char *name, const char *tags);
/* Reads the items of the event. `lookup` points into itself: it must not be copied. */
void orma_track_lookup_init(struct orma_track_lookup *lookup, const struct orma_track_event *event);
/* The whole step: also decides whether the event is wanted. An end closes its slice here. */
void orma_track_look_up(struct orma_track_sequence *sequence, uint32_t idx,
			const struct orma_track_event *event, struct orma_track_lookup *ret);

#endif
