-- How often and how long cpus were in each of their idle states.
include perfetto module linux.cpu.idle;
-- How often and how long each CPU was in each idle state.
create perfetto table cpu_idle_stats(cpu long, state long, count long, dur duration, avg_dur duration,
  idle_percent double) as
  select cpu, idle + 1 as state, count(*) as count, sum(dur) as dur, sum(dur) / count(*) as avg_dur,
    sum(dur) * 100.0 / all_dur as idle_percent
  from cpu_idle_counters join (select cpu, sum(dur) as all_dur from cpu_idle_counters group by cpu) using (cpu)
  where idle >= 0 group by cpu, idle;
