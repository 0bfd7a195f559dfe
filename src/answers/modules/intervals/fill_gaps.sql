-- Adds intervals without data where a group has none, so that each group covers the whole trace.
include perfetto module std.metasql.unparenthesize;
create perfetto macro __null_of(item Expr) returns Expr as null;
create perfetto macro _intervals_fill_gaps(group_cols ColumnNameList, data_cols ColumnNameList, data TableOrSubquery)
  returns TableOrSubquery as (
  with
    __given as (
      select ts, dur, metasql_unparenthesize_exprlist!($group_cols), metasql_unparenthesize_exprlist!($data_cols) from $data
    ),
    __span as (
      select metasql_unparenthesize_exprlist!($group_cols), min(ts) as first_ts, max(ts + dur) as end_ts
      from __given group by metasql_unparenthesize_exprlist!($group_cols)
    ),
    __all as (
      select * from __given
      union all
      select coalesce(end_ts, trace_start()), trace_end() - coalesce(end_ts, trace_start()),
        metasql_unparenthesize_exprlist!($group_cols), __intrinsic_token_apply!(__null_of, $data_cols) from __span
      union all
      select trace_start(), first_ts - trace_start(),
        metasql_unparenthesize_exprlist!($group_cols), __intrinsic_token_apply!(__null_of, $data_cols) from __span
      union all
      select trace_start(), trace_dur(),
        __intrinsic_token_apply!(__null_of, $group_cols), __intrinsic_token_apply!(__null_of, $data_cols)
      where not exists (select 1 from __given)
      union all
      select ts + dur,
        lead(ts) over (partition by metasql_unparenthesize_exprlist!($group_cols) order by ts) - (ts + dur),
        metasql_unparenthesize_exprlist!($group_cols), __intrinsic_token_apply!(__null_of, $data_cols) from __given
    )
  select * from __all where dur > 0 order by ts
);
