/* SPDX-License-Identifier: Apache-2.0
 * sequence.c - the packets that make a sequence readable on its own.
 *
 *   1. incremental state cleared; defaults (clock, the thread's track); a snapshot that ties the
 *      sequence's clock to the system's
 *   2. descriptor of the thread's track
 *   3. descriptor of the process's track
 *   4. when asked for, that of the counter of the thread's CPU time
 *
 * They come before the first event, after each loss and when the service asks for it, but then at
 * most once per chunk (client/thread.c). When the first is lost, the others are not tried: the next
 * event tries again. The kernel is asked for the thread's id and name only the first time; renames.c
 * notices later names. Timestamps are deltas to the previous packet on clock 64, in the config's
 * unit, and never negative.
 */
#include <unistd.h>

#include "base/clock_ns.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/track.h"

uint8_t *orma_track_put_head(struct orma_track_sequence *sequence, uint8_t *at, uint64_t now_ns)
{
	uint64_t units = now_ns / sequence->unit_ns;

	if (sequence->is_incremental) {
		uint64_t passed_ns =
			now_ns > sequence->known.last_ns ? now_ns - sequence->known.last_ns : 0;

		units = sequence->unit_ns == 1 ? passed_ns : passed_ns / sequence->unit_ns;
		sequence->known.last_ns += units * sequence->unit_ns;
	}
	*at++ = ORMA_PB_TRACE_PACKET_TIMESTAMP << 3 | ORMA_PROTO_VARINT;
	at = orma_proto_put_varint(at, units);
	*at++ = ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS << 3 | ORMA_PROTO_VARINT;
	*at++ = ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_NEEDS_INCREMENTAL_STATE;
	return at;
}

struct orma_proto_writer *orma_track_packet_begin(struct orma_packet *slot, uint64_t now_ns)
{
	struct orma_proto_writer *writer = orma_shm_writer_packet_begin(slot->writer);
	uint8_t head[ORMA_TRACK_HEAD_BYTES];
	const uint8_t *end = orma_track_put_head(slot->state, head, now_ns);

	orma_proto_write_raw(writer, head, (size_t)(end - head));
	return writer;
}

bool orma_track_packet_end(struct orma_packet *slot)
{
	orma_shm_writer_packet_end(slot->writer);
	return orma_client_slot_check(slot);
}

uint8_t *orma_track_put_thread_time(struct orma_track_sequence *sequence, uint8_t *at,
				    uint64_t now_ns)
{
	uint64_t due_ns = sequence->known.thread_time_at_ns + sequence->time_step_ns, units = 0;

	if (sequence->known.thread_time_at_ns == 0 || now_ns >= due_ns) {
		units = (orma_base_clock_ns(CLOCK_THREAD_CPUTIME_ID) -
			 sequence->known.thread_time_ns) /
			sequence->unit_ns;
		sequence->known.thread_time_ns += units * sequence->unit_ns;
		sequence->known.thread_time_at_ns = now_ns;
	}
	*at++ = ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_VALUES << 3 | ORMA_PROTO_VARINT;
	return orma_proto_put_varint(at, units);
}

/* --- the first packet ------------------------------------------------------------------------- */

static void write_clock(struct orma_proto_writer *writer, uint32_t clock_id, uint64_t value,
			const struct orma_track_sequence *sequence)
{
	struct orma_proto_nested clock;

	orma_proto_nested_begin(writer, &clock, ORMA_PB_CLOCK_SNAPSHOT_CLOCKS);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_CLOCK_ID, clock_id);
	orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_TIMESTAMP, value);
	if (sequence) {
		if (sequence->is_incremental)
			orma_proto_write_bool(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_IS_INCREMENTAL,
					      true);
		orma_proto_write_varint(writer, ORMA_PB_CLOCK_SNAPSHOT_CLOCK_UNIT_MULTIPLIER_NS,
					sequence->unit_ns);
	}
	orma_proto_nested_end(writer, &clock);
}

static void write_defaults(struct orma_proto_writer *writer,
			   const struct orma_track_sequence *sequence)
{
	struct orma_proto_nested defaults, event;

	orma_proto_nested_begin(writer, &defaults, ORMA_PB_TRACE_PACKET_TRACE_PACKET_DEFAULTS);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_DEFAULTS_TIMESTAMP_CLOCK_ID,
				sequence->clock_id);
	orma_proto_nested_begin(writer, &event, ORMA_PB_TRACE_PACKET_DEFAULTS_TRACK_EVENT_DEFAULTS);
	orma_proto_write_varint(writer, ORMA_PB_TRACK_EVENT_DEFAULTS_TRACK_UUID,
				orma_track_thread_uuid(sequence->tid));
	if (sequence->samples_time)
		orma_proto_write_varint(writer,
					ORMA_PB_TRACK_EVENT_DEFAULTS_EXTRA_COUNTER_TRACK_UUIDS,
					orma_track_thread_time_uuid(sequence->tid));
	orma_proto_nested_end(writer, &defaults);
}

static bool write_state(struct orma_packet *slot, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;
	struct orma_proto_writer *writer = orma_shm_writer_packet_begin(slot->writer);
	struct orma_proto_nested snapshot;

	orma_client_slot_note_state(slot);
	/* Its own time is absolute: nothing else is known yet. */
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP, now_ns);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
				orma_track_clock_id());
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS,
				ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS_SEQ_INCREMENTAL_STATE_CLEARED);
	write_defaults(writer, sequence);
	if (sequence->clock_id != orma_track_clock_id()) {
		orma_proto_nested_begin(writer, &snapshot, ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT);
		write_clock(writer, orma_track_clock_id(), now_ns, NULL);
		write_clock(writer, sequence->clock_id, now_ns / sequence->unit_ns, sequence);
		orma_proto_nested_end(writer, &snapshot);
	}
	return orma_track_packet_end(slot);
}

bool orma_track_sequence_begin(struct orma_packet *slot, uint32_t idx, uint64_t now_ns)
{
	const struct orma_track_instance *instance = &orma_track_instances[idx];
	struct orma_track_sequence *sequence = slot->state;
	const struct orma_track_line line = sequence->known.line; /* no reader knows of it */
	bool is_first = sequence->tid == 0;

	slot->needs_state = false;
	memset(&sequence->known, 0, sizeof(sequence->known));
	sequence->known.line = line;
	sequence->unit_ns = instance->unit_ns;
	sequence->clock_id = instance->clock_id;
	sequence->is_incremental = instance->is_incremental;
	sequence->filters_arguments = instance->filters_arguments;
	sequence->filters_names = instance->filters_names;
	sequence->samples_time = instance->samples_time;
	sequence->time_step_ns = instance->time_step_ns;
	sequence->known.last_ns = now_ns / sequence->unit_ns * sequence->unit_ns;
	if (is_first)
		sequence->tid = (int32_t)gettid();
	orma_track_set_done(&sequence->tracks);
	return write_state(slot, now_ns) && orma_track_describe_thread(slot, is_first, now_ns);
}

void orma_track_sequence_lost(void *state, bool is_new)
{
	struct orma_track_sequence *sequence = state;

	orma_track_set_done(&sequence->tracks);
	memset(&sequence->known, 0, sizeof(sequence->known));
	if (!is_new)
		return;
	orma_track_lates_done(&sequence->late);
	orma_track_nesting_done(&sequence->nesting);
	memset(sequence, 0, sizeof(*sequence));
}

void orma_track_sequence_done(void *state)
{
	struct orma_track_sequence *sequence = state;

	orma_track_set_done(&sequence->tracks);
	orma_track_lates_done(&sequence->late);
	orma_track_nesting_done(&sequence->nesting);
}
