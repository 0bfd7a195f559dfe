/* SPDX-License-Identifier: Apache-2.0
 * encode_items.h - the items of an event as fields of its TrackEvent.
 */
#ifndef ORMA_TRACK_ENCODE_ITEMS_H
#define ORMA_TRACK_ENCODE_ITEMS_H

#include "track/encode_event.h"

/* Keys and values, as debug annotations. */
void orma_track_encode_arguments(struct orma_track_encoder *encoder);
/* Flows, correlation ids, the source location and fields of the program's own. */
void orma_track_encode_special_items(struct orma_track_encoder *encoder);

#endif
