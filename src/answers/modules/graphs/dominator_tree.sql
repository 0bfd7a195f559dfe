-- Which node each path from the root to another has to pass last.
create perfetto macro graph_dominator_tree(graph_table TableOrSubquery, root_node_id Expr) returns TableOrSubquery as (
  select node_id, dominator_node_id from __intrinsic_dominator_tree(
    (select __intrinsic_rows(source_node_id, dest_node_id) from $graph_table), $root_node_id)
);
