/* SPDX-License-Identifier: Apache-2.0
 * stack_tree.c - each callsite becomes a node once, below that of its parent.
 *
 * The tables have a parent's row before those of its children, and so has the array of nodes; both are walked without
 * recursion. Totals are summed from the last node to the first.
 */
#include "answers/stack_tree.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

static void add(int64_t *sum, int64_t value)
{
	if (__builtin_add_overflow(*sum, value, sum))
		*sum = value < 0 ? INT64_MIN : INT64_MAX;
}

static int find_child(struct orma_stack_tree *tree, uint32_t parent, uint32_t function,
		      uint32_t *ret)
{
	uint64_t word = (uint64_t)parent << 32 | function;
	uint64_t key = orma_base_fnv1a(ORMA_FNV1A_INIT, &word, sizeof(word));
	uintptr_t known = (uintptr_t)orma_base_map_get(&tree->by_key, key);
	*ret = known ? (uint32_t)known - 1 : tree->count;
	if (known)
		return 0;
	int r = orma_store_grow(&tree->nodes, (uint64_t)tree->count + 1, &tree->capacity,
				sizeof(*tree->nodes));
	if (r == 0)
		r = orma_base_map_put(&tree->by_key, key, (void *)((uintptr_t)*ret + 1));
	if (r < 0)
		return r;
	tree->nodes[tree->count++] = (struct orma_stack_node){
		.parent = parent,
		.function = function,
		.depth = parent == ORMA_STACK_TREE_ROOT ? 0 : tree->nodes[parent].depth + 1};
	return 0;
}

/* Adds the frame of a callsite, whose parent has a node or is none. */
static int add_callsite(struct orma_stack_tree *tree, int64_t callsite)
{
	const struct orma_trace_database *database = tree->functions->database;
	int64_t parent =
		orma_trace_database_cell(database, ORMA_TABLE_STACK_CALLSITE,
					 ORMA_STACK_CALLSITE_PARENT_ID, (uint64_t)callsite);
	int64_t frame = orma_trace_database_cell(database, ORMA_TABLE_STACK_CALLSITE,
						 ORMA_STACK_CALLSITE_FRAME_ID, (uint64_t)callsite);
	uint32_t node = parent >= 0 ? tree->callsite_nodes[parent] - 1 : ORMA_STACK_TREE_ROOT;
	uint32_t count;
	const struct orma_stack_line *lines =
		orma_stack_functions_frame(tree->functions, frame, &count);
	int r = 0;
	for (uint32_t i = count; i > 0 && r == 0; i--)
		r = find_child(tree, node, lines[i - 1].function, &node);
	tree->callsite_nodes[callsite] = node + 1;
	return r;
}

/* Adds a callsite and those above it that have no nodes yet. */
static int add_callsites(struct orma_stack_tree *tree, int64_t callsite, struct orma_buf *waiting)
{
	int r = 0;
	waiting->size = 0;
	while (r == 0 && callsite >= 0 && tree->callsite_nodes[callsite] == 0) {
		r = orma_base_buf_append(waiting, &callsite, sizeof(callsite));
		callsite = orma_trace_database_cell(
			tree->functions->database, ORMA_TABLE_STACK_CALLSITE,
			ORMA_STACK_CALLSITE_PARENT_ID, (uint64_t)callsite);
	}
	while (r == 0 && waiting->size > 0) {
		waiting->size -= sizeof(callsite);
		memcpy(&callsite, waiting->data + waiting->size, sizeof(callsite));
		r = add_callsite(tree, callsite);
	}
	return r;
}

static void sum_totals(struct orma_stack_tree *tree)
{
	size_t values = tree->profile->value_count;
	for (uint32_t i = tree->count; i-- > 0;) {
		struct orma_stack_node *node = &tree->nodes[i];
		for (size_t value = 0; value < values; value++) {
			add(&node->total[value], node->own[value]);
			add(&tree->sums[value], node->own[value]);
			if (node->parent != ORMA_STACK_TREE_ROOT)
				add(&tree->nodes[node->parent].total[value], node->total[value]);
		}
	}
}

int orma_stack_tree_build(struct orma_stack_tree *tree,
			  const struct orma_stack_functions *functions,
			  const struct orma_cost_profile *profile)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf waiting = {0};
	const struct orma_trace_database *database = functions->database;
	uint64_t callsites =
		orma_store_table_rows(&database->tables.all[ORMA_TABLE_STACK_CALLSITE]);
	int r = 0;
	tree->functions = functions;
	tree->profile = profile;
	tree->by_key.seed = database->options.seed;
	tree->callsite_nodes =
		orma_base_alloc_array((size_t)callsites + 1, sizeof(*tree->callsite_nodes));
	if (!tree->callsite_nodes)
		return -ENOMEM;
	for (uint32_t i = 0; i < profile->row_count && r == 0; i++) {
		const struct orma_profile_row *row = &profile->rows[i];
		r = add_callsites(tree, row->callsite, &waiting);
		for (size_t value = 0; r == 0 && value < profile->value_count; value++)
			add(&tree->nodes[tree->callsite_nodes[row->callsite] - 1].own[value],
			    row->values[value]);
	}
	if (r == 0)
		sum_totals(tree);
	return r;
}

void orma_stack_tree_done(struct orma_stack_tree *tree)
{
	orma_base_free(tree->nodes);
	orma_base_free(tree->callsite_nodes);
	orma_base_map_done(&tree->by_key);
	*tree = (struct orma_stack_tree){0};
}

static bool is_called_by_itself(const struct orma_stack_tree *tree, uint32_t node)
{
	uint32_t parent = tree->nodes[node].parent;
	while (parent != ORMA_STACK_TREE_ROOT &&
	       tree->nodes[parent].function != tree->nodes[node].function)
		parent = tree->nodes[parent].parent;
	return parent != ORMA_STACK_TREE_ROOT;
}

int orma_stack_tree_functions(const struct orma_stack_tree *tree, struct orma_function_cost **ret,
			      uint32_t *ret_count)
{
	uint32_t all = tree->functions->count, count = 0;
	struct orma_function_cost *costs = orma_base_alloc_array((size_t)all + 1, sizeof(*costs));
	uint32_t *places = orma_base_alloc_array((size_t)all + 1, sizeof(*places));
	if (!costs || !places) {
		orma_base_free(costs);
		orma_base_free(places);
		return -ENOMEM;
	}
	for (uint32_t i = 0; i < tree->count; i++) {
		const struct orma_stack_node *node = &tree->nodes[i];
		if (places[node->function] == 0) {
			places[node->function] = ++count;
			costs[count - 1].function = node->function;
		}
		struct orma_function_cost *cost = &costs[places[node->function] - 1];
		bool is_repeated = is_called_by_itself(tree, i);
		for (size_t value = 0; value < tree->profile->value_count; value++) {
			add(&cost->own[value], node->own[value]);
			if (!is_repeated)
				add(&cost->total[value], node->total[value]);
		}
	}
	orma_base_free(places);
	*ret = costs;
	*ret_count = count;
	return 0;
}

int orma_stack_tree_append(const struct orma_stack_tree *tree, uint32_t node, uint32_t frames_max,
			   struct orma_buf *text)
{
	int r = 0;
	for (uint32_t i = 0; r == 0 && node != ORMA_STACK_TREE_ROOT && i < frames_max; i++) {
		struct orma_str name = tree->functions->items[tree->nodes[node].function].name;
		if (i > 0)
			r = orma_base_buf_append_str(text, " < ");
		if (r == 0)
			r = orma_base_buf_append(text, name.data, name.size);
		node = tree->nodes[node].parent;
	}
	return r;
}
