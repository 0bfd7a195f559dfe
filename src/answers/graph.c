/* SPDX-License-Identifier: Apache-2.0
 * graph.c - edges sorted by counting. Ids may be any numbers, so nodes are looked up in a sorted array.
 */
#include "answers/graph.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/macros.h"

enum { SOURCE, TARGET };

static int compare_ids(const void *a, const void *b)
{
	int64_t left = *(const int64_t *)a, right = *(const int64_t *)b;
	return left < right ? -1 : left > right;
}

size_t orma_graph_find(const struct orma_graph *graph, int64_t id)
{
	const int64_t *found = graph->node_count == 0 ? NULL
						      : bsearch(&id, graph->ids, graph->node_count,
								sizeof(*graph->ids), compare_ids);
	return found ? (size_t)(found - graph->ids) : SIZE_MAX;
}

static bool is_edge(const struct orma_row_set *edges, size_t row)
{
	return !orma_row_set_is_null(edges, row, SOURCE) &&
	       !orma_row_set_is_null(edges, row, TARGET);
}

static void collect_ids(struct orma_graph *graph, const struct orma_row_set *edges,
			const struct orma_row_set *others)
{
	size_t count = 0, kept = 0;
	for (size_t row = 0; row < edges->row_count; row++)
		if (is_edge(edges, row)) {
			graph->ids[count++] = orma_row_set_int(edges, row, SOURCE);
			graph->ids[count++] = orma_row_set_int(edges, row, TARGET);
			graph->edge_count++;
		}
	for (size_t row = 0; others && row < others->row_count; row++)
		if (!orma_row_set_is_null(others, row, 0))
			graph->ids[count++] = orma_row_set_int(others, row, 0);
	qsort(graph->ids, count, sizeof(*graph->ids), compare_ids);
	for (size_t i = 0; i < count; i++)
		if (i == 0 || graph->ids[i] != graph->ids[kept - 1])
			graph->ids[kept++] = graph->ids[i];
	graph->node_count = kept;
}

static void place_edges(struct orma_graph *graph, const struct orma_row_set *edges)
{
	/* Places are counted one further on, so that placing the edges moves them to the right ones. */
	size_t *places = graph->first_edges + 1;
	for (size_t row = 0; row < edges->row_count; row++)
		if (is_edge(edges, row))
			places[orma_graph_find(graph, orma_row_set_int(edges, row, SOURCE)) + 1]++;
	for (size_t i = 1; i <= graph->node_count; i++)
		places[i] += places[i - 1];
	for (size_t row = 0; row < edges->row_count; row++) {
		if (!is_edge(edges, row))
			continue;
		size_t source = orma_graph_find(graph, orma_row_set_int(edges, row, SOURCE));
		size_t target = orma_graph_find(graph, orma_row_set_int(edges, row, TARGET));
		graph->targets[places[source]] = (uint32_t)target;
		graph->rows[places[source]++] = (uint32_t)row;
	}
}

int orma_graph_init(struct orma_graph *graph, const struct orma_row_set *edges,
		    const struct orma_row_set *others)
{
	size_t other_count = others ? others->row_count : 0;
	*graph = (struct orma_graph){.node_count = 0};
	if (edges->row_count > INT32_MAX / 2 || other_count > INT32_MAX / 2)
		return -EOVERFLOW;
	graph->ids =
		orma_base_alloc_array(edges->row_count * 2 + other_count + 1, sizeof(*graph->ids));
	if (!graph->ids)
		return -ENOMEM;
	collect_ids(graph, edges, others);
	graph->first_edges =
		orma_base_alloc_array(graph->node_count + 2, sizeof(*graph->first_edges));
	graph->targets = orma_base_alloc_array(graph->edge_count + 1, sizeof(*graph->targets));
	graph->rows = orma_base_alloc_array(graph->edge_count + 1, sizeof(*graph->rows));
	if (!graph->first_edges || !graph->targets || !graph->rows) {
		orma_graph_done(graph);
		return -ENOMEM;
	}
	place_edges(graph, edges);
	return 0;
}

void orma_graph_done(struct orma_graph *graph)
{
	orma_base_free(graph->ids);
	orma_base_free(graph->first_edges);
	orma_base_free(graph->targets);
	orma_base_free(graph->rows);
	*graph = (struct orma_graph){.node_count = 0};
}
