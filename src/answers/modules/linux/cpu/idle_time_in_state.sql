-- How much of the time between two readings cpus were in each of their idle states; C0 is not idle.
create perfetto table linux_per_cpu_idle_time_in_state_counters(ts timestamp, machine_id long, state string, cpu long,
  idle_percentage double, total_residency double, time_slice long) as
  with
    __reading as (
      select c.ts, t.machine_id, extract_arg(t.dimension_arg_set_id, 'state') as state,
        extract_arg(t.dimension_arg_set_id, 'cpu') as cpu,
        c.value - lag(c.value) over track as residency, (c.ts - lag(c.ts) over track) / 1000 as time_slice
      from counter c join track t on c.track_id = t.id where t.type = 'cpu_idle_state'
      window track as (partition by c.track_id order by c.ts)
    ),
    __change as (select * from __reading where time_slice is not null)
  select ts, machine_id, state, cpu, min(100, residency / time_slice * 100) as idle_percentage,
    residency as total_residency, time_slice from __change
  union all
  select ts, machine_id, 'C0', cpu, max(0, (time_slice - sum(residency)) / time_slice * 100),
    max(0, time_slice - sum(residency)), time_slice from __change group by ts, cpu, machine_id;
-- The part of the time that a CPU spent in each idle state.
create perfetto table linux_cpu_idle_time_in_state_counters(ts timestamp, machine_id long, state string,
  idle_percentage double, total_residency double, time_slice long) as
  select ts, machine_id, state, min(100, sum(total_residency) / sum(time_slice) * 100) as idle_percentage,
    sum(total_residency) as total_residency, sum(time_slice) as time_slice
  from linux_per_cpu_idle_time_in_state_counters group by ts, state, machine_id;
