-- A list without its parentheses: metasql_unparenthesize_exprlist!((a, b)) is a, b.
create perfetto macro __item(item Expr) returns Expr as $item;
-- A list of expressions without its parentheses.
create perfetto macro metasql_unparenthesize_exprlist(list ExprList) returns UnparenExprList as
  __intrinsic_token_apply!(__item, $list);
