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
		orma_base_free(group->free_lanes);
		orma_base_map_done(&group->by_cookie);
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
	group->by_cookie.seed = groups->by_key.seed;
	if (orma_base_map_put(&groups->by_key, key, group) < 0) {
		orma_base_free(group);
		return NULL;
	}
	groups->count++;
	return group;
}

static int list_free(struct orma_track_group *group, uint32_t idx)
{
	int r = orma_store_grow(&group->free_lanes, (uint64_t)group->free_count + 1,
				&group->free_capacity, sizeof(*group->free_lanes));
	if (r < 0)
		return r;
	uint32_t *heap = group->free_lanes, at = group->free_count++;
	for (; at > 0 && heap[(at - 1) / 2] > idx; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = idx;
	group->lanes[idx].is_listed = true;
	return 0;
}

static void remove_first(struct orma_track_group *group)
{
	uint32_t *heap = group->free_lanes, at = 0;
	group->lanes[heap[0]].is_listed = false;
	uint32_t idx = heap[--group->free_count];
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child + 1 < group->free_count && heap[child + 1] < heap[child])
			child++;
		if (child >= group->free_count || heap[child] >= idx)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = idx;
}

/* Returns the first lane that has no open slice, or a new one, or -ENOMEM. */
static int64_t find_free(struct orma_track_group *group)
{
	while (group->free_count > 0 && group->lanes[group->free_lanes[0]].nesting > 0)
		remove_first(group);
	if (group->free_count > 0) {
		struct orma_track_lane *lane = &group->lanes[group->free_lanes[0]];
		orma_base_map_remove(&group->by_cookie, (uint64_t)lane->cookie);
		return group->free_lanes[0];
	}
	int r = orma_store_grow(&group->lanes, (uint64_t)group->count + 1, &group->capacity,
				sizeof(*group->lanes));
	if (r < 0)
		return r;
	group->lanes[group->count] = (struct orma_track_lane){.track_id = -1};
	return group->count++;
}

static int64_t find_lane(struct orma_track_group *group, int64_t cookie)
{
	uintptr_t known = (uintptr_t)orma_base_map_get(&group->by_cookie, (uint64_t)cookie);
	if (known)
		return (int64_t)known - 1;
	int64_t idx = find_free(group);
	if (idx < 0)
		return idx;
	group->lanes[idx].cookie = cookie;
	int r = orma_base_map_put(&group->by_cookie, (uint64_t)cookie,
				  (void *)((uintptr_t)idx + 1));
	return r < 0 ? r : idx;
}

int64_t orma_track_group_use(struct orma_track_group *group, int64_t cookie, enum orma_lane_use use)
{
	if (use == ORMA_LANE_FIRST && group->count > 0)
		return 0;
	int64_t idx = find_lane(group, use == ORMA_LANE_FIRST ? 0 : cookie);
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
	int r = lane->nesting == 0 && !lane->is_listed ? list_free(group, (uint32_t)idx) : 0;
	return r < 0 ? r : idx;
}
