-- How long a thread waited for the cpu before it ran.
include perfetto module sched.runnable;
-- How long a thread waited for a CPU before it ran.
create perfetto table sched_latency_for_running_interval(thread_state_id long, sched_id long, utid long,
  runnable_latency_id long, latency_dur long) as
  select run.id as thread_state_id, sched.id as sched_id, run.utid, waited.id as runnable_latency_id,
    waited.dur as latency_dur
  from sched_previous_runnable_on_thread p
    join thread_state waited on waited.id = p.prev_runnable_id
    join thread_state run on run.id = p.id
    join sched on sched.utid = run.utid and sched.ts = run.ts and sched.dur = run.dur;
