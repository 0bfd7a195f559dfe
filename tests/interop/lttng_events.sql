-- Each event as lttng_flatten.awk prints it, behind its time of the clock. Messages have their text as their name.
select s.ts || ' ' || printf('%d.%09d ', to_realtime(s.ts) / 1000000000, to_realtime(s.ts) % 1000000000) || s.category || ':'
    || case s.category
        when 'lttng_ust_tracef' then 'event'
        when 'lttng_ust_tracelog' then extract_arg(s.arg_set_id, 'debug.level')
        else s.name
       end
    || coalesce((
        select group_concat(' ' || replace(replace(a.key, 'debug.context.', ''), 'debug.', '') || '='
            || case a.value_type
                when 'string' then '"' || replace(replace(a.string_value, '\', '\\'), '"', '\"') || '"'
                when 'pointer' then printf('0x%X', a.int_value)
                when 'real' then printf('%.6g', a.real_value)
                else a.int_value
               end, '')
        from (select * from args where arg_set_id = s.arg_set_id and key != 'debug.level' order by id) a), '') as line
from slice s
order by s.ts, s.id;
