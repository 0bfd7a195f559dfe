-- What a viewer shows about slices that were chosen.
include perfetto module graphs.scan;
include perfetto module slices.with_context;

-- The chosen slices and all above them. Those above have the time that none of the ones below them has.
create perfetto macro _viz_slice_ancestor_agg(inits TableOrSubquery, nodes TableOrSubquery) returns TableOrSubquery as (
  select id, n.parent_id as parentId, n.name, self_dur, self_count, 1 as simple_count
  from _graph_aggregating_scan!(
    (select id as source_node_id, parent_id as dest_node_id from $nodes where parent_id is not null),
    (select id, dur, dur as self_dur, 1 as self_count from $inits),
    (dur, self_dur, self_count),
    (select b.id, n.dur, n.dur - b.below as self_dur, 0 as self_count
     from (select id, sum(dur) as below from $table group by id) b join $nodes n using (id)))
  join $nodes n using (id)
);

-- All slices; those of tracks that belong to no thread and no process have no names of them.
create perfetto view _viz_slices_for_ui_table as
  select * from thread_or_process_slice
  union all
  select s.id, s.ts, s.dur, s.category, s.name, s.track_id, t.name as track_name, null as thread_name, null as utid,
    null as tid, null as process_name, null as upid, null as pid, s.depth, s.parent_id, s.arg_set_id
  from slice s join track t on t.id = s.track_id
  where s.track_id not in (select id from thread_track) and s.track_id not in (select id from process_track);
