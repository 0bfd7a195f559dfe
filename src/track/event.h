/* SPDX-License-Identifier: Apache-2.0
 * event.h - one event on its way from the application to the packets of its instances.
 */
#ifndef ORMA_TRACK_EVENT_PRIVATE_H
#define ORMA_TRACK_EVENT_PRIVATE_H

#include <orma/track_event.h>
#include <stddef.h>
#include <stdint.h>

struct orma_track_event {
	struct orma_call_site *site; /* NULL for an end without items */
	const struct orma_category *category;
	uint32_t type; /* enum orma_event_type */
	uint64_t now_ns;
	const struct orma_item *items;
	size_t count;
	/* Fields of the TrackEvent that are encoded already; written behind the items. */
	const void *encoded;
	size_t encoded_size;
};

#endif
