-- The frequencies of devices that are not cpus.
include perfetto module counters.intervals;
create perfetto function _get_devfreq_counters(device_name string)
  returns table(id long, ts timestamp, dur duration, freq long) as
  select id, ts, dur, cast_int!(value) as freq
  from counter_leading_intervals!((
    select c.* from counter c join track t on t.id = c.track_id
    where t.type = 'linux_device_frequency' and extract_arg(t.dimension_arg_set_id, 'linux_device') glob $device_name));
-- The frequency of the unit that the cores share.
create perfetto table linux_devfreq_dsu_counter(id long, ts timestamp, dur duration, dsu_freq long) as
  select id, ts, dur, freq as dsu_freq from _get_devfreq_counters('*devfreq_dsu')
  union all select id, ts, dur, freq from _get_devfreq_counters('*dsufreq');
