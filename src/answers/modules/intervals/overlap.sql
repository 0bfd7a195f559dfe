-- How many intervals there are at a time, and intervals merged to those times when there is any.
include perfetto module intervals.intersect;
include perfetto module std.metasql.unparenthesize;

-- How many intervals there are, from each time on when that changes.
create perfetto macro intervals_overlap_count(segments TableOrSubquery, ts_column ColumnName, dur_column ColumnName)
  returns TableOrSubquery as (
  select ts, sum(change) over (order by ts) as value
  from (
    select ts, sum(change) as change
    from (
      select $ts_column as ts, 1 as change from $segments
      union all select $ts_column + $dur_column, -1 from $segments where $dur_column != -1
    )
    group by ts
  )
  order by ts
);
-- How many intervals of each group there are, from each time on when that changes.
create perfetto macro intervals_overlap_count_by_group(segments TableOrSubquery, ts_column ColumnName,
  dur_column ColumnName, group_column ColumnName) returns TableOrSubquery as (
  select ts, sum(change) over (partition by group_name order by ts) as value, group_name
  from (
    select ts, sum(change) as change, group_name
    from (
      select $ts_column as ts, 1 as change, $group_column as group_name from $segments
      union all select $ts_column + $dur_column, -1, $group_column from $segments where $dur_column != -1
    )
    group by ts, group_name
  )
  order by ts
);
create perfetto macro _intervals_overlap_in_table(intervals TableOrSubquery) returns Expr as (
  select count(*) as has_overlaps from (
    select 1 from (select ts + dur as end, lead(ts) over (order by ts) as next_ts from $intervals where dur != -1)
    where end > next_ts limit 1)
);
-- Intervals that are less than epsilon apart are merged, too.
create perfetto macro interval_merge_overlapping(intervals TableOrSubquery, epsilon Expr) returns TableOrSubquery as (
  select ts, next_ts - $epsilon - ts as dur
  from (
    select ts, value, lead(ts) over (order by ts) as next_ts
    from (
      select ts, value, lag(value, 1, 0) over (order by ts) as last_value
      from intervals_overlap_count!($intervals, ts, (dur + $epsilon))
    )
    where value = 0 or last_value = 0
  )
  where value > 0 and next_ts is not null
);
-- Intervals that overlap made one, within partitions of equal values.
create perfetto macro interval_merge_overlapping_partitioned(intervals TableOrSubquery, partition_columns ColumnNameList)
  returns TableOrSubquery as (
  with
    __reach as (
      select *, max(ts + dur) over (partition by metasql_unparenthesize_exprlist!($partition_columns)
        order by ts rows between unbounded preceding and 1 preceding) as last_end
      from (select ts, dur, metasql_unparenthesize_exprlist!($partition_columns) from $intervals where dur >= 0)
    ),
    __run as (
      select *, sum(last_end is null or ts > last_end) over (
        partition by metasql_unparenthesize_exprlist!($partition_columns) order by ts) as run
      from __reach
    )
  select min(ts) as ts, max(ts + dur) - min(ts) as dur, metasql_unparenthesize_exprlist!($partition_columns)
  from __run group by metasql_unparenthesize_exprlist!($partition_columns), run
);
-- Roots, each with all intervals below it.
create perfetto macro _intervals_merge_root_and_children(roots_table TableOrSubquery, children_table TableOrSubquery)
  returns TableOrSubquery as (
  with
    __root as (select id as root_id, ts as root_ts, dur as root_dur from $roots_table where dur > 0),
    __child as (select root_id, id, parent_id, ts, dur from $children_table where dur > 0)
  select root_id, root_ts, root_dur, id, parent_id, ts, dur from __child join __root using (root_id)
  union all
  select root_id, root_ts, root_dur, null, null, null, null from __root
  where root_id not in (select parent_id from __child where parent_id is not null)
);
create perfetto macro _intervals_merge_root_and_children_by_intersection(roots_table TableOrSubquery,
  children_table TableOrSubquery, key ColumnName) returns TableOrSubquery as (
  with
    __root as (select * from $roots_table where dur > 0),
    __child as (select * from $children_table where dur > 0)
  select ii.ts, ii.dur, __child.id, coalesce(__child.parent_id, ii.id_1) as parent_id, __root.id as root_id,
    __root.ts as root_ts, __root.dur as root_dur, ii.$key
  from _interval_intersect!((__child, __root), ($key)) ii
  join __child on __child.id = ii.id_0 join __root on __root.id = ii.id_1
);
-- The innermost interval at each time. Intervals lie within those that they are below.
create perfetto macro _intervals_flatten(children_with_roots_table TableOrSubquery) returns TableOrSubquery as (
  with
    __tree as (
      select * from $children_with_roots_table where root_dur > 0 and (dur is null or dur > 0)
    ),
    -- Which interval is the innermost from a time on. A start counts more than an end; of several starts the shortest
    -- interval's, of several ends the longest one's.
    __change as (
      select root_id, ts, id, max(rank)
      from (
        select root_id, ts, id, 4611686018427387904 - dur as rank from __tree where id is not null
        union all select root_id, ts + dur, coalesce(parent_id, root_id), dur from __tree where id is not null
        union all select root_id, root_ts, root_id, 0 from __tree
      )
      group by root_id, ts
    ),
    __end as (select root_id, max(root_ts + root_dur) as ts from __tree group by root_id)
  select root_id, id, ts, dur
  from (
    select root_id, id, __change.ts,
      coalesce(lead(__change.ts) over (partition by root_id order by __change.ts), __end.ts) - __change.ts as dur
    from __change join __end using (root_id)
  )
  where dur > 0
);
