/* SPDX-License-Identifier: Apache-2.0
 * graph_operators.c - searches in graphs, depth and breadth first, and dominators.
 */
#include <errno.h>

#include "answers/graph.h"
#include "answers/operators.h"
#include "base/alloc.h"
#include "base/error_message.h"
#include "base/macros.h"

#define NO_NODE UINT32_MAX

struct step {
	uint32_t node, parent;
	int64_t weight;
};

/* A search has at most one step for each start and each edge. */
struct search {
	struct orma_graph graph;
	struct step *steps;
	size_t head, count;
	uint32_t *visits; /* by node: the number of the search that was there last; 0 = none */
};

static void done(struct search *search)
{
	orma_graph_done(&search->graph);
	orma_base_free(search->steps);
	orma_base_free(search->visits);
}

static int init(struct search *search, const struct orma_row_set *edges,
		const struct orma_row_set *starts)
{
	*search = (struct search){.count = 0};
	int r = orma_graph_init(&search->graph, edges, starts);
	if (r < 0)
		return r;
	search->steps = orma_base_alloc_array(search->graph.edge_count + starts->row_count + 1,
					      sizeof(*search->steps));
	search->visits =
		orma_base_alloc_array(search->graph.node_count + 1, sizeof(*search->visits));
	return search->steps && search->visits ? 0 : -ENOMEM;
}

static int64_t id_of(const struct search *search, uint32_t node)
{
	return node == NO_NODE ? ORMA_CELL_NULL : search->graph.ids[node];
}

static bool has_columns(const struct orma_row_set *rows, size_t count)
{
	return rows->row_count > 0 && rows->column_count >= count;
}

static int breadth_first(struct orma_row_call *call, struct search *search)
{
	int r = 0;
	while (search->head < search->count && r == 0) {
		struct step step = search->steps[search->head++];
		if (search->visits[step.node])
			continue;
		search->visits[step.node] = 1;
		r = orma_row_set_add_ints(call->ret, (int64_t[]){id_of(search, step.node),
								 id_of(search, step.parent)});
		for (size_t i = search->graph.first_edges[step.node];
		     i < search->graph.first_edges[step.node + 1]; i++)
			search->steps[search->count++] =
				(struct step){search->graph.targets[i], step.node, 0};
	}
	return r;
}

/* The step that was added last is the next, so edges are added from the last to the first. */
static void push_edges(struct search *search, uint32_t node, const struct orma_row_set *edges)
{
	const size_t *first = &search->graph.first_edges[node];
	for (size_t i = first[1]; i-- > first[0];)
		search->steps[search->count++] = (struct step){
			search->graph.targets[i], node,
			edges ? orma_row_set_int(edges, search->graph.rows[i], 2) : 0};
}

static int depth_first(struct orma_row_call *call, struct search *search)
{
	int r = 0;
	while (search->count > 0 && r == 0) {
		struct step step = search->steps[--search->count];
		if (search->visits[step.node])
			continue;
		search->visits[step.node] = 1;
		r = orma_row_set_add_ints(call->ret, (int64_t[]){id_of(search, step.node),
								 id_of(search, step.parent)});
		push_edges(search, step.node, NULL);
	}
	return r;
}

static int run_search(struct orma_row_call *call,
		      int (*run)(struct orma_row_call *call, struct search *search))
{
	const struct orma_row_set *edges = orma_row_call_rows(call, 0);
	const struct orma_row_set *starts = orma_row_call_rows(call, 1);
	struct search search;
	if (!has_columns(edges, 2) || !has_columns(starts, 1))
		return 0;
	int r = init(&search, edges, starts);
	for (size_t i = 0; i < starts->row_count && r == 0; i++)
		if (!orma_row_set_is_null(starts, i, 0))
			search.steps[search.count++] = (struct step){
				(uint32_t)orma_graph_find(&search.graph,
							  orma_row_set_int(starts, i, 0)),
				NO_NODE, 0};
	if (r == 0)
		r = run(call, &search);
	done(&search);
	return r;
}

static int run_bfs(struct orma_row_call *call)
{
	return run_search(call, breadth_first);
}

static int run_dfs(struct orma_row_call *call)
{
	return run_search(call, depth_first);
}

static int search_from_root(struct orma_row_call *call, struct search *search, uint32_t number,
			    uint32_t root, int64_t bound, bool is_floor)
{
	int64_t weight = 0;
	search->count = 0;
	search->steps[search->count++] = (struct step){root, NO_NODE, 0};
	while (search->count > 0) {
		struct step step = search->steps[--search->count];
		if (search->visits[step.node] == number)
			continue;
		search->visits[step.node] = number;
		if (__builtin_add_overflow(weight, step.weight, &weight))
			weight = INT64_MAX;
		if (!is_floor && weight > bound)
			break;
		int r = orma_row_set_add_ints(call->ret, (int64_t[]){id_of(search, root),
								     id_of(search, step.node),
								     id_of(search, step.parent)});
		if (r < 0)
			return r;
		if (weight > bound)
			break;
		push_edges(search, step.node, orma_row_call_rows(call, 0));
	}
	return 0;
}

static int run_weight_bounded_dfs(struct orma_row_call *call)
{
	const struct orma_row_set *edges = orma_row_call_rows(call, 0);
	const struct orma_row_set *roots = orma_row_call_rows(call, 1);
	bool is_floor = call->argv[2] && sqlite3_value_int(call->argv[2]) != 0;
	struct search search;
	if (!has_columns(edges, 3) || !has_columns(roots, 2))
		return 0;
	int r = init(&search, edges, roots);
	for (size_t i = 0; i < roots->row_count && r == 0; i++)
		if (!orma_row_set_is_null(roots, i, 0))
			r = search_from_root(call, &search, (uint32_t)i + 1,
					     (uint32_t)orma_graph_find(
						     &search.graph, orma_row_set_int(roots, i, 0)),
					     orma_row_set_int(roots, i, 1), is_floor);
	done(&search);
	return r;
}

/*
 * Dominators as Cooper, Harvey and Kennedy find them: nodes in reverse postorder take the nearest common dominator of
 * their predecessors, again and again until nothing changes.
 */
struct dominators {
	struct orma_graph graph;
	uint32_t *order;     /* nodes in postorder, of those that the root reaches */
	uint32_t *number;    /* by node: its place in the order */
	uint32_t *dominator; /* by place: a place */
	size_t *next_edge;   /* by node, while the order is made */
	uint32_t *stack;
	size_t count;
};

static void dominators_done(struct dominators *all)
{
	orma_graph_done(&all->graph);
	orma_base_free(all->order);
	orma_base_free(all->number);
	orma_base_free(all->dominator);
	orma_base_free(all->next_edge);
	orma_base_free(all->stack);
}

static int dominators_alloc(struct dominators *all)
{
	size_t nodes = all->graph.node_count + 1;
	all->order = orma_base_alloc_array(nodes, sizeof(*all->order));
	all->number = orma_base_alloc_array(nodes, sizeof(*all->number));
	all->dominator = orma_base_alloc_array(nodes, sizeof(*all->dominator));
	all->next_edge = orma_base_alloc_array(nodes, sizeof(*all->next_edge));
	all->stack = orma_base_alloc_array(nodes, sizeof(*all->stack));
	return all->order && all->number && all->dominator && all->next_edge && all->stack
		       ? 0
		       : -ENOMEM;
}

/* A node has one of these in the place of its number until it gets one. */
#define UNSEEN UINT32_MAX
#define SEEN   (UINT32_MAX - 1)

static void make_postorder(struct dominators *all, uint32_t root)
{
	size_t depth = 0;
	for (size_t i = 0; i < all->graph.node_count; i++) {
		all->number[i] = UNSEEN;
		all->next_edge[i] = all->graph.first_edges[i];
		all->dominator[i] = NO_NODE;
	}
	all->stack[depth++] = root;
	all->number[root] = SEEN;
	while (depth > 0) {
		uint32_t node = all->stack[depth - 1];
		if (all->next_edge[node] == all->graph.first_edges[node + 1]) {
			all->number[node] = (uint32_t)all->count;
			all->order[all->count++] = node;
			depth--;
			continue;
		}
		uint32_t target = all->graph.targets[all->next_edge[node]++];
		if (all->number[target] == UNSEEN) {
			all->number[target] = SEEN;
			all->stack[depth++] = target;
		}
	}
}

static uint32_t common_dominator(const struct dominators *all, uint32_t a, uint32_t b)
{
	while (a != b) {
		while (a < b)
			a = all->dominator[a];
		while (b < a)
			b = all->dominator[b];
	}
	return a;
}

/* Each edge changes the dominator of its target; returns whether one changed. */
static bool improve(struct dominators *all)
{
	bool has_changed = false;
	for (size_t place = all->count; place-- > 0;) {
		uint32_t node = all->order[place];
		if (all->dominator[place] == NO_NODE)
			continue;
		for (size_t i = all->graph.first_edges[node]; i < all->graph.first_edges[node + 1];
		     i++) {
			uint32_t target = all->number[all->graph.targets[i]];
			uint32_t old = all->dominator[target];
			uint32_t new = old == NO_NODE ? (uint32_t)place
						      : common_dominator(all, old, (uint32_t)place);
			has_changed = has_changed || new != old;
			all->dominator[target] = new;
		}
	}
	return has_changed;
}

static int find_dominators(struct orma_row_call *call, struct dominators *all)
{
	size_t root = orma_graph_find(&all->graph, sqlite3_value_int64(call->argv[1]));
	if (root == SIZE_MAX)
		return orma_base_error_set(call->reterr, -EINVAL,
					   "dominator tree: the root is not in the graph");
	int r = dominators_alloc(all);
	if (r < 0)
		return r;
	make_postorder(all, (uint32_t)root);
	all->dominator[all->count - 1] = (uint32_t)all->count - 1;
	while (improve(all))
		;
	for (size_t place = all->count; place-- > 0 && r == 0;) {
		bool is_root = place == all->count - 1;
		uint32_t dominator = all->order[all->dominator[place]];
		r = orma_row_set_add_ints(
			call->ret,
			(int64_t[]){all->graph.ids[all->order[place]],
				    is_root ? ORMA_CELL_NULL : all->graph.ids[dominator]});
	}
	return r;
}

static int run_dominator_tree(struct orma_row_call *call)
{
	const struct orma_row_set *edges = orma_row_call_rows(call, 0);
	struct dominators all = {.count = 0};
	if (!has_columns(edges, 2))
		return 0;
	if (!call->argv[1] || sqlite3_value_type(call->argv[1]) != SQLITE_INTEGER)
		return orma_base_error_set(call->reterr, -EINVAL,
					   "dominator tree: the root must be an integer");
	int r = orma_graph_init(&all.graph, edges, NULL);
	if (r == 0)
		r = find_dominators(call, &all);
	dominators_done(&all);
	return r;
}

const struct orma_row_operator orma_graph_dfs = {
	.name = "__intrinsic_dfs",
	.columns = "node_id, parent_node_id",
	.column_count = 2,
	.arg_count = 2,
	.rows = 10000,
	.run = run_dfs,
};

const struct orma_row_operator orma_graph_bfs = {
	.name = "__intrinsic_bfs",
	.columns = "node_id, parent_node_id",
	.column_count = 2,
	.arg_count = 2,
	.rows = 10000,
	.run = run_bfs,
};

const struct orma_row_operator orma_graph_weight_bounded_dfs = {
	.name = "__intrinsic_weight_bounded_dfs",
	.columns = "root_node_id, node_id, parent_node_id",
	.column_count = 3,
	.arg_count = 3,
	.rows = 10000,
	.run = run_weight_bounded_dfs,
};

const struct orma_row_operator orma_graph_dominator_tree = {
	.name = "__intrinsic_dominator_tree",
	.columns = "node_id, dominator_node_id",
	.column_count = 2,
	.arg_count = 2,
	.rows = 10000,
	.run = run_dominator_tree,
};
