-- What is still allocated, and what ever was, as a tree of callers.
include perfetto module android.memory.heap_profile.callstacks;
create perfetto table __android_heap_profile_self as
  select id, parent_id, name, mapping_name, source_file, line_number, self_size, self_alloc_size
  from _android_heap_profile_callstacks_for_allocations!((
    select callsite_id, size, count, max(size, 0) as alloc_size, max(count, 0) as alloc_count
    from heap_profile_allocation)) order by id;
create perfetto table android_heap_profile_summary_tree(id long, parent_id long, name string, mapping_name string,
  source_file string, line_number long, self_size long, cumulative_size long, self_alloc_size long,
  cumulative_alloc_size long) as
  select s.id, s.parent_id, s.name, s.mapping_name, s.source_file, s.line_number, s.self_size,
    size.sum as cumulative_size, s.self_alloc_size, allocated.sum as cumulative_alloc_size
  from __android_heap_profile_self s
    join __intrinsic_tree_sums((select __intrinsic_rows(id, parent_id, self_size) from __android_heap_profile_self)) size
      using (id)
    join __intrinsic_tree_sums((
      select __intrinsic_rows(id, parent_id, self_alloc_size) from __android_heap_profile_self)) allocated using (id)
  order by s.id;
