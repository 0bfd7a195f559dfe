-- Which object all ways from the roots to another pass last. The roots are below a node that is above all.
include perfetto module graphs.dominator_tree;
create perfetto table _raw_heap_graph_dominator_tree as
  with __root as materialized (select max(id) + 1 as id from heap_graph_object)
  select node_id as id, nullif(dominator_node_id, (select id from __root)) as idom_id
  from graph_dominator_tree!((
      select r.owner_id as source_node_id, r.owned_id as dest_node_id
      from heap_graph_reference r join heap_graph_object o on o.id = r.owner_id
        join heap_graph_class c on c.id = o.type_id
      where o.reachable and r.owned_id is not null and not (
        r.field_name is 'java.lang.ref.Reference.referent'
        and c.kind in ('KIND_FINALIZER_REFERENCE', 'KIND_PHANTOM_REFERENCE', 'KIND_WEAK_REFERENCE'))
      union all
      select (select id from __root), id from heap_graph_object where root_type is not null
    ), (select id from __root))
  where dominator_node_id is not null order by id;
