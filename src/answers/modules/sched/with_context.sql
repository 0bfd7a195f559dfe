-- What ran on each cpu, with names.
include perfetto module std.thread.with_context;
-- What ran on which CPU, with threads and processes.
create perfetto view sched_with_thread_process(id id, ts timestamp, dur duration, utid long, thread_name string, upid long,
  process_name string, cpu long, end_state string, priority long) as
  select s.id, s.ts, s.dur, s.utid, t.thread_name, t.upid, t.process_name, s.cpu, s.end_state, s.priority
  from sched s join _thread_with_process t using (utid);
