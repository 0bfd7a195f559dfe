-- Slices with the names of their threads and processes.

-- The slices of threads, with their threads and processes.
create perfetto view thread_slice(
  -- The slice.
  id id,
  -- When it begins.
  ts timestamp,
  -- How long it lasts; -1 when its end is not in the trace.
  dur duration,
  -- Alias for `slice.category`.
  category string,
  -- Alias for `slice.name`.
  name string,
  -- Alias for `slice.track_id`.
  track_id long,
  -- The name of the track.
  track_name string,
  -- Alias for `thread.name`.
  thread_name string,
  -- Alias for `thread.utid`.
  utid long,
  -- Alias for `thread.tid`.
  tid long,
  -- True for the first thread of its process.
  is_main_thread bool,
  -- Alias for `process.name`.
  process_name string,
  -- Alias for `process.upid`.
  upid long,
  -- Alias for `process.pid`.
  pid long,
  -- How many slices it lies in.
  depth long,
  -- The slice around it.
  parent_id long,
  -- Its arguments.
  arg_set_id argsetid,
  -- The time on a CPU that the thread had spent when it began.
  thread_ts timestamp,
  -- The time on a CPU that the thread spent in it.
  thread_dur duration
) as
  select s.id, s.ts, s.dur, s.category, s.name, s.track_id, tt.name as track_name,
    t.name as thread_name, t.utid, t.tid, t.is_main_thread, p.name as process_name, p.upid, p.pid, s.depth, s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur
  from slice s join thread_track tt on s.track_id = tt.id join thread t using (utid) left join process p using (upid);
-- The slices of processes as a whole, with their processes.
create perfetto view process_slice(
  -- The slice.
  id id,
  -- When it begins.
  ts timestamp,
  -- How long it lasts; -1 when its end is not in the trace.
  dur duration,
  -- Alias for `slice.category`.
  category string,
  -- Alias for `slice.name`.
  name string,
  -- Alias for `slice.track_id`.
  track_id long,
  -- The name of the track.
  track_name string,
  -- Alias for `process.name`.
  process_name string,
  -- Alias for `process.upid`.
  upid long,
  -- Alias for `process.pid`.
  pid long,
  -- How many slices it lies in.
  depth long,
  -- The slice around it.
  parent_id long,
  -- Its arguments.
  arg_set_id argsetid,
  -- The time on a CPU that the thread had spent when it began.
  thread_ts timestamp,
  -- The time on a CPU that the thread spent in it.
  thread_dur duration
) as
  select s.id, s.ts, s.dur, s.category, s.name, s.track_id, pt.name as track_name,
    p.name as process_name, p.upid, p.pid, s.depth, s.parent_id,
    s.arg_set_id, s.thread_ts, s.thread_dur
  from slice s join process_track pt on s.track_id = pt.id join process p using (upid);
-- The slices of threads and of processes.
create perfetto view thread_or_process_slice(
  -- The slice.
  id id,
  -- When it begins.
  ts timestamp,
  -- How long it lasts; -1 when its end is not in the trace.
  dur duration,
  -- Alias for `slice.category`.
  category string,
  -- Alias for `slice.name`.
  name string,
  -- Alias for `slice.track_id`.
  track_id long,
  -- The name of the track.
  track_name string,
  -- Alias for `thread.name`.
  thread_name string,
  -- Alias for `thread.utid`.
  utid long,
  -- Alias for `thread.tid`.
  tid long,
  -- Alias for `process.name`.
  process_name string,
  -- Alias for `process.upid`.
  upid long,
  -- Alias for `process.pid`.
  pid long,
  -- How many slices it lies in.
  depth long,
  -- The slice around it.
  parent_id long,
  -- Its arguments.
  arg_set_id argsetid
) as
  select id, ts, dur, category, name, track_id, track_name, thread_name, utid, tid, process_name, upid, pid, depth,
    parent_id, arg_set_id from thread_slice
  union all
  select id, ts, dur, category, name, track_id, track_name, null as thread_name, null as utid,
    null as tid, process_name, upid, pid, depth, parent_id,
    arg_set_id from process_slice;
