-- The objects of Java heaps, and what would go with each of them: all that can be reached only through it.
include perfetto module android.memory.heap_graph.raw_dominator_tree;
include perfetto module graphs.scan;
create perfetto table __heap_graph_dominated as
  select p.id, p.idom_id, o.self_size, o.native_size
  from _raw_heap_graph_dominator_tree p join heap_graph_object o using (id) order by p.id;
create perfetto table __heap_graph_dominator_depth as
  select id, depth from _graph_scan!(
    (select idom_id as source_node_id, id as dest_node_id from __heap_graph_dominated where idom_id is not null),
    (select id, 1 as depth from __heap_graph_dominated where idom_id is null),
    (depth), (select t.id, t.depth + 1 as depth from $table t)) order by id;
create perfetto table __heap_graph_dominated_counts as
  select id, sum from __intrinsic_tree_sums((select __intrinsic_rows(id, idom_id, 1) from __heap_graph_dominated))
  order by id;
create perfetto table __heap_graph_dominated_sizes as
  select id, sum from __intrinsic_tree_sums((
    select __intrinsic_rows(id, idom_id, self_size) from __heap_graph_dominated)) order by id;
create perfetto table __heap_graph_dominated_native_sizes as
  select id, sum from __intrinsic_tree_sums((
    select __intrinsic_rows(id, idom_id, native_size) from __heap_graph_dominated)) order by id;
create perfetto table heap_graph_dominator_tree(id long, idom_id long, dominated_obj_count long,
  dominated_size_bytes long, dominated_native_size_bytes long, depth long) as
  select d.id, d.idom_id, count.sum as dominated_obj_count, size.sum as dominated_size_bytes,
    native.sum as dominated_native_size_bytes, depth.depth
  from __heap_graph_dominated d join __heap_graph_dominated_counts count using (id)
    join __heap_graph_dominated_sizes size using (id) join __heap_graph_dominated_native_sizes native using (id)
    join __heap_graph_dominator_depth depth using (id)
  order by d.id;
