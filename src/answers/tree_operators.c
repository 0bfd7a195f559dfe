/* SPDX-License-Identifier: Apache-2.0
 * tree_operators.c - trees of rows (id, parent, ...): a tree for each group, and sums over subtrees.
 */
#include <errno.h>

#include "answers/graph.h"
#include "answers/operators.h"
#include "base/alloc.h"
#include "base/assert.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "base/map.h"

enum { ID, PARENT, VALUE, INPUT_COLUMNS };

/* A tree as a graph whose edges lead to parents has no order; as one to children, it has that of the rows. */
static int make_edges(const struct orma_row_set *rows, bool to_parents, struct orma_row_set *ret)
{
	int r = 0;
	ret->column_count = 2;
	for (size_t row = 0; row < rows->row_count && r == 0; row++) {
		int64_t id = orma_row_set_int(rows, row, ID);
		int64_t parent = orma_row_set_is_null(rows, row, PARENT)
					 ? ORMA_CELL_NULL
					 : orma_row_set_int(rows, row, PARENT);
		r = orma_row_set_add_ints(ret, to_parents ? (int64_t[]){id, parent}
							  : (int64_t[]){parent, id});
	}
	return r;
}

struct open_node {
	uint32_t node, outer; /* the group's node above, before this one was entered */
	bool is_entered;
};

struct partition {
	struct orma_graph tree;
	uint32_t *row_of;      /* by node */
	struct orma_map above; /* by group: the innermost node, plus 1 */
	struct open_node *stack;
	size_t depth;
};

static int enter(struct orma_row_call *call, struct partition *all)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 0);
	struct open_node *top = &all->stack[all->depth - 1];
	uint32_t node = top->node;
	int64_t group = orma_row_set_int(rows, all->row_of[node], VALUE);
	if (top->is_entered) {
		all->depth--;
		if (top->outer == 0)
			orma_base_map_remove(&all->above, (uint64_t)group);
		return top->outer == 0 ? 0
				       : orma_base_map_put(&all->above, (uint64_t)group,
							   (void *)(uintptr_t)top->outer);
	}
	ORMA_ASSERT(all->tree.ids);
	top->is_entered = true;
	top->outer = (uint32_t)(uintptr_t)orma_base_map_get(&all->above, (uint64_t)group);
	int r = orma_row_set_add_ints(
		call->ret,
		(int64_t[]){all->tree.ids[node],
			    top->outer ? all->tree.ids[top->outer - 1] : ORMA_CELL_NULL, group});
	if (r == 0)
		r = orma_base_map_put(&all->above, (uint64_t)group, (void *)(uintptr_t)(node + 1));
	for (size_t i = all->tree.first_edges[node]; i < all->tree.first_edges[node + 1]; i++)
		all->stack[all->depth++] = (struct open_node){.node = all->tree.targets[i]};
	return r;
}

/* Finds each node's row and the root. A node with two parents could make the walk endless. */
static int find_rows(struct orma_row_call *call, struct partition *all, uint32_t *ret_root)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 0);
	size_t roots = 0;
	for (size_t i = 0; i < all->tree.node_count; i++)
		all->row_of[i] = UINT32_MAX;
	for (size_t row = 0; row < rows->row_count; row++) {
		size_t node = orma_graph_find(&all->tree, orma_row_set_int(rows, row, ID));
		if (all->row_of[node] != UINT32_MAX)
			return orma_base_error_set(call->reterr, -EINVAL,
						   "tree partition: an id is there twice");
		all->row_of[node] = (uint32_t)row;
		if (orma_row_set_is_null(rows, row, PARENT)) {
			*ret_root = (uint32_t)node;
			roots++;
		}
	}
	return roots == 1
		       ? 0
		       : orma_base_error_set(call->reterr, -EINVAL,
					     "tree partition: there must be one root, a row whose "
					     "parent is NULL, not %zu",
					     roots);
}

static int partition(struct orma_row_call *call, struct partition *all)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 0);
	struct orma_row_set edges = {.column_count = 0};
	uint32_t root = 0;
	int r = make_edges(rows, false, &edges);
	if (r == 0)
		r = orma_graph_init(&all->tree, &edges, rows);
	orma_row_set_done(&edges);
	if (r < 0)
		return r;
	all->row_of = orma_base_alloc_array(all->tree.node_count + 1, sizeof(*all->row_of));
	all->stack = orma_base_alloc_array(all->tree.node_count + 1, sizeof(*all->stack));
	if (!all->row_of || !all->stack)
		return -ENOMEM;
	r = find_rows(call, all, &root);
	if (r == 0)
		all->stack[all->depth++] = (struct open_node){.node = root};
	while (r == 0 && all->depth > 0)
		r = enter(call, all);
	return r;
}

static int run_partition(struct orma_row_call *call)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 0);
	struct partition all = {.depth = 0};
	if (rows->row_count == 0 || rows->column_count != INPUT_COLUMNS)
		return 0;
	int r = partition(call, &all);
	orma_graph_done(&all.tree);
	orma_base_free(all.row_of);
	orma_base_free(all.stack);
	orma_base_map_done(&all.above);
	return r;
}

const struct orma_row_operator orma_tree_partition = {
	.name = "__intrinsic_tree_partition",
	.columns = "id, parent_id, group_key",
	.column_count = 3,
	.arg_count = 1,
	.rows = 10000,
	.run = run_partition,
};

struct sums {
	struct orma_graph graph; /* from children to parents */
	int64_t *sums;
	uint32_t *children; /* that are still to be added */
	uint32_t *ready;
};

/* A node is ready when all its children were added to it. Nodes in a loop never are. */
static void add_up(struct sums *all)
{
	size_t count = 0;
	for (size_t i = 0; i < all->graph.edge_count; i++)
		all->children[all->graph.targets[i]]++;
	for (size_t i = 0; i < all->graph.node_count; i++)
		if (all->children[i] == 0)
			all->ready[count++] = (uint32_t)i;
	for (size_t i = 0; i < count; i++) {
		uint32_t node = all->ready[i];
		for (size_t edge = all->graph.first_edges[node];
		     edge < all->graph.first_edges[node + 1]; edge++) {
			uint32_t parent = all->graph.targets[edge];
			all->sums[parent] =
				(int64_t)((uint64_t)all->sums[parent] + (uint64_t)all->sums[node]);
			if (--all->children[parent] == 0)
				all->ready[count++] = parent;
		}
	}
}

static int sum(struct orma_row_call *call, struct sums *all)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 0);
	struct orma_row_set edges = {.column_count = 0};
	int r = make_edges(rows, true, &edges);
	if (r == 0)
		r = orma_graph_init(&all->graph, &edges, rows);
	orma_row_set_done(&edges);
	if (r < 0)
		return r;
	size_t nodes = all->graph.node_count + 1;
	all->sums = orma_base_alloc_array(nodes, sizeof(*all->sums));
	all->children = orma_base_alloc_array(nodes, sizeof(*all->children));
	all->ready = orma_base_alloc_array(nodes, sizeof(*all->ready));
	if (!all->sums || !all->children || !all->ready)
		return -ENOMEM;
	for (size_t row = 0; row < rows->row_count; row++) {
		size_t node = orma_graph_find(&all->graph, orma_row_set_int(rows, row, ID));
		all->sums[node] = (int64_t)((uint64_t)all->sums[node] +
					    (uint64_t)orma_row_set_int(rows, row, VALUE));
	}
	add_up(all);
	for (size_t row = 0; row < rows->row_count && r == 0; row++) {
		int64_t id = orma_row_set_int(rows, row, ID);
		r = orma_row_set_add_ints(
			call->ret, (int64_t[]){id, all->sums[orma_graph_find(&all->graph, id)]});
	}
	return r;
}

static int run_sums(struct orma_row_call *call)
{
	const struct orma_row_set *rows = orma_row_call_rows(call, 0);
	struct sums all = {.sums = NULL};
	if (rows->row_count == 0 || rows->column_count != INPUT_COLUMNS)
		return 0;
	int r = sum(call, &all);
	orma_graph_done(&all.graph);
	orma_base_free(all.sums);
	orma_base_free(all.children);
	orma_base_free(all.ready);
	return r;
}

const struct orma_row_operator orma_tree_sums = {
	.name = "__intrinsic_tree_sums",
	.columns = "id, sum",
	.column_count = 2,
	.arg_count = 1,
	.rows = 10000,
	.run = run_sums,
};
