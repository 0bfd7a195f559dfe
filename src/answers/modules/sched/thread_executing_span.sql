-- Who woke whom. A thread executes from when another thread, not an interrupt, wakes it until it sleeps before the next
-- such wakeup. The id of this span is that of its first thread_state, in which it waits for a CPU.
include perfetto module intervals.intersect;
include perfetto module intervals.overlap;

-- The span in which a thread is when it is the waker: by the id of its state Running, the id of the span.
create perfetto table _wakeup_map as
  select span_id as id, id as waker_id
  from (
    select id, state, max(iif(state = 'R' and starts, id, null)) over (partition by utid order by id) as span_id
    from (
      select id, utid, state, waker_id is not null or id = min(id) over (partition by utid) as starts
      from thread_state where dur != -1))
  where state = 'Running' order by waker_id;

-- The spans: idle_dur is the sleep before, in idle_state, and prev_id the thread's span before that. dur lasts until the
-- next sleep. waker_id is the waker's span; NULL when an interrupt, or the end of input or output, woke the thread.
create perfetto table _wakeup_graph as
  with
    __state as (
      select id, utid, ts, dur, state, waker_id,
        iif(coalesce(irq_context, 0) = 0, coalesce(io_wait, 0), 1) as is_irq,
        lag(id) over before as last_id, lag(state) over before as last_state,
        lag(blocked_function) over before as last_function, lag(ts) over before as last_ts,
        lag(dur) over before as last_dur
      from thread_state window before as (partition by utid order by ts, id)),
    __wakeup as (
      select id, utid, ts, waker_id, is_irq, last_state, last_function, last_ts
      from __state
      where waker_id is not null and dur != -1 and last_dur != -1 and last_state in ('S', 'D', 'I')
        and last_ts + last_dur = ts
      union all
      select id, utid, ts, waker_id, is_irq, null, null, null
      from __state where last_id is null and dur != -1 and state = 'R'),
    __end as (select utid, max(ts) + dur as end_ts from thread_state where dur != -1 group by utid)
  select w.utid, w.id, iif(is_irq, null, m.id) as waker_id, ts, iif(is_irq, 'IRQ', last_state) as idle_state,
    last_function as idle_reason, ts - last_ts as idle_dur, lag(w.id) over around as prev_id,
    coalesce(lead(last_ts) over around, end_ts) - ts as dur
  from __wakeup w left join _wakeup_map m using (waker_id) left join __end using (utid)
  window around as (partition by w.utid order by ts)
  order by w.id;

-- The spans of a thread that cover intervals (utid, ts, dur), one more at each end included.
create perfetto macro _intervals_to_roots(_source_table TableOrSubquery, _node_table TableOrSubquery)
  returns TableOrSubquery as (
  with
    __limit as (select utid, min(ts) as first_ts, max(ts) as last_ts from $_node_table group by utid),
    __first as (
      select s.utid, s.ts, s.dur, max(n.id) as first_id
      from $_source_table s join __limit l using (utid)
        join $_node_table n on n.utid = s.utid and n.ts <= max(s.ts, l.first_ts)
      group by s.utid, s.ts),
    __last as (
      select s.utid, s.ts, s.dur, min(n.id) as last_id
      from $_source_table s join __limit l using (utid)
        join $_node_table n on n.utid = s.utid and n.ts >= min(s.ts + s.dur, l.last_ts)
      group by s.utid, s.ts)
  select distinct n.id as root_node_id, n.id - coalesce(n.prev_id, n.id) as capacity
  from __first f join __last l using (utid, ts, dur)
    join $_node_table n on n.utid = f.utid and n.id between f.first_id and l.last_id
);

-- Which spans each root waits for, and for which those wait: depth counts the wakers between the root and a span.
create perfetto macro _critical_path_with_depth_by_roots(_roots_table TableOrSubquery, _node_table TableOrSubquery)
  returns TableOrSubquery as (
  select root_id, depth, ts, dur, id, parent_id
  from __intrinsic_critical_path(
    (select __intrinsic_rows(id, utid, ts, dur, idle_dur, waker_id, prev_id) from $_node_table),
    (select __intrinsic_rows(root_node_id) from $_roots_table))
);

-- The critical path of each root: the deepest span at each time.
create perfetto macro _critical_path_by_roots(_roots_table TableOrSubquery, _node_table TableOrSubquery)
  returns TableOrSubquery as (
  with
    __frame as (select * from _critical_path_with_depth_by_roots!($_roots_table, $_node_table)),
    __root as (
      select root_id, min(ts) as root_ts, max(ts + dur) - min(ts) as root_dur from __frame group by root_id),
    __layer as (select root_id, root_ts, root_dur, parent_id, id, ts, dur from __frame join __root using (root_id))
  select root_id, id, ts, dur from _intervals_flatten!(__layer) where dur > 0 group by root_id, ts
);

-- The critical paths of threads within intervals (utid, ts, dur).
create perfetto macro _critical_path_by_intervals(_intervals_table TableOrSubquery, _node_table TableOrSubquery)
  returns TableOrSubquery as (
  with
    __interval as (
      select row_number() over (order by ts) as id, ts, dur, utid as root_utid from $_intervals_table),
    __span as (
      select row_number() over (order by p.ts) as id, r.utid as root_utid, n.utid, p.root_id, p.id as span_id, p.ts,
        p.dur
      from _critical_path_by_roots!(_intervals_to_roots!($_intervals_table, $_node_table), $_node_table) p
        join $_node_table r on r.id = p.root_id join $_node_table n on n.id = p.id)
  select distinct s.root_utid, s.utid, s.root_id, s.span_id as id, ii.ts, ii.dur, i.ts as interval_ts,
    i.dur as interval_dur
  from _interval_intersect!((__span, __interval), (root_utid)) ii
    join __span s on s.id = ii.id_0 join __interval i on i.id = ii.id_1
);

-- The critical path of one thread: which thread's span, utid and id, it waited for at each time.
create perfetto function _thread_executing_span_critical_path(root_utid long, ts timestamp, dur duration)
  returns table(root_utid long, root_id long, id long, ts timestamp, dur duration, utid long) as
  select root_utid, root_id, id, ts, dur, utid
  from _critical_path_by_intervals!((select $root_utid as utid, $ts as ts, $dur as dur), _wakeup_graph);
