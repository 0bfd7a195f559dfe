-- The address in perf_shares of each sample that was taken there.
select f.rel_pc
from perf_sample s
join stack_profile_callsite c on c.id = s.callsite_id
join stack_profile_frame f on f.id = c.frame_id
join stack_profile_mapping m on m.id = f.mapping
where m.name like '%/perf_shares';
