-- The idle states of cpus over time; -1 is not idle.
include perfetto module counters.intervals;
-- The idle state of each CPU, from each change to the next; -1 is not idle.
create perfetto table cpu_idle_counters(id long, track_id long, ts timestamp, dur duration, idle long, cpu long) as
  select c.id, c.track_id, c.ts, c.dur, cast_int!(iif(c.value = 4294967295, -1, c.value)) as idle, t.cpu
  from counter_leading_intervals!((
      select counter.* from counter join cpu_counter_track t on t.id = counter.track_id where t.name = 'cpuidle')) c
    join cpu_counter_track t on t.id = c.track_id;
