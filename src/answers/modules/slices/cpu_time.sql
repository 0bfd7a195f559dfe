-- How long slices of threads had a cpu, and how many of its cycles.
include perfetto module intervals.intersect;
include perfetto module linux.cpu.utilization.slice;
include perfetto module slices.with_context;
-- The time on a CPU that each slice of a thread took.
create perfetto table thread_slice_cpu_time(id long, name string, utid long, thread_name string, upid long,
  process_name string, cpu_time long) as
  with __time as (
    select id_0 as id, sum(dur) as cpu_time
    from _interval_intersect!((
      (select id, ts, dur, utid from thread_slice where utid > 0 and dur > 0),
      (select id, ts, dur, utid from sched where dur > 0)), (utid))
    group by id_0
  )
  select id, s.name, s.utid, s.thread_name, s.upid, s.process_name, cpu_time
  from __time join thread_slice s using (id) order by id;
-- The cycles that each slice of a thread took.
create perfetto view thread_slice_cpu_cycles(id long, name string, utid long, thread_name string, upid long,
  process_name string, millicycles long, megacycles long) as
  select id, name, utid, thread_name, upid, process_name, millicycles, megacycles from cpu_cycles_per_thread_slice;
