/* SPDX-License-Identifier: Apache-2.0
 * sequence_time.h - when the packets of one sequence happened.
 */
#ifndef ORMA_TRACE_SEQUENCE_TIME_H
#define ORMA_TRACE_SEQUENCE_TIME_H

#include "schema/gen/trace_packet.pb.h"
#include "trace/clocks.h"
#include "trace/packet_fields.h"

/* How far an incremental clock of the sequence has come. */
struct orma_sequence_clock {
	uint32_t clock;
	int64_t unit_ns;
	int64_t now_ns;
};

/*
 * The state that timestamps of a sequence depend on. Packets are shown to it in the order of the file. The sequence's id
 * and machine are set by the owner; all else begins as 0.
 */
struct orma_sequence_time {
	uint32_t sequence, machine_idx;
	uint32_t default_clock; /* the latest defaults' clock; 0 = the trace's */
	uint32_t clock_count, clock_capacity;
	struct orma_sequence_clock *clocks;
	struct orma_clock_cache cache;
	bool is_valid;      /* there was an incremental state, and nothing was lost since */
	bool has_reference; /* a ThreadDescriptor gave the time that deltas in track events begin at */
	int64_t reference_ns;
	int64_t first_sample_ns; /* the earliest in the streaming profile that was taken last */
	uint64_t bad_samples;    /* times before 0 in streaming profiles */
};

/* Adds microseconds, as old traces have them, to nanoseconds. A sum that does not fit is the largest or smallest number. */
int64_t orma_add_us(int64_t ns, int64_t us);

void orma_sequence_time_done(struct orma_sequence_time *time);
int orma_sequence_time_change(struct orma_sequence_time *time, const struct orma_packet *packet);
/*
 * Takes what the packet changes: the incremental state, defaults, the reference of a thread, the sequence's clocks. Each
 * packet needs this call before the functions below. 0 or -ENOMEM.
 */
static inline int orma_sequence_time_take(struct orma_sequence_time *time,
					  const struct orma_packet *packet)
{
	const unsigned changes = ORMA_PACKET_IS_CLEARED | ORMA_PACKET_HAS_DEFAULTS;
	if (packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT && !(packet->flags & changes) &&
	    packet->dropped == 0)
		return 0;
	return orma_sequence_time_change(time, packet);
}
/* True when the packet can be understood, because the incremental state that it needs is there. */
static inline bool orma_sequence_time_accepts(const struct orma_sequence_time *time,
					      const struct orma_packet *packet)
{
	return time->is_valid || !(packet->flags & ORMA_PACKET_NEEDS_STATE);
}
enum orma_time_source {
	ORMA_TIME_IS_MISSING,
	ORMA_TIME_IS_KNOWN,        /* the packet says when it was, in whatever way */
	ORMA_TIME_LACKS_REFERENCE, /* its event's time is relative to a ThreadDescriptor that was lost */
};
enum orma_time_source orma_sequence_time_search(const struct orma_sequence_time *time,
						const struct orma_packet *packet);
static inline enum orma_time_source orma_sequence_time_source(const struct orma_sequence_time *time,
							      const struct orma_packet *packet)
{
	const unsigned usual = ORMA_PACKET_HAS_TIMESTAMP | ORMA_PACKET_HAS_SEQUENCE;
	return (packet->flags & usual) == usual ? ORMA_TIME_IS_KNOWN
						: orma_sequence_time_search(time, packet);
}
/*
 * Finds the time of a packet that says when it was, in nanoseconds of the trace's clock, and moves on incremental clocks. `snapshots` is how
 * many snapshots come before the packet.
 */
enum orma_clock_failure orma_sequence_time_convert(struct orma_sequence_time *time,
						   const struct orma_clocks *clocks,
						   uint32_t trace_default_clock,
						   const struct orma_packet *packet,
						   uint32_t snapshots, int64_t *ret);
/* True when the packet's timestamp is its time, because it is on the clock of the trace, as most are. */
static inline bool orma_sequence_time_is_trace_time(const struct orma_sequence_time *time,
						    const struct orma_clocks *clocks,
						    uint32_t trace_default_clock,
						    const struct orma_packet *packet)
{
	uint32_t clock = packet->clock         ? packet->clock
			 : time->default_clock ? time->default_clock
					       : trace_default_clock;
	return packet->flags & ORMA_PACKET_HAS_TIMESTAMP && !time->has_reference && clock != 0 &&
	       packet->timestamp <= INT64_MAX &&
	       orma_trace_clock_key(time->machine_idx, time->sequence, clock) == clocks->trace_time;
}
static inline enum orma_clock_failure orma_sequence_time_of(struct orma_sequence_time *time,
							    const struct orma_clocks *clocks,
							    uint32_t trace_default_clock,
							    const struct orma_packet *packet,
							    uint32_t snapshots, int64_t *ret)
{
	if (orma_sequence_time_is_trace_time(time, clocks, trace_default_clock, packet)) {
		*ret = (int64_t)packet->timestamp;
		return ORMA_CLOCK_CONVERTED;
	}
	return orma_sequence_time_convert(time, clocks, trace_default_clock, packet, snapshots,
					  ret);
}

/* Reads the readings of a snapshot for orma_trace_clocks_add(): at most `max` of them. Returns their number. */
size_t orma_clock_snapshot_read(struct orma_str snapshot, uint32_t machine_idx, uint32_t sequence,
				struct orma_clock_reading *ret, size_t max,
				uint32_t *ret_primary_clock);

#endif
