-- Places in code that have no symbols: which module to look at, and where.
include perfetto module stacks.cpu_profiling;
include perfetto module graphs.hierarchy;
-- Chrome's symbols are found by the first half of the build id as Breakpad writes it: the bytes of its first three numbers
-- in the other order.
create perfetto function _to_breakpad_module(mapping string, build_id string) returns string as
  select iif(length($build_id) >= 40 and ($mapping glob '*libchrome.so' or $mapping glob '*libmonochrome.so' or
      $mapping glob '*libmonochrome_64.so' or $mapping glob '*libwebviewchromium.so' or
      $mapping glob '*libchromium_android_linker.so'),
    substr($build_id, 7, 2) || substr($build_id, 5, 2) || substr($build_id, 3, 2) || substr($build_id, 1, 2) ||
      substr($build_id, 11, 2) || substr($build_id, 9, 2) || substr($build_id, 15, 2) || substr($build_id, 13, 2) ||
      substr($build_id, 17, 16) || '0', null);
create perfetto table _stacks_symbolization_candidates(upid long, module string, build_id string, rel_pc long,
  breakpad_module_id string) as
  with
    __used as (
      select distinct t.upid, s.callsite_id from cpu_profiling_samples s join thread t using (utid)
      union select upid, callsite_id from heap_profile_allocation
    ),
    __above(upid, callsite_id) as (
      select upid, callsite_id from __used where callsite_id is not null
      union select a.upid, c.parent_id from __above a join stack_profile_callsite c on c.id = a.callsite_id
        where c.parent_id is not null
    )
  select distinct a.upid, m.name as module, m.build_id, f.rel_pc,
    _to_breakpad_module(m.name, m.build_id) as breakpad_module_id
  from __above a join stack_profile_callsite c on c.id = a.callsite_id join stack_profile_frame f on f.id = c.frame_id
    join stack_profile_mapping m on m.id = f.mapping
  where f.symbol_set_id is null and m.build_id != '';
