/* SPDX-License-Identifier: Apache-2.0
 * track_lanes.h - a group of tracks that share what would be one track if its slices did not overlap.
 */
#ifndef ORMA_TRACE_TRACK_LANES_H
#define ORMA_TRACE_TRACK_LANES_H

#include "base/arena.h"
#include "trace/tracks.h"

struct orma_track_lane {
	int64_t cookie;
	int64_t track_id; /* -1 = not made yet */
	uint32_t nesting; /* open slices */
	bool is_listed;   /* among the free lanes of `search` */
};

struct orma_track_search;

/* Traces have a group for each track that they describe, and most groups have one lane. So that lane is in the group. */
struct orma_track_group {
	struct orma_track_lane *lanes;
	struct orma_track_lane first; /* `lanes` is this one while there is no other */
	struct orma_track_search
		*search; /* NULL while the lanes are so few that each is looked at */
	uint64_t seed;
	uint32_t id, count, capacity;
};

/* {0} is empty. */
struct orma_track_groups {
	struct orma_map by_key;  /* struct orma_track_group */
	struct orma_arena arena; /* has the groups */
	uint32_t count;
};

void orma_track_groups_done(struct orma_track_groups *groups);
/* Returns the group with this key, or NULL when out of memory. */
struct orma_track_group *orma_track_groups_get(struct orma_track_groups *groups, uint64_t key);

enum orma_lane_use {
	ORMA_LANE_BEGIN,
	ORMA_LANE_BEGIN_FLAT, /* a second begin of a cookie is not nested in the first */
	ORMA_LANE_END,
	ORMA_LANE_INSTANT,
	ORMA_LANE_FIRST, /* the lane that stands for the group */
};
/* Returns the index of the lane for a slice with this cookie, or a negative errno value. Its track_id is -1 when the
 * caller has to make the track. */
int64_t orma_track_group_use(struct orma_track_group *group, int64_t cookie,
			     enum orma_lane_use use);

#endif
