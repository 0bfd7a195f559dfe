-- Samples of what ran on the cpus, and where they were taken, as a tree of callers.
include perfetto module callstacks.stack_profile;
create perfetto table cpu_profiling_samples(id long, ts timestamp, utid long, tid long, thread_name string, ucpu long,
  cpu long, callsite_id long, source string) as
  select s.id, s.ts, task.utid, t.tid, t.name as thread_name, execution.ucpu, cpu.cpu, s.callsite_id, s.source
  from stack_sample s
    left join stack_sample_task_context task on task.id = s.task_context_id
    left join stack_sample_execution_context execution on execution.id = s.execution_context_id
    left join stack_sample_session session on session.id = s.session_id
    left join thread t on t.utid = task.utid
    left join cpu on cpu.id = execution.ucpu
  where session.timebase_unit is null or session.timebase_unit in ('ns', 'cycles', 'instructions')
  order by s.ts;
create perfetto table cpu_profiling_summary_tree(id long, parent_id long, name string, mapping_name string,
  source_file string, line_number long, self_count long, cumulative_count long) as
  select * from _callstacks_summary_tree!((select callsite_id from cpu_profiling_samples)) order by id;
