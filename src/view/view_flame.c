/* SPDX-License-Identifier: Apache-2.0
 * view_flame.c - slices of a range of time as a flame graph: those with the same names above them are one node.
 *
 * The lines of a lane are read from the top down. `nodes` has the node of each row of the line above that is in the range; as the
 * rows of both lines are in the order of the table, a row's parent is found by going on in the line above, and never back.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/map.h"
#include "store/grow.h"
#include "view/json_request.h"
#include "view/view_area.h"
#include "view/view_find.h"
#include "view/view_json.h"

/* Beyond so many, what is new counts for its parent. */
enum { FLAME_NODES_MAX = 50000 };

struct flame_node {
	int64_t name;
	uint32_t parent; /* + 1; 0 = it is a root */
	double self, total;
	uint64_t count;
};

struct flame {
	const struct orma_area *area;
	struct flame_node *items;
	uint32_t count, capacity;
	struct orma_map places; /* number + 1 by parent and name */
};

/* The part of a line that overlaps the range: places [first, end), and their nodes + 1, 0 for none. */
struct strip {
	uint32_t first, end;
	uint32_t *nodes;
};

/* Sets *ret to the number + 1 of a node, which is new unless it is there. */
static int get(struct flame *flame, uint32_t parent, int64_t name, uint32_t *ret)
{
	uint64_t key = (uint64_t)parent << 32 | (uint32_t)(name == ORMA_CELL_NULL ? 0 : name);
	*ret = (uint32_t)(uintptr_t)orma_base_map_get(&flame->places, key);
	if (*ret > 0)
		return 0;
	if (flame->count == FLAME_NODES_MAX) {
		*ret = parent;
		return 0;
	}
	int r = orma_store_grow(&flame->items, (uint64_t)flame->count + 1, &flame->capacity,
				sizeof(*flame->items));
	if (r == 0)
		r = orma_base_map_put(&flame->places, key, (void *)(uintptr_t)(flame->count + 1));
	if (r < 0)
		return r;
	flame->items[flame->count] = (struct flame_node){.name = name, .parent = parent};
	*ret = ++flame->count;
	return 0;
}

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
	int r = get(flame, parent, name, &node);
	strip->nodes[place - strip->first] = node;
	/* One that found no room is a part of its parent. */
	if (r < 0 || node == 0 || node == parent)
		return r;
	flame->items[node - 1].count++;
	flame->items[node - 1].total += time;
	flame->items[node - 1].self += time;
	if (parent > 0)
		flame->items[parent - 1].self -= time;
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

static int append_nodes(const struct flame *flame, struct orma_buf *json)
{
	int r = orma_view_json_raw(json, "{\"unit\":\"ns\",\"nodes\":[");
	for (uint32_t i = 0; i < flame->count && r == 0; i++) {
		const struct flame_node *node = &flame->items[i];
		struct orma_str name = orma_view_text(flame->area->view, node->name);
		r = orma_base_buf_printf(json, "%s[%u,%lld,", i > 0 ? "," : "", i,
					 (long long)node->parent - 1);
		if (r == 0)
			r = orma_json_append_string(json, name.data ? name : ORMA_STR(""));
		if (r == 0)
			r = orma_base_buf_printf(json, ",%.17g,%.17g,%llu]", node->self,
						 node->total, (unsigned long long)node->count);
	}
	return r < 0 ? r : orma_view_json_raw(json, "]}");
}

static int check_source(struct orma_str body, struct orma_error *reterr)
{
	struct orma_json_request request;
	struct orma_str source = ORMA_STR("slices");
	int r = orma_json_request_init(&request, body);
	if (r < 0)
		return orma_base_error_set(reterr, r, "the request is no object with a range");
	(void)orma_json_request_string(&request, "source", &source);
	if (!orma_base_str_is(source, "slices"))
		r = orma_base_error_set(reterr, -EINVAL, "flame graphs are made of \"slices\"");
	orma_json_request_done(&request);
	return r;
}

int orma_view_flame(struct orma_view *view, struct orma_str request, struct orma_buf *ret,
		    struct orma_error *reterr)
{
	struct orma_area area = {.view = view};
	struct flame flame = {.area = &area};
	int r = check_source(request, reterr);
	if (r == 0)
		r = orma_area_read(&area, request, reterr);
	for (uint32_t i = 0; i < view->node_count && r == 0; i++) {
		const struct orma_view_node *node = &view->nodes[i];
		enum orma_view_table table;
		uint32_t lane;
		if (area.is_chosen[i] && node->table &&
		    orma_view_find_lane(view, node->lane, &table, &lane) &&
		    table == ORMA_VIEW_SLICES)
			r = add_lane(&flame, lane);
	}
	if (r == 0)
		r = append_nodes(&flame, ret);
	orma_base_free(flame.items);
	orma_base_map_done(&flame.places);
	orma_base_free(area.is_chosen);
	return r;
}
