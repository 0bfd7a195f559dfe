/* SPDX-License-Identifier: Apache-2.0
 * track_lanes.h - a group of tracks that share what would be one track if its slices did not overlap.
 */
#ifndef ORMA_TRACE_TRACK_LANES_H
#define ORMA_TRACE_TRACK_LANES_H

#include "trace/tracks.h"

struct orma_track_lane {
	int64_t cookie;
	uint32_t nesting; /* open slices */
	bool is_listed;   /* in `free_lanes` */
	int64_t track_id; /* -1 = not made yet */
};

struct orma_track_group {
	uint32_t id;
	struct orma_track_lane *lanes;
	struct orma_map by_cookie; /* index + 1 */
	uint32_t *free_lanes; /* a heap, the smallest first; some of them may be in use again */
	uint32_t count, capacity, free_count, free_capacity;
};

/* {0} is empty. */
struct orma_track_groups {
	struct orma_map by_key; /* struct orma_track_group */
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
