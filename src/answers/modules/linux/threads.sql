-- The threads of the kernel: kthreadd has the id 2, and the others are its children.
create perfetto table linux_kernel_threads(upid long, utid long, pid long, tid long, process_name string,
  thread_name string, machine_id long) as
  select p.upid, t.utid, p.pid, t.tid, p.name as process_name, t.name as thread_name, p.machine_id
  from process p join thread t using (upid)
  where p.pid = 2 or p.parent_upid in (select upid from process where pid = 2);
