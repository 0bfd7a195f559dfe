/* SPDX-License-Identifier: Apache-2.0
 * open_bundle.c - lists of unpacked bundles.
 *
 * A bundle is unpacked by the merge and its events are read by the importer, which is some batches behind and may be another thread.
 * The events stay where they were unpacked: a batch refers to them, and owns the bundles whose last event it has. Batches are
 * imported in their order, so all events of these bundles are imported when the batch is. Then its memory serves for other bundles.
 * Rejected: copies of the events and their names in the batch, which took a tenth of the time of a trace of switches.
 */
#include "trace/open_bundle.h"

#include "base/alloc.h"

enum { SPARE_MAX = 64 }; /* a trace of tiny bundles has thousands of them in a batch */

struct orma_open_bundle *orma_open_bundle_new(struct orma_open_bundle **list)
{
	struct orma_open_bundle *bundle = *list;
	if (!bundle)
		return orma_base_zalloc(sizeof(*bundle));
	*list = bundle->next;
	bundle->next = NULL;
	return bundle;
}

static void free_bundle(struct orma_open_bundle *bundle)
{
	orma_bundle_events_done(&bundle->events);
	orma_trace_window_done(&bundle->window);
	orma_base_free(bundle);
}

void orma_open_bundles_recycle(struct orma_open_bundle **from, struct orma_open_bundle **to)
{
	unsigned count = 0;
	for (const struct orma_open_bundle *at = *to; at; at = at->next)
		count++;
	while (*from) {
		struct orma_open_bundle *bundle = *from;
		*from = bundle->next;
		if (count++ < SPARE_MAX)
			orma_open_bundle_put(to, bundle);
		else
			free_bundle(bundle);
	}
}

void orma_open_bundles_done(struct orma_open_bundle **list)
{
	while (*list) {
		struct orma_open_bundle *bundle = *list;
		*list = bundle->next;
		free_bundle(bundle);
	}
}
