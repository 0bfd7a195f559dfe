-- Nanoseconds from and to other units. What is less than a unit is cut off.
create perfetto function time_from_ns(nanos long) returns timestamp as select $nanos * 1;
create perfetto function time_from_us(micros long) returns timestamp as select $micros * 1000;
create perfetto function time_from_ms(millis long) returns timestamp as select $millis * 1000000;
create perfetto function time_from_s(seconds long) returns timestamp as select $seconds * 1000000000;
create perfetto function time_from_min(minutes long) returns timestamp as select $minutes * 60000000000;
create perfetto function time_from_hours(hours long) returns timestamp as select $hours * 3600000000000;
create perfetto function time_from_days(days long) returns timestamp as select $days * 86400000000000;
create perfetto function time_to_ns(nanos timestamp) returns long as select $nanos / 1;
create perfetto function time_to_us(nanos timestamp) returns long as select $nanos / 1000;
create perfetto function time_to_ms(nanos timestamp) returns long as select $nanos / 1000000;
create perfetto function time_to_s(nanos timestamp) returns long as select $nanos / 1000000000;
create perfetto function time_to_min(nanos timestamp) returns long as select $nanos / 60000000000;
create perfetto function time_to_hours(nanos timestamp) returns long as select $nanos / 3600000000000;
create perfetto function time_to_days(nanos timestamp) returns long as select $nanos / 86400000000000;
