/* SPDX-License-Identifier: Apache-2.0
 * view_flame.c - a range of time as a flame graph: slices with the same names above them are one node. view_profiles.c has the
 * graphs of samples and heaps.
 *
 * The lines of a lane are read from the top down. `nodes` has the node of each row of the line above that is in the range; as the
 * rows of both lines are in the order of the table, a row's parent is found by going on in the line above, and never back.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "view/flame_tree.h"
#include "view/json_request.h"
#include "view/view_area.h"
#include "view/view_find.h"
#include "view/view_json.h"
#include "view/view_profiles.h"

struct flame {
	const struct orma_area *area;
	struct orma_flame_tree tree;
};

/* The part of a line that overlaps the range: places [first, end), and their nodes + 1, 0 for none. */
struct strip {
	uint32_t first, end;
	uint32_t *nodes;
};

/* Adds the row at a place below the node of its parent. */
static int add_row(struct flame *flame, const struct orma_lane_line *line, struct strip *strip,
		   uint32_t place, uint32_t parent)
{
	const struct orma_area *area = flame->area;
	const struct orma_lanes *lanes = &area->view->lanes[ORMA_VIEW_SLICES];
	int64_t name =
		orma_store_column_get(&lanes->table->columns[ORMA_SLICE_NAME], lanes->rows[place]);
	uint64_t start = orma_lanes_start(lanes, place), end = orma_lanes_end(lanes, line, place);
	uint64_t from = ORMA_MAX(start, area->start), to = ORMA_MIN(end, area->end);
	double time = to > from ? (double)(to - from) : 0;
	uint32_t node;
	int r = orma_flame_tree_get(&flame->tree, parent, name, &node);
	strip->nodes[place - strip->first] = node;
	/* One that found no room is a part of its parent. */
	if (r < 0 || node == 0 || node == parent)
		return r;
	struct orma_flame_node *item = orma_flame_tree_node(&flame->tree, node);
	item->count++;
	item->total += time;
	item->self += time;
	if (parent > 0)
		orma_flame_tree_node(&flame->tree, parent)->self -= time;
	return 0;
}

static int add_line(struct flame *flame, const struct orma_lane_line *line,
		    const struct strip *above, struct strip *strip)
{
	const struct orma_area *area = flame->area;
	const struct orma_lanes *lanes = &area->view->lanes[ORMA_VIEW_SLICES];
	const struct orma_column *parents = &lanes->table->columns[ORMA_SLICE_PARENT_ID];
	uint32_t at = above->first;
	strip->first = orma_lanes_find_start(lanes, line, line->first, area->start);
	strip->end = orma_lanes_find_start(lanes, line, strip->first, area->end);
	if (strip->first > line->first &&
	    orma_lanes_end(lanes, line, strip->first - 1) > area->start)
		strip->first--;
	strip->nodes = orma_base_alloc_array((size_t)(strip->end - strip->first) + 1,
					     sizeof(*strip->nodes));
	int r = strip->nodes ? 0 : -ENOMEM;
	for (uint32_t place = strip->first; place < strip->end && r == 0; place++) {
		int64_t parent = orma_store_column_get(parents, lanes->rows[place]);
		r = orma_view_check_stop(area->view);
		while (at < above->end && (int64_t)lanes->rows[at] < parent)
			at++;
		bool is_there = at < above->end && (int64_t)lanes->rows[at] == parent;
		if (r == 0)
			r = add_row(flame, line, strip, place,
				    is_there ? above->nodes[at - above->first] : 0);
	}
	return r;
}

static int add_lane(struct flame *flame, uint32_t lane)
{
	const struct orma_lanes *lanes = &flame->area->view->lanes[ORMA_VIEW_SLICES];
	uint32_t line, end = orma_lanes_lines(lanes, lane, &line);
	struct strip above = {0, 0, NULL};
	int r = 0;
	for (; line < end && r == 0; line++) {
		struct strip strip = {0, 0, NULL};
		r = add_line(flame, &lanes->lines[line], &above, &strip);
		orma_base_free(above.nodes);
		above = strip;
	}
	orma_base_free(above.nodes);
	return r;
}

static int add_slices(struct flame *flame)
{
	const struct orma_view *view = flame->area->view;
	int r = 0;
	for (uint32_t i = 0; i < view->node_count && r == 0; i++) {
		const struct orma_view_node *node = &view->nodes[i];
		enum orma_view_table table;
		uint32_t lane;
		if (flame->area->is_chosen[i] && node->table &&
		    orma_view_find_lane(view, node->lane, &table, &lane) &&
		    table == ORMA_VIEW_SLICES)
			r = add_lane(flame, lane);
	}
	return r;
}

/* The statement yields a row for each node, with the names from the root to it. */
static int append_slices_sql(const struct orma_area *area, struct orma_buf *json)
{
	static const struct orma_area_statement statement = {
		.select = "select path, sum(t1 - t0) as total, sum(t1 - t0 - ifnull(below, 0)) as "
			  "self, count(*) as count",
		.from = "(with recursive tree as (select id, ifnull(name, '') as path, t0, t1 from "
			"area where parent_id is null or parent_id not in (select id from area) "
			"union all select area.id, path || ' > ' || ifnull(name, ''), area.t0, "
			"area.t1 from tree join area on parent_id = tree.id) select * from tree) "
			"left join (select parent_id as above, sum(t1 - t0) as below from area "
			"group by 1) on above = id",
		.group = "group by path order by total desc, path",
		.lane = "track_id",
	};
	return orma_area_append_sql(area, ORMA_VIEW_SLICES, &statement, json);
}

/* Finds out what a graph is made of: a profile, or slices. */
static int read_source(const struct orma_view *view, struct orma_str body,
		       struct orma_profile *profile, bool *ret_is_slices, struct orma_error *reterr)
{
	struct orma_json_request request;
	struct orma_str source = ORMA_STR("slices");
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object with a range");
	(void)orma_json_request_string(&request, "source", &source);
	*ret_is_slices = orma_base_str_is(source, "slices");
	if (!*ret_is_slices && !orma_profile_find(view, source, profile))
		r = orma_base_error_set(reterr, -EINVAL,
					"flame graphs are made of \"slices\", or of a profile "
					"that meta tells");
	orma_json_request_done(&request);
	return r;
}

/* Adds what is in a range to the tree. */
static int add_range(struct flame *flame, const struct orma_profile *profile, bool is_slices,
		     struct orma_buf *sql)
{
	return is_slices ? add_slices(flame)
			 : orma_profile_add(profile, flame->area, &flame->tree, sql);
}

/* Adds the range that this one is compared with, if the request has one. */
static int add_before(struct flame *flame, const struct orma_profile *profile, bool is_slices,
		      struct orma_str request, struct orma_error *reterr)
{
	struct orma_area before = {.view = flame->area->view};
	struct orma_buf sql = {0};
	const struct orma_area *area = flame->area;
	int r = orma_area_read_before(&before, request, reterr);
	flame->area = &before;
	if (r == 0)
		r = add_range(flame, profile, is_slices, &sql);
	if (r == 0)
		orma_flame_tree_compare(&flame->tree);
	flame->area = area;
	orma_base_buf_done(&sql);
	orma_base_free(before.is_chosen);
	return r == -ENODATA ? 0 : r;
}

int orma_view_flame(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		    struct orma_error *reterr)
{
	struct orma_area area = {.view = view};
	struct flame flame = {.area = &area};
	struct orma_profile profile = {0};
	bool is_slices = true;
	int r = read_source(view, request, &profile, &is_slices, reterr);
	flame.tree.has_functions = !is_slices;
	if (r == 0)
		r = orma_area_read(&area, request, reterr);
	if (r == 0)
		r = add_before(&flame, &profile, is_slices, request, reterr);
	if (r == 0)
		r = orma_view_json_raw(ret, "{");
	if (r == 0 && is_slices)
		r = append_slices_sql(&area, ret);
	if (r == 0)
		r = add_range(&flame, &profile, is_slices, ret);
	if (r == 0)
		r = orma_flame_tree_append(&flame.tree, view,
					   is_slices ? ORMA_STR("ns") : profile.unit, ret);
	if (r == 0)
		r = orma_view_json_raw(ret, "}");
	orma_flame_tree_done(&flame.tree);
	orma_base_free(area.is_chosen);
	return r;
}
