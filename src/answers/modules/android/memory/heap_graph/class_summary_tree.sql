-- Java heaps as a tree of classes, with what is below each node.
include perfetto module android.memory.heap_graph.class_tree;
create perfetto macro __heap_graph_sums(tree TableOrSubquery) returns TableOrSubquery as (
  select t.graph_sample_ts, t.upid, t.id, t.parent_id, t.name, t.root_type, t.self_count, t.self_size,
    count.sum as cumulative_count, size.sum as cumulative_size
  from $tree t
    join __intrinsic_tree_sums((select __intrinsic_rows(id, parent_id, self_count) from $tree)) count using (id)
    join __intrinsic_tree_sums((select __intrinsic_rows(id, parent_id, self_size) from $tree)) size using (id)
  order by t.id
);
create perfetto table android_heap_graph_class_summary_tree(graph_sample_ts timestamp, upid joinid(process.id), id long,
  parent_id long, name string, root_type string, self_count long, self_size long, cumulative_count long,
  cumulative_size long) as
  select * from __heap_graph_sums!(_heap_graph_class_tree);
