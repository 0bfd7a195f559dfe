/* SPDX-License-Identifier: Apache-2.0
 * descriptor_tracks.h - the tracks that TrackDescriptors describe, by uuid.
 */
#ifndef ORMA_TRACE_DESCRIPTOR_TRACKS_H
#define ORMA_TRACE_DESCRIPTOR_TRACKS_H

#include "trace/packet_index.h"
#include "trace/processes.h"
#include "trace/track_lanes.h"

enum orma_descriptor_count {
	ORMA_DESCRIPTORS_MISSING_UUID,
	ORMA_DESCRIPTORS_THREAD_WITHOUT_IDS,
	ORMA_DESCRIPTORS_PROCESS_WITHOUT_PID,
	ORMA_DESCRIPTORS_BAD_ORDERING,
	ORMA_DESCRIPTORS_DEFAULT_WITH_PARENT,
	ORMA_DESCRIPTORS_CONFLICTING,
	ORMA_DESCRIPTORS_LOOP,
	ORMA_DESCRIPTORS_TOO_DEEP,
	ORMA_DESCRIPTORS_MISSING_PARENT,
	ORMA_DESCRIPTORS_COUNTS,
};

enum orma_track_scope { ORMA_SCOPE_GLOBAL, ORMA_SCOPE_PROCESS, ORMA_SCOPE_THREAD };

enum {
	ORMA_RECENT_DESCRIPTORS_SHIFT = 6,
	ORMA_RECENT_DESCRIPTORS = 1 << ORMA_RECENT_DESCRIPTORS_SHIFT,
};

struct orma_descriptor;

/* {.tables = ..., .processes = ..., .tracks = ..., .sets = ...} is empty. */
struct orma_descriptor_tracks {
	struct orma_tables *tables;
	struct orma_processes *processes;
	struct orma_tracks *tracks;
	struct orma_arg_sets *sets;
	struct orma_map by_uuid; /* struct orma_descriptor */
	struct orma_descriptor
		*recent[ORMA_RECENT_DESCRIPTORS]; /* looked up before; by the uuid's hash */
	struct orma_map thread_uuids,
		process_uuids; /* the uuid (index of the descriptor + 1) by utid and upid */
	struct orma_track_groups groups;
	struct orma_arena arena;
	struct orma_arg_list args;
	uint64_t counts[ORMA_DESCRIPTORS_COUNTS];
};

void orma_descriptor_tracks_done(struct orma_descriptor_tracks *tracks);
/* Takes a descriptor, in the order of the file. 0 or -ENOMEM. */
int orma_descriptor_tracks_take(struct orma_descriptor_tracks *tracks,
				const struct orma_sequence *sequence,
				const struct orma_packet *packet, int64_t ns);

/* The thread or process that a track belongs to. */
struct orma_track_owner {
	enum orma_track_scope scope;
	int64_t utid, upid; /* -1 = none */
};

/* 1, 0 (there is no such track: its parents are a loop, or missing), or a negative errno value. */
int orma_descriptor_tracks_owner(struct orma_descriptor_tracks *tracks, uint32_t machine_idx,
				 uint64_t uuid, struct orma_track_owner *ret);
/* Returns the row of a track, which is made when it is used first; -1 when there is no such track; or a smaller errno value,
 * -EPERM excepted. `event_name` is a cell that names a track without a name. */
int64_t orma_descriptor_tracks_use(struct orma_descriptor_tracks *tracks,
				   const struct orma_sequence *sequence, uint64_t uuid,
				   int64_t event_name, enum orma_lane_use use);
/* Returns the row of a track that has been used before and is one row, and whose it is; -1 when it is another. */
int64_t orma_descriptor_tracks_find_row(struct orma_descriptor_tracks *tracks, uint64_t uuid,
					enum orma_track_scope *ret_scope);
/* Tells how to read a counter's values. False when the track is no counter. */
bool orma_descriptor_tracks_counter(struct orma_descriptor_tracks *tracks, uint64_t uuid,
				    double *ret_multiplier, bool *ret_is_incremental,
				    int64_t *ret_name);

bool orma_descriptor_tracks_is_state(struct orma_descriptor_tracks *tracks, uint64_t uuid);

#endif
