/* SPDX-License-Identifier: Apache-2.0
 * operators.h - the operators that the modules of SQL are made of; see sql/row_operator.h. None is for users' queries.
 */
#ifndef ORMA_ANSWERS_OPERATORS_H
#define ORMA_ANSWERS_OPERATORS_H

#include "sql/row_operator.h"

/*
 * __intrinsic_interval_intersect(rows(id, ts, dur, partition...), ...): where intervals of all tables overlap, within
 * partitions of equal values.
 */
extern const struct orma_row_operator orma_interval_intersect;
/* __intrinsic_interval_create(rows(ts), rows(ts)): from each start to the first end behind it. Both are sorted. */
extern const struct orma_row_operator orma_interval_create;
/* __intrinsic_counter_intervals(end, rows(id, ts, track_id, value)): from each value to the track's next. Sorted by ts. */
extern const struct orma_row_operator orma_counter_intervals;

/*
 * A graph is rows(source, destination, ...); an edge without one of them is ignored.
 * __intrinsic_dfs(graph, rows(start)), __intrinsic_bfs(...): what can be reached from the starts, and by which node.
 * __intrinsic_weight_bounded_dfs(rows(source, destination, weight), rows(root, weight), is_floor): from each root, until
 * the nodes weigh more than its weight; with is_floor the one that does is the last.
 * __intrinsic_dominator_tree(graph, root).
 */
extern const struct orma_row_operator orma_graph_dfs, orma_graph_bfs, orma_graph_weight_bounded_dfs,
	orma_graph_dominator_tree;
/* __intrinsic_tree_partition(rows(id, parent, group)) makes a tree of each group's nodes. */
extern const struct orma_row_operator orma_tree_partition;
/* __intrinsic_tree_sums(rows(id, parent, value)): each node's value and those of all below it. */
extern const struct orma_row_operator orma_tree_sums;
/*
 * __intrinsic_graph_scan(graph, rows(id, value...), query, names, is_aggregating): hands values along the edges of a
 * graph. See modules/graphs/scan.sql. Its ctx is the database. __intrinsic_row_source(rows): the rows themselves.
 */
extern const struct orma_row_operator orma_graph_scan, orma_row_source;

/*
 * __intrinsic_critical_path(rows(id, utid, ts, dur, idle_dur, waker_id, prev_id), rows(root_id)): which nodes each root
 * waits for. See modules/sched/thread_executing_span.sql.
 */
extern const struct orma_row_operator orma_critical_path;

/* Operators on slices of a trace; their ctx is the database. Each takes the id of a slice and returns ids; of NULL, none. */
extern const struct orma_row_operator orma_ancestor_slices;   /* the outermost first */
extern const struct orma_row_operator orma_descendant_slices; /* in the order of ids */
/* Ids of flows: through flows only; to all that follows; to all that comes before. */
extern const struct orma_row_operator orma_directly_connected_flows, orma_following_flows,
	orma_preceding_flows;
/* __intrinsic_flat_slices(): which slice of a track is the innermost, and since when. */
extern const struct orma_row_operator orma_flat_slices;

/* Their ctx is the database. __intrinsic_heap_graph_paths(): by which object of a Java heap each is reached first. */
extern const struct orma_row_operator orma_heap_paths, orma_heap_class_tree;
/* experimental_flamegraph(...) and experimental_annotated_callstack(callsite_id), for users, too. */
extern const struct orma_row_operator orma_experimental_flamegraph, orma_annotated_stack;

/* perfetto_table_info(name), for users, too: the columns of a table. Its ctx is the database. */
extern const struct orma_row_operator orma_table_info;
/* __intrinsic_stdlib_objects: what the modules have. Its ctx is the database. */
extern const struct orma_row_operator orma_module_objects;

/* Calls `visit` for each slice below one, in the order of ids. 0, or the first negative value of the call. */
struct orma_trace_database;
int orma_visit_descendants(struct orma_trace_database *database, uint64_t slice,
			   int (*visit)(void *ctx, uint64_t slice), void *ctx);
/* Reads the argument that is a slice's id: 1, 0 when it is NULL, or -EINVAL with a message. */
int orma_slice_argument(const struct orma_row_call *call, uint64_t *ret);

#endif
