-- How many threads there are in a state at a time, and how many cpus run one.
include perfetto module intervals.overlap;
-- How many threads wait for a CPU, from each change on.
create perfetto table sched_runnable_thread_count(ts timestamp, runnable_thread_count long) as
  select ts, value as runnable_thread_count
  from intervals_overlap_count!((select ts, dur from thread_state where state = 'R'), ts, dur) order by ts;
-- How many threads sleep and cannot be interrupted, from each change on.
create perfetto table sched_uninterruptible_sleep_thread_count(ts timestamp, uninterruptible_sleep_thread_count long) as
  select ts, value as uninterruptible_sleep_thread_count
  from intervals_overlap_count!((select ts, dur from thread_state where state = 'D'), ts, dur) order by ts;
-- How many CPUs run threads, from each change on.
create perfetto table sched_active_cpu_count(ts timestamp, active_cpu_count long) as
  select ts, value as active_cpu_count
  from intervals_overlap_count!(
    (select ts, dur from sched where utid not in (select utid from thread where is_idle)), ts, dur) order by ts;
