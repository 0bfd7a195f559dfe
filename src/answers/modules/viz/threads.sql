-- Threads, and which of them are the kernel's.
include perfetto module linux.threads;
include perfetto module viz.summary.trace;

-- The kernel's threads on machines that run Linux.
create perfetto table _kernel_threads as
  select utid from linux_kernel_threads where _is_linux_machine(machine_id);

-- All threads, with a mark on those of the kernel.
create perfetto table _threads_with_kernel_flag as
  select id, utid, upid, tid, name, is_main_thread, is_idle, machine_id,
    utid in (select utid from _kernel_threads) as is_kernel_thread
  from thread;
