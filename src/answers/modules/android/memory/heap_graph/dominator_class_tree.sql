-- Java heaps as a tree of classes, in which each object is below the one without which it would go.
include perfetto module android.memory.heap_graph.class_tree;
include perfetto module android.memory.heap_graph.raw_dominator_tree;
create perfetto table _heap_graph_dominator_class_tree as
  select * from _heap_graph_class_tree_of!((select id, idom_id as parent_id from _raw_heap_graph_dominator_tree))
  order by id;
