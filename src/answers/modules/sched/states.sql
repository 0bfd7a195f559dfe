-- The states of threads in words.
create perfetto function sched_state_to_human_readable_string(short_name string) returns string as
  select case $short_name
    when 'R' then 'Runnable'
    when 'R+' then 'Runnable (Preempted)'
    when 'S' then 'Sleeping'
    when 'D' then 'Uninterruptible Sleep'
    when 'T' then 'Stopped'
    when 't' then 'Traced'
    when 'X' then 'Exit (Dead)'
    when 'Z' then 'Exit (Zombie)'
    when 'x' then 'Task Dead'
    when 'I' then 'Idle'
    when 'K' then 'Wakekill'
    when 'W' then 'Waking'
    when 'P' then 'Parked'
    when 'N' then 'No Load'
    else $short_name
  end;
-- A state of a thread in words, with what it waits for.
create perfetto function sched_state_io_to_human_readable_string(sched_state string, io_wait bool) returns string as
  select coalesce(sched_state_to_human_readable_string($sched_state), '')
    || case $io_wait when 1 then ' (IO)' when 0 then ' (non-IO)' else '' end;
