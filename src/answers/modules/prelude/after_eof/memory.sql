-- Memory of processes: heaps by call stack, objects of managed heaps, mappings.
create perfetto view heap_profile as select * from __intrinsic_heap_profile;
create perfetto view heap_profile_allocation as select * from __intrinsic_heap_profile_allocation;
create perfetto view profiler_smaps as select * from __intrinsic_profiler_smaps;
create perfetto view heap_graph as select * from __intrinsic_heap_graph;
create perfetto view heap_graph_class as select * from __intrinsic_heap_graph_class;
create perfetto view heap_graph_object as select * from __intrinsic_heap_graph_object;
create perfetto view heap_graph_reference as select * from __intrinsic_heap_graph_reference;
create perfetto view heap_graph_object_data as select * from __intrinsic_heap_graph_object_data;
create perfetto view heap_graph_primitive as select * from __intrinsic_heap_graph_primitive;
create perfetto view heap_graph_thread_callsite as select * from __intrinsic_heap_graph_thread_callsite;
create perfetto view package_list as select * from __intrinsic_package_list;
