-- What kind of system a machine runs.

-- True when the machine runs Linux.
create perfetto function _is_linux_machine(machine_id long) returns long as
  select count(*) = 1 from metadata
  where name = 'system_name' and str_value = 'Linux' and machine_id = $machine_id;
