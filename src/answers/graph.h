/* SPDX-License-Identifier: Apache-2.0
 * graph.h - a directed graph of rows, with nodes numbered from 0 in the order of their ids.
 */
#ifndef ORMA_ANSWERS_GRAPH_H
#define ORMA_ANSWERS_GRAPH_H

#include <stddef.h>
#include <stdint.h>

#include "sql/row_set.h"

/* {0} is empty. */
struct orma_graph {
	int64_t *ids;
	size_t node_count, edge_count;
	/* The edges that leave node n are [first_edges[n], first_edges[n + 1]), in the order of their rows. */
	size_t *first_edges;
	uint32_t *targets;
	uint32_t *rows; /* that the edges are from */
};

/*
 * The edges lead from column 0 to column 1. The ids in column 0 of `others` are nodes, too; may be NULL. 0, -ENOMEM, or
 * -EOVERFLOW (2^31 rows).
 */
int orma_graph_init(struct orma_graph *graph, const struct orma_row_set *edges,
		    const struct orma_row_set *others);
void orma_graph_done(struct orma_graph *graph);
/* Returns the number of a node; SIZE_MAX = there is none with this id. */
size_t orma_graph_find(const struct orma_graph *graph, int64_t id);

#endif
