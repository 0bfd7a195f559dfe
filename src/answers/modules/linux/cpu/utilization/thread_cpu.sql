-- Cycles of cpus by thread and cpu. Where the frequency is unknown they are NULL.
include perfetto module intervals.intersect;
include perfetto module linux.cpu.utilization.general;
-- The cycles and run time of each thread on each CPU.
create perfetto table cpu_cycles_per_thread_per_cpu(utid long, ucpu long, cpu long, millicycles long, megacycles long, runtime duration, min_freq long, max_freq long,
  avg_freq long) as
  select utid, ucpu, cpu.cpu, cast_int!(sum(dur * freq / 1000)) as millicycles, cast_int!(sum(dur * freq / 1000) / 1e9) as megacycles,
    sum(dur) as runtime,
    min(freq) as min_freq, max(freq) as max_freq, cast_int!(sum(dur * freq / 1000) / (sum(dur) / 1000)) as avg_freq
  from _cpu_freq_per_thread join cpu using (ucpu) group by utid, ucpu;
-- The cycles and run time of each thread on each CPU within an interval.
create perfetto function cpu_cycles_per_thread_per_cpu_in_interval(ts timestamp, dur long) returns table(utid long,
  ucpu long, cpu long, millicycles long, megacycles long, runtime duration, min_freq long, max_freq long,
  avg_freq long) as
  select utid, ucpu, cpu.cpu, cast_int!(sum(ii.dur * freq / 1000)) as millicycles, cast_int!(sum(ii.dur * freq / 1000) / 1e9) as megacycles,
    sum(ii.dur) as runtime,
    min(freq) as min_freq, max(freq) as max_freq,
    cast_int!(sum(ii.dur * freq / 1000) / (sum(iif(freq is not null, ii.dur, null)) / 1000)) as avg_freq
  from _interval_intersect_single!($ts, $dur, _cpu_freq_per_thread) ii join _cpu_freq_per_thread using (id)
    join cpu using (ucpu)
  group by utid, ucpu;
