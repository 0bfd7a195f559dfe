/* SPDX-License-Identifier: Apache-2.0
 * counters.c - points of counters at a level of detail.
 *
 * The values of a bucket of 2^level nanoseconds are one point. The value that a tile begins with is older than the tile; it is a
 * point of its own before the others. When the points are more than the page can draw, buckets become twice as long, and
 * so on until a tile is one bucket.
 */
#include "view/counters.h"

#include <errno.h>

#include "view/tile_request.h"

_Static_assert(sizeof(struct orma_point) == 40, "points are copied to the wire");

/* Goes through the points of a tile. */
struct walk {
	const struct orma_lanes *lanes;
	const struct orma_lane_line *line;
	unsigned level;
	uint32_t next, end;    /* the places that are left */
	bool has_value_before; /* the next place is before the tile */
};

static bool begin_walk(struct walk *walk, const struct orma_tile *tile, unsigned level)
{
	const struct orma_lanes *lanes = tile->lanes;
	uint32_t line;
	if (orma_lanes_lines(lanes, tile->lane, &line) == line)
		return false;
	*walk = (struct walk){.lanes = lanes, .line = &lanes->lines[line], .level = level};
	walk->next = orma_lanes_find_start(lanes, walk->line, walk->line->first, tile->start);
	walk->end = orma_lanes_find_start(lanes, walk->line, walk->next, tile->end);
	walk->has_value_before = walk->next > walk->line->first && tile->start < tile->end;
	walk->next -= walk->has_value_before;
	return true;
}

/* Finds the places of the next point: [*ret_first, walk->next). False behind the last. */
static bool next_point(struct walk *walk, uint32_t *ret_first)
{
	uint32_t place = *ret_first = walk->next;
	if (place >= walk->end)
		return false;
	walk->next++;
	if (!walk->has_value_before) {
		uint64_t end =
			orma_tile_bucket_end(orma_lanes_start(walk->lanes, place), walk->level);
		uint32_t next = orma_lanes_find_start(walk->lanes, walk->line, walk->next, end);
		walk->next = ORMA_MIN(next, walk->end);
	}
	walk->has_value_before = false;
	return true;
}

static bool fits(struct orma_tile_request *request, unsigned level)
{
	uint32_t left = request->max_items;
	for (uint32_t i = 0; i < request->tile_count; i++) {
		struct orma_tile *tile = &request->tiles[i];
		struct walk walk;
		uint32_t first;
		tile->count = 0;
		if (!begin_walk(&walk, tile, level))
			continue;
		while (tile->count <= left && next_point(&walk, &first))
			tile->count++;
		if (tile->count > left)
			return false;
		left -= tile->count;
	}
	return true;
}

static struct orma_point make_point(const struct walk *walk, uint32_t first)
{
	struct orma_lane_extremes extremes =
		orma_lanes_extremes(walk->lanes, walk->line, first, walk->next);
	return (struct orma_point){.time = (double)orma_lanes_start(walk->lanes, first),
				   .min = extremes.min,
				   .max = extremes.max,
				   .first = orma_lanes_value(walk->lanes, first),
				   .last = orma_lanes_value(walk->lanes, walk->next - 1)};
}

int orma_view_lane_points(const struct orma_view *view, uint32_t lane, unsigned level,
			  orma_view_point_fn *fn, void *ctx)
{
	const struct orma_tile tile = {
		.lanes = &view->lanes[ORMA_VIEW_COUNTERS], .lane = lane, .end = UINT64_MAX};
	struct walk walk;
	uint32_t first;
	int r = 0;
	if (!begin_walk(&walk, &tile, level))
		return 0;
	do {
		/* So the next value is a point of its own. */
		walk.has_value_before = level == 0;
		if (!next_point(&walk, &first))
			break;
		struct orma_point point = make_point(&walk, first);
		r = fn(ctx, &point, walk.next - first);
	} while (r == 0);
	return r;
}

static int write_points(const struct orma_tile *tile, unsigned level, struct orma_buf *ret)
{
	struct walk walk;
	uint32_t first;
	int r = 0;
	if (!begin_walk(&walk, tile, level))
		return 0;
	while (r == 0 && next_point(&walk, &first)) {
		struct orma_point point = make_point(&walk, first);
		r = orma_base_buf_append(ret, &point, sizeof(point));
	}
	return r;
}

int orma_view_counters(struct orma_view *view, struct orma_str body, struct orma_buf *ret,
		       struct orma_error *reterr)
{
	struct orma_tile_request request;
	int r = orma_tile_request_init(&request, view, body, true, reterr);
	if (r < 0)
		return r;
	unsigned level = request.level, most = ORMA_MIN(level + ORMA_TILE_SHIFT, 63U);
	while (!fits(&request, level) && level < most)
		level++;
	/* A tile has two points at least, for more tiles than the page has room for, too. */
	request.max_items = ORMA_TILE_ITEMS_MAX;
	fits(&request, level);
	r = orma_tile_request_begin_answer(&request, view, body, sizeof(struct orma_point), ret,
					   reterr);
	for (uint32_t i = 0; i < request.tile_count && r == 0; i++)
		r = write_points(&request.tiles[i], level, ret);
	orma_tile_request_done(&request);
	return r;
}
