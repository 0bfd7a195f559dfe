-- The functions of allocations and all their callers, with what was allocated in each.
include perfetto module callstacks.stack_profile;
create perfetto macro _android_heap_profile_callstacks_for_allocations(allocations TableOrSubquery)
returns TableOrSubquery as (
  with __allocated as materialized (
    select callsite_id, sum(size) as self_size, sum(count) as self_count, sum(alloc_size) as self_alloc_size,
      sum(alloc_count) as self_alloc_count
    from $allocations group by callsite_id
  )
  select c.id, c.parent_id, c.name, c.mapping_name, c.source_file, c.line_number,
    iif(c.is_leaf_function_in_callsite_frame, coalesce(a.self_size, 0), 0) as self_size,
    iif(c.is_leaf_function_in_callsite_frame, coalesce(a.self_count, 0), 0) as self_count,
    iif(c.is_leaf_function_in_callsite_frame, coalesce(a.self_alloc_size, 0), 0) as self_alloc_size,
    iif(c.is_leaf_function_in_callsite_frame, coalesce(a.self_alloc_count, 0), 0) as self_alloc_count
  from _callstacks_for_stack_profile_samples!(__allocated) c left join __allocated a using (callsite_id)
);
