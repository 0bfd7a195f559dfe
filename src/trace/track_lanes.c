/* SPDX-License-Identifier: Apache-2.0
 * track_lanes.c - a slice takes the lane of its cookie, else the first lane that has no open slice, else a new one.
 *
 * So people may make a track for each request, and see as many rows as there were requests at one time.
 *
 * Up to eight lanes are looked at one after the other. A group with more has a map of the cookies and a heap of the free lanes.
 */
#include "trace/track_lanes.h"

#include <errno.h>

#include "base/alloc.h"
#include "store/grow.h"

enum { FEW_LANES = 8 };

struct orma_track_search {
	struct orma_map by_cookie; /* index + 1 */
	uint32_t *free_lanes; /* a heap, the smallest first; some of them may be in use again */
	uint32_t free_count, free_capacity;
};

void orma_track_groups_done(struct orma_track_groups *groups)
{
	struct orma_map_slot *slot;
	for (size_t position = 0; (slot = orma_base_map_next(&groups->by_key, &position));) {
		struct orma_track_group *group = slot->value;
		if (group->lanes != &group->first)
			orma_base_free(group->lanes);
		if (group->search) {
			orma_base_free(group->search->free_lanes);
			orma_base_map_done(&group->search->by_cookie);
			orma_base_free(group->search);
		}
	}
	orma_base_map_done(&groups->by_key);
	orma_base_arena_done(&groups->arena);
}

struct orma_track_group *orma_track_groups_get(struct orma_track_groups *groups, uint64_t key)
{
	struct orma_track_group *group = orma_base_map_get(&groups->by_key, key);
	if (group)
		return group;
	group = orma_base_arena_alloc(&groups->arena, sizeof(*group));
	if (!group || orma_base_map_put(&groups->by_key, key, group) < 0)
		return NULL;
	group->id = groups->count++;
	group->seed = groups->by_key.seed;
	group->lanes = &group->first;
	group->capacity = 1;
	return group;
}

static int list_free(struct orma_track_group *group, uint32_t idx)
{
	struct orma_track_search *search = group->search;
	int r = orma_store_grow(&search->free_lanes, (uint64_t)search->free_count + 1,
				&search->free_capacity, sizeof(*search->free_lanes));
	if (r < 0)
		return r;
	uint32_t *heap = search->free_lanes, at = search->free_count++;
	for (; at > 0 && heap[(at - 1) / 2] > idx; at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = idx;
	group->lanes[idx].is_listed = true;
	return 0;
}

static void remove_first(struct orma_track_group *group)
{
	struct orma_track_search *search = group->search;
	uint32_t *heap = search->free_lanes, at = 0;
	group->lanes[heap[0]].is_listed = false;
	uint32_t idx = heap[--search->free_count];
	for (;;) {
		uint32_t child = 2 * at + 1;
		if (child + 1 < search->free_count && heap[child + 1] < heap[child])
			child++;
		if (child >= search->free_count || heap[child] >= idx)
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = idx;
}

/* Makes the map and the heap of a group whose lanes all have open slices. 0 or -ENOMEM. */
static int begin_search(struct orma_track_group *group)
{
	int r = 0;
	group->search = orma_base_zalloc(sizeof(*group->search));
	if (!group->search)
		return -ENOMEM;
	group->search->by_cookie.seed = group->seed;
	for (uint32_t i = 0; i < group->count && r == 0; i++)
		r = orma_base_map_put(&group->search->by_cookie, (uint64_t)group->lanes[i].cookie,
				      (void *)((uintptr_t)i + 1));
	return r;
}

/* Makes room for another lane. 0 or a negative errno value. */
static int grow(struct orma_track_group *group)
{
	if (group->count < group->capacity)
		return 0;
	if (group->count > UINT32_MAX / 2)
		return -EOVERFLOW;
	struct orma_track_lane *old = group->lanes == &group->first ? NULL : group->lanes,
			       *lanes = orma_base_realloc_array(old, (size_t)group->capacity * 2,
								sizeof(*lanes));
	if (!lanes)
		return -ENOMEM;
	if (!old)
		*lanes = group->first;
	group->lanes = lanes;
	group->capacity *= 2;
	return 0;
}

/* Returns the first lane that has no open slice, or `count` when all have one. */
static uint32_t find_free(struct orma_track_group *group)
{
	struct orma_track_search *search = group->search;
	if (search) {
		while (search->free_count > 0 && group->lanes[search->free_lanes[0]].nesting > 0)
			remove_first(group);
		return search->free_count > 0 ? search->free_lanes[0] : group->count;
	}
	uint32_t idx = 0;
	while (idx < group->count && group->lanes[idx].nesting > 0)
		idx++;
	return idx;
}

/* Returns a lane for a cookie that has none, or a negative errno value. */
static int64_t take_lane(struct orma_track_group *group, int64_t cookie)
{
	uint32_t idx = find_free(group);
	int r = 0;
	if (idx == group->count) {
		r = grow(group);
		if (r == 0 && group->count == FEW_LANES && !group->search)
			r = begin_search(group);
		if (r < 0)
			return r;
		group->lanes[group->count++] = (struct orma_track_lane){.track_id = -1};
	} else if (group->search) {
		orma_base_map_remove(&group->search->by_cookie, (uint64_t)group->lanes[idx].cookie);
	}
	group->lanes[idx].cookie = cookie;
	if (group->search)
		r = orma_base_map_put(&group->search->by_cookie, (uint64_t)cookie,
				      (void *)((uintptr_t)idx + 1));
	return r < 0 ? r : (int64_t)idx;
}

static int64_t find_lane(struct orma_track_group *group, int64_t cookie)
{
	if (group->search) {
		uintptr_t known =
			(uintptr_t)orma_base_map_get(&group->search->by_cookie, (uint64_t)cookie);
		return known ? (int64_t)known - 1 : take_lane(group, cookie);
	}
	for (uint32_t i = 0; i < group->count; i++)
		if (group->lanes[i].cookie == cookie)
			return i;
	return take_lane(group, cookie);
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
	int r = group->search && lane->nesting == 0 && !lane->is_listed
			? list_free(group, (uint32_t)idx)
			: 0;
	return r < 0 ? r : idx;
}
