/* SPDX-License-Identifier: Apache-2.0
 * sequence_state.c - the state of a sequence, and what each of its packets has in common.
 *
 * Timestamps are deltas to the previous packet, on clock 64, in the unit of the config. They are
 * never negative: an event whose time lies before that of the previous packet gets the same time. A
 * config may ask for absolute timestamps instead.
 */
#include "track/sequence_state.h"

#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "proto/writer.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/track_event.pb.h"

/* --- packets ---------------------------------------------------------------------------------- */

/* Writes the fields of a packet that hold its time and flags; `at` has room for
 * ORMA_TRACK_HEAD_BYTES. */
static uint8_t *put_head(struct orma_track_sequence *sequence, uint8_t *at, uint64_t now_ns)
{
	uint64_t units;

	ORMA_ASSERT(sequence->unit_ns > 0);
	units = now_ns / sequence->unit_ns;

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
	const uint8_t *end = put_head(slot->state, head, now_ns);

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
	ORMA_ASSERT(sequence->samples_time);
	*at++ = ORMA_PB_TRACK_EVENT_EXTRA_COUNTER_VALUES << 3 | ORMA_PROTO_VARINT;
	return orma_proto_put_varint(at, units);
}

/* --- the state -------------------------------------------------------------------------------- */

bool orma_track_sequence_may_use_fast_path(const struct orma_track_sequence *sequence)
{
	return sequence->is_incremental && sequence->unit_ns == 1 && !sequence->filters_arguments &&
	       !sequence->filters_names && !sequence->samples_time &&
	       orma_track_nesting_may_begin(&sequence->nesting);
}

void orma_track_sequence_leave_fast_path(struct orma_track_sequence *sequence)
{
	if (!sequence->known.allows_fast_path)
		return;
	sequence->known.allows_fast_path = false;
	memset(sequence->known.sites, 0, sizeof(sequence->known.sites));
}

void orma_track_sequence_lost(void *state, bool is_new)
{
	struct orma_track_sequence *sequence = state;

	orma_track_set_done(&sequence->tracks);
	orma_base_free(ORMA_TAKE(sequence->stacks));
	memset(&sequence->known, 0, sizeof(sequence->known));
	if (!is_new)
		return;
	orma_track_pending_ends_done(&sequence->pending_ends);
	orma_track_nesting_done(&sequence->nesting);
	memset(sequence, 0, sizeof(*sequence));
}

void orma_track_sequence_done(void *state)
{
	struct orma_track_sequence *sequence = state;

	orma_track_set_done(&sequence->tracks);
	orma_base_free(ORMA_TAKE(sequence->stacks));
	orma_track_pending_ends_done(&sequence->pending_ends);
	orma_track_nesting_done(&sequence->nesting);
}
