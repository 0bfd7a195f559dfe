-- Which slice of a thread is the innermost at each time.
include perfetto module slices.with_context;
create perfetto table _slice_flattened as
  select f.slice_id, f.ts, f.dur, s.depth, s.name, f.root_id, s.track_id, s.utid, s.tid, s.thread_name, s.upid, s.pid,
    s.process_name
  from __intrinsic_flat_slices f join thread_slice s on s.id = f.slice_id;
