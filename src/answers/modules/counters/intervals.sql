-- How long a counter has each of its values. The last one of a track lasts until the end of the trace.
create perfetto macro counter_leading_intervals(counter_table TableOrSubquery) returns TableOrSubquery as (
  select id, ts, dur, track_id, value, next_value, delta_value
  from __intrinsic_counter_intervals(trace_end(),
    (select __intrinsic_rows(id, ts, track_id, value) from (select id, ts, track_id, value from $counter_table order by ts)))
);
