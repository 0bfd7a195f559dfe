-- From each start to the first end behind it. Starts without one make none.
create perfetto macro _interval_create(starts_table TableOrSubquery, ends_table TableOrSubquery) returns TableOrSubquery as (
  select ts, dur from __intrinsic_interval_create(
    (select __intrinsic_rows(ts) from (select ts from $starts_table order by ts)),
    (select __intrinsic_rows(ts) from (select ts from $ends_table order by ts)))
);
