-- Of which processes the trace has something.
include perfetto module viz.summary.slices;
include perfetto module viz.summary.threads;

-- The number of slices on tracks of each process, not of its threads.
create perfetto table _process_track_summary as
  select upid, sum(cnt) as slice_count from process_track join _slice_track_summary using (id) group by upid;

-- The number of rows of heap profiles.
create perfetto table _heap_profile_allocation_summary as
  select upid, count(*) as allocation_count from heap_profile_allocation group by upid;

-- The number of objects in graphs of heaps.
create perfetto table _heap_profile_graph_summary as
  select upid, count(*) as graph_object_count from heap_graph_object group by upid;

-- What its threads have, for each process.
create perfetto table _thread_process_grouped_summary as
  select upid, max(max_running_dur) as max_running_dur, sum(sum_running_dur) as sum_running_dur,
    sum(running_count) as running_count, sum(slice_count) as slice_count, sum(stack_sample_count) as stack_sample_count
  from _thread_available_info_summary join thread using (utid) where upid is not null group by upid;

-- A row for each process of which, or of whose threads, the trace has something.
create perfetto table _process_available_info_summary as
  select upid, coalesce(max_running_dur, 0) as max_running_dur, coalesce(sum_running_dur, 0) as sum_running_dur,
    coalesce(running_count, 0) as running_count, coalesce(t.slice_count, 0) as thread_slice_count,
    coalesce(stack_sample_count, 0) as stack_sample_count, coalesce(s.slice_count, 0) as process_slice_count,
    coalesce(allocation_count, 0) as allocation_count, coalesce(graph_object_count, 0) as graph_object_count
  from process left join _thread_process_grouped_summary t using (upid) left join _process_track_summary s using (upid)
    left join _heap_profile_allocation_summary using (upid) left join _heap_profile_graph_summary using (upid)
  where t.upid is not null or s.upid is not null or allocation_count is not null or graph_object_count is not null
    or upid in (select upid from process_counter_track) or upid in (select upid from process_state_track)
    or upid in (select upid from profiler_smaps);
