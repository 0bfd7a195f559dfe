-- How long parts of a phone have been in each of their states since the boot.
create perfetto table android_entity_state_residency(id id(counter.id), ts timestamp, dur duration, entity_name string,
  state_name string, raw_name string, state_time_since_boot duration, state_time_since_boot_at_end duration,
  state_time_ratio double, track_id joinid(track.id)) as
  with state as (
    select id as track_id, name as raw_name, extract_arg(dimension_arg_set_id, 'entity_name') as entity_name,
      extract_arg(dimension_arg_set_id, 'state_name') as state_name
    from counter_track where type = 'entity_state'),
  sample as (
    select c.id, c.ts, cast(c.value * 1e6 as integer) as spent, s.*, lead(c.ts) over later as end_ts,
      cast(lead(c.value) over later * 1e6 as integer) as spent_at_end
    from counter c join state s using (track_id)
    window later as (partition by c.track_id order by c.ts))
  select id, ts, end_ts - ts as dur, entity_name, state_name, raw_name, spent as state_time_since_boot,
    spent_at_end as state_time_since_boot_at_end, (spent_at_end - spent) * 1.0 / (end_ts - ts) as state_time_ratio, track_id
  from sample order by track_id, ts;
