/* SPDX-License-Identifier: Apache-2.0
 * flame_layout.c - where the boxes of a flame graph are: siblings from left to right, the widest first. Callees and callers
 * are two strips that both begin at 0.
 */
#include <errno.h>
#include <stdlib.h>
#include <strings.h>

#include "answers/flamegraph.h"
#include "base/alloc.h"
#include "base/buf.h"
#include "base/macros.h"

#define NONE UINT32_MAX

struct box {
	double width, x;
	uint32_t node;
	uint32_t parent; /* its place in the list of boxes; NONE for roots */
	uint32_t row;    /* where it stands in the result */
	bool is_caller;
};

struct layout {
	const struct orma_flamegraph *graph;
	struct box *boxes; /* sorted by strip, parent and width */
	uint32_t count;
	uint32_t *place_of;    /* by node: its box; NONE = not shown */
	uint32_t *first_child; /* by node: its first child's place; NONE = none */
	uint32_t *order;       /* places, as they are written */
	int64_t *depths;       /* by node */
};

static double total_of(const struct orma_flamegraph *graph, uint32_t node)
{
	const struct orma_flame_metric *metric = &graph->metrics[0];
	double value;
	memcpy(&value, &metric->total[node], sizeof(value));
	return metric->is_double ? value : (double)metric->total[node];
}

/* Boxes of which no value is left are not shown. */
static bool is_shown(const struct orma_flamegraph *graph, uint32_t node)
{
	for (size_t i = 0; i < graph->config->value_count; i++)
		if (graph->metrics[i].total[node] != 0)
			return true;
	return false;
}

static uint32_t parent_of(const struct orma_flamegraph *graph, uint32_t node)
{
	uint32_t parent = graph->nodes[node].parent;
	return parent >= ORMA_FLAME_NODES_MAX ? NONE : parent;
}

/* Callees' roots, then callers', then children by their parents' nodes; the widest first. */
static int compare(const void *a, const void *b)
{
	const struct box *x = a, *y = b;
	uint32_t x_parent = x->parent + 1, y_parent = y->parent + 1; /* NONE becomes 0 */
	if (x_parent != y_parent)
		return x_parent < y_parent ? -1 : 1;
	if (x->is_caller != y->is_caller)
		return x->is_caller ? 1 : -1;
	if (x->width > y->width || x->width < y->width)
		return x->width > y->width ? -1 : 1;
	return x->node < y->node ? -1 : x->node > y->node;
}

static int collect(struct layout *layout)
{
	const struct orma_flamegraph *graph = layout->graph;
	size_t count = (size_t)graph->node_count + 1;
	layout->boxes = orma_base_alloc_array(count, sizeof(*layout->boxes));
	layout->place_of = orma_base_alloc_array(count, sizeof(*layout->place_of));
	layout->first_child = orma_base_alloc_array(count, sizeof(*layout->first_child));
	layout->order = orma_base_alloc_array(count, sizeof(*layout->order));
	layout->depths = orma_base_alloc_array(count, sizeof(*layout->depths));
	if (!layout->boxes || !layout->place_of || !layout->first_child || !layout->order ||
	    !layout->depths)
		return -ENOMEM;
	for (uint32_t node = 0; node < graph->node_count; node++) {
		uint32_t parent = parent_of(graph, node);
		bool is_caller = node >= graph->down_count;
		layout->first_child[node] = NONE;
		layout->depths[node] =
			(parent == NONE ? 0 : layout->depths[parent]) + (is_caller ? -1 : 1);
		if (is_shown(graph, node))
			layout->boxes[layout->count++] =
				(struct box){.node = node,
					     .parent = parent,
					     .width = total_of(graph, node),
					     .is_caller = is_caller};
	}
	if (layout->count > 0)
		qsort(layout->boxes, layout->count, sizeof(*layout->boxes), compare);
	for (uint32_t i = layout->count; i-- > 0;) {
		layout->place_of[layout->boxes[i].node] = i;
		if (layout->boxes[i].parent != NONE)
			layout->first_child[layout->boxes[i].parent] = i;
	}
	return 0;
}

/* Puts the roots of both strips into the order of their places. */
static uint32_t place_roots(struct layout *layout)
{
	struct box *boxes = layout->boxes;
	uint32_t roots = 0, callees = 0, written = 0;
	double x = 0;
	for (; roots < layout->count && boxes[roots].parent == NONE; roots++) {
		if (roots > 0 && boxes[roots].is_caller != boxes[roots - 1].is_caller)
			x = 0;
		boxes[roots].x = x;
		x += boxes[roots].width;
		callees += !boxes[roots].is_caller;
	}
	for (uint32_t callee = 0, caller = callees; written < roots;) {
		bool is_callee =
			caller == roots || (callee < callees && boxes[callee].x <= boxes[caller].x);
		layout->order[written++] = is_callee ? callee++ : caller++;
	}
	return written;
}

static void place(struct layout *layout)
{
	uint32_t written = place_roots(layout);
	for (uint32_t row = 0; row < written; row++) {
		struct box *box = &layout->boxes[layout->order[row]];
		double x = box->x;
		box->row = row;
		for (uint32_t i = layout->first_child[box->node];
		     i < layout->count && layout->boxes[i].parent == box->node; i++) {
			layout->boxes[i].x = x;
			x += layout->boxes[i].width;
			layout->order[written++] = i;
		}
	}
}

static void put_value(struct orma_row_set *ret, size_t column,
		      const struct orma_flame_metric *metric, int64_t cell)
{
	orma_row_set_put(ret, column, metric->is_double ? SQLITE_FLOAT : SQLITE_INTEGER, cell);
}

static void put_x(struct orma_row_set *ret, size_t column, bool is_double, double x)
{
	if (is_double)
		orma_row_set_put_double(ret, column, x);
	else
		orma_row_set_put_int(ret, column, (int64_t)x);
}

static void put_source(const struct layout *layout, struct orma_row_set *ret, size_t to,
		       uint32_t node, size_t column)
{
	const struct orma_row_set *rows = &layout->graph->source->rows;
	size_t at = orma_row_set_at(rows, layout->graph->nodes[node].frame, column);
	orma_row_set_put(ret, to, rows->types[at], rows->cells[at]);
}

static int write_box(const struct layout *layout, const struct box *box, struct orma_row_set *ret)
{
	const struct orma_flamegraph *graph = layout->graph;
	const struct orma_flame_metric *main = &graph->metrics[0];
	int r = orma_row_set_add(ret);
	if (r < 0)
		return r;
	orma_row_set_put_int(ret, ORMA_FLAME_OUT_ID, box->row);
	orma_row_set_put_int(ret, ORMA_FLAME_OUT_DEPTH, layout->depths[box->node]);
	put_source(layout, ret, ORMA_FLAME_OUT_NAME, box->node, ORMA_FLAME_NAME);
	put_value(ret, ORMA_FLAME_OUT_SELF, main, main->self[box->node]);
	put_value(ret, ORMA_FLAME_OUT_TOTAL, main, main->total[box->node]);
	if (box->parent != NONE) {
		orma_row_set_put_int(ret, ORMA_FLAME_OUT_PARENT,
				     layout->boxes[layout->place_of[box->parent]].row);
		put_value(ret, ORMA_FLAME_OUT_PARENT_TOTAL, main, main->total[box->parent]);
	}
	put_x(ret, ORMA_FLAME_OUT_X_START, main->is_double, box->x);
	put_x(ret, ORMA_FLAME_OUT_X_END, main->is_double, box->x + box->width);
	for (size_t i = 0; i < graph->config->grouping_count; i++)
		if (graph->groupings[i] >= ORMA_FLAME_FIXED)
			put_source(layout, ret,
				   ORMA_FLAME_OUT_FIXED + graph->groupings[i] - ORMA_FLAME_FIXED,
				   box->node, graph->groupings[i]);
	return 0;
}

/* Behind the source's columns there are two for each that has numbers. */
static void write_values(const struct layout *layout, struct orma_row_set *ret)
{
	const struct orma_flamegraph *graph = layout->graph;
	const struct orma_flame_source *source = graph->source;
	size_t to = ORMA_FLAME_OUT_FIXED + source->rows.column_count - ORMA_FLAME_FIXED;
	for (size_t column = ORMA_FLAME_FIXED; column < source->rows.column_count; column++) {
		bool is_number = source->types[column] == SQLITE_INTEGER ||
				 source->types[column] == SQLITE_FLOAT;
		for (size_t i = 0; is_number && i < graph->config->value_count; i++) {
			const struct orma_flame_metric *metric = &graph->metrics[i];
			uint32_t node = layout->boxes[layout->order[ret->row_count - 1]].node;
			if (metric->column != column)
				continue;
			put_value(ret, to, metric, metric->self[node]);
			put_value(ret, to + 1, metric, metric->total[node]);
		}
		to += is_number ? 2 : 0;
	}
}

static int write_aggregate(const struct layout *layout, size_t aggregate, struct orma_row_set *ret,
			   struct orma_error *reterr)
{
	const struct orma_flamegraph *graph = layout->graph;
	size_t count = (size_t)graph->node_count + 1;
	int64_t *cells = orma_base_alloc_array(count, sizeof(*cells));
	uint8_t *types = orma_base_alloc_array(count, 1);
	int column = orma_flame_source_find(graph->source,
					    graph->config->aggregates[aggregate].name, reterr);
	for (size_t i = 0; types && i < count; i++)
		types[i] = SQLITE_NULL;
	int r = !cells || !types ? -ENOMEM
		: column < 0     ? column
			     : orma_flamegraph_aggregate(graph, aggregate, cells, types, reterr);
	for (size_t row = 0; r == 0 && column >= ORMA_FLAME_FIXED && row < ret->row_count; row++) {
		uint32_t node = layout->boxes[layout->order[row]].node;
		size_t at = orma_row_set_at(
			ret, row, (size_t)column - ORMA_FLAME_FIXED + ORMA_FLAME_OUT_FIXED);
		ret->types[at] = types[node];
		ret->cells[at] = cells[node];
	}
	orma_base_free(cells);
	orma_base_free(types);
	return r;
}

int orma_flamegraph_write(const struct orma_flamegraph *graph, struct orma_row_set *ret,
			  struct orma_error *reterr)
{
	struct layout layout = {.graph = graph};
	int r = collect(&layout);
	if (r == 0)
		place(&layout);
	for (uint32_t i = 0; i < layout.count && r == 0; i++) {
		r = write_box(&layout, &layout.boxes[layout.order[i]], ret);
		if (r == 0)
			write_values(&layout, ret);
	}
	for (size_t i = 0; i < graph->config->aggregate_count && r == 0; i++)
		r = write_aggregate(&layout, i, ret, reterr);
	orma_base_free(layout.boxes);
	orma_base_free(layout.place_of);
	orma_base_free(layout.first_child);
	orma_base_free(layout.order);
	orma_base_free(layout.depths);
	return r;
}
