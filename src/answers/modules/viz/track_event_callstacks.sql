-- Tracks whose events have callstacks.
create perfetto table _track_event_tracks_with_callstacks as
  select distinct track_id from __intrinsic_track_event_callstacks;
