-- Samples of profilers, and the call stacks that they were taken at. Tables of samples leave out those without a call stack.
create perfetto view stack_profile_mapping as select * from __intrinsic_stack_profile_mapping;
create perfetto view stack_profile_frame as select * from __intrinsic_stack_profile_frame;
create perfetto view stack_profile_callsite as select * from __intrinsic_stack_profile_callsite;
create perfetto view stack_profile_symbol as select * from __intrinsic_stack_profile_symbol;
create perfetto view stack_sample(id long, ts timestamp, source string, task_context_id long, execution_context_id long,
  callsite_id long, session_id long) as
  select id, ts, source, task_context_id, execution_context_id, callsite_id, session_id
  from __intrinsic_profiler_sample where callsite_id is not null;
create perfetto view stack_sample_session(id long, source string, timebase_unit string, cmdline string) as
  select id, source, timebase_unit, cmdline from __intrinsic_profiler_session
  where id in (select distinct session_id from stack_sample);
create perfetto view stack_sample_task_context(id long, upid long, utid long, async_context_id long) as
  select id, upid, utid, async_context_id from __intrinsic_profiler_task_context
  where id in (select distinct task_context_id from stack_sample);
create perfetto view stack_sample_async_context(id long, name string, kind string, parent_id long) as
  with recursive __used(id) as (
    select async_context_id from stack_sample_task_context where async_context_id is not null
    union select a.parent_id from __intrinsic_profiler_async_context a join __used u on a.id = u.id
      where a.parent_id is not null
  )
  select id, name, kind, parent_id from __intrinsic_profiler_async_context where id in (select id from __used);
create perfetto view stack_sample_execution_context(id long, ucpu long, cpu_mode string) as
  select id, ucpu, cpu_mode from __intrinsic_profiler_execution_context
  where id in (select distinct execution_context_id from stack_sample);
create perfetto view stack_sample_counter(id long, stack_sample_id long, track_id long, value double) as
  select c.id, s.id as stack_sample_id, c.track_id, c.value
  from __intrinsic_profiler_sample s join __intrinsic_profiler_counter_set used using (counter_set_id)
    join __intrinsic_counter c on c.id = used.counter_id
  where s.callsite_id is not null;
create perfetto view stack_sample_counter_track(id long, name string, type string, parent_id long, source_arg_set_id long,
  machine_id long, unit string, description string, session_id long, cpu long, is_timebase bool) as
  select id, name, type, parent_id, source_arg_set_id, machine_id, unit, description,
    coalesce(extract_arg(dimension_arg_set_id, 'session_id'), extract_arg(dimension_arg_set_id, 'perf_session_id'))
      as session_id,
    extract_arg(dimension_arg_set_id, 'cpu') as cpu, extract_arg(source_arg_set_id, 'is_timebase') as is_timebase
  from counter_track where id in (select distinct track_id from stack_sample_counter);
create perfetto view perf_session(id long, perf_session_id long, cmdline string) as
  select id, id as perf_session_id, cmdline from __intrinsic_profiler_session where source = 'linux.perf';
create perfetto view perf_sample(id long, ts timestamp, utid long, cpu long, cpu_mode string, callsite_id long,
  unwind_error string, perf_session_id long) as
  select s.id, s.ts, task.utid, cpu.cpu, coalesce(execution.cpu_mode, 'unknown') as cpu_mode, s.callsite_id,
    s.unwind_error, s.session_id as perf_session_id
  from __intrinsic_profiler_sample s
    left join __intrinsic_profiler_task_context task on task.id = s.task_context_id
    left join __intrinsic_profiler_execution_context execution on execution.id = s.execution_context_id
    left join __intrinsic_cpu cpu on cpu.id = execution.ucpu
  where s.source = 'linux.perf';
create perfetto view cpu_profile_stack_sample(id long, ts timestamp, callsite_id long, utid long, process_priority long) as
  select s.id, s.ts, s.callsite_id, task.utid, coalesce(s.process_priority, 0) as process_priority
  from __intrinsic_profiler_sample s left join __intrinsic_profiler_task_context task on task.id = s.task_context_id
  where s.source in ('chrome', 'legacy_v8', 'gecko', 'simpleperf', 'perf_text');
-- Profiles without times, of which each sample is a weight: pprof's and collapsed stacks.
create perfetto view __intrinsic_aggregate_profile(id long, scope string, name string, sample_type_type string,
  sample_type_unit string) as
  select id, extract_arg(dimension_arg_set_id, 'source') || '_file' as scope,
    extract_arg(dimension_arg_set_id, 'source') || ' ' || name as name, name as sample_type_type,
    unit as sample_type_unit
  from (select id, name, dimension_arg_set_id, counter_unit as unit from __intrinsic_track
    where type = 'stack_sample_session_counter')
  where extract_arg(dimension_arg_set_id, 'source') in ('pprof', 'collapsed_stack');
create perfetto view __intrinsic_aggregate_sample(id long, aggregate_profile_id long, callsite_id long, value double) as
  select c.id, c.track_id as aggregate_profile_id, s.callsite_id, c.value
  from stack_sample_counter c join stack_sample s on s.id = c.stack_sample_id
  where s.source in ('pprof', 'collapsed_stack');
