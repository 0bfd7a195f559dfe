-- The most memory that a process had until a time.
include perfetto module counters.intervals;
include perfetto module linux.memory.process;
create perfetto table _memory_rss_high_watermark_per_process_table as
  select ts, dur, track_id as upid, cast_int!(value) as rss_high_watermark
  from counter_leading_intervals!((
    select ts, upid as track_id, 0 as id,
      max(coalesce(file_rss, 0) + coalesce(anon_rss, 0) + coalesce(shmem_rss, 0))
        over (partition by upid order by ts) as value
    from _memory_rss_and_swap_per_process_table));
-- The most memory that each process had until each time.
create perfetto view memory_rss_high_watermark_per_process(ts timestamp, dur duration, upid long, pid long,
  process_name string, rss_high_watermark long) as
  select m.ts, m.dur, m.upid, p.pid, p.name as process_name, m.rss_high_watermark
  from _memory_rss_high_watermark_per_process_table m join process p using (upid);
