-- The time of slices that none of their children has.
create perfetto view slice_self_dur(id id, self_dur duration) as select id, self_dur from __intrinsic_slice_self_dur;
