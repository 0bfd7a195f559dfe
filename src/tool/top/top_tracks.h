/* SPDX-License-Identifier: Apache-2.0
 * top_tracks.h - the tracks that events are on: whose they are, and the slices that are open on them.
 */
#ifndef ORMA_TOOL_TOP_TRACKS_H
#define ORMA_TOOL_TOP_TRACKS_H

#include "tool/top/top_rows.h"

enum {
	ORMA_TOP_TRACKS_MAX = 1 << 14,
	ORMA_TOP_PROCESSES_MAX = 4096,
	ORMA_TOP_DEPTH_MAX = 128,   /* slices inside of each other that are counted */
	ORMA_TOP_LABEL_BYTES = 256, /* names of threads and processes are cut */
};

/* A slice that is open. It holds its row. */
struct orma_top_frame {
	int64_t begin_ns;
	struct orma_top_row *row;
	uint32_t sequence; /* the one that has begun it */
};

struct orma_top_track {
	uint64_t uuid, parent;
	char *name;                    /* NULL = not known */
	int64_t pid, tid;              /* -1 = none */
	struct orma_top_frame *frames; /* the outermost first */
	uint32_t depth, capacity;
	uint32_t beyond; /* open slices that found no place */
	int64_t last_ns; /* the last begin or end */
	bool is_described, is_counter, is_incremental;
	double multiplier, value; /* for a counter */
};

/* {.by_uuid.seed, .processes.seed} is empty. */
struct orma_top_tracks {
	struct orma_map by_uuid;   /* struct orma_top_track */
	struct orma_map processes; /* their names by pid + 1 */
};

void orma_top_tracks_done(struct orma_top_tracks *tracks);
/* Returns the track, which is made if there is none; NULL when there is no room or no memory. */
struct orma_top_track *orma_top_tracks_get(struct orma_top_tracks *tracks, uint64_t uuid);
/* Takes a TrackDescriptor, which is not trusted. It is left out if there is no room. */
void orma_top_tracks_describe(struct orma_top_tracks *tracks, struct orma_str descriptor);
/* Returns the name of a process, or NULL. */
const char *orma_top_tracks_process(const struct orma_top_tracks *tracks, int64_t pid);
/* Returns `buffer` with the thread ("server/worker 11") or process ("server 10") that the track is of, or with its name. */
const char *orma_top_track_owner(const struct orma_top_tracks *tracks,
				 const struct orma_top_track *track,
				 char buffer[ORMA_TOP_LABEL_BYTES]);

/* Begins a slice. The time since the last event was the slice's around it. */
void orma_top_track_begin(struct orma_top_track *track, int64_t ns, struct orma_top_row *row,
			  uint32_t sequence);
/* Ends the innermost slice, and returns its row, which the slice no longer holds. Returns NULL if no slice was open, or the
 * slice is not counted. */
struct orma_top_row *orma_top_track_end(struct orma_top_track *track, int64_t ns, uint64_t *ret_ns);
/* Closes the slices that a sequence has begun, because the ends may be lost, and counts them in their rows. */
void orma_top_track_lose(struct orma_top_track *track, uint32_t sequence);
/* Closes all slices of all tracks, and counts nothing. */
void orma_top_tracks_release(struct orma_top_tracks *tracks);

#endif
