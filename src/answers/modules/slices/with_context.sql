-- Slices with the names of their threads and processes.
create perfetto view thread_slice(id id, ts timestamp, dur duration, category string, name string, track_id long,
  track_name string, thread_name string, utid long, tid long, is_main_thread bool, process_name string, upid long, pid long,
  depth long, parent_id long, arg_set_id argsetid, thread_ts timestamp, thread_dur duration) as
  select s.id, s.ts, s.dur, s.category, s.name, s.track_id, tt.name as track_name,
    t.name as thread_name, t.utid, t.tid, t.is_main_thread, p.name as process_name, p.upid, p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur
  from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid) left join process p using (upid);
create perfetto view process_slice(id id, ts timestamp, dur duration, category string, name string, track_id long,
  track_name string, process_name string, upid long, pid long, depth long, parent_id long, arg_set_id argsetid,
  thread_ts timestamp, thread_dur duration) as
  select s.id, s.ts, s.dur, s.category, s.name, s.track_id, pt.name as track_name,
    p.name as process_name, p.upid, p.pid, s.depth, s.parent_id,
    s.arg_set_id, s.thread_ts, s.thread_dur
  from slice s join process_track pt on s.track_id = pt.id join process p using (upid);
create perfetto view thread_or_process_slice(id id, ts timestamp, dur duration, category string, name string,
  track_id long, track_name string, thread_name string, utid long, tid long, process_name string, upid long, pid long,
  depth long, parent_id long, arg_set_id argsetid) as
  select id, ts, dur, category, name, track_id, track_name, thread_name, utid, tid, process_name, upid, pid, depth,
    parent_id, arg_set_id from thread_slice
  union all
  select id, ts, dur, category, name, track_id, track_name, null as thread_name, null as utid,
    null as tid, process_name, upid, pid, depth, parent_id,
    arg_set_id from process_slice;
