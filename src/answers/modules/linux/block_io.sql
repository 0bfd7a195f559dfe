-- Input and output of block devices.
include perfetto module intervals.overlap;
-- How many operations a block device works on at a time.
create perfetto view linux_active_block_io_operations_by_device(ts long, ops_in_queue_or_device long, dev long) as
  select ts, value as ops_in_queue_or_device, group_name as dev
  from intervals_overlap_count_by_group!((
    select s.ts, s.dur, extract_arg(t.dimension_arg_set_id, 'block_device') as dev
    from slice s join track t on s.track_id = t.id where t.type = 'block_io'), ts, dur, dev);
-- The major number of a device.
create perfetto function linux_device_major_id(dev long) returns long as select $dev >> 8 & 0xfff;
-- The minor number of a device.
create perfetto function linux_device_minor_id(dev long) returns long as select ($dev & 0xff) | (($dev >> 20) << 8);
