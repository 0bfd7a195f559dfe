-- How much the cpus are used. 1.0 is all of them, or one of them where it is not normalized.
include perfetto module intervals.intersect;
include perfetto module linux.cpu.utilization.general;
include perfetto module linux.cpu.utilization.thread_cpu;
include perfetto module time.conversion;
-- How much of the CPUs was used, in periods of a length.
create perfetto function cpu_utilization_per_period(interval long) returns table(ts timestamp, utilization double, unnormalized_utilization double) as
  select * from _cpu_avg_utilization_per_period!($interval,
    (select * from sched where utid not in (select utid from thread where is_idle)));
-- How much of the CPUs was used, second by second.
create perfetto table cpu_utilization_per_second(ts timestamp, utilization double, unnormalized_utilization double) as
  select ts, utilization, unnormalized_utilization from cpu_utilization_per_period(time_from_s(1));
-- The cycles and run time of all CPUs, and their frequencies.
create perfetto table cpu_cycles(millicycles long, megacycles long, runtime duration, min_freq long, max_freq long,
  avg_freq long) as
  select sum(millicycles) as millicycles, cast_int!(sum(millicycles) / 1e9) as megacycles, sum(runtime) as runtime,
    min(min_freq) as min_freq, max(max_freq) as max_freq, cast_int!(sum(millicycles) / (sum(runtime) / 1000)) as avg_freq
  from cpu_cycles_per_thread_per_cpu;
-- The cycles and run time of all CPUs within an interval.
create perfetto function cpu_cycles_in_interval(ts timestamp, dur long) returns table(millicycles long, megacycles long, runtime duration, awake_runtime duration, min_freq long,
  max_freq long, avg_freq long) as
  select cast_int!(sum(ii.dur * freq / 1000)) as millicycles, cast_int!(sum(ii.dur * freq / 1000) / 1e9) as megacycles,
    sum(ii.dur) as runtime, sum(to_monotonic(ii.ts + ii.dur) - to_monotonic(ii.ts)) as awake_runtime,
    min(freq) as min_freq, max(freq) as max_freq,
    cast_int!(sum(ii.dur * freq / 1000) / (sum(iif(freq is not null, ii.dur, null)) / 1000)) as avg_freq
  from _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) ii join _cpu_freq_per_thread using (id);
-- How much of the CPUs was used within an interval.
create perfetto function cpu_utilization_in_interval(ts timestamp, dur long) returns table(awake_dur long,
  awake_utilization double, awake_unnormalized_utilization double) as
  select awake_runtime as awake_dur,
    round(awake_runtime * 100.0 / awake / (select max(cpu) + 1 from cpu), 2) as awake_utilization,
    round(awake_runtime * 100.0 / awake, 2) as awake_unnormalized_utilization
  from cpu_cycles_in_interval($ts, $dur), (select to_monotonic($ts + $dur) - to_monotonic($ts) as awake);
-- The cycles and run time of each CPU, and its frequencies.
create perfetto table cpu_cycles_per_cpu(ucpu long, cpu long, millicycles long, megacycles long, runtime duration, min_freq long, max_freq long,
  avg_freq long) as
  select ucpu, cpu, sum(millicycles) as millicycles, cast_int!(sum(millicycles) / 1e9) as megacycles, sum(runtime) as runtime,
    min(min_freq) as min_freq, max(max_freq) as max_freq, cast_int!(sum(millicycles) / (sum(runtime) / 1000)) as avg_freq
  from cpu_cycles_per_thread_per_cpu group by ucpu, cpu;
-- The cycles and run time of each CPU within an interval.
create perfetto function cpu_cycles_per_cpu_in_interval(ts timestamp, dur long) returns table(ucpu long, cpu long,
  millicycles long, megacycles long, runtime duration, min_freq long, max_freq long,
  avg_freq long) as
  select ucpu, cpu, cast_int!(sum(ii.dur * freq / 1000)) as millicycles, cast_int!(sum(ii.dur * freq / 1000) / 1e9) as megacycles,
    sum(ii.dur) as runtime,
    min(freq) as min_freq, max(freq) as max_freq,
    cast_int!(sum(ii.dur * freq / 1000) / (sum(iif(freq is not null, ii.dur, null)) / 1000)) as avg_freq
  from _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) ii join _cpu_freq_per_thread using (id)
  group by ucpu;
