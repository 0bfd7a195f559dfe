-- Threads with the names of their processes.
create perfetto view _thread_with_process(utid long, tid long, thread_name string, upid long, pid long,
  process_name string, is_main_thread bool) as
  select t.utid, t.tid, t.name as thread_name, p.upid, p.pid, p.name as process_name, t.is_main_thread
  from thread t left join process p using (upid);
