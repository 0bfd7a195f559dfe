-- Java heaps as a tree of classes, with what is below each node. The sums are tables, because a join with a table finds rows by id.
include perfetto module android.memory.heap_graph.class_tree;
create perfetto table __heap_graph_class_counts as
  select id, sum from __intrinsic_tree_sums((
    select __intrinsic_rows(id, parent_id, self_count) from _heap_graph_class_tree)) order by id;
create perfetto table __heap_graph_class_sizes as
  select id, sum from __intrinsic_tree_sums((
    select __intrinsic_rows(id, parent_id, self_size) from _heap_graph_class_tree)) order by id;
create perfetto table android_heap_graph_class_summary_tree(graph_sample_ts timestamp, upid joinid(process.id), id long,
  parent_id long, name string, root_type string, self_count long, self_size long, cumulative_count long,
  cumulative_size long) as
  select t.graph_sample_ts, t.upid, t.id, t.parent_id, t.name, t.root_type, t.self_count, t.self_size,
    count.sum as cumulative_count, size.sum as cumulative_size
  from _heap_graph_class_tree t join __heap_graph_class_counts count using (id) join __heap_graph_class_sizes size using (id)
  order by t.id;
