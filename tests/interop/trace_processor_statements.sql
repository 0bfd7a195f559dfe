select name, key_type, int_value, str_value, machine_id, trace_id from metadata
where name not in ('trace_config_pbtxt', 'trace_time_clock_id', 'trace_uuid') and name not glob 'json_metadata*' and int_value is not 0 order by name, int_value, str_value

select count(*), sum(dur), avg(dur), min(ts), max(ts + dur) from slice

select name, count(*), sum(dur) from slice group by name order by 3 desc, 1

select s.id, s.name, t.name, p.name, t.tid, p.pid from slice s join thread_track k on k.id = s.track_id
join thread t using (utid) left join process p using (upid) order by s.id

select upid, heap_name, count(*), sum(count), sum(size), sum(max(size, 0)) from heap_profile_allocation group by 1, 2 order by 1, 2

select s.id, s.ts, s.utid, f.name, f.rel_pc, m.name, m.build_id from perf_sample s
join stack_profile_callsite c on c.id = s.callsite_id join stack_profile_frame f on f.id = c.frame_id
join stack_profile_mapping m on m.id = f.mapping order by s.id
