-- How long slices of threads were in each state.
include perfetto module intervals.intersect;
include perfetto module slices.with_context;
-- How long the thread of each slice was in each state meanwhile.
create perfetto table thread_slice_time_in_state(id long, name string, utid long, thread_name string, upid long,
  process_name string, state string, io_wait bool, blocked_function string, dur duration) as
  with __time as (
    select ii.id_0 as id, t.state, t.io_wait, t.blocked_function, sum(ii.dur) as dur
    from _interval_intersect!((
      (select id, ts, dur, utid from thread_slice where utid > 0 and dur > 0),
      (select id, ts, dur, utid from thread_state where dur > 0)), (utid)) ii
      join thread_state t on t.id = ii.id_1
    group by ii.id_0, t.state, t.io_wait, t.blocked_function
  )
  select id, s.name, s.utid, s.thread_name, s.upid, s.process_name, __time.state, __time.io_wait,
    __time.blocked_function, __time.dur
  from __time join thread_slice s using (id) order by id;
