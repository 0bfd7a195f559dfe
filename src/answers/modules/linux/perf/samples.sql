-- Where perf's samples were taken, as a tree of callers.
include perfetto module callstacks.stack_profile;
-- The samples of all threads as one tree of functions.
create perfetto table linux_perf_samples_summary_tree(id long, parent_id long, name string, mapping_name string,
  source_file string, line_number long, self_count long, cumulative_count long) as
  select * from _callstacks_summary_tree!((select callsite_id from perf_sample)) order by id;
