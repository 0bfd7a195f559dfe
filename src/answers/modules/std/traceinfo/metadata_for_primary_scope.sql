-- One value for each name of the metadata.

-- Of several rows of a name, the one of the first trace and of the first machine counts.
create perfetto table _metadata_for_primary_scope as
  select name, str_value, int_value, key_type
  from (
    select *, row_number() over (
      partition by name order by trace_id is null, trace_id, machine_id is null, machine_id) as place
    from metadata)
  where place = 1;
