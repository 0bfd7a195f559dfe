-- The states of threads within their innermost slices.
include perfetto module slices.flat_slices;
create virtual table __span_joined_thread using span_join(_slice_flattened partitioned utid, thread_state partitioned utid);
create perfetto function _get_flattened_thread_state(slice_id long, utid long) returns table(ts timestamp, dur duration,
  utid long, depth long, name string, slice_id long, track_id long, cpu long, state string, io_wait long,
  blocked_function string, waker_utid long, irq_context long) as
  with __wanted as (
    select s.ts, s.dur, s.track_id from slice s join thread_track t on s.track_id = t.id
    where ($slice_id is null or s.id = $slice_id) and ($utid is null or t.utid = $utid) limit 1
  )
  select j.ts, j.dur, j.utid, j.depth, j.name, j.slice_id, j.track_id, j.cpu, j.state, j.io_wait, j.blocked_function,
    j.waker_utid, j.irq_context
  from __wanted w join __span_joined_thread j
  where j.track_id = w.track_id and j.ts >= w.ts and j.ts < w.ts + w.dur;
create perfetto function _get_flattened_thread_state_aggregated(slice_id long, utid long) returns table(slice_id long,
  slice_name string, uninterruptible_sleep_nonio long, uninterruptible_sleep_io long, runnable long, sleeping long, stopped long, traced long, exit_dead long, exit_zombie long, task_dead long, wake_kill long, waking long, parked long, no_load long, runnable_preempted long, running long, idle long, dur duration, depth long) as
  select slice_id, name as slice_name,
    sum(iif(state = 'D' and io_wait = 0, dur, null)) as uninterruptible_sleep_nonio,
    sum(iif(state = 'D' and io_wait = 1, dur, null)) as uninterruptible_sleep_io,
    sum(iif(state = 'R', dur, null)) as runnable,
    sum(iif(state = 'S', dur, null)) as sleeping,
    sum(iif(state = 'T', dur, null)) as stopped,
    sum(iif(state = 't', dur, null)) as traced,
    sum(iif(state = 'X', dur, null)) as exit_dead,
    sum(iif(state = 'Z', dur, null)) as exit_zombie,
    sum(iif(state = 'x', dur, null)) as task_dead,
    sum(iif(state = 'K', dur, null)) as wake_kill,
    sum(iif(state = 'W', dur, null)) as waking,
    sum(iif(state = 'P', dur, null)) as parked,
    sum(iif(state = 'N', dur, null)) as no_load,
    sum(iif(state = 'R+', dur, null)) as runnable_preempted,
    sum(iif(state = 'Running', dur, null)) as running,
    sum(iif(state = 'I', dur, null)) as idle,
    sum(dur) as dur, depth
  from _get_flattened_thread_state($slice_id, $utid) group by slice_id;
