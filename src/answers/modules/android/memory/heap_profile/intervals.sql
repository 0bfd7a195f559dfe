-- What each dump of a heap changed. A dump without a beginning begins behind the one before.
create perfetto table _android_heap_profile_intervals as
  with
    __stack as (
      select upid, heap_name, ts, min(id) as id, sum(count) as count, sum(size) as size, sum(max(size, 0)) as allocated
      from heap_profile_allocation group by upid, heap_name, ts, callsite_id
    ),
    __dump as (
      select min(s.id) as id, s.upid, s.heap_name, s.ts as ts_end, p.ts as ts_start,
        sum(iif(s.count > 0, s.size, 0)) as retained, sum(s.allocated) as allocated, sum(s.size) as delta
      from __stack s join heap_profile p on p.upid = s.upid and p.ts_end = s.ts
      group by s.upid, s.heap_name, s.ts
    ),
    __started as (
      select *, iif(ts_start < ts_end, ts_start, min(ts_end,
        1 + lag(ts_end, 1, trace_start()) over (partition by upid, heap_name order by ts_end))) as ts
      from __dump
    )
  select id, upid, heap_name, ts, ts_end - ts as dur, retained, allocated, delta from __started;
