-- Samples of perf with the counters that were read with them.
create perfetto view linux_perf_sample_with_counters(sample_id long, ts timestamp, utid long, cpu long, cpu_mode string,
  callsite_id long, unwind_error string, perf_session_id long, counter_id long, track_id long, counter_value double) as
  select s.id as sample_id, s.ts, task.utid, cpu.cpu, coalesce(execution.cpu_mode, 'unknown') as cpu_mode, s.callsite_id,
    s.unwind_error, s.session_id as perf_session_id, used.counter_id, c.track_id, c.value as counter_value
  from __intrinsic_profiler_sample s
    join __intrinsic_profiler_counter_set used on s.counter_set_id = used.counter_set_id
    join counter c on c.id = used.counter_id
    left join __intrinsic_profiler_task_context task on task.id = s.task_context_id
    left join __intrinsic_profiler_execution_context execution on execution.id = s.execution_context_id
    left join __intrinsic_cpu cpu on cpu.id = execution.ucpu
  where s.source = 'linux.perf';
-- The value of a counter when a sample was taken.
create perfetto function linux_perf_counter_for_sample(sample_id long, counter_name string) returns double as
  select c.counter_value from linux_perf_sample_with_counters c join track t on t.id = c.track_id
  where c.sample_id = $sample_id and t.name = $counter_name limit 1;
