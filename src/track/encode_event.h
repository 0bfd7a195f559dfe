/* SPDX-License-Identifier: Apache-2.0
 * encode_event.h - the third step of the slow path: the packet of an event, of any size.
 */
#ifndef ORMA_TRACK_ENCODE_EVENT_H
#define ORMA_TRACK_ENCODE_EVENT_H

#include "track/lookup.h"
#include "track/new_ids.h"

/* A packet between its first and last byte. */
struct orma_track_encoder {
	struct orma_track_sequence *sequence;
	struct orma_proto_writer *writer;
	const struct orma_track_event *event;
	const struct orma_track_lookup *lookup;
	bool writes_names_out; /* uses no ids: what the reader will know by then is not known yet */
	bool has_location, has_callstack;
	bool is_site_known; /* all ids in the site's bytes are known or new in this packet */
	struct orma_track_new_ids ids;
};

/* Encodes the whole packet, which the caller ends with orma_track_encoder_commit(). The sequence
 * has begun, and the event's track has been described. */
void orma_track_encode_event(struct orma_track_encoder *encoder, struct orma_packet *slot,
			     const struct orma_track_event *event,
			     const struct orma_track_lookup *lookup);
/* Ends the packet. False: it was lost, and the reader has learned nothing from it. */
bool orma_track_encoder_commit(struct orma_track_encoder *encoder, struct orma_packet *slot);

/*
 * Encodes into memory what the end of a slice carries, without its track and time, as fields of a
 * TrackEvent that need nothing declared. Returns their size; `size` + 1: it is more than `size`.
 */
size_t orma_track_encode_end_items(struct orma_track_sequence *sequence,
				   const struct orma_track_event *event,
				   const struct orma_track_lookup *lookup, uint8_t *data,
				   size_t size);

#endif
