-- How much processes use the cpus.
include perfetto module intervals.intersect;
include perfetto module linux.cpu.utilization.general;
include perfetto module linux.cpu.utilization.thread_cpu;
include perfetto module time.conversion;
-- How much of the CPUs a process used, in periods of a length.
create perfetto function cpu_process_utilization_per_period(interval long, upid long) returns table(ts timestamp, utilization double, unnormalized_utilization double) as
  select * from _cpu_avg_utilization_per_period!($interval, (
    select s.ts, s.ts_end from sched s join thread t using (utid) where t.upid = $upid and not t.is_idle));
-- How much of the CPUs a process used, second by second.
create perfetto function cpu_process_utilization_per_second(upid long) returns table(ts timestamp, utilization double, unnormalized_utilization double) as
  select ts, utilization, unnormalized_utilization from cpu_process_utilization_per_period(time_from_s(1), $upid);
-- The cycles and run time of each process, and its frequencies.
create perfetto table cpu_cycles_per_process(upid long, millicycles long, megacycles long, runtime duration, min_freq long, max_freq long,
  avg_freq long) as
  select upid, sum(millicycles) as millicycles, cast_int!(sum(millicycles) / 1e9) as megacycles, sum(runtime) as runtime,
    min(min_freq) as min_freq, max(max_freq) as max_freq, cast_int!(sum(millicycles) / (sum(runtime) / 1000)) as avg_freq
  from cpu_cycles_per_thread_per_cpu join thread using (utid) where upid is not null group by upid;
-- The cycles and run time of each process within an interval.
create perfetto function cpu_cycles_per_process_in_interval(ts timestamp, dur long) returns table(upid long, millicycles long, megacycles long, runtime duration, awake_runtime duration, min_freq long,
  max_freq long, avg_freq long) as
  select t.upid, cast_int!(sum(ii.dur * freq / 1000)) as millicycles, cast_int!(sum(ii.dur * freq / 1000) / 1e9) as megacycles,
    sum(ii.dur) as runtime, sum(to_monotonic(ii.ts + ii.dur) - to_monotonic(ii.ts)) as awake_runtime,
    min(freq) as min_freq, max(freq) as max_freq,
    cast_int!(sum(ii.dur * freq / 1000) / (sum(iif(freq is not null, ii.dur, null)) / 1000)) as avg_freq
  from _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) ii join _cpu_freq_per_thread f using (id)
    join thread t using (utid)
  group by t.upid;
-- How much of the CPUs each process used within an interval.
create perfetto function cpu_process_utilization_in_interval(ts timestamp, dur long) returns table(upid long,
  process_name string, awake_dur long, awake_utilization double, awake_unnormalized_utilization double) as
  select upid, process.name as process_name, awake_runtime as awake_dur,
    round(awake_runtime * 100.0 / awake / (select max(cpu) + 1 from cpu), 6) as awake_utilization,
    round(awake_runtime * 100.0 / awake, 6) as awake_unnormalized_utilization
  from cpu_cycles_per_process_in_interval($ts, $dur) join process using (upid),
    (select to_monotonic($ts + $dur) - to_monotonic($ts) as awake);
