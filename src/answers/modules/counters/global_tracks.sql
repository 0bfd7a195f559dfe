-- Tells tracks of which there is one in the trace from tracks of a process, a CPU or a device.

-- True when nothing but its name distinguishes a counter's track.
create perfetto function _counter_track_is_only_name_dimension(track_id long) returns bool as
  select not exists (
    select 1 from counter_track t join args a on a.arg_set_id = t.dimension_arg_set_id
    where t.id = $track_id and a.key != 'name');
