-- Java heaps by class: how many objects there are, and what goes with them. Objects below another of their class count once.
include perfetto module android.memory.heap_graph.dominator_tree;
include perfetto module graphs.partition;
create perfetto function _is_libcore_or_array(obj_name string) returns bool as
  select ($obj_name glob 'java.*' and not $obj_name glob 'java.lang.Class<*>') or $obj_name glob 'j$.*'
    or $obj_name glob 'int[[]*' or $obj_name glob 'long[[]*' or $obj_name glob 'byte[[]*' or $obj_name glob 'char[[]*'
    or $obj_name glob 'short[[]*' or $obj_name glob 'float[[]*' or $obj_name glob 'double[[]*'
    or $obj_name glob 'boolean[[]*' or $obj_name glob 'android.util.*Array*' or $obj_name glob 'kotlinx.coroutines.*'
    or $obj_name glob 'kotlinx.atomicfu.*';
create perfetto table __heap_graph_class_parents as
  with __root as materialized (select max(id) + 1 as id from heap_graph_object)
  select d.id, coalesce(d.idom_id, (select id from __root)) as parent_id, o.type_id as group_key
  from heap_graph_dominator_tree d join heap_graph_object o using (id)
  union all
  select id, null as parent_id, (select max(id) + 1 from heap_graph_class) as group_key
  from __root where id is not null;
create perfetto table __heap_graph_topmost as
  select id from tree_structural_partition_by_group!(__heap_graph_class_parents) where parent_id is null order by id;
create perfetto table android_heap_graph_class_aggregation(upid joinid(process.id), graph_sample_ts timestamp,
  type_id long, type_name string, is_libcore_or_array bool, obj_count long, size_bytes long, native_size_bytes long,
  reachable_obj_count long, reachable_size_bytes long, reachable_native_size_bytes long, dominated_obj_count long,
  dominated_size_bytes long, dominated_native_size_bytes long) as
  with __class as (
    select o.upid, o.graph_sample_ts, o.type_id, count(*) as obj_count, sum(o.self_size) as size_bytes,
      sum(o.native_size) as native_size_bytes, sum(o.reachable) as reachable_obj_count,
      sum(iif(o.reachable, o.self_size, 0)) as reachable_size_bytes,
      sum(iif(o.reachable, o.native_size, 0)) as reachable_native_size_bytes,
      sum(iif(t.id is null, 0, d.dominated_obj_count)) as dominated_obj_count,
      sum(iif(t.id is null, 0, d.dominated_size_bytes)) as dominated_size_bytes,
      sum(iif(t.id is null, 0, d.dominated_native_size_bytes)) as dominated_native_size_bytes
    from heap_graph_object o left join __heap_graph_topmost t using (id) left join heap_graph_dominator_tree d using (id)
    group by o.upid, o.graph_sample_ts, o.type_id
  )
  select a.upid, a.graph_sample_ts, a.type_id, coalesce(c.deobfuscated_name, c.name) as type_name,
    _is_libcore_or_array(coalesce(c.deobfuscated_name, c.name)) as is_libcore_or_array, a.obj_count, a.size_bytes,
    a.native_size_bytes, a.reachable_obj_count, a.reachable_size_bytes, a.reachable_native_size_bytes,
    a.dominated_obj_count, a.dominated_size_bytes, a.dominated_native_size_bytes
  from __class a join heap_graph_class c on c.id = a.type_id
  order by a.upid, a.graph_sample_ts, a.type_id, type_name;
