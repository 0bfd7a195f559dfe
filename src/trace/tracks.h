/* SPDX-License-Identifier: Apache-2.0
 * tracks.h - tracks of every kind: a type and the dimensions that tell its tracks apart.
 */
#ifndef ORMA_TRACE_TRACKS_H
#define ORMA_TRACE_TRACKS_H

#include "trace/args.h"

#define ORMA_TRACK_DIMENSIONS_MAX 5

/* "utid", "upid" and "cpu" also relate the track to that row. `key` is static. */
struct orma_track_dimension {
	const char *key;
	enum orma_arg_type type;
	int64_t value; /* as in an arg */
};

/* Tracks with equal keys are one track. Cells that are not given are ORMA_CELL_NULL, which is not 0. */
struct orma_track_key {
	const char *type;       /* static */
	const char *event_type; /* "slice", "counter" or "state" */
	uint32_t machine_idx;
	uint32_t dimension_count;
	struct orma_track_dimension dimensions[ORMA_TRACK_DIMENSIONS_MAX];
};

/* {.tables = ..., .sets = ...} is empty. */
struct orma_tracks {
	struct orma_tables *tables;
	struct orma_arg_sets *sets;
	struct orma_map ids; /* id + 1 by hash of the key */
	struct orma_arg_list dimension_args;
};

uint64_t orma_track_key_hash(const struct orma_track_key *key);

void orma_tracks_done(struct orma_tracks *tracks);
/* Returns the track with this key, or a negative errno value. Adds it with a name and a unit, both cells, unless it is
 * there; `*ret_is_new` says so, and may be NULL. */
int64_t orma_tracks_get(struct orma_tracks *tracks, const struct orma_track_key *key, int64_t name,
			int64_t unit, bool *ret_is_new);
/* Adds a track that is like no other. */
int64_t orma_tracks_add(struct orma_tracks *tracks, const struct orma_track_key *key, int64_t name,
			int64_t unit);
/* Changes a cell of a track. 0 or a negative errno value. */
int orma_tracks_set(struct orma_tracks *tracks, int64_t track_id, size_t column, int64_t cell);

/* Adds a value to a counter. 0 or a negative errno value. */
int orma_counters_add(struct orma_tables *tables, int64_t ts, int64_t track_id, double value,
		      int64_t arg_set_id);

#endif
