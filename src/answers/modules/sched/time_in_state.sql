-- How long threads were in each of their states.
include perfetto module intervals.intersect;
-- How long each thread was in each state, and the part of its time.
create perfetto table sched_time_in_state_for_thread(utid long, total_runtime long, state string, time_in_state long,
  percentage_in_state long) as
  with __sum as (select utid, state, sum(dur) as time_in_state from thread_state group by utid, state)
  select utid, total_runtime, state, time_in_state, time_in_state * 100 / total_runtime as percentage_in_state
  from (select *, sum(time_in_state) over (partition by utid) as total_runtime from __sum);
create perfetto macro __percentage(name Expr) returns Expr as max(iif(state = $name, percentage_in_state, null));
-- The parts of each thread's time that it spent in each state, as columns.
create perfetto table sched_percentage_of_time_in_state(utid long, running long, runnable long, runnable_preempted long,
  sleeping long, uninterruptible_sleep long, other long) as
  select utid, __percentage!('Running') as running, __percentage!('R') as runnable,
    __percentage!('R+') as runnable_preempted, __percentage!('S') as sleeping,
    __percentage!('D') as uninterruptible_sleep,
    sum(iif(state in ('T', 't', 'X', 'Z', 'x', 'I', 'K', 'W', 'P', 'N'), time_in_state, null)) * 100 / total_runtime
      as other
  from sched_time_in_state_for_thread group by utid;
-- How long a thread was in each state on each CPU within an interval.
create perfetto function sched_time_in_state_and_cpu_for_thread_in_interval(ts timestamp, dur duration, utid long)
  returns table(state string, io_wait bool, cpu long, blocked_function string, dur duration) as
  select s.state, s.io_wait, s.cpu, s.blocked_function, sum(ii.dur) as dur
  from _interval_intersect_single!($ts, $dur, (select id, ts, dur from thread_state where utid = $utid and dur > 0)) ii
    join thread_state s using (id)
  group by s.state, s.io_wait, s.cpu, s.blocked_function order by 5 desc;
-- How long a thread was in each state within an interval.
create perfetto function sched_time_in_state_for_thread_in_interval(ts timestamp, dur duration, utid long)
  returns table(state string, io_wait bool, blocked_function string, dur duration) as
  select s.state, s.io_wait, s.blocked_function, sum(ii.dur) as dur
  from _interval_intersect_single!($ts, $dur, (select id, ts, dur from thread_state where utid = $utid and dur > 0)) ii
    join thread_state s using (id)
  group by s.state, s.io_wait, s.blocked_function order by 4 desc;
-- How long threads were in each state on a CPU within an interval.
create perfetto function sched_time_in_state_for_cpu_in_interval(cpu long, ts timestamp, dur long)
  returns table(end_state string, dur long) as
  select s.end_state, sum(ii.dur) as dur
  from _interval_intersect_single!($ts, $dur, (select id, ts, dur from sched where cpu = $cpu and dur != -1)) ii
    join sched s using (id)
  group by s.end_state;
