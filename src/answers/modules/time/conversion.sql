-- Nanoseconds from and to other units. What is less than a unit is cut off.

-- Makes a time of nanoseconds.
create perfetto function time_from_ns(
  -- Time in nanoseconds.
  nanos long
)
-- Time duration in nanoseconds.
returns timestamp as select $nanos * 1;

-- Makes a time of microseconds.
create perfetto function time_from_us(
  -- Time in microseconds.
  micros long
)
-- Time duration in nanoseconds.
returns timestamp as select $micros * 1000;

-- Makes a time of milliseconds.
create perfetto function time_from_ms(
  -- Time in milliseconds.
  millis long
)
-- Time duration in nanoseconds.
returns timestamp as select $millis * 1000000;

-- Makes a time of seconds.
create perfetto function time_from_s(
  -- Time in seconds.
  seconds long
)
-- Time duration in nanoseconds.
returns timestamp as select $seconds * 1000000000;

-- Makes a time of minutes.
create perfetto function time_from_min(
  -- Time in minutes.
  minutes long
)
-- Time duration in nanoseconds.
returns timestamp as select $minutes * 60000000000;

-- Makes a time of hours.
create perfetto function time_from_hours(
  -- Time in hours.
  hours long
)
-- Time duration in nanoseconds.
returns timestamp as select $hours * 3600000000000;

-- Makes a time of days.
create perfetto function time_from_days(
  -- Time in days.
  days long
)
-- Time duration in nanoseconds.
returns timestamp as select $days * 86400000000000;

-- A time in whole nanoseconds.
create perfetto function time_to_ns(
  -- Time in nanoseconds.
  nanos timestamp
)
-- Time duration in nanoseconds.
returns long as select $nanos / 1;

-- A time in whole microseconds.
create perfetto function time_to_us(
  -- Time in nanoseconds.
  nanos timestamp
)
-- Time duration in microseconds.
returns long as select $nanos / 1000;

-- A time in whole milliseconds.
create perfetto function time_to_ms(
  -- Time in nanoseconds.
  nanos timestamp
)
-- Time duration in milliseconds.
returns long as select $nanos / 1000000;

-- A time in whole seconds.
create perfetto function time_to_s(
  -- Time in nanoseconds.
  nanos timestamp
)
-- Time duration in seconds.
returns long as select $nanos / 1000000000;

-- A time in whole minutes.
create perfetto function time_to_min(
  -- Time in nanoseconds.
  nanos timestamp
)
-- Time duration in minutes.
returns long as select $nanos / 60000000000;

-- A time in whole hours.
create perfetto function time_to_hours(
  -- Time in nanoseconds.
  nanos timestamp
)
-- Time duration in hours.
returns long as select $nanos / 3600000000000;

-- A time in whole days.
create perfetto function time_to_days(
  -- Time in nanoseconds.
  nanos timestamp
)
-- Time duration in days.
returns long as select $nanos / 86400000000000;
