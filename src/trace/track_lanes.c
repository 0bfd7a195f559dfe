/* SPDX-License-Identifier: Apache-2.0
 * track_lanes.c - a slice takes the lane of its cookie, else the first lane that has no open slice, else a new one.
 *
 * So people may make a track for each request, and see as many rows as there were requests at one time.
 */
#include "trace/track_lanes.h"

#include <errno.h>

#include "base/alloc.h"
#include "store/grow.h"

void orma_track_groups_done(struct orma_track_groups *groups)
{
	struct orma_map_slot *slot;
	for (size_t position = 0; (slot = orma_base_map_next(&groups->by_key, &position));) {
		struct orma_track_group *group = slot->value;
		orma_base_free(group->lanes);
		orma_base_free(group);
	}
	orma_base_map_done(&groups->by_key);
}

struct orma_track_group *orma_track_groups_get(struct orma_track_groups *groups, uint64_t key)
{
	struct orma_track_group *group = orma_base_map_get(&groups->by_key, key);
	if (group)
		return group;
	group = orma_base_zalloc(sizeof(*group));
	if (!group)
		return NULL;
	group->id = groups->count;
	if (orma_base_map_put(&groups->by_key, key, group) < 0) {
		orma_base_free(group);
		return NULL;
	}
	groups->count++;
	return group;
}

static int64_t find_lane(struct orma_track_group *group, int64_t cookie)
{
	uint32_t free_lane = group->count;
	for (uint32_t i = 0; i < group->count; i++) {
		if (group->lanes[i].cookie == cookie)
			return i;
		if (group->lanes[i].nesting == 0 && free_lane == group->count)
			free_lane = i;
	}
	if (free_lane == group->count) {
		int r = orma_store_grow(&group->lanes, (uint64_t)group->count + 1, &group->capacity,
					sizeof(*group->lanes));
		if (r < 0)
			return r;
		group->lanes[group->count++] = (struct orma_track_lane){.track_id = -1};
	}
	group->lanes[free_lane].cookie = cookie;
	return free_lane;
}

int64_t orma_track_group_use(struct orma_track_group *group, int64_t cookie, enum orma_lane_use use)
{
	if (use == ORMA_LANE_FIRST)
		return group->count > 0 ? 0 : find_lane(group, 0);
	int64_t idx = find_lane(group, cookie);
	if (idx < 0)
		return idx;
	struct orma_track_lane *lane = &group->lanes[idx];
	switch (use) {
	case ORMA_LANE_BEGIN:
		lane->nesting++;
		break;
	case ORMA_LANE_BEGIN_FLAT:
		lane->nesting = 1;
		break;
	case ORMA_LANE_END:
		lane->nesting -= lane->nesting > 0;
		break;
	case ORMA_LANE_INSTANT:
	case ORMA_LANE_FIRST:
		break;
	}
	return idx;
}
