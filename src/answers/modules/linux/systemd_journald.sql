-- What systemd's journal logged.
create perfetto view linux_systemd_journald_logs(id id, ts timestamp, utid long, prio long, tag string, msg string, uid long,
  comm string, systemd_unit string, hostname string, transport string) as
  select id, ts, utid, prio, tag, msg, cast(extract_arg(arg_set_id, 'uid') as integer) as uid,
    extract_arg(arg_set_id, 'comm') as comm, extract_arg(arg_set_id, 'systemd_unit') as systemd_unit,
    extract_arg(arg_set_id, 'hostname') as hostname, extract_arg(arg_set_id, 'transport') as transport
  from logs where log_source = 'systemd_journald';
