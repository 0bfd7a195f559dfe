-- How long it took to flush and clone each buffer: since the clone began, and since its trigger.
create perfetto table traced_clone_flush_latency(buffer_id long, duration_ns long, machine_id long, trace_id long) as
  select done.idx as buffer_id, done.value - began.value as duration_ns, done.machine_id, done.trace_id
  from stats done join stats began on done.machine_id is began.machine_id and done.trace_id is began.trace_id
  where done.name = 'traced_buf_clone_done_timestamp_ns' and began.name = 'traced_clone_started_timestamp_ns' and began.value != 0
  order by done.machine_id, done.trace_id, done.idx;
-- How long a clone of a session took to flush after its trigger.
create perfetto table traced_trigger_clone_flush_latency(buffer_id long, duration_ns long, machine_id long, trace_id long) as
  select done.idx as buffer_id, done.value - began.value as duration_ns, done.machine_id, done.trace_id
  from stats done join stats began on done.machine_id is began.machine_id and done.trace_id is began.trace_id
  where done.name = 'traced_buf_clone_done_timestamp_ns' and began.name = 'traced_clone_trigger_timestamp_ns' and began.value != 0
  order by done.machine_id, done.trace_id, done.idx;
