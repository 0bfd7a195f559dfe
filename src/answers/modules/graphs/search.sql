-- Searches in graphs. Columns of a graph: source_node_id, dest_node_id.
create perfetto macro graph_reachable_dfs(graph_table TableOrSubquery, start_nodes TableOrSubquery)
  returns TableOrSubquery as (
  select node_id, parent_node_id from __intrinsic_dfs(
    (select __intrinsic_rows(source_node_id, dest_node_id) from $graph_table),
    (select __intrinsic_rows(node_id) from $start_nodes))
);
-- What can be reached from the start nodes, nearest nodes first, and by which node.
create perfetto macro graph_reachable_bfs(graph_table TableOrSubquery, start_nodes TableOrSubquery)
  returns TableOrSubquery as (
  select node_id, parent_node_id from __intrinsic_bfs(
    (select __intrinsic_rows(source_node_id, dest_node_id) from $graph_table),
    (select __intrinsic_rows(node_id) from $start_nodes))
);
-- The node that comes next below the same parent.
create perfetto macro graph_next_sibling(graph_table TableOrSubquery) returns TableOrSubquery as (
  select node_id, lead(node_id) over (partition by node_parent_id order by sort_key) as next_node_id from $graph_table
);
-- What can be reached from each root until the weights of the edges exceed its own.
create perfetto macro graph_reachable_weight_bounded_dfs(graph_table TableOrSubquery, root_table TableOrSubquery,
  is_target_weight_floor Expr) returns TableOrSubquery as (
  select root_node_id, node_id, parent_node_id from __intrinsic_weight_bounded_dfs(
    (select __intrinsic_rows(source_node_id, dest_node_id, edge_weight) from $graph_table),
    (select __intrinsic_rows(root_node_id, root_target_weight) from $root_table),
    $is_target_weight_floor)
);
