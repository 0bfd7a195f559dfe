-- Slices with a number for their stack: their names and categories, and those of all slices above.
include perfetto module slices.hierarchy;
-- Slices with an id that is the same for equal names in equal order.
create perfetto view slice_with_stack_id(id id, ts timestamp, dur duration, track_id long, category string, name string,
  depth long, parent_id long, arg_set_id argsetid, thread_ts timestamp, thread_dur long, thread_instruction_count long,
  thread_instruction_delta long, stack_id long, parent_stack_id long) as
  select s.id, s.ts, s.dur, s.track_id, s.category, s.name, s.depth, s.parent_id, s.arg_set_id, s.thread_ts,
    s.thread_dur, s.thread_instruction_count, s.thread_instruction_delta, own.stack_id,
    coalesce(parent.stack_id, 0) as parent_stack_id
  from slice s join __intrinsic_slice_stack own using (id)
    left join __intrinsic_slice_stack parent on parent.id = s.parent_id;
-- The slices above those with this id of a stack.
create perfetto function ancestor_slice_by_stack(stack_hash long) returns table(id long, ts timestamp, dur duration, track_id long,
  category string, name string, depth long, parent_id long, arg_set_id argsetid, thread_ts timestamp, thread_dur long) as
  select distinct r.*
  from __intrinsic_slice_stack s join _slice_ancestor_and_self(s.id) r where s.stack_id = $stack_hash order by r.ts;
-- The slices below those with this id of a stack.
create perfetto function descendant_slice_by_stack(stack_hash long) returns table(id long, ts timestamp, dur duration, track_id long,
  category string, name string, depth long, parent_id long, arg_set_id argsetid, thread_ts timestamp, thread_dur long) as
  select distinct r.*
  from __intrinsic_slice_stack s join _slice_descendant_and_self(s.id) r where s.stack_id = $stack_hash order by r.ts;
