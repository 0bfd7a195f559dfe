-- For each time that a thread ran: the state in which it waited for the cpu, and the one that a wakeup began.
create perfetto table sched_previous_runnable_on_thread(id long, prev_runnable_id long, prev_wakeup_runnable_id long) as
  select id, prev_runnable_id, prev_wakeup_runnable_id
  from (
    select id, state,
      max(iif(state != 'Running', id, null)) over earlier as prev_runnable_id,
      max(iif(waker_utid is not null and irq_context is not 1, id, null)) over earlier as prev_wakeup_runnable_id
    from thread_state
    where state in ('R', 'R+', 'Running') and dur != -1
    window earlier as (partition by utid order by id)
  )
  where state = 'Running' order by id;
