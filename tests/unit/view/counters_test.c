/* SPDX-License-Identifier: Apache-2.0
 * counters_test.c - points of counters against a model that reads all values for each tile.
 */
#include "view/counters.h"

#include <math.h>

#include "harness.h"
#include "view_fixture.h"

enum { TRACKS = 3, VALUES = 2000, START = 77 };

struct model {
	uint32_t tracks[VALUES];
	uint64_t times[VALUES]; /* since START */
	double values[VALUES];
};

static void open_model(struct model *model, uint64_t seed, uint64_t spread, struct orma_view *ret)
{
	struct orma_trace_database *database = view_fixture_new();
	uint64_t now = 0, random = seed;
	for (uint32_t i = 0; i < TRACKS + 1; i++)
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_TRACK, ORMA_TRACK_PARENT_ID, ORMA_CELL_NULL);
	for (uint32_t i = 0; i < VALUES; i++) {
		model->tracks[i] = (uint32_t)(view_fixture_random(&random) % TRACKS);
		model->times[i] = now;
		model->values[i] = (double)(int64_t)(view_fixture_random(&random) % 2001) - 1000;
		if (view_fixture_random(&random) % 50 == 0)
			model->values[i] = NAN;
		VIEW_FIXTURE_ADD(database, ORMA_TABLE_COUNTER, ORMA_COUNTER_TS,
				 START + (int64_t)now, ORMA_COUNTER_TRACK_ID, model->tracks[i],
				 ORMA_COUNTER_VALUE, orma_store_cell_of_double(model->values[i]));
		now += view_fixture_random(&random) % (spread + 1);
	}
	view_fixture_open(database, START, START + (int64_t)now, ret);
}

/* The points of a tile whose buckets have 2^level nanoseconds. */
static uint32_t model_tile(const struct model *model, uint32_t track, uint64_t start, uint64_t end,
			   unsigned level, struct orma_point *points)
{
	uint32_t count = 0;
	bool has_before = false;
	for (uint32_t i = 0; i < VALUES && model->times[i] < end; i++) {
		double value = model->values[i];
		if (model->tracks[i] != track)
			continue;
		bool is_before = model->times[i] < start;
		if (is_before)
			count = 0;
		if (count == 0 || has_before ||
		    (uint64_t)points[count - 1].time >> level != model->times[i] >> level)
			points[count++] = (struct orma_point){(double)model->times[i], value, value,
							      value, value};
		struct orma_point *point = &points[count - 1];
		point->min = fmin(point->min, value);
		point->max = fmax(point->max, value);
		point->last = value;
		has_before = is_before;
	}
	return count;
}

static bool is_same(double a, double b)
{
	return a == b || (isnan(a) && isnan(b));
}

static void check_tile(struct orma_view *view, const struct model *model, unsigned level,
		       uint32_t max_items, struct view_fixture_tile tile)
{
	static struct orma_point expected[VALUES];
	struct orma_buf request = view_fixture_request(level, max_items, &tile, 1), answer = {0};
	struct orma_error error;
	uint64_t width = UINT64_C(512) << level;
	uint32_t count, lane = tile.lane - view->first_lanes[ORMA_VIEW_COUNTERS];
	for (unsigned joined = level; joined <= level + 9; joined++) {
		count = model_tile(model, lane, tile.tile * width, tile.tile * width + width,
				   joined, expected);
		if (count <= max_items)
			break;
	}
	CHECK_INT(orma_view_counters(view, view_fixture_str(&request), &answer, &error), 0);
	struct view_fixture_section section =
		view_fixture_section(&answer, sizeof(struct orma_point), 1, 0);
	CHECK_INT(section.count, count);
	for (uint32_t i = 0; i < count; i++) {
		struct orma_point point;
		memcpy(&point, (const char *)section.items + i * sizeof(point), sizeof(point));
		CHECK(point.time == expected[i].time);
		CHECK(is_same(point.min, expected[i].min));
		CHECK(is_same(point.max, expected[i].max));
		CHECK(is_same(point.first, expected[i].first));
		CHECK(is_same(point.last, expected[i].last));
	}
	orma_base_buf_done(&answer);
	orma_base_buf_done(&request);
}

static void compare_with_model(uint64_t seed, uint64_t spread)
{
	static struct model model;
	struct orma_view view;
	uint64_t random = seed;
	open_model(&model, seed, spread, &view);
	for (unsigned i = 0; i < 300; i++) {
		unsigned level = (unsigned)(view_fixture_random(&random) % 45);
		uint64_t time = model.times[view_fixture_random(&random) % VALUES];
		struct view_fixture_tile tile = {
			.lane = orma_view_lane_of(
				&view, ORMA_VIEW_COUNTERS,
				(uint32_t)(view_fixture_random(&random) % (TRACKS + 1))),
			.tile = (time >> (level + 9)) + view_fixture_random(&random) % 2};
		check_tile(&view, &model, level,
			   i % 3 ? 100000 : 2 + (uint32_t)(view_fixture_random(&random) % 100),
			   tile);
	}
	view_fixture_close(&view);
}

ORMA_TEST(points_of_dense_values_are_as_in_the_model)
{
	compare_with_model(1, 1);
}

ORMA_TEST(points_of_common_values_are_as_in_the_model)
{
	compare_with_model(2, 1000);
}

ORMA_TEST(points_of_sparse_values_are_as_in_the_model)
{
	compare_with_model(3, UINT64_C(1) << 33);
}

ORMA_TEST(a_lane_of_slices_has_no_points)
{
	static struct model model;
	struct orma_view view;
	struct orma_buf answer = {0};
	struct orma_error error;
	open_model(&model, 1, 1, &view);
	struct view_fixture_tile tile = {.lane = view.first_lanes[ORMA_VIEW_SLICES]};
	struct orma_buf request = view_fixture_request(0, 0, &tile, 1);
	CHECK_INT(orma_view_counters(&view, view_fixture_str(&request), &answer, &error), -EINVAL);
	orma_base_buf_done(&request);
	view_fixture_close(&view);
}
