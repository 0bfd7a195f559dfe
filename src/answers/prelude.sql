-- The tables and views that every query may use. Their names and columns are those of Perfetto's SQL.
create view machine as
  select id, raw_id, name, sysname, release, version, arch, num_cpus, android_build_fingerprint,
    android_device_manufacturer, android_sdk_version, system_ram_bytes, system_ram_gb,
    iif(raw_id = 0, 0, sum(raw_id != 0) over (order by id)) as label_index
  from __intrinsic_machine;
create view process as
  select id, id as upid, pid, name, start_ts, end_ts, parent_upid, uid, android_appid, android_user_id, cmdline,
    arg_set_id, machine_id
  from __intrinsic_process;
create view thread as
  select id, id as utid, tid, name, start_ts, end_ts, upid, is_main_thread, is_idle, machine_id, arg_set_id
  from __intrinsic_thread;
create view cpu as
  select id, id as ucpu, cpu, cluster_id, processor, machine_id, capacity, arg_set_id
  from __intrinsic_cpu where cpu is not null;
create view cpu_available_frequencies as select id, ucpu as cpu, freq, ucpu from __intrinsic_cpu_freq;

create view track as
  select id, name, type, dimension_arg_set_id, parent_id, source_arg_set_id, machine_id, track_group_id
  from __intrinsic_track;
create view thread_track as
  select id, name, type, parent_id, source_arg_set_id, machine_id, utid
  from __intrinsic_track where event_type = 'slice' and utid is not null;
create view process_track as
  select id, name, type, parent_id, source_arg_set_id, machine_id, upid
  from __intrinsic_track where event_type = 'slice' and upid is not null;
create view cpu_track as
  select t.id, t.name, t.type, t.parent_id, t.source_arg_set_id, t.machine_id, a.int_value as cpu
  from __intrinsic_track t join __intrinsic_args a on t.dimension_arg_set_id = a.arg_set_id
  where t.event_type = 'slice' and a.key = 'cpu';
create view gpu_track as
  select id, name, type, parent_id, source_arg_set_id, dimension_arg_set_id, machine_id, type as scope,
    extract_arg(source_arg_set_id, 'description') as description,
    extract_arg(dimension_arg_set_id, 'context_id') as context_id
  from __intrinsic_track
  where type in ('drm_vblank', 'drm_sched_ring', 'drm_fence', 'mali_mcu_state', 'gpu_render_stage', 'vulkan_events',
    'gpu_log', 'graphics_frame_event');
create view counter_track as
  select id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id, counter_unit as unit,
    extract_arg(source_arg_set_id, 'description') as description
  from __intrinsic_track where event_type = 'counter';
create view thread_counter_track as
  select id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit as unit,
    extract_arg(source_arg_set_id, 'description') as description, utid
  from __intrinsic_track where event_type = 'counter' and utid is not null;
create view process_counter_track as
  select id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit as unit,
    extract_arg(source_arg_set_id, 'description') as description, upid
  from __intrinsic_track where event_type = 'counter' and upid is not null;
create view cpu_counter_track as
  select t.id, t.name, t.type, t.parent_id, t.source_arg_set_id, t.machine_id, t.counter_unit as unit,
    extract_arg(t.source_arg_set_id, 'description') as description, a.int_value as cpu
  from __intrinsic_track t join __intrinsic_args a on t.dimension_arg_set_id = a.arg_set_id
  where t.event_type = 'counter' and a.key = 'cpu';
create view gpu_counter_track as
  select t.id, t.name, t.type, t.parent_id, t.source_arg_set_id, t.machine_id, t.counter_unit as unit,
    extract_arg(t.source_arg_set_id, 'description') as description, a.int_value as ugpu,
    extract_arg(t.dimension_arg_set_id, 'gpu') as gpu_id
  from __intrinsic_track t join __intrinsic_args a on t.dimension_arg_set_id = a.arg_set_id
  where t.event_type = 'counter' and a.key = 'ugpu';
create view perf_counter_track as
  select id, name, type, parent_id, source_arg_set_id, machine_id, counter_unit as unit,
    extract_arg(source_arg_set_id, 'description') as description,
    extract_arg(dimension_arg_set_id, 'perf_session_id') as perf_session_id,
    extract_arg(dimension_arg_set_id, 'cpu') as cpu, extract_arg(source_arg_set_id, 'is_timebase') as is_timebase
  from __intrinsic_track where type in ('perf_cpu_counter', 'perf_global_counter');
create view state_track as
  select id, name, parent_id, type, dimension_arg_set_id, source_arg_set_id, machine_id
  from __intrinsic_track where event_type = 'state';
create view process_state_track as
  select id, name, type, parent_id, source_arg_set_id, machine_id, upid
  from __intrinsic_track where event_type = 'state' and upid is not null;
create view thread_state_track as
  select id, name, type, parent_id, source_arg_set_id, machine_id, utid
  from __intrinsic_track where event_type = 'state' and utid is not null;

create view slice as
  select id, ts, dur, track_id, category, name, depth, parent_id, arg_set_id, thread_ts, thread_dur,
    thread_instruction_count, thread_instruction_delta, category as cat, id as slice_id
  from __intrinsic_slice;
create view slices as select * from slice;
create view instant as select ts, track_id, name, arg_set_id from slice where dur = 0;
create view flow as select id, slice_out, slice_in, trace_id, arg_set_id from __intrinsic_flow;
create view counter as select id, ts, track_id, value, arg_set_id from __intrinsic_counter;
create view counters as
  select c.id, c.ts, c.track_id, c.value, c.arg_set_id, t.name, t.counter_unit as unit
  from __intrinsic_counter c join __intrinsic_track t on c.track_id = t.id order by c.ts;
create view state as select id, ts, dur, track_id, category, value, arg_set_id from __intrinsic_state;
create virtual table args using __intrinsic_args;
create view _trace_import_logs as
  select id, trace_id, ts, byte_offset, severity, name, arg_set_id from __intrinsic_trace_import_logs;

create view sched as
  select id, ts, dur, ucpu as cpu, utid, end_state, priority, ucpu, ts + dur as ts_end from __intrinsic_sched_slice;
create view sched_slice as
  select id, ts, dur, ucpu as cpu, utid, end_state, priority, ucpu from __intrinsic_sched_slice;
create view thread_state as
  select id, ts, dur, ucpu as cpu, utid, state, io_wait, blocked_function, waker_utid, waker_id, irq_context, ucpu
  from __intrinsic_thread_state;
create view spurious_sched_wakeup as
  select id, ts, thread_state_id, irq_context, utid, waker_utid from __intrinsic_spurious_sched_wakeup;
create view ftrace_event as
  select id, ts, name, ucpu as cpu, utid, arg_set_id, common_flags, ucpu from __intrinsic_ftrace_event;
create view raw as select * from ftrace_event;

create view clock_snapshot as
  select id, ts, clock_id, clock_name, clock_value, snapshot_id, machine_id from __intrinsic_clock_snapshot;
create view stats as
  select id, name, key, idx, severity, source, value, description, machine_id, trace_id from __intrinsic_stats;
create view metadata as
  select id, name, key_type, int_value, str_value, machine_id, trace_id from __intrinsic_metadata;
create view trace_file as
  select id, parent_id, name, size, trace_type, processing_order, is_container
  from __intrinsic_trace_file;
create view logs as select id, ts, utid, prio, log_source, tag, msg, arg_set_id from __intrinsic_logs;
create view android_logs as
  select id, ts, utid, prio, tag, msg from __intrinsic_logs where log_source = 'android_logcat';
create view filedescriptor as select id, ufd, fd, ts, upid, path from __intrinsic_filedescriptor;

create perfetto macro cast_int(value Expr) returns Expr as cast($value as int);
create perfetto macro cast_double(value Expr) returns Expr as cast($value as real);
create perfetto macro cast_string(value Expr) returns Expr as cast($value as text);
create perfetto function slice_is_ancestor(ancestor_id long, descendant_id long) returns bool as
  select a.track_id = d.track_id and a.depth < d.depth and a.ts <= d.ts
    and (a.dur = -1 or a.ts + a.dur >= d.ts + d.dur)
  from __intrinsic_slice a, __intrinsic_slice d where a.id = $ancestor_id and d.id = $descendant_id;
create perfetto function trace_start() returns timestamp as select start_ts from trace_bounds;
create perfetto function trace_end() returns timestamp as select end_ts from trace_bounds;
create perfetto function trace_dur() returns duration as select end_ts - start_ts from trace_bounds;

create perfetto function ancestor_slice(slice_id long) returns table(id id, ts timestamp, dur duration, track_id long,
  category string, name string, depth long, parent_id long, arg_set_id argsetid, thread_ts timestamp, thread_dur long,
  thread_instruction_count long, thread_instruction_delta long) as
  select s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth,
    s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur,
    s.thread_instruction_count, s.thread_instruction_delta
  from __intrinsic_ancestor_slices($slice_id) r cross join __intrinsic_slice s where s.id = r.id;
create perfetto function descendant_slice(slice_id long) returns table(id id, ts timestamp, dur duration, track_id long,
  category string, name string, depth long, parent_id long, arg_set_id argsetid, thread_ts timestamp, thread_dur long,
  thread_instruction_count long, thread_instruction_delta long) as
  select s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth,
    s.parent_id, s.arg_set_id, s.thread_ts, s.thread_dur,
    s.thread_instruction_count, s.thread_instruction_delta
  from __intrinsic_descendant_slices($slice_id) r cross join __intrinsic_slice s where s.id = r.id;
create perfetto function directly_connected_flow(slice_id long) returns table(slice_out long, slice_in long, trace_id long,
  arg_set_id argsetid) as
  select f.slice_out, f.slice_in, f.trace_id, f.arg_set_id
  from __intrinsic_directly_connected_flows($slice_id) r cross join __intrinsic_flow f where f.id = r.id;
create perfetto function following_flow(slice_id long) returns table(slice_out long, slice_in long, trace_id long,
  arg_set_id argsetid) as
  select f.slice_out, f.slice_in, f.trace_id, f.arg_set_id
  from __intrinsic_following_flows($slice_id) r cross join __intrinsic_flow f where f.id = r.id;
create perfetto function preceding_flow(slice_id long) returns table(slice_out long, slice_in long, trace_id long,
  arg_set_id argsetid) as
  select f.slice_out, f.slice_in, f.trace_id, f.arg_set_id
  from __intrinsic_preceding_flows($slice_id) r cross join __intrinsic_flow f where f.id = r.id;
