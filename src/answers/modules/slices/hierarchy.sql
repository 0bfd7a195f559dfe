-- Slices with those above and below them.
create perfetto function _slice_ancestor_and_self(slice_id long) returns table(id long, ts timestamp, dur duration, track_id long,
  category string, name string, depth long, parent_id long, arg_set_id argsetid, thread_ts timestamp, thread_dur long) as
  select id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur
  from slice where id = $slice_id
  union all
  select id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur
  from ancestor_slice($slice_id);
create perfetto function _slice_descendant_and_self(slice_id long) returns table(id long, ts timestamp, dur duration, track_id long,
  category string, name string, depth long, parent_id long, arg_set_id argsetid, thread_ts timestamp, thread_dur long) as
  select id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur
  from slice where id = $slice_id
  union all
  select id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur
  from descendant_slice($slice_id);
-- Takes rows out of a forest of slices, whose children then belong to the next row above.
create perfetto macro _slice_remove_nulls_and_reparent(slice_table TableOrSubquery, column_name ColumnName)
  returns TableOrSubquery as (
  with __kept as (select * from $slice_table where $column_name is not null)
  select id, parent_id, depth, $column_name from __kept where depth = 0
  union all
  select child.id, above.id, max(iif(parent.id is null, 0, above.depth)), child.$column_name
  from __kept child, ancestor_slice(child.id) above left join __kept parent on parent.id = above.id
  group by child.id
);
