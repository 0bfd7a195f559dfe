-- Shows many intervals as few: time is cut into buckets of one length, and each has the group that fills most of it.
include perfetto module intervals.intersect;

-- When the intervals of each partition begin and end, and how many buckets that takes.
create perfetto macro _mipmap_bucket_metadata(_source_table TableOrSubquery, _partition_column ColumnName,
  _bucket_duration_ns Expr) returns TableOrSubquery as (
  select $_partition_column, trace_min_ts, trace_max_ts, $_bucket_duration_ns as bucket_duration_ns,
    (trace_max_ts - trace_min_ts + $_bucket_duration_ns - 1) / $_bucket_duration_ns as bucket_count
  from (
    select $_partition_column, min(ts) as trace_min_ts, max(ts + dur) as trace_max_ts
    from $_source_table group by $_partition_column)
);

-- The buckets of each partition; their ids are unique.
create perfetto macro _mipmap_buckets_table(_source_table TableOrSubquery, _partition_column ColumnName,
  _bucket_duration_ns Expr) returns TableOrSubquery as (
  with recursive
    __bucket($_partition_column, bucket_index, ts, end_ts) as (
      select $_partition_column, 0, min(ts), max(ts + dur) from $_source_table group by $_partition_column
      union all
      select $_partition_column, bucket_index + 1, ts + $_bucket_duration_ns, end_ts
      from __bucket where ts + $_bucket_duration_ns < end_ts)
  select row_number() over (order by $_partition_column, bucket_index) as id, $_partition_column, bucket_index,
    cast(ts as int) as ts, $_bucket_duration_ns as dur
  from __bucket
);

-- The group of each bucket, and buckets of one group made one interval. The intervals have an id and a group_hash.
create perfetto macro _mipmap_merged(_source_slices_with_ids TableOrSubquery, _buckets TableOrSubquery,
  _partition_column ColumnName, _bucket_duration_ns Expr) returns TableOrSubquery as (
  with
    __share as (
      select s.$_partition_column, b.bucket_index, b.ts, s.group_hash, min(s.id) as id, sum(ii.dur) as total,
        min(s.ts) as first_ts
      from _interval_intersect!(($_buckets, $_source_slices_with_ids), ($_partition_column)) ii
      join $_buckets b on b.id = ii.id_0 join $_source_slices_with_ids s on s.id = ii.id_1
      group by s.$_partition_column, b.bucket_index, s.group_hash),
    __ranked as (
      select *, row_number() over (
        partition by $_partition_column, bucket_index order by total desc, first_ts, group_hash) as place
      from __share),
    __change as (
      select *, group_hash != coalesce(lag(group_hash) over (
        partition by $_partition_column order by bucket_index), '') as is_change
      from __ranked where place = 1),
    __run as (
      select *, sum(is_change) over (
        partition by $_partition_column order by bucket_index rows unbounded preceding) as run
      from __change)
  select $_partition_column, min(id) as id, cast(min(ts) as int) as ts,
    (max(bucket_index) - min(bucket_index) + 1) * $_bucket_duration_ns as dur, group_hash
  from __run group by $_partition_column, run, group_hash order by ts
);
