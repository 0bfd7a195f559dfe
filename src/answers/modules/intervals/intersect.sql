-- Where intervals of several tables overlap.
create perfetto macro __ii_first(first Expr, second Expr) returns Expr as $first;
create perfetto macro __ii_input(name ColumnName) returns _ProjectionFragment as input.$name;
create perfetto macro __ii_alias(value Expr, name ColumnName) returns _ProjectionFragment as $value as $name;
create perfetto macro __ii_rows(tab TableOrSubquery, columns ColumnNameList) returns TableOrSubquery as (
  select __intrinsic_rows(input.id, input.ts, input.dur __intrinsic_token_apply_prefix!(__ii_input, $columns))
  from $tab input
);
-- The tables have id, ts, dur >= 0 and the columns, whose values are equal in what overlaps.
create perfetto macro _interval_intersect(tabs _TableNameList, agg_columns ColumnNameList) returns TableOrSubquery as (
  select ts, dur,
    __intrinsic_token_apply!(__ii_first,
      (id_0, id_1, id_2, id_3, id_4, id_5, id_6, id_7, id_8, id_9, id_10, id_11, id_12, id_13, id_14), $tabs)
    __intrinsic_token_apply_prefix!(__ii_alias, (p0, p1, p2, p3, p4, p5, p6, p7), $agg_columns)
  from __intrinsic_interval_intersect(
    __intrinsic_token_apply!(__ii_rows, $tabs,
      ($agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns,
       $agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns, $agg_columns)))
);
create perfetto macro _interval_intersect_single(ts Expr, dur Expr, t TableOrSubquery) returns TableOrSubquery as (
  select id_0 as id, ts, dur from _interval_intersect!(($t, (select 0 as id, $ts as ts, $dur as dur)), ())
);
create perfetto macro __ii_renamed(tab TableOrSubquery, columns ColumnNameList, id_col ColumnName, ts_col ColumnName,
  dur_col ColumnName) returns TableOrSubquery as (
  select $id_col as id, $ts_col as ts, $dur_col as dur __intrinsic_token_apply_prefix!(__ii_alias, $columns, $columns)
  from $tab
);
create perfetto macro _interval_intersect_with_col_names(tab1 TableOrSubquery, id_col1 ColumnName, ts_col1 ColumnName,
  dur_col1 ColumnName, tab2 TableOrSubquery, id_col2 ColumnName, ts_col2 ColumnName, dur_col2 ColumnName,
  agg_columns ColumnNameList) returns TableOrSubquery as (
  _interval_intersect!(
    (__ii_renamed!($tab1, $agg_columns, $id_col1, $ts_col1, $dur_col1),
     __ii_renamed!($tab2, $agg_columns, $id_col2, $ts_col2, $dur_col2)), $agg_columns)
);
-- Cuts time at each start and end. A group is the intervals between two cuts, and those that end at the first.
create perfetto macro interval_self_intersect(intervals TableOrSubquery) returns TableOrSubquery as (
  with
    __bound as (
      select id, ts, 1 as is_start from $intervals union select id, ts + dur, 0 from $intervals
    ),
    __cut as (
      select row_number() over (order by ts) as id, ts, coalesce(lead(ts) over (order by ts) - ts, 0) as dur
      from (select distinct ts from __bound)
    )
  select ts, dur, id_0 as group_id, id_1 as id, false as interval_ends_at_ts
  from _interval_intersect!((__cut, $intervals), ()) where dur > 0
  union all
  select ts, __cut.dur, __cut.id, __bound.id, true from __bound join __cut using (ts) where not is_start
);
