-- The frequencies of cpus over time.
include perfetto module counters.intervals;
-- The frequency of each CPU in kHz, from each change to the next.
create perfetto table cpu_frequency_counters(id long, track_id long, ts timestamp, dur duration, freq long, ucpu long,
  cpu long) as
  select c.id, c.track_id, c.ts, c.dur, cast_int!(c.value) as freq, cpu.ucpu, cpu.cpu
  from counter_leading_intervals!((
      select counter.* from counter join cpu_counter_track t on t.id = counter.track_id where t.name = 'cpufreq')) c
    join cpu_counter_track t on t.id = c.track_id
    join cpu on cpu.cpu = t.cpu and cpu.machine_id is t.machine_id;
