/* SPDX-License-Identifier: Apache-2.0
 * operators.c - adds the operators to a database.
 */
#include "answers/operators.h"

#include "answers/trace_database.h"
#include "base/macros.h"

int orma_operators_add(struct orma_trace_database *database)
{
	static const struct orma_row_operator *const operators[] = {
		&orma_interval_intersect,
		&orma_interval_create,
		&orma_counter_intervals,
		&orma_graph_dfs,
		&orma_graph_bfs,
		&orma_graph_weight_bounded_dfs,
		&orma_graph_dominator_tree,
		&orma_tree_partition,
		&orma_tree_sums,
		&orma_graph_scan,
		&orma_row_source,
		&orma_ancestor_slices,
		&orma_descendant_slices,
		&orma_directly_connected_flows,
		&orma_following_flows,
		&orma_preceding_flows,
		&orma_flat_slices,
		&orma_critical_path,
		&orma_heap_paths,
		&orma_heap_class_tree,
		&orma_experimental_flamegraph,
		&orma_annotated_stack,
		&orma_table_info,
		&orma_module_objects,
	};
	int r = 0;
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(operators) && r == 0; i++)
		r = orma_sql_add_operator(database->sql, operators[i], database);
	return r;
}
