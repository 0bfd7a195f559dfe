-- Of which threads the trace has something.
include perfetto module viz.summary.slices;

-- How long, and how often, threads ran. A run that has no end does not count.
create perfetto table _sched_summary as
  select utid, max(dur) as max_running_dur, sum(dur) as sum_running_dur, count(*) as running_count
  from sched where dur != -1 and utid not in (select utid from thread where is_idle) group by utid;

-- The number of slices of each thread.
create perfetto table _thread_track_summary as
  select utid, sum(cnt) as slice_count from thread_track join _slice_track_summary using (id) group by utid;

-- The number of stacks that were sampled in each thread.
create perfetto table _stack_sample_summary as
  select utid, count(*) as sample_count
  from stack_sample s join stack_sample_task_context c on c.id = s.task_context_id where utid is not null group by utid;

-- A row for each thread that has slices, counters, samples, or time on a CPU.
create perfetto table _thread_available_info_summary as
  select utid, coalesce(max_running_dur, 0) as max_running_dur, coalesce(sum_running_dur, 0) as sum_running_dur,
    coalesce(running_count, 0) as running_count, coalesce(slice_count, 0) as slice_count,
    coalesce(sample_count, 0) as stack_sample_count
  from thread left join _sched_summary using (utid) left join _thread_track_summary using (utid)
    left join _stack_sample_summary using (utid)
  where running_count is not null or slice_count is not null or sample_count is not null
    or utid in (select utid from thread_counter_track);
