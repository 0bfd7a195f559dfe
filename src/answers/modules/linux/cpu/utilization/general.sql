-- What the modules about the use of cpus share.
include perfetto module linux.cpu.frequency;
create perfetto function _partition_start(ts timestamp, size long) returns long as select $ts / $size * $size;
create perfetto function _partitions(size long) returns table(ts timestamp, ts_end long) as
  with recursive __next(ts) as (
    select _partition_start(trace_start(), $size)
    union all select ts + $size from __next where ts + $size <= trace_end()
  )
  select ts, ts + $size as ts_end from __next;
-- An interval counts for the period that it begins in, up to the end of that.
create perfetto macro _cpu_avg_utilization_per_period(interval Expr, sched_table TableOrSubquery)
  returns TableOrSubquery as (
  select ts, used / (cast_double!($interval) * (select max(cpu) + 1 from sched)) as utilization,
    used / cast_double!($interval) as unnormalized_utilization
  from (
    select ts / $interval * $interval as ts, sum(min(ts_end, (ts / $interval + 1) * $interval) - ts) as used
    from $sched_table group by 1
  )
);
create perfetto view _cpu_freq_for_metrics as
  select id, ts, dur, cpu, ucpu, freq from cpu_frequency_counters where freq is not null;
create perfetto view _sched_without_id as
  select ts, dur, utid, ucpu from sched where dur != -1 and utid not in (select utid from thread where is_idle);
create virtual table _cpu_freq_per_thread_span_join using
  span_left_join(_sched_without_id partitioned ucpu, _cpu_freq_for_metrics partitioned ucpu);
create perfetto table _cpu_freq_per_thread_no_id as select * from _cpu_freq_per_thread_span_join;
-- What ran when, cut where a cpu's frequency changes.
create perfetto view _cpu_freq_per_thread as
  select _auto_id as id, ts, dur, ucpu, cpu, utid, freq, id as counter_id from _cpu_freq_per_thread_no_id;
