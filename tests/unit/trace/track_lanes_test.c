/* SPDX-License-Identifier: Apache-2.0
 * track_lanes_test.c - the lanes of a group are those of a model that looks at each lane, whether they are few or many.
 */
#include "base/macros.h"
#include "harness.h"
#include "trace/track_lanes.h"

enum { LANES_MAX = 64, STEPS = 20000 };

struct model {
	int64_t cookies[LANES_MAX];
	uint32_t nesting[LANES_MAX];
	int64_t count;
};

static int64_t use_model(struct model *model, int64_t cookie, enum orma_lane_use use)
{
	int64_t idx = 0;
	while (idx < model->count && model->cookies[idx] != cookie)
		idx++;
	if (idx == model->count)
		for (idx = 0; idx < model->count && model->nesting[idx] > 0;)
			idx++;
	CHECK(idx < LANES_MAX);
	if (idx == model->count)
		model->count++;
	model->cookies[idx] = cookie;
	if (use == ORMA_LANE_BEGIN)
		model->nesting[idx]++;
	else if (use == ORMA_LANE_BEGIN_FLAT)
		model->nesting[idx] = 1;
	else if (use == ORMA_LANE_END)
		model->nesting[idx] -= model->nesting[idx] > 0;
	return idx;
}

static uint32_t random_below(uint64_t *state, uint32_t limit)
{
	*state = *state * UINT64_C(6364136223846793005) + 1442695040888963407;
	return (uint32_t)(*state >> 33) % limit;
}

static void compare(struct orma_track_groups *groups, uint64_t key, uint32_t cookies)
{
	static const enum orma_lane_use uses[] = {ORMA_LANE_BEGIN, ORMA_LANE_END, ORMA_LANE_END,
						  ORMA_LANE_BEGIN_FLAT, ORMA_LANE_INSTANT};
	struct orma_track_group *group = orma_track_groups_get(groups, key);
	struct model model = {.count = 0};
	uint64_t state = key;
	CHECK(group);
	for (int i = 0; i < STEPS; i++) {
		int64_t cookie = random_below(&state, cookies);
		enum orma_lane_use use = uses[random_below(&state, ORMA_ARRAY_SIZE(uses))];
		CHECK_INT(orma_track_group_use(group, cookie, use), use_model(&model, cookie, use));
		CHECK_INT(group->count, model.count);
	}
	CHECK_INT(orma_track_group_use(group, 0, ORMA_LANE_FIRST), 0);
	CHECK(orma_track_groups_get(groups, key) == group);
}

ORMA_TEST(a_slice_takes_the_lane_of_its_cookie_or_the_first_that_is_free)
{
	struct orma_track_groups groups = {0};
	compare(&groups, 1, 1);
	compare(&groups, 2, 3);
	compare(&groups, 3, 9);
	compare(&groups, 4, 20);
	compare(&groups, 5, LANES_MAX);
	CHECK_INT(groups.count, 5);
	orma_track_groups_done(&groups);
}

ORMA_TEST(the_lane_that_stands_for_a_group_is_its_first)
{
	struct orma_track_groups groups = {0};
	struct orma_track_group *group = orma_track_groups_get(&groups, 7);
	CHECK_INT(orma_track_group_use(group, 5, ORMA_LANE_FIRST), 0);
	CHECK_INT(orma_track_group_use(group, 5, ORMA_LANE_BEGIN), 0);
	CHECK_INT(orma_track_group_use(group, 6, ORMA_LANE_BEGIN), 1);
	CHECK_INT(orma_track_group_use(group, 7, ORMA_LANE_FIRST), 0);
	orma_track_groups_done(&groups);
}
