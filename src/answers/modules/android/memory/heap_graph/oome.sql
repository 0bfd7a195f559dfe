-- Allocations that failed, for which a Java heap was dumped.
create perfetto view android_heap_graph_java_oome_details(id id, heap_graph_id joinid(heap_graph.id),
  allocation_size_bytes long, total_bytes_free long, free_bytes_until_oom long, error_msg string) as
  select id, heap_graph_id, allocation_size_bytes, total_bytes_free, free_bytes_until_oom, error_msg
  from __intrinsic_heap_graph_java_oome_details;
