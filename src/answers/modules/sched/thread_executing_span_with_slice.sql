-- The critical path of a thread as stacks: what the thread does, and below it what the thread does that it waits for.
include perfetto module intervals.intersect;
include perfetto module sched.thread_executing_span;
include perfetto module slices.flat_slices;

-- The critical path of all threads.
create perfetto table _critical_path_all as
  select row_number() over (order by p.ts) as id, p.ts, p.dur, p.ts + p.dur as ts_end, n.utid, r.utid as root_utid
  from _critical_path_by_roots!((select id as root_node_id from _wakeup_graph), _wakeup_graph) p
    join _wakeup_graph n on n.id = p.id join _wakeup_graph r on r.id = p.root_id
  order by p.ts;

create perfetto view __state_of_thread as
  select id as thread_state_id, ts, dur, utid, state, blocked_function as function, io_wait, cpu from thread_state;
create perfetto view __slice_of_thread as
  select slice_id, depth as slice_depth, cast(ts as int) as ts, cast(dur as int) as dur, utid from _slice_flattened;
create virtual table _span_thread_state_slice_sp
  using span_left_join(__state_of_thread partitioned utid, __slice_of_thread partitioned utid);

-- The state of each thread, and its innermost slice.
create perfetto table _span_thread_state_slice as
  select row_number() over (order by ts) as id, ts, dur, ts + dur as ts_end, utid, thread_state_id, state, function, cpu,
    io_wait, slice_id, slice_depth
  from _span_thread_state_slice_sp where dur > 0 order by ts;

-- The same of the thread that the thread root_utid waits for.
create perfetto table _critical_path_thread_state_slice as
  select ii.ts, ii.dur, p.utid, s.thread_state_id, s.state, s.function, s.cpu, s.io_wait, s.slice_id, s.slice_depth,
    p.root_utid
  from _interval_intersect!((_critical_path_all, _span_thread_state_slice), (utid)) ii
    join _critical_path_all p on p.id = ii.id_0 join _span_thread_state_slice s on s.id = ii.id_1;

create perfetto view _self_view as
  select thread_state_id as self_thread_state_id, slice_id as self_slice_id, ts, dur, utid as root_utid,
    state as self_state, function as self_function, cpu as self_cpu, io_wait as self_io_wait,
    slice_depth as self_slice_depth
  from _span_thread_state_slice_sp;
create virtual table _self_and_critical_path_sp
  using span_join(_self_view partitioned root_utid, _critical_path_thread_state_slice partitioned root_utid);

-- The stacks of a thread in an interval: its state, function of the kernel, wait for input or output, names, slices; then
-- the same of the thread that it waits for; then the CPU. Rows of equal ts are a stack, by stack_depth.
create perfetto function _critical_path_stack(root_utid long, ts timestamp, dur duration, enable_process_name long,
  enable_thread_name long, enable_self_slice long, enable_critical_path_slice long)
  returns table(id long, ts timestamp, dur duration, utid long, stack_depth long, name string, table_name string,
    root_utid long) as
  with
    __clipped as materialized (
      select *, to_ts - from_ts as length
      from (select *, max(ts, $ts) as from_ts, min(ts + dur, $ts + $dur) as to_ts
            from _self_and_critical_path_sp where root_utid = $root_utid and dur > 0)
      where to_ts > from_ts),
    -- The stack of the thread itself has five rows, or four without a process, and its slices.
    __span as materialized (
      select c.*, t.name as self_thread, p.name as self_process, p.upid is not null as has_process,
        coalesce(self_slice_depth + 6, iif(p.upid is null, 4, 5)) as path_depth, c.root_utid != c.utid as waits
      from __clipped c left join thread t on t.utid = c.root_utid left join process p using (upid)),
    __row(n) as (values (0), (1), (2), (3), (4)),
    __self as (
      select self_thread_state_id as id, from_ts, length, root_utid as utid, n as stack_depth,
        case n
          when 0 then 'thread_state: ' || self_state
          when 1 then iif(self_state glob 'R*', null, 'kernel function: ' || self_function)
          when 2 then iif(self_state glob 'R*', null, 'io_wait: ' || self_io_wait)
          when 3 then iif($enable_process_name, 'process_name: ' || self_process, null)
          else iif($enable_thread_name, 'thread_name: ' || self_thread, null)
        end as name, 'thread_state' as table_name
      from __span, __row where n < 4 or has_process
      union all
      select a.id, from_ts, length, root_utid, a.depth + 5, iif($enable_self_slice, a.name, null), 'slice'
      from __span, ancestor_slice(self_slice_id) a where a.dur != -1
      union all
      select s.id, from_ts, length, root_utid, self_slice_depth + 5, iif($enable_self_slice, s.name, null), 'slice'
      from __span c join slice s on s.id = c.self_slice_id
      order by 5),
    __path as (
      select thread_state_id as id, from_ts, length, c.utid, path_depth + n as stack_depth,
        case n
          when 0 then 'blocking thread_state: ' || state
          when 1 then 'blocking process_name: ' || p.name
          when 2 then 'blocking thread_name: ' || t.name
          when 3 then 'blocking kernel_function: ' || function
          else 'blocking io_wait: ' || io_wait
        end as name, 'thread_state' as table_name
      from __span c join thread t using (utid) left join process p using (upid), __row where waits
      union all
      select a.id, from_ts, length, utid, a.depth + path_depth + 5, iif($enable_critical_path_slice, a.name, null),
        'slice'
      from __span, ancestor_slice(slice_id) a where waits and a.dur != -1
      union all
      select s.id, from_ts, length, utid, slice_depth + path_depth + 5,
        iif($enable_critical_path_slice, s.name, null), 'slice'
      from __span c join slice s on s.id = c.slice_id where waits
      order by 5),
    __cpu as (
      select thread_state_id as id, from_ts, length, utid,
        path_depth + iif(waits, coalesce(slice_depth + 6, 5), 0) as stack_depth, 'cpu: ' || cpu as name,
        'thread_state' as table_name
      from __span where state = 'Running' or self_state = 'Running')
  select id, from_ts, length, utid, stack_depth, name, table_name, $root_utid
  from (select * from __self union all select * from __path union all select * from __cpu) where id is not null;

-- The same with all names and slices.
create perfetto function _thread_executing_span_critical_path_stack(root_utid long, ts timestamp, dur duration)
  returns table(id long, ts timestamp, dur duration, utid long, stack_depth long, name string, table_name string,
    root_utid long) as
  select * from _critical_path_stack($root_utid, $ts, $dur, 1, 1, 1, 1);
