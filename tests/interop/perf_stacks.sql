-- A line for each sample, as perf_flatten.awk prints it.
with recursive
	place(callsite, parent, frame) as (
		select c.id, c.parent_id, iif(m.name = '[unknown]', '',
			printf('%x@%s;', rel_pc, replace(m.name, ']_text', ']')))
		from stack_profile_callsite c
		join stack_profile_frame f on f.id = c.frame_id
		join stack_profile_mapping m on m.id = f.mapping
	),
	line(callsite, outer, frames) as (
		select callsite, parent, frame from place where callsite in (select callsite_id from perf_sample)
		union all
		select line.callsite, place.parent, frames || frame from line join place on place.callsite = outer
	)
select printf('%d %d.%06d %s', tid, ts / 1000000000, ts / 1000 % 1000000, coalesce(frames, '')) as sample
from perf_sample s join thread using (utid) left join line on line.callsite = s.callsite_id and outer is null;
