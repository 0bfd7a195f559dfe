/* SPDX-License-Identifier: Apache-2.0
 * tiles.c - boxes of lanes at a level of detail.
 *
 * A bucket has 2^level nanoseconds, which are a pixel or two of the page. A row that lasts a bucket or longer is a box of its
 * own. Shorter ones that begin in one bucket and have no such row between them are one box, from the first
 * one's begin to the last one's end. Buckets lie at multiples of their length from the trace's start, so that a box is the
 * same in every answer at its level, and boxes of two tiles that overlap both are found to be the same by their begin.
 *
 * When the boxes are more than the page can draw, buckets that join small rows become twice as long, and so on until
 * they are as long as a tile. Then rows have to be longer, too, to be boxes of their own: twice as long and so on, until all
 * rows that are shorter than a tile are joined. So long rows are the last that a page loses. To find the step, boxes are
 * counted, which reads little but classes and stops when there are too many. Only then are the boxes of the step written. The coarsest
 * step is tried first, because it has the fewest boxes to count, and the finest last.
 *
 * Rejected: the number of a category in place of a sign, because numbers would need a table that is made before the first tile;
 * one step for each lane, because neighbours that are joined differently look as if one was busier; dividing the
 * number of boxes by what is allowed to find the step at once, because boxes that are long do not get fewer.
 */
#include "view/tiles.h"

#include <errno.h>

#include "view/tile_request.h"

_Static_assert(sizeof(struct orma_box) == 32, "boxes are copied to the wire");

/* How far boxes are joined. */
struct detail {
	unsigned join_level; /* small rows that begin in one bucket of this level are joined */
	unsigned long_class; /* rows of this class are boxes of their own */
};

/* Goes through the boxes of a line that overlap a tile. */
struct walk {
	const struct orma_lanes *lanes;
	const struct orma_lane_line *line;
	struct detail detail;
	bool only_counts;   /* boxes may be at other places of their bucket */
	uint32_t next, end; /* the places that are left */
};

/* Returns the first place of the box that a place belongs to. */
static uint32_t first_of_box(const struct walk *walk, uint32_t place)
{
	const struct orma_lanes *lanes = walk->lanes;
	unsigned level = walk->detail.join_level;
	if (lanes->lengths[place] >= walk->detail.long_class)
		return place;
	uint64_t bucket = (orma_lanes_start(lanes, place) >> level) << level;
	uint32_t first = orma_lanes_find_start(lanes, walk->line, walk->line->first, bucket);
	for (;;) {
		uint32_t other = orma_lanes_find_long(lanes, walk->line, first, place,
						      walk->detail.long_class);
		if (other == place)
			return first;
		first = other + 1;
	}
}

static void begin_walk(struct walk *walk, const struct orma_tile *tile)
{
	const struct orma_lanes *lanes = walk->lanes;
	uint32_t first = walk->line->first;
	walk->next = orma_lanes_find_start(lanes, walk->line, first, tile->start);
	walk->end = orma_lanes_find_start(lanes, walk->line, walk->next, tile->end);
	/* Boxes do not overlap, so only the last one before can reach into the tile. */
	if (walk->next > first && tile->start < tile->end &&
	    orma_lanes_end(lanes, walk->line, walk->next - 1) > tile->start)
		walk->next = first_of_box(walk, walk->next - 1);
}

/* Finds the places of the next box: [*ret_first, walk->next). False behind the last. */
static bool next_box(struct walk *walk, uint32_t *ret_first)
{
	const struct orma_lanes *lanes = walk->lanes;
	uint32_t place = *ret_first = walk->next;
	uint64_t slack = walk->only_counts ? UINT64_C(1) << walk->detail.join_level : 0;
	if (place >= walk->end)
		return false;
	walk->next++;
	if (lanes->lengths[place] < walk->detail.long_class && walk->next < walk->end) {
		uint64_t end = orma_tile_bucket_end(orma_lanes_start(lanes, place),
						    walk->detail.join_level);
		walk->next = orma_lanes_find_start_or_long(lanes, walk->line, walk->next, walk->end,
							   end, slack, walk->detail.long_class);
	}
	return true;
}

/* Counts boxes, but not many more than `limit`. */
static uint32_t count_boxes(struct orma_tile *tile, struct detail detail, uint32_t limit)
{
	uint32_t first, line, end = orma_lanes_lines(tile->lanes, tile->lane, &line);
	tile->count = 0;
	for (; line < end; line++) {
		struct walk walk = {.lanes = tile->lanes,
				    .line = &tile->lanes->lines[line],
				    .detail = detail,
				    .only_counts = true};
		begin_walk(&walk, tile);
		while (tile->count <= limit && next_box(&walk, &first))
			tile->count++;
	}
	return tile->count;
}

/* Returns how many boxes there are, or that they are more than `limit`. */
static uint32_t count_all(struct orma_tile_request *request, struct detail detail, uint32_t limit)
{
	uint32_t all = 0;
	for (uint32_t i = 0; i < request->tile_count && all <= limit; i++)
		all += count_boxes(&request->tiles[i], detail, limit - all);
	return all;
}

/* Finds the least coarse step whose boxes are no more than allowed, and counts its boxes. */
static struct detail choose_detail(struct orma_tile_request *request)
{
	unsigned level = request->level, most = ORMA_MIN(level + ORMA_TILE_SHIFT, 63U);
	uint32_t limit = request->max_items;
	struct detail detail = {.join_level = level, .long_class = ORMA_LANE_CLASS(level)};
	if (count_all(request, detail, limit) <= limit)
		return detail;
	detail.join_level = most;
	uint32_t count = count_all(request, detail, limit);
	if (count <= limit) {
		/* A box becomes two at most when buckets are halved, so the first steps need not be counted. */
		for (; detail.join_level > level + 1 && count <= limit / 2; count *= 2)
			detail.join_level--;
		do
			detail.join_level--;
		while (count_all(request, detail, limit) <= limit);
		detail.join_level++;
	} else {
		do
			detail.long_class += 4;
		while (count_all(request, detail, limit) > limit &&
		       detail.long_class < ORMA_LANE_CLASS(most));
	}
	/* Each line that has rows has a box. They are written as far as an answer may have so many. */
	count_all(request, detail, ORMA_TILE_ITEMS_MAX);
	return detail;
}

static int64_t cell(const struct orma_lanes *lanes, size_t column, uint32_t row)
{
	return orma_store_column_get(&lanes->table->columns[column], row);
}

/* Pages make a colour of it, so that they need no names of categories. */
static uint8_t category_sign(struct orma_str name)
{
	/* FNV-1a in 32 bits, as signOfCategory() of the page computes it for reports. */
	uint32_t hash = 0x811c9dc5;
	for (size_t i = 0; i < name.size; i++)
		if (name.data[i] < '0' || name.data[i] > '9')
			hash = (hash ^ (uint8_t)name.data[i]) * 0x01000193;
	return name.size > 0 ? (uint8_t)(1 + hash % 255) : 0;
}

/* Sets what a box says about its longest row. */
static void describe_row(const struct orma_view *view, const struct orma_tile *tile,
			 struct orma_box *box)
{
	static const size_t names[] = {[ORMA_VIEW_SLICES] = ORMA_SLICE_NAME,
				       [ORMA_VIEW_STATES] = ORMA_STATE_VALUE,
				       [ORMA_VIEW_SCHED] = ORMA_SCHED_UTID};
	if (tile->table == ORMA_VIEW_THREAD_STATES) {
		box->name = orma_view_thread_state_of(view, box->row);
	} else {
		int64_t name = cell(tile->lanes, names[tile->table], box->row);
		box->name = name == ORMA_CELL_NULL ? 0 : (uint32_t)name;
	}
	if (tile->table == ORMA_VIEW_SLICES)
		box->category = category_sign(
			orma_view_text(view, cell(tile->lanes, ORMA_SLICE_CATEGORY, box->row)));
	if (tile->table == ORMA_VIEW_SCHED) {
		int64_t priority = cell(tile->lanes, ORMA_SCHED_PRIORITY, box->row);
		/* The kernel's priorities from 0 to 99 are those of real-time tasks; negative ones have a deadline. */
		if (priority != ORMA_CELL_NULL && priority < 100)
			box->flags |= ORMA_BOX_IS_REAL_TIME;
	}
}

static struct orma_box make_box(const struct orma_view *view, const struct orma_tile *tile,
				const struct walk *walk, uint32_t first, uint32_t depth)
{
	const struct orma_lanes *lanes = walk->lanes;
	uint32_t longest = orma_lanes_longest(lanes, walk->line, first, walk->next);
	struct orma_box box = {.start = (double)orma_lanes_start(lanes, first),
			       .end = (double)orma_lanes_end(lanes, walk->line, walk->next - 1),
			       .row = lanes->rows[longest],
			       .count = walk->next - first,
			       .depth = (uint16_t)depth};
	int64_t dur = cell(lanes, lanes->spec.dur, box.row);
	if (box.count > 1)
		box.flags |= ORMA_BOX_IS_MERGED;
	if (dur == 0)
		box.flags |= ORMA_BOX_IS_INSTANT;
	if (dur < 0 && box.count == 1)
		box.flags |= ORMA_BOX_IS_UNFINISHED;
	describe_row(view, tile, &box);
	return box;
}

int orma_view_lane_boxes(const struct orma_view *view, enum orma_view_table table, uint32_t lane,
			 unsigned level, orma_view_box_fn *fn, void *ctx)
{
	const struct orma_tile tile = {
		.lanes = &view->lanes[table], .table = table, .lane = lane, .end = UINT64_MAX};
	/* All classes are long at level 0. */
	const struct detail detail = {.join_level = level,
				      .long_class = level > 0 ? ORMA_LANE_CLASS(level) : 0};
	uint32_t first, begin, end = orma_lanes_lines(tile.lanes, lane, &begin);
	int r = 0;
	for (uint32_t line = begin; line < end && r == 0; line++) {
		struct walk walk = {
			.lanes = tile.lanes, .line = &tile.lanes->lines[line], .detail = detail};
		begin_walk(&walk, &tile);
		while (r == 0 && next_box(&walk, &first)) {
			struct orma_box box = make_box(view, &tile, &walk, first, line - begin);
			r = fn(ctx, &box);
		}
	}
	return r;
}

static int write_boxes(const struct orma_view *view, const struct orma_tile *tile,
		       struct detail detail, struct orma_buf *ret)
{
	uint32_t first, begin, end = orma_lanes_lines(tile->lanes, tile->lane, &begin);
	int r = 0;
	for (uint32_t line = begin; line < end; line++) {
		struct walk walk = {
			.lanes = tile->lanes, .line = &tile->lanes->lines[line], .detail = detail};
		begin_walk(&walk, tile);
		while (r == 0 && next_box(&walk, &first)) {
			struct orma_box box = make_box(view, tile, &walk, first, line - begin);
			r = orma_base_buf_append(ret, &box, sizeof(box));
		}
	}
	return r;
}

int orma_view_tiles(struct orma_view *view, struct orma_str body, struct orma_buf *ret,
		    struct orma_error *reterr)
{
	struct orma_tile_request request;
	int r = orma_tile_request_init(&request, view, body, false, reterr);
	if (r < 0)
		return r;
	struct detail detail = choose_detail(&request);
	r = orma_tile_request_begin_answer(&request, view, body, sizeof(struct orma_box), ret,
					   reterr);
	for (uint32_t i = 0; i < request.tile_count && r == 0; i++)
		r = write_boxes(view, &request.tiles[i], detail, ret);
	orma_tile_request_done(&request);
	return r;
}
