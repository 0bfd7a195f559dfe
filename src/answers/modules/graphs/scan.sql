-- Hands values along the edges of a graph. The step is a query on $table, which has the node's id and the columns: the
-- values that came to nodes. What it returns is a part of the result, and goes on to the nodes behind.
create perfetto macro __scan_input(name ColumnName) returns _ProjectionFragment as input.$name;
create perfetto macro __scan_alias(value ColumnName, name ColumnName) returns _ProjectionFragment as $value as $name;
create perfetto macro __scan(graph_table TableOrSubquery, init_table TableOrSubquery, columns ColumnNameList,
  query Expr, is_aggregating Expr) returns TableOrSubquery as (
  select c0 as id __intrinsic_token_apply_prefix!(__scan_alias, (c1, c2, c3, c4, c5, c6, c7), $columns)
  from __intrinsic_graph_scan(
    (select __intrinsic_rows(source_node_id, dest_node_id) from $graph_table),
    (select __intrinsic_rows(input.id __intrinsic_token_apply_prefix!(__scan_input, $columns)) from $init_table input),
    $query, __intrinsic_stringify!($columns), $is_aggregating)
);
create perfetto macro _graph_scan(graph_table TableOrSubquery, init_table TableOrSubquery, scan_columns ColumnNameList,
  step_query TableOrSubquery) returns TableOrSubquery as (
  select * from __scan!($graph_table, $init_table, $scan_columns, __intrinsic_stringify_ignore_table!($step_query), 0)
);
-- The step has to give one row for each node: it runs when the values of all nodes before it are there.
create perfetto macro _graph_aggregating_scan(graph_table TableOrSubquery, init_table TableOrSubquery,
  agg_columns ColumnNameList, agg_query TableOrSubquery) returns TableOrSubquery as (
  select * from __scan!($graph_table, $init_table, $agg_columns, __intrinsic_stringify_ignore_table!($agg_query), 1)
);
