-- Nodes of a tree and all above them.
include perfetto module graphs.search;
create perfetto macro _tree_reachable_ancestors_or_self(tree TableOrSubquery, start_nodes TableOrSubquery)
  returns TableOrSubquery as (
  select node_id as id from graph_reachable_dfs!(
    (select id as source_node_id, parent_id as dest_node_id from $tree), (select id as node_id from $start_nodes))
);
