-- How much threads use the cpus.
include perfetto module intervals.intersect;
include perfetto module linux.cpu.utilization.general;
include perfetto module linux.cpu.utilization.thread_cpu;
include perfetto module time.conversion;
-- How much of the CPUs a thread used, in periods of a length.
create perfetto function cpu_thread_utilization_per_period(interval long, utid long) returns table(ts timestamp, utilization double, unnormalized_utilization double) as
  select * from _cpu_avg_utilization_per_period!($interval, (select ts, ts_end from sched where utid = $utid));
-- How much of the CPUs a thread used, second by second.
create perfetto function cpu_thread_utilization_per_second(utid long) returns table(ts timestamp, utilization double, unnormalized_utilization double) as
  select ts, utilization, unnormalized_utilization from cpu_thread_utilization_per_period(time_from_s(1), $utid);
-- The cycles and run time of each thread, and its frequencies.
create perfetto table cpu_cycles_per_thread(utid long, millicycles long, megacycles long, runtime duration, min_freq long, max_freq long,
  avg_freq long) as
  select utid, sum(millicycles) as millicycles, cast_int!(sum(millicycles) / 1e9) as megacycles, sum(runtime) as runtime,
    min(min_freq) as min_freq, max(max_freq) as max_freq, cast_int!(sum(millicycles) / (sum(runtime) / 1000)) as avg_freq
  from cpu_cycles_per_thread_per_cpu group by utid;
-- The cycles and run time of each thread within an interval.
create perfetto function cpu_cycles_per_thread_in_interval(ts timestamp, dur long) returns table(utid long, millicycles long, megacycles long, runtime duration, awake_runtime duration, min_freq long,
  max_freq long, avg_freq long) as
  select utid, cast_int!(sum(ii.dur * freq / 1000)) as millicycles, cast_int!(sum(ii.dur * freq / 1000) / 1e9) as megacycles,
    sum(ii.dur) as runtime, sum(to_monotonic(ii.ts + ii.dur) - to_monotonic(ii.ts)) as awake_runtime,
    min(freq) as min_freq, max(freq) as max_freq,
    cast_int!(sum(ii.dur * freq / 1000) / (sum(iif(freq is not null, ii.dur, null)) / 1000)) as avg_freq
  from _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) ii join _cpu_freq_per_thread using (id)
  group by utid;
-- How much of the CPUs each thread used within an interval.
create perfetto function cpu_thread_utilization_in_interval(ts timestamp, dur long) returns table(upid long, utid long,
  thread_name string, awake_dur long, awake_utilization double, awake_unnormalized_utilization double) as
  select thread.upid, utid, thread.name as thread_name, awake_runtime as awake_dur,
    round(awake_runtime * 100.0 / awake / (select max(cpu) + 1 from cpu), 6) as awake_utilization,
    round(awake_runtime * 100.0 / awake, 6) as awake_unnormalized_utilization
  from cpu_cycles_per_thread_in_interval($ts, $dur) join thread using (utid),
    (select to_monotonic($ts + $dur) - to_monotonic($ts) as awake);
