-- How long the counters of processes have their values. The last one lasts until the process or the trace ends.
create perfetto view _all_counters_per_process as
  select c.ts,
    lead(c.ts, 1, (select coalesce(p.end_ts, trace_end()) from process p where p.upid = t.upid) + 1)
      over (partition by c.track_id order by c.ts) - c.ts as dur,
    t.upid, c.value, c.track_id, t.name
  from counter c join process_counter_track t on t.id = c.track_id where t.upid is not null;
