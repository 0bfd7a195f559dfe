/* SPDX-License-Identifier: Apache-2.0
 * flamegraph.c - which boxes there are, and what they weigh.
 *
 * Each row of the source is a frame below its parent's. Filters decide which frames are shown and which stacks count; a frame
 * that is hidden gives its value to the nearest one above it that is not. Boxes of callees are found from the root down:
 * each frame goes into the box of its name below its parent's box. Boxes of callers are found from each frame that
 * counts up to its root.
 */
#include "answers/flamegraph.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/map.h"
#include "sql/interrupt.h"
#include "sql/query_regex.h"
#include "store/grow.h"
#include "store/string_pool.h"

#define NONE UINT32_MAX

enum { ROWS_BETWEEN_CHECKS = 1 << 16 };

/* The texts of a frame match filters: each one that shows stacks has a bit, and these are those of the others. */
#define HIDES_STACK (UINT64_C(1) << 63)
#define HIDES_FRAME (UINT64_C(1) << 62)
#define IS_ANCHOR   (UINT64_C(1) << 61)

struct build {
	struct orma_flamegraph *graph;
	const struct orma_row_set *rows;
	struct orma_regex *regexes[ORMA_FLAME_ITEMS_MAX];
	uint64_t shown;          /* the bits that a stack needs */
	struct orma_map matches; /* index + 1 into match_list by text or number */
	uint64_t *match_list;
	uint32_t match_count, match_capacity;
	uint64_t *frames;      /* hash of what makes a frame equal to others; by row */
	uint64_t *bits;        /* the stack from the root to the row has them */
	struct orma_map boxes; /* node + 1 by parent and frame */
	struct orma_error *reterr;
};

void orma_flamegraph_done(struct orma_flamegraph *graph)
{
	for (size_t i = 0; i < ORMA_FLAME_ITEMS_MAX; i++) {
		orma_base_free(graph->metrics[i].self);
		orma_base_free(graph->metrics[i].total);
	}
	orma_base_free(graph->nodes);
	orma_base_free(graph->retained);
	orma_base_free(graph->is_used);
	orma_base_free(graph->down_node);
	orma_base_free(graph->parts);
	*graph = (struct orma_flamegraph){0};
}

static void build_done(struct build *build)
{
	for (size_t i = 0; i < ORMA_FLAME_ITEMS_MAX; i++)
		orma_sql_regex_free(build->regexes[i]);
	orma_base_map_done(&build->matches);
	orma_base_map_done(&build->boxes);
	orma_base_free(build->match_list);
	orma_base_free(build->frames);
	orma_base_free(build->bits);
}

static int compile(struct build *build)
{
	const struct orma_flame_config *config = build->graph->config;
	int r = 0;
	for (size_t i = 0; i < config->filter_count && r == 0; i++) {
		r = orma_sql_regex_new(orma_base_str(config->filters[i].pattern),
				       config->filters[i].ignores_case, &build->regexes[i],
				       build->reterr);
		if (config->filters[i].kind == ORMA_FLAME_SHOW_STACK)
			build->shown |= UINT64_C(1) << i;
	}
	return r;
}

static int match_text(struct build *build, struct orma_str text, uint64_t *ret)
{
	static const uint64_t bits[ORMA_FLAME_FILTER_KINDS] = {
		[ORMA_FLAME_HIDE_STACK] = HIDES_STACK,
		[ORMA_FLAME_HIDE_FRAME] = HIDES_FRAME,
		[ORMA_FLAME_VIEW] = IS_ANCHOR,
	};
	const struct orma_flame_config *config = build->graph->config;
	*ret = 0;
	for (size_t i = 0; i < config->filter_count; i++) {
		int r = orma_sql_regex_search(build->regexes[i], text, 0, NULL, 0);
		if (r < 0)
			return r;
		uint64_t bit = config->filters[i].kind == ORMA_FLAME_SHOW_STACK
				       ? UINT64_C(1) << i
				       : bits[config->filters[i].kind];
		*ret |= r > 0 ? bit : 0;
	}
	return 0;
}

static int match_cell(struct build *build, uint8_t type, int64_t cell, uint64_t *ret)
{
	char number[40];
	int size = 0;
	double value;
	if (type == SQLITE_TEXT)
		return match_text(build, orma_store_pool_get(build->rows->pool, (uint32_t)cell),
				  ret);
	memcpy(&value, &cell, sizeof(value));
	size = type == SQLITE_INTEGER ? snprintf(number, sizeof(number), "%" PRId64, cell)
				      : snprintf(number, sizeof(number), "%.15g", value);
	return match_text(build, (struct orma_str){number, (size_t)size}, ret);
}

/* Matches one cell of a frame. Equal cells are matched once. */
static int match(struct build *build, size_t row, size_t column, uint64_t *bits)
{
	size_t at = orma_row_set_at(build->rows, row, column);
	uint8_t type = build->rows->types[at];
	int64_t words[] = {type, build->rows->cells[at]};
	if (type == SQLITE_NULL || build->graph->config->filter_count == 0)
		return 0;
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&build->matches, key);
	if (known == 0) {
		int r = orma_store_grow(&build->match_list, (uint64_t)build->match_count + 1,
					&build->match_capacity, sizeof(*build->match_list));
		if (r == 0)
			r = match_cell(build, type, words[1],
				       &build->match_list[build->match_count]);
		known = (uintptr_t)build->match_count + 1;
		if (r == 0)
			r = orma_base_map_put(&build->matches, key, (void *)known);
		if (r < 0)
			return r;
		build->match_count++;
	}
	*bits |= build->match_list[known - 1];
	return 0;
}

static uint64_t hash_cell(const struct build *build, uint64_t hash, size_t row, size_t column)
{
	size_t at = orma_row_set_at(build->rows, row, column);
	int64_t words[] = {build->rows->types[at],
			   build->rows->types[at] == SQLITE_NULL ? 0 : build->rows->cells[at]};
	return orma_base_fnv1a(hash, words, sizeof(words));
}

/* Decides of each frame whether it is shown, and of each stack whether it counts. */
static int analyze(struct build *build)
{
	struct orma_flamegraph *graph = build->graph;
	size_t groupings = graph->config->grouping_count;
	for (size_t row = 0; row < build->rows->row_count; row++) {
		uint32_t parent = graph->source->parents[row];
		uint64_t bits = 0, inherited = parent == NONE ? 0 : build->bits[parent];
		int r = match(build, row, ORMA_FLAME_NAME, &bits);
		build->frames[row] = hash_cell(build, ORMA_FNV1A_INIT, row, ORMA_FLAME_NAME);
		for (size_t i = 0; i < groupings && r == 0; i++) {
			r = match(build, row, graph->groupings[i], &bits);
			build->frames[row] =
				hash_cell(build, build->frames[row], row, graph->groupings[i]);
		}
		if (r < 0)
			return r;
		bool is_hidden = bits & HIDES_FRAME;
		graph->retained[row] = !is_hidden       ? (uint32_t)row
				       : parent == NONE ? NONE
							: graph->retained[parent];
		/* An anchor is one frame, and not what is below it. */
		inherited &= ~IS_ANCHOR;
		build->bits[row] = is_hidden            ? inherited
				   : bits & HIDES_STACK ? HIDES_STACK | (bits & IS_ANCHOR)
							: bits | inherited;
		graph->is_used[row] = graph->retained[row] != NONE &&
				      (build->bits[row] & ~IS_ANCHOR) == build->shown;
	}
	return 0;
}

/* Returns the box of a frame below another box. */
static int find_box(struct build *build, uint32_t parent, uint32_t row, uint32_t *ret)
{
	struct orma_flamegraph *graph = build->graph;
	uint64_t words[] = {parent, build->frames[row]};
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, words, sizeof(words));
	uintptr_t known = (uintptr_t)orma_base_map_get(&build->boxes, key);
	if (known > 0) {
		*ret = (uint32_t)known - 1;
		return 0;
	}
	if (graph->node_count == ORMA_FLAME_NODES_MAX)
		return orma_base_error_set(build->reterr, -EINVAL,
					   "flamegraph: there are more than %d boxes",
					   ORMA_FLAME_NODES_MAX);
	if (graph->node_count % ROWS_BETWEEN_CHECKS == 0 && build->rows->interrupt &&
	    orma_sql_is_interrupted(build->rows->interrupt))
		return -ECANCELED;
	int r = orma_store_grow(&graph->nodes, (uint64_t)graph->node_count + 1,
				&graph->node_capacity, sizeof(*graph->nodes));
	if (r == 0)
		r = orma_base_map_put(&build->boxes, key,
				      (void *)((uintptr_t)graph->node_count + 1));
	if (r < 0)
		return r;
	graph->nodes[graph->node_count] = (struct orma_flame_node){parent, row};
	*ret = graph->node_count++;
	return 0;
}

static int build_callees(struct build *build)
{
	struct orma_flamegraph *graph = build->graph;
	enum orma_flame_view view = graph->config->view;
	for (uint32_t row = 0; row < build->rows->row_count; row++) {
		uint32_t parent = graph->source->parents[row];
		uint32_t above = parent == NONE ? NONE : graph->down_node[parent];
		graph->down_node[row] = above;
		if (view == ORMA_FLAME_BOTTOM_UP || graph->retained[row] != row)
			continue;
		bool is_root = view == ORMA_FLAME_TOP_DOWN
				       ? parent == NONE || graph->retained[parent] == NONE
				       : (build->bits[row] & IS_ANCHOR) != 0;
		if (!is_root && above == NONE)
			continue;
		int r = find_box(build, is_root ? NONE : above, row, &graph->down_node[row]);
		if (r < 0)
			return r;
	}
	graph->down_count = graph->node_count;
	return 0;
}

static int add_part(struct orma_flamegraph *graph, uint32_t frame, uint32_t node)
{
	int r = orma_store_grow(&graph->parts, (uint64_t)graph->part_count + 1,
				&graph->part_capacity, sizeof(*graph->parts));
	if (r == 0)
		graph->parts[graph->part_count++] = (struct orma_flame_part){frame, node};
	return r;
}

/* Makes the boxes from a frame up to its root. */
static int build_path(struct build *build, uint32_t frame, uint32_t *ret_first, uint32_t *ret_last)
{
	struct orma_flamegraph *graph = build->graph;
	/* Callers' boxes are another tree: their roots have a parent that no box is. */
	uint32_t node = ORMA_FLAME_NODES_MAX;
	bool has_parts = graph->config->aggregate_count > 0 && graph->is_used[frame];
	*ret_first = NONE;
	while (frame != NONE) {
		int r = find_box(build, node, frame, &node);
		if (r == 0 && has_parts)
			r = add_part(graph, frame, node);
		if (r < 0)
			return r;
		*ret_first = *ret_first == NONE ? node : *ret_first;
		uint32_t parent = graph->source->parents[frame];
		frame = parent == NONE ? NONE : graph->retained[parent];
	}
	*ret_last = node;
	return 0;
}

static int add_to(const struct build *build, bool is_double, int64_t *sum, int64_t value)
{
	double a, b;
	if (!is_double)
		return __builtin_add_overflow(*sum, value, sum)
			       ? orma_base_error_set(build->reterr, -EINVAL,
						     "flamegraph: a sum of integers overflows")
			       : 0;
	memcpy(&a, sum, sizeof(a));
	memcpy(&b, &value, sizeof(b));
	a += b;
	memcpy(sum, &a, sizeof(a));
	return 0;
}

/* Reads a value. 1, 0 (NULL or 0), or -EINVAL with a message. */
static int read_value(const struct build *build, const struct orma_flame_metric *metric, size_t row,
		      int64_t *ret)
{
	double value = orma_row_set_double(build->rows, row, metric->column);
	if (value < 0)
		return orma_base_error_set(build->reterr, -EINVAL,
					   "flamegraph: value columns must be non-negative");
	if (metric->is_double)
		memcpy(ret, &value, sizeof(value));
	else
		*ret = orma_row_set_int(build->rows, row, metric->column);
	return value > 0;
}

/* The values that each frame has, with those of hidden frames below it; of pivots, with all below it in its half. */
static int weigh_frames(const struct build *build, const struct orma_flame_metric *metric,
			int64_t *weights)
{
	const struct orma_flamegraph *graph = build->graph;
	bool is_pivot = graph->config->view == ORMA_FLAME_PIVOT;
	int64_t value;
	for (size_t row = 0; row < build->rows->row_count; row++) {
		int r = read_value(build, metric, row, &value);
		if (r > 0 && graph->is_used[row] && (!is_pivot || graph->down_node[row] != NONE))
			r = add_to(build, metric->is_double, &weights[graph->retained[row]], value);
		if (r < 0)
			return r;
	}
	for (size_t row = build->rows->row_count; is_pivot && row-- > 0;) {
		uint32_t node = graph->down_node[row];
		if (graph->retained[row] != row || node == NONE ||
		    graph->nodes[node].parent == NONE)
			continue;
		uint32_t above = graph->retained[graph->source->parents[row]];
		int r = add_to(build, metric->is_double, &weights[above], weights[row]);
		if (r < 0)
			return r;
	}
	return 0;
}

static int weigh_callees(const struct build *build, struct orma_flame_metric *metric)
{
	const struct orma_flamegraph *graph = build->graph;
	int64_t value;
	for (size_t row = 0; row < build->rows->row_count; row++) {
		uint32_t node = graph->down_node[row];
		int r = read_value(build, metric, row, &value);
		if (r > 0 && node != NONE && graph->is_used[row]) {
			r = add_to(build, metric->is_double, &metric->self[node], value);
			if (r == 0)
				r = add_to(build, metric->is_double, &metric->total[node], value);
		}
		if (r < 0)
			return r;
	}
	return 0;
}

/* Adds what each box has to the boxes above it. */
static int sum_up(const struct build *build, struct orma_flame_metric *metric)
{
	const struct orma_flamegraph *graph = build->graph;
	for (uint32_t node = graph->node_count; node-- > 0;) {
		uint32_t parent = graph->nodes[node].parent;
		int r = parent < ORMA_FLAME_NODES_MAX
				? add_to(build, metric->is_double, &metric->total[parent],
					 metric->total[node])
				: 0;
		if (r < 0)
			return r;
	}
	return 0;
}

/* The frames that callers are shown for, and the ends of their paths. */
struct paths {
	uint32_t *first, *last; /* by row; NONE = no path */
	int64_t *weights[ORMA_FLAME_ITEMS_MAX];
};

static bool has_weight(const struct build *build, const struct paths *paths, uint32_t row)
{
	for (size_t i = 0; i < build->graph->config->value_count; i++)
		if (paths->weights[i][row] != 0)
			return true;
	return false;
}

static int build_callers(struct build *build, struct paths *paths)
{
	struct orma_flamegraph *graph = build->graph;
	bool is_pivot = graph->config->view == ORMA_FLAME_PIVOT;
	int r = 0;
	for (uint32_t row = 0; row < build->rows->row_count && r == 0; row++) {
		paths->first[row] = NONE;
		bool is_anchor =
			is_pivot ? graph->retained[row] == row && (build->bits[row] & IS_ANCHOR)
				 : has_weight(build, paths, row);
		if (is_anchor)
			r = build_path(build, row, &paths->first[row], &paths->last[row]);
	}
	return r;
}

static int weigh(struct build *build, struct paths *paths)
{
	struct orma_flamegraph *graph = build->graph;
	bool has_callers = paths->first != NULL;
	for (size_t i = 0; i < graph->config->value_count; i++) {
		struct orma_flame_metric *metric = &graph->metrics[i];
		size_t count = (size_t)graph->node_count + 1;
		metric->self = orma_base_alloc_array(count, sizeof(*metric->self));
		metric->total = orma_base_alloc_array(count, sizeof(*metric->total));
		int r = metric->self && metric->total ? weigh_callees(build, metric) : -ENOMEM;
		for (size_t row = 0; has_callers && row < build->rows->row_count && r == 0; row++) {
			if (paths->first[row] == NONE)
				continue;
			int64_t weight = paths->weights[i][row];
			r = add_to(build, metric->is_double, &metric->self[paths->first[row]],
				   weight);
			if (r == 0)
				r = add_to(build, metric->is_double,
					   &metric->total[paths->last[row]], weight);
		}
		if (r == 0)
			r = sum_up(build, metric);
		if (r < 0)
			return r;
	}
	return 0;
}

static int build_values(struct build *build)
{
	struct orma_flamegraph *graph = build->graph;
	enum orma_flame_view view = graph->config->view;
	size_t count = build->rows->row_count + 1;
	struct paths paths = {0};
	int r = 0;
	if (view == ORMA_FLAME_BOTTOM_UP || view == ORMA_FLAME_PIVOT) {
		paths.first = orma_base_alloc_array(count, sizeof(*paths.first));
		paths.last = orma_base_alloc_array(count, sizeof(*paths.last));
		r = paths.first && paths.last ? 0 : -ENOMEM;
		for (size_t i = 0; i < graph->config->value_count && r == 0; i++) {
			paths.weights[i] = orma_base_alloc_array(count, sizeof(int64_t));
			r = paths.weights[i]
				    ? weigh_frames(build, &graph->metrics[i], paths.weights[i])
				    : -ENOMEM;
		}
		if (r == 0)
			r = build_callers(build, &paths);
	}
	if (r == 0)
		r = weigh(build, &paths);
	for (size_t i = 0; i < ORMA_FLAME_ITEMS_MAX; i++)
		orma_base_free(paths.weights[i]);
	orma_base_free(paths.first);
	orma_base_free(paths.last);
	return r;
}

/* Finds the columns that the configuration names. */
static int resolve(struct build *build)
{
	struct orma_flamegraph *graph = build->graph;
	const struct orma_flame_config *config = graph->config;
	int column = 0;
	for (size_t i = 0; i < config->grouping_count && column >= 0; i++) {
		column = orma_flame_source_find(graph->source, config->groupings[i], build->reterr);
		graph->groupings[i] = (size_t)column;
	}
	for (size_t i = 0; i < config->value_count && column >= 0; i++) {
		column = orma_flame_source_find(graph->source, config->values[i], build->reterr);
		if (column < 0)
			break;
		if (graph->source->types[column] == SQLITE_TEXT)
			return orma_base_error_set(build->reterr, -EINVAL,
						   "flamegraph: column %s has no numbers",
						   config->values[i]);
		graph->metrics[i].column = (size_t)column;
		graph->metrics[i].is_double = graph->source->types[column] == SQLITE_FLOAT;
	}
	if (column >= 0 && config->value_count == 0)
		return orma_base_error_set(build->reterr, -EINVAL,
					   "flamegraph: at least one value column is required");
	return ORMA_MIN(column, 0);
}

int orma_flamegraph_build(struct orma_flamegraph *graph, const struct orma_flame_source *source,
			  const struct orma_flame_config *config, struct orma_error *reterr)
{
	size_t count = source->rows.row_count + 1;
	struct build build = {.graph = graph, .rows = &source->rows, .reterr = reterr};
	graph->source = source;
	graph->config = config;
	graph->retained = orma_base_alloc_array(count, sizeof(*graph->retained));
	graph->is_used = orma_base_alloc_array(count, sizeof(*graph->is_used));
	graph->down_node = orma_base_alloc_array(count, sizeof(*graph->down_node));
	build.frames = orma_base_alloc_array(count, sizeof(*build.frames));
	build.bits = orma_base_alloc_array(count, sizeof(*build.bits));
	int r = graph->retained && graph->is_used && graph->down_node && build.frames && build.bits
			? resolve(&build)
			: -ENOMEM;
	if (r == 0)
		r = compile(&build);
	if (r == 0)
		r = analyze(&build);
	if (r == 0)
		r = build_callees(&build);
	if (r == 0)
		r = build_values(&build);
	build_done(&build);
	return r;
}
