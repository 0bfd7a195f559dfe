/* SPDX-License-Identifier: Apache-2.0
 * open_bundle.h - bundles that are unpacked, until nobody needs their events any more.
 */
#ifndef ORMA_TRACE_OPEN_BUNDLE_H
#define ORMA_TRACE_OPEN_BUNDLE_H

#include "trace/bundle_read.h"

struct orma_open_bundle {
	struct orma_open_bundle *next; /* in the list that it is in */
	struct orma_trace_window window;
	struct orma_bundle_events events;
};

/* Takes the first bundle of a list, with the memory that it has got; a new one if the list is empty. NULL when out of memory. */
struct orma_open_bundle *orma_open_bundle_new(struct orma_open_bundle **list);
static inline void orma_open_bundle_put(struct orma_open_bundle **list,
					struct orma_open_bundle *bundle)
{
	bundle->next = *list;
	*list = bundle;
}
/* Moves all bundles of a list to another, which is for bundles that are used again, and frees those beyond what it needs. */
void orma_open_bundles_recycle(struct orma_open_bundle **from, struct orma_open_bundle **to);
void orma_open_bundles_done(struct orma_open_bundle **list);

#endif
