-- What is known about each trace as a whole.

-- A row for each trace, with its metadata as columns.
create perfetto table _metadata_by_trace as
  with
    __machine as (select distinct trace_id, machine_id from metadata where trace_id is not null and machine_id is not null),
    __names as (
      select trace_id,
        group_concat(coalesce(extract_metadata_for_machine(machine_id, 'system_name'), 'Machine ' || machine_id), ', ')
          as machines
      from __machine group by trace_id)
  select t.trace_id, extract_metadata_for_trace(t.trace_id, 'unique_session_name') as unique_session_name,
    extract_metadata_for_trace(t.trace_id, 'trace_uuid') as trace_uuid,
    extract_metadata_for_trace(t.trace_id, 'trace_type') as trace_type,
    extract_metadata_for_trace(t.trace_id, 'trace_size_bytes') as trace_size_bytes,
    extract_metadata_for_trace(t.trace_id, 'trace_trigger') as trace_trigger, coalesce(n.machines, '') as machines
  from (select distinct trace_id from metadata where trace_id is not null) t left join __names n using (trace_id);
