-- Slices that flows lead to from others, over any number of slices.
include perfetto module graphs.search;
create perfetto macro _slice_following_flow(source_table TableOrSubquery) returns TableOrSubquery as (
  select * from graph_reachable_weight_bounded_dfs!(
    (select slice_out as source_node_id, slice_in as dest_node_id, 0 as edge_weight from flow),
    (select slice_out as root_node_id, 1 as root_target_weight from flow where slice_out in (select id from $source_table)),
    1)
);
