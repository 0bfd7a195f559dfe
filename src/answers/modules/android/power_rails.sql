-- Meters of power rails, which some phones have.
include perfetto module counters.intervals;
create perfetto table _power_rail as
  select id as track_id, name, machine_id, extract_arg(source_arg_set_id, 'raw_name') as raw_name,
    extract_arg(source_arg_set_id, 'subsystem_name') as subsystem_name
  from counter_track where type = 'power_rails';
-- The rails by the names of their regulators, of what they feed, and of the part of the phone.
create perfetto table android_power_rails_metadata(power_rail_name string, raw_power_rail_name string, friendly_name string,
  track_id joinid(track.id), subsystem_name string, machine_id joinid(machine.id)) as
  select name as power_rail_name, raw_name as raw_power_rail_name,
    case when name glob 'power.rails.*' then substr(name, 13) end as friendly_name, track_id, subsystem_name, machine_id
  from _power_rail;
-- The energy of each rail since the boot, in microwatt-seconds, and its average power from one sample to the next, in milliwatts.
create perfetto table android_power_rails_counters(id id(counter.id), ts timestamp, dur duration, power_rail_name string,
  raw_power_rail_name string, energy_since_boot double, energy_since_boot_at_end double, average_power double,
  energy_delta double, track_id joinid(track.id), value double) as
  select c.id, c.ts, c.dur, r.name as power_rail_name, r.raw_name as raw_power_rail_name, c.value as energy_since_boot,
    c.next_value as energy_since_boot_at_end, (c.next_value - c.value) * 1e6 / c.dur as average_power,
    c.delta_value as energy_delta, c.track_id, c.value
  from counter_leading_intervals!((select counter.* from counter join _power_rail using (track_id))) c
  join _power_rail r using (track_id);
