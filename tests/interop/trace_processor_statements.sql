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

select str_split('a;b;c', ';', 2), reverse('abc'), base64_encode(x'0102ff'), demangle('_ZN3foo3barEv'), unhex('0xff'), hash(1, 'a'), ln(2.718281828),
exp(1), sqrt(2), 'abc' glob '[a-c]*', 'abc' regexp '^a.c$', regexp_extract('abc123', '([a-z]+)'), regexp_replace_simple('k=v', '(\w)=(\w)', '\2 \1')

select to_timecode(1005000000), trace_end() - trace_start() >= 0, extract_metadata('trace_type'), 1 / 2, -7 / 2, 7 % 3, 1e3, 0.1 + 0.2, 9223372036854775807 + 1

select s.id, a.id from slice s join ancestor_slice(s.id) a where s.id < 50

select s.id, d.id from slice s join descendant_slice(s.id) d where s.id < 50

select s.id, f.slice_out, f.slice_in from slice s join following_flow(s.id) f where s.id < 50

select last_non_null(dur) over (order by id) as v from slice

select state, count(*), sum(dur) from thread_state group by state order by state

include perfetto module slices.with_context; select id, name, thread_name, process_name from thread_slice order by id

include perfetto module slices.self_dur; select * from slice_self_dur order by id

include perfetto module sched.time_in_state; select * from sched_time_in_state_for_thread

include perfetto module linux.memory.process; select * from memory_rss_and_swap_per_process

include perfetto module intervals.overlap; select * from intervals_overlap_count!((select ts, dur from slice where dur > 0), ts, dur)

include perfetto module counters.intervals; select * from counter_leading_intervals!((select id, ts, track_id, value from counter)) order by id
