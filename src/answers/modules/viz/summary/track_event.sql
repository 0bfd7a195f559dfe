-- Tracks of track events in the order in which a user interface shows them: as their parents say, by name, by rank or by
-- the time of the first event. Tracks of one group are one.
include perfetto module viz.track_event_callstacks;
create perfetto table _track_event_tracks_unordered as
  with __track as (
    select id, name, parent_id, extract_arg(source_arg_set_id, 'child_ordering') as ordering,
      coalesce(extract_arg(source_arg_set_id, 'sibling_order_rank'), 0) as rank,
      extract_arg(source_arg_set_id, 'description') as description
    from track where type glob '*_track_event'
  )
  select t.id, t.name, t.parent_id, p.ordering as parent_ordering, t.rank, t.description
  from __track t left join __track p on t.parent_id = p.id;
create perfetto table _min_ts_per_track as
  select track_id as id, min(ts) as min_ts
  from (
    select track_id, min(ts) as ts from counter group by track_id
    union all select track_id, min(ts) from slice group by track_id
    union all select track_id, min(ts) from state group by track_id
  )
  where track_id in (select id from _track_event_tracks_unordered) group by track_id;
create perfetto table _track_event_has_children as
  select distinct parent_id as id from track where type glob '*_track_event' and parent_id is not null;
create perfetto table _track_event_tracks_ordered_groups as
  with __place as (
    select id, row_number() over (partition by parent_id order by
        case parent_ordering when 'explicit' then rank when 'chronological' then min_ts else name end) as order_id
    from _track_event_tracks_unordered left join _min_ts_per_track using (id)
  )
  select extract_arg(t.dimension_arg_set_id, 'upid') as upid, extract_arg(t.dimension_arg_set_id, 'utid') as utid,
    t.parent_id, t.type glob '*counter*' as is_counter, t.type glob '*state*' as is_state, t.name,
    min(extract_arg(t.source_arg_set_id, 'description')) as description, min(c.unit) as unit,
    min(extract_arg(t.source_arg_set_id, 'builtin_counter_type')) as builtin_counter_type,
    min(extract_arg(t.source_arg_set_id, 'y_axis_share_key')) as y_axis_share_key,
    max(data.id is not null) as has_data, max(child.id is not null) as has_children,
    max(stack.track_id is not null) as has_callstacks, min(t.id) as min_track_id, group_concat(t.id) as track_ids,
    min(p.order_id) as order_id
  from __place p join track t using (id)
    left join counter_track c using (id)
    left join _track_event_has_children child using (id)
    left join _min_ts_per_track data using (id)
    left join _track_event_tracks_with_callstacks stack on stack.track_id = t.id
  group by t.track_group_id, coalesce(t.track_group_id, t.id)
  order by t.parent_id, p.order_id;
