-- Java heaps as trees: each object is below the one that is before it on the shortest way from a root, and objects of a
-- class in one place are a node.
create perfetto table _heap_graph_object_min_depth_tree as
  select id, parent_id from __intrinsic_heap_graph_paths order by id;
create perfetto macro _heap_graph_class_tree_of(tree TableOrSubquery) returns TableOrSubquery as (
  select graph_sample_ts, upid, id, parent_id, name, root_type, heap_type, self_count, self_size, path_hash_stable
  from __intrinsic_heap_graph_class_tree((select __intrinsic_rows(id, parent_id) from $tree))
);
create perfetto table _heap_graph_class_tree as
  select * from _heap_graph_class_tree_of!(_heap_graph_object_min_depth_tree) order by id;
