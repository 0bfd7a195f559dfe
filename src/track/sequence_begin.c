/* SPDX-License-Identifier: Apache-2.0
 * sequence_begin.c - the packets that make a sequence readable on its own.
 *
 *   1. "incremental state cleared"; defaults (clock, the thread's track); a snapshot that ties the
 *      sequence's clock to the system's
 *   2. descriptors of the thread's track, of the process's, and of the registered root
 *   3. in the child of a fork, which process its parent is
 *   4. if the config asks for it, the descriptor of the counter of the thread's CPU time
 *
 * They are written before the first event, after each loss, and when the service asks for them, but
 * then at most once per chunk (client/thread.c). Every sequence begins with the descriptors of its
 * thread and of the process, so that its events belong to a named thread and process even if a full
 * buffer keeps no other sequence. When one of these packets is lost, the following ones are not
 * written, and the next event begins the sequence again.
 *
 * The kernel is asked for the thread's id and name only the first time. rename_watch.c notices
 * later names.
 */
#include "track/sequence_begin.h"

#include <unistd.h>

#include "base/assert.h"
#include "proto/writer.h"
#include "schema/gen/clock_snapshot.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_packet_defaults.pb.h"
#include "schema/gen/track_event.pb.h"
#include "track/instance_config.h"
#include "track/process_info.h"
#include "track/thread_descriptor.h"
#include "track/track_descriptor.h"
#include "track/track_uuid.h"

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
	/* The time of this packet is absolute, because the reader knows no other clock yet. */
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

static bool write_descriptors(struct orma_packet *slot, bool is_first, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;
	const struct orma_track *root =
		atomic_load_explicit(&orma_track_root, memory_order_acquire);
	struct orma_track_thread_info info;

	orma_track_thread_info_self(is_first, &info);
	if (!orma_track_write_thread(slot, sequence->tid, &info, now_ns) ||
	    !orma_track_write_process(slot, now_ns) ||
	    (root && !orma_track_describe_anew(slot, root, now_ns)) ||
	    (orma_track_process.parent_pid != 0 &&
	     !orma_track_write_parent_process(slot, now_ns)) ||
	    (sequence->samples_time && !orma_track_write_thread_time(slot, now_ns)))
		return false;
	return orma_track_set_add(&sequence->tracks, orma_track_thread_uuid(sequence->tid)) &&
	       orma_track_set_add(&sequence->tracks, orma_track_process.uuid);
}

bool orma_track_sequence_begin(struct orma_packet *slot, uint32_t idx, uint64_t now_ns)
{
	const struct orma_track_instance *instance = &orma_track_instances[idx];
	struct orma_track_sequence *sequence = slot->state;
	const struct orma_track_clock_cache clock = sequence->known.clock; /* unknown to readers */
	bool is_first = sequence->tid == 0;

	slot->needs_state = false;
	memset(&sequence->known, 0, sizeof(sequence->known));
	sequence->known.clock = clock;
	sequence->unit_ns = atomic_load_explicit(&instance->unit_ns, memory_order_relaxed);
	sequence->clock_id = atomic_load_explicit(&instance->clock_id, memory_order_relaxed);
	sequence->is_incremental =
		atomic_load_explicit(&instance->is_incremental, memory_order_relaxed);
	sequence->filters_arguments =
		atomic_load_explicit(&instance->filters_arguments, memory_order_relaxed);
	sequence->filters_names =
		atomic_load_explicit(&instance->filters_names, memory_order_relaxed);
	sequence->samples_time =
		atomic_load_explicit(&instance->samples_time, memory_order_relaxed);
	sequence->time_step_ns =
		atomic_load_explicit(&instance->time_step_ns, memory_order_relaxed);
	ORMA_ASSERT(sequence->unit_ns > 0);
	sequence->known.last_ns = now_ns / sequence->unit_ns * sequence->unit_ns;
	if (is_first)
		sequence->tid = (int32_t)gettid();
	orma_track_set_done(&sequence->tracks);
	return write_state(slot, now_ns) && write_descriptors(slot, is_first, now_ns);
}
