/* SPDX-License-Identifier: Apache-2.0
 * new_ids.h - the ids in a packet that its reader does not know yet.
 *
 * They are collected while the packet is encoded, declared at its end (InternedData), and count as
 * known in the sequence once the packet has been written whole.
 */
#ifndef ORMA_TRACK_NEW_IDS_H
#define ORMA_TRACK_NEW_IDS_H

#include <orma/track_event.h>

#include "proto/writer.h"
#include "track/sequence_state.h"

#define ORMA_TRACK_NEW_IDS_MAX 48

enum orma_track_id_kind {
	ORMA_TRACK_ID_CATEGORY,
	ORMA_TRACK_ID_NAME,
	ORMA_TRACK_ID_KEY,
	ORMA_TRACK_ID_LOCATION,
};

struct orma_track_new_id {
	enum orma_track_id_kind kind;
	uint32_t id;
	const char *category; /* the name; NULL for the other kinds */
};

/* {0} is an empty list. Holds each id once. */
struct orma_track_new_ids {
	uint32_t count;
	const struct orma_source_location
		*location;  /* the only one that a packet declares; NULL = none */
	uint64_t callstack; /* the only one, too; 0 = none */
	struct orma_track_new_id list[ORMA_TRACK_NEW_IDS_MAX];
};

/* True when the reader knows the id, or will from this packet on. False: the list is full. */
bool orma_track_new_ids_use(struct orma_track_new_ids *ids, struct orma_track_sequence *sequence,
			    enum orma_track_id_kind kind, uint32_t id, const char *category);
void orma_track_new_ids_write(const struct orma_track_new_ids *ids,
			      const struct orma_track_sequence *sequence,
			      struct orma_proto_writer *writer);
/* The packet has been written: the reader knows the ids. */
void orma_track_new_ids_commit(const struct orma_track_new_ids *ids,
			       struct orma_track_sequence *sequence);
/* The fields of a SourceLocation. */
void orma_track_write_location(struct orma_proto_writer *writer,
			       const struct orma_source_location *location);
/* A text field; NULL is written as ORMA_TRACK_NO_TEXT. */
void orma_track_write_string(struct orma_proto_writer *writer, uint32_t field_id, const char *text);

#endif
