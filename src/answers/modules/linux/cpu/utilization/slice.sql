-- Cycles of cpus in slices of threads; NULL where the frequency was unknown for a part of the slice.
include perfetto module intervals.intersect;
include perfetto module linux.cpu.utilization.general;
include perfetto module slices.with_context;
create perfetto macro __cycles_per_slice(slices TableOrSubquery) returns TableOrSubquery as (
  with __cycles as (
    select ii.id_0 as id, sum(ii.dur) as run_dur, cast_int!(sum(ii.dur * freq / 1000)) as millicycles,
      cast_int!(sum(ii.dur * freq / 1000) / 1e9) as megacycles
    from _interval_intersect!(((select * from $slices where dur > 0 and utid > 0), _cpu_freq_per_thread), (utid)) ii
      join _cpu_freq_per_thread f on f.id = ii.id_1
    where freq is not null group by ii.id_0
  )
  select s.id, s.name, s.utid, s.thread_name, s.upid, s.process_name, c.millicycles, c.megacycles
  from $slices s left join __cycles c on c.id = s.id and c.run_dur = s.dur
);
-- The cycles that each slice of a thread took, and its frequencies.
create perfetto table cpu_cycles_per_thread_slice(id long, name string, utid long, thread_name string, upid long,
  process_name string, millicycles long, megacycles long) as
  select * from __cycles_per_slice!(thread_slice);
-- The cycles that each slice of a thread took within an interval.
create perfetto function cpu_cycles_per_thread_slice_in_interval(ts timestamp, dur duration) returns table(id long, name string, utid long, thread_name string, upid long,
  process_name string, millicycles long, megacycles long) as
  select * from __cycles_per_slice!((
    select s.id, ii.ts, ii.dur, s.name, s.utid, s.thread_name, s.upid, s.process_name
    from _interval_intersect_single!($ts, $dur, (select id, ts, dur from thread_slice where dur > 0 and utid > 0)) ii
      join thread_slice s using (id)));
