-- Callsites as trees of functions. A frame into which functions were inlined becomes one node for each: the innermost
-- function has the least symbol id, and its caller is the next one.
include perfetto module graphs.hierarchy;
create perfetto table __callstack_frame as
  select f.id, f.symbol_set_id, min(s.id) as first_symbol_id, max(s.id) as last_symbol_id
  from stack_profile_frame f left join stack_profile_symbol s using (symbol_set_id) group by f.id;
create perfetto table __callstack_node as
  select c.id as callsite_id, c.parent_id as parent_callsite_id, f.id as frame_id, s.id as symbol_id,
    f.first_symbol_id, f.last_symbol_id
  from stack_profile_callsite c join __callstack_frame f on c.frame_id = f.id
    left join stack_profile_symbol s using (symbol_set_id)
  order by c.id, s.id;
create perfetto index __callstack_node_by_callsite on __callstack_node(callsite_id);
create perfetto table _callstack_spc_forest as
  select n._auto_id as id,
    case when n.symbol_id is n.last_symbol_id
      then (select p._auto_id from __callstack_node p
            where p.callsite_id = n.parent_callsite_id and p.symbol_id is p.first_symbol_id)
      else n._auto_id + 1
    end as parent_id,
    coalesce(demangle(coalesce(s.name, f.deobfuscated_name, f.name)), s.name, f.deobfuscated_name, f.name, 'unknown')
      as name,
    f.mapping as mapping_id, s.source_file, s.line_number, 0 as column_number, s.inlined, n.callsite_id,
    n.symbol_id is n.first_symbol_id as is_leaf_function_in_callsite_frame
  from __callstack_node n join stack_profile_frame f on n.frame_id = f.id
    left join stack_profile_symbol s on n.symbol_id = s.id
  order by n._auto_id;
create perfetto index _callstack_spc_index on _callstack_spc_forest(callsite_id);
-- The functions of the samples' callsites and all their callers.
create perfetto macro _callstacks_for_stack_profile_samples(spc_samples TableOrSubquery) returns TableOrSubquery as (
  select f.id, f.parent_id, f.callsite_id, f.name, m.name as mapping_name, f.source_file, f.line_number, f.inlined,
    f.is_leaf_function_in_callsite_frame
  from _tree_reachable_ancestors_or_self!(_callstack_spc_forest, (
      select f.id from $spc_samples s join _callstack_spc_forest f using (callsite_id)
      where f.is_leaf_function_in_callsite_frame)) g
    join _callstack_spc_forest f using (id) join stack_profile_mapping m on f.mapping_id = m.id
);
create perfetto macro __callstacks_with_value(metrics TableOrSubquery, value ColumnName) returns TableOrSubquery as (
  select c.id, c.parent_id, c.name, c.mapping_name, c.source_file, c.line_number,
    iif(c.is_leaf_function_in_callsite_frame, coalesce(m.$value, 0), 0) as $value
  from _callstacks_for_stack_profile_samples!($metrics) c left join $metrics m using (callsite_id)
);
create perfetto macro _callstacks_for_callsites(samples TableOrSubquery) returns TableOrSubquery as (
  with __metrics as materialized (select callsite_id, count(*) as self_count from $samples group by callsite_id)
  select * from __callstacks_with_value!(__metrics, self_count)
);
create perfetto macro _callstacks_for_callsites_weighted(samples TableOrSubquery) returns TableOrSubquery as (
  with __metrics as materialized (select callsite_id, sum(value) as self_value from $samples group by callsite_id)
  select * from __callstacks_with_value!(__metrics, self_value)
);
create perfetto macro _callstacks_self_to_cumulative(callstacks TableOrSubquery) returns TableOrSubquery as (
  select id, sum as cumulative_count
  from __intrinsic_tree_sums((select __intrinsic_rows(id, parent_id, self_count) from $callstacks))
);
create perfetto macro _callstacks_summary_tree(samples TableOrSubquery) returns TableOrSubquery as (
  with __self as materialized (select * from _callstacks_for_callsites!($samples))
  select s.*, total.cumulative_count
  from _callstacks_self_to_cumulative!(__self) total join __self s using (id)
);
