/* SPDX-License-Identifier: Apache-2.0
 * packet_index.c - reads the outer fields of all packets once, in the order of the file.
 *
 * Everything that depends on that order is decided in this pass: which packets have a valid incremental state, which clock
 * snapshots apply to a timestamp, and which interned data the names of an event come from. The second pass reads the sequences
 * merged by time. It takes the runs of entries to read from this index.
 *
 * Packets that a conversion writes are indexed while it writes them, many records at a time. So only the second pass reads them.
 *
 * Invariants: the runs of a sequence are in the order of the file, and cover all of its entries but bundles of kernel events. A run
 * starts and ends at entries. Notes are in the order of their addresses. A run costs 16 bytes and covers what the service wrote in
 * one piece, which is 4 KB or more.
 *
 * Rejected: sorting all events in memory, because that takes at least 12 bytes for each; one pass that emits what is older than
 * the last flush, because it needs traces with flushes and loses late events.
 */
#include "trace/packet_index.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/error_message.h"
#include "base/macros.h"
#include "proto/reader.h"
#include "schema/gen/trace_packet.pb.h"
#include "store/grow.h"
#include "trace/bundle_index.h"
#include "trace/packet_sequences.h"
#include "trace/remote_clocks.h"

enum {
	READ_AHEAD_BYTES = 256 << 10,
	SNAPSHOT_CLOCKS_MAX = 64,
	UNPACKED_MAX_BYTES = 256 << 20, /* from one compressed packet */
	UNPACKED_MAX_TIMES = 200,       /* the size of the trace, from all of them and beyond one */
	NO_KIND = 0,
};

static int add_note(struct orma_sequence *sequence, const struct orma_packet *packet,
		    uint32_t flags)
{
	int r = orma_store_grow(&sequence->notes, (uint64_t)sequence->note_count + 1,
				&sequence->note_capacity, sizeof(*sequence->notes));
	if (r < 0)
		return r;
	sequence->notes[sequence->note_count++] =
		(struct orma_note){packet->address, (uint32_t)packet->bytes.size, flags};
	return 0;
}

static int begin_run(struct orma_packet_index *index, struct orma_sequence *sequence,
		     uint64_t address, uint64_t size)
{
	int r = orma_store_grow(&sequence->runs, (uint64_t)sequence->run_count + 1,
				&sequence->run_capacity, sizeof(*sequence->runs));
	if (r < 0)
		return r;
	sequence->runs[sequence->run_count++] =
		(struct orma_run){address, (uint32_t)size, index->clocks.snapshot_count};
	return 0;
}

static inline int add_run(struct orma_packet_index *index, struct orma_sequence *sequence,
			  uint64_t address, uint64_t size)
{
	struct orma_run *last =
		sequence->run_count > 0 ? &sequence->runs[sequence->run_count - 1] : NULL;
	if (!last || last->address + last->size != address ||
	    last->snapshots != index->clocks.snapshot_count || size > UINT32_MAX - last->size)
		return begin_run(index, sequence, address, size);
	last->size += (uint32_t)size;
	return 0;
}

static void count_missing_sequence(struct orma_packet_index *index,
				   const struct orma_packet *packet)
{
	bool is_cleared = (packet->flags & ORMA_PACKET_IS_CLEARED) != 0;
	index->counts[ORMA_COUNT_CLEARED_WITHOUT_SEQUENCE] += is_cleared;
	index->counts[ORMA_COUNT_DROPPED_WITHOUT_SEQUENCE] += !is_cleared && packet->dropped;
	index->counts[ORMA_COUNT_DEFAULTS_WITHOUT_SEQUENCE] +=
		(packet->flags & ORMA_PACKET_HAS_DEFAULTS) != 0;
	index->counts[ORMA_COUNT_INTERNED_WITHOUT_SEQUENCE] +=
		(packet->flags & ORMA_PACKET_HAS_INTERNED) != 0;
	index->counts[ORMA_COUNT_EVENTS_WITHOUT_SEQUENCE] +=
		packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT;
	index->counts[ORMA_COUNT_THREADS_WITHOUT_SEQUENCE] +=
		packet->kind == ORMA_PB_TRACE_PACKET_THREAD_DESCRIPTOR;
}

/* Brings the incremental state of the sequence up to this packet, and notes what the packet changes. */
static int update_state(struct orma_packet_index *index, struct orma_sequence *sequence,
			const struct orma_packet *packet)
{
	uint32_t notes = 0;
	int r = orma_sequence_time_take(&sequence->time, packet);
	if (r < 0)
		return r;
	sequence->packets++;
	sequence->has_first |= (packet->flags & ORMA_PACKET_IS_FIRST) != 0;
	if (!(packet->flags & ORMA_PACKET_HAS_SEQUENCE)) {
		count_missing_sequence(index, packet);
		return 0;
	}
	if (packet->dropped && sequence->packets > 1)
		orma_sequence_count_loss(sequence, packet->dropped);
	if (packet->flags & ORMA_PACKET_IS_CLEARED)
		notes |= ORMA_NOTE_CLEARED;
	if (packet->flags & ORMA_PACKET_HAS_DEFAULTS)
		notes |= ORMA_NOTE_DEFAULTS;
	if (packet->flags & ORMA_PACKET_HAS_INTERNED) {
		index->counts[ORMA_COUNT_INTERNED_WITHOUT_STATE] += !sequence->time.is_valid;
		notes |= sequence->time.is_valid ? ORMA_NOTE_INTERNED : 0;
	}
	if (packet->kind == ORMA_PB_TRACE_PACKET_THREAD_DESCRIPTOR)
		index->counts[ORMA_COUNT_THREADS_WITHOUT_STATE] += !sequence->time.is_valid;
	if (packet->kind != ORMA_PB_TRACE_PACKET_TRACK_EVENT && sequence->time.is_valid &&
	    orma_trace_packet_thread(packet).data)
		notes |= ORMA_NOTE_THREAD;
	return notes ? add_note(sequence, packet, notes) : 0;
}

int orma_packet_index_snapshot(struct orma_packet_index *index, struct orma_sequence *sequence,
			       struct orma_str snapshot)
{
	struct orma_clock_reading readings[SNAPSHOT_CLOCKS_MAX];
	uint32_t primary;
	size_t count = orma_clock_snapshot_read(snapshot, sequence->machine_idx, sequence->id,
						readings, SNAPSHOT_CLOCKS_MAX, &primary);
	/* The clock of the trace is the host's, and is chosen before any snapshot. */
	if (primary && sequence->machine_idx == 0 && index->clocks.snapshot_count == 0) {
		index->trace_default_clock = primary;
		index->clocks.trace_time = orma_trace_clock_key(0, 0, primary);
	}
	int r = orma_trace_clocks_add(&index->clocks, readings, count);
	if (r > 0 && index->snapshot)
		r = index->snapshot(index->ctx, readings, count);
	return ORMA_MIN(r, 0);
}

static void count_failure(struct orma_packet_index *index, const struct orma_packet *packet,
			  enum orma_clock_failure failure)
{
	bool is_event = packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT;
	if (failure == ORMA_CLOCK_NEGATIVE)
		index->counts[is_event ? ORMA_COUNT_NEGATIVE_EVENT_TIMES
				       : ORMA_COUNT_NEGATIVE_TIMES]++;
	else
		index->counts[ORMA_COUNT_CLOCK_UNKNOWN_SOURCE + failure -
			      ORMA_CLOCK_UNKNOWN_SOURCE]++;
}

/* Finds the time of a packet. False when no clock leads there, which is counted. */
static inline bool find_time(struct orma_packet_index *index, struct orma_sequence *sequence,
			     const struct orma_packet *packet, int64_t *ret)
{
	enum orma_clock_failure failure =
		orma_sequence_time_of(&sequence->time, &index->clocks, index->trace_default_clock,
				      packet, index->clocks.snapshot_count, ret);
	if (ORMA_UNLIKELY(failure != ORMA_CLOCK_CONVERTED))
		count_failure(index, packet, failure);
	return failure == ORMA_CLOCK_CONVERTED;
}

static int add_untimed(struct orma_packet_index *index, struct orma_sequence *sequence,
		       const struct orma_packet *packet)
{
	int r = orma_store_grow(&index->untimed, (uint64_t)index->untimed_count + 1,
				&index->untimed_capacity, sizeof(*index->untimed));
	if (r < 0)
		return r;
	index->untimed[index->untimed_count++] =
		(struct orma_untimed){.address = packet->address,
				      .size = (uint32_t)packet->bytes.size,
				      .snapshots = index->clocks.snapshot_count,
				      .ns = index->max_ns,
				      .sequence = sequence};
	return 0;
}

/* Notes whether the sequence's times go back, for which its packets have to be sorted. */
static inline void check_order(struct orma_packet_index *index, struct orma_sequence *sequence,
			       unsigned rank, int64_t ns)
{
	if (ns < sequence->last_ns || (ns == sequence->last_ns && rank < sequence->last_rank))
		sequence->is_disordered = true;
	sequence->last_ns = ns;
	sequence->last_rank = rank;
	index->max_ns = ORMA_MAX(index->max_ns, ns);
}

/* Finds the packet's time, and shows it to those who need the order of the file. */
static int place_packet(struct orma_packet_index *index, struct orma_sequence *sequence,
			const struct orma_packet *packet)
{
	bool is_event = packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT;
	enum orma_time_source source = orma_sequence_time_source(&sequence->time, packet);
	bool is_known = source == ORMA_TIME_IS_KNOWN;
	int64_t ns = index->max_ns;
	if (is_known && !find_time(index, sequence, packet, &ns))
		return 0;
	if (!is_event && index->file_order) {
		int r = index->file_order(index->ctx, index, sequence, packet, ns);
		if (r < 0)
			return r;
	}
	if (!is_known && is_event) {
		bool has_sequence = (packet->flags & ORMA_PACKET_HAS_SEQUENCE) != 0;
		index->counts[source == ORMA_TIME_IS_MISSING
				      ? ORMA_COUNT_EVENTS_WITHOUT_TIME
				      : ORMA_COUNT_EVENTS_WITHOUT_REFERENCE] += has_sequence;
		return 0;
	}
	if (!is_known)
		return add_untimed(index, sequence, packet);
	sequence->events += is_event;
	int r = sequence->gap_causes ? orma_sequence_end_gap(index, sequence, ns) : 0;
	check_order(index, sequence, orma_packet_rank(packet, is_event), ns);
	return r;
}

/* Only a trace that was joined here has these numbers; another one's mean nothing. */
static void take_file(struct orma_packet_index *index, struct orma_str content)
{
	uint32_t number;
	if (content.size != sizeof(number))
		return;
	memcpy(&number, content.data, sizeof(number));
	if (number < index->trace_file_count)
		index->trace_file = number;
}

/* True for an event of the same sequence as the packet before, which changes no state: most packets of most traces are such. */
static bool is_usual(const struct orma_packet_index *index, const struct orma_packet *packet)
{
	const unsigned needed = ORMA_PACKET_HAS_TIMESTAMP | ORMA_PACKET_HAS_SEQUENCE,
		       allowed = ORMA_PACKET_NEEDS_STATE | ORMA_PACKET_HAS_PID;
	const struct orma_sequence *last = index->last_sequence;
	return packet->kind == ORMA_PB_TRACE_PACKET_TRACK_EVENT &&
	       (packet->flags & ~allowed) == needed && packet->dropped == 0 && last &&
	       last->id == packet->sequence && index->last_machine == packet->machine &&
	       last->time.is_valid && index->is_host_used;
}

/* The same as take_packet() for such an event. */
static int take_usual(struct orma_packet_index *index, const struct orma_packet *packet,
		      uint64_t entry, uint64_t entry_size)
{
	struct orma_sequence *sequence = index->last_sequence;
	int64_t ns;
	sequence->packets++;
	sequence->needed_state += (packet->flags & ORMA_PACKET_NEEDS_STATE) != 0;
	if (find_time(index, sequence, packet, &ns)) {
		sequence->events++;
		check_order(index, sequence, orma_packet_rank(packet, true), ns);
	}
	return add_run(index, sequence, entry, entry_size);
}

static int take_packet(struct orma_packet_index *index, const struct orma_packet *packet,
		       uint64_t entry, uint64_t entry_size)
{
	struct orma_sequence *sequence;
	if (is_usual(index, packet))
		return take_usual(index, packet, entry, entry_size);
	if (ORMA_UNLIKELY(packet->kind == ORMA_PACKET_TRACE_FILE)) {
		take_file(index, packet->content);
		return 0;
	}
	if (packet->machine == 0 && packet->kind != ORMA_PB_TRACE_PACKET_SYNCHRONIZATION_MARKER)
		index->is_host_used = true;
	int r = orma_packet_index_sequence(index, packet, &sequence);
	if (r == 0)
		r = update_state(index, sequence, packet);
	if (r == 0 && index->each)
		r = index->each(index->ctx, packet,
				!orma_sequence_time_accepts(&sequence->time, packet));
	if (r < 0)
		return r;
	if (packet->kind == ORMA_PB_TRACE_PACKET_FTRACE_EVENTS)
		return orma_bundle_index_add(index, sequence, packet);
	if (packet->kind == ORMA_PB_TRACE_PACKET_CLOCK_SNAPSHOT) {
		r = orma_packet_index_snapshot(index, sequence, packet->content);
	} else if (packet->kind == ORMA_PB_TRACE_PACKET_REMOTE_CLOCK_SYNC) {
		r = orma_remote_clocks_take(index, sequence, packet->content);
	} else if (!orma_sequence_time_accepts(&sequence->time, packet)) {
		sequence->skipped++;
		index->counts[ORMA_COUNT_SKIPPED_WITHOUT_STATE]++;
	} else if (packet->kind != NO_KIND) {
		r = place_packet(index, sequence, packet);
	}
	sequence->needed_state += (packet->flags & ORMA_PACKET_NEEDS_STATE) != 0;
	/* The second pass sees each packet of the sequence, because its state depends on all of them. */
	return r < 0 ? r : add_run(index, sequence, entry, entry_size);
}

static bool is_compressed(const struct orma_packet *packet)
{
	return packet->kind == ORMA_PB_TRACE_PACKET_COMPRESSED_PACKETS ||
	       packet->kind == ORMA_PB_TRACE_PACKET_ZSTD_COMPRESSED_PACKETS;
}

/* *ret is the packet before, or {0}. 0, 1 (the packet is compressed), or a negative errno value. */
static int take_entry(struct orma_packet_index *index, struct orma_str bytes, uint64_t entry,
		      uint64_t entry_size, struct orma_packet *ret)
{
	/* The next packet can be found all the same. */
	if (orma_trace_packet_read_next(bytes.data, bytes.size, ret) < 0) {
		index->counts[ORMA_COUNT_BAD_PACKETS]++;
		return 0;
	}
	ret->address = entry + entry_size - bytes.size;
	ret->header = (uint32_t)(entry_size - bytes.size);
	if (is_compressed(ret))
		return 1;
	index->packets += bytes.size > 0;
	return bytes.size > 0 ? take_packet(index, ret, entry, entry_size) : 0;
}

/* Puts the packets that a compressed one holds into the spool, and takes them from there. */
static int take_compressed(struct orma_packet_index *index, const struct orma_packet *packet)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf unpacked = {0};
	uint64_t address;
	/* Packets that are compressed very well, one after the other, would fill the disk. */
	bool is_bomb = index->input->spool_size / UNPACKED_MAX_TIMES > index->bytes &&
		       index->input->spool_size > UNPACKED_MAX_BYTES;
	int r = index->unpack && !is_bomb
			? index->unpack(packet->kind, packet->content.data, packet->content.size,
					UNPACKED_MAX_BYTES, &unpacked)
			: -ENOTSUP;
	if (r < 0) {
		index->counts[ORMA_COUNT_UNPACK_FAILED]++;
		return r == -ENOMEM ? r : 0;
	}
	r = orma_trace_bytes_add(index->input, unpacked.data, unpacked.size, &address);
	for (size_t at = 0; r == 0 && at < unpacked.size;) {
		struct orma_str bytes;
		struct orma_packet inner = {0};
		uint64_t size;
		r = orma_trace_entry_read(unpacked.data + at, unpacked.size - at, &bytes, &size);
		if (r < 0) {
			index->counts[ORMA_COUNT_BAD_PACKETS]++;
			return 0;
		}
		/* There is no deeper nesting, so a compressed packet in here is damage. */
		if (r > 0)
			r = take_entry(index, bytes, address + at, size, &inner);
		index->counts[ORMA_COUNT_BAD_PACKETS] += r > 0;
		r = ORMA_MIN(r, 0);
		at += (size_t)size;
	}
	return r;
}

/* Finds the entry at an address whatever its size. 1, 0 (another field), -EAGAIN (the input ends in it), -EBADMSG. */
static int read_entry(struct orma_packet_index *index, struct orma_trace_window *window,
		      uint64_t address, uint64_t end, struct orma_str *ret, uint64_t *ret_size)
{
	const uint8_t *data;
	size_t wanted = (size_t)ORMA_MIN(end - address, (uint64_t)2 * ORMA_PROTO_VARINT_MAX);
	for (;;) {
		int r = orma_trace_window_read(window, index->input, address, wanted,
					       READ_AHEAD_BYTES, &data);
		if (r <= 0)
			return r < 0 ? r : -EAGAIN;
		size_t have = window->size - (size_t)(address - window->address);
		r = orma_trace_entry_read(data, have, ret, ret_size);
		if (r != -EAGAIN || *ret_size == 0 || *ret_size > end - address)
			return r;
		wanted = (size_t)*ret_size;
	}
}

static int begin(struct orma_packet_index *index)
{
	if (index->has_begun)
		return 0;
	orma_trace_clocks_init(&index->clocks);
	index->machines.seed = index->sequence_map.seed = index->cpus.seed = index->seed;
	index->clocks.domains.seed = index->clocks.sets_by_key.seed = index->seed;
	index->trace_default_clock = ORMA_CLOCK_BOOTTIME;
	index->has_begun = true;
	return orma_packet_machine_find(index, 0) < 0 ? -ENOMEM : 0;
}

/* Takes all records of a run as take_usual() takes each. 1, 0 (they have to be taken one by one), or -ENOMEM. */
static int take_run(struct orma_packet_index *index, const struct orma_record_run *run,
		    uint64_t address)
{
	const struct orma_packet packet = {.kind = ORMA_PB_TRACE_PACKET_TRACK_EVENT,
					   .flags = ORMA_PACKET_HAS_TIMESTAMP |
						    ORMA_PACKET_HAS_SEQUENCE |
						    ORMA_PACKET_NEEDS_STATE,
					   .sequence = run->sequence,
					   .order = run->first.order,
					   .timestamp = (uint64_t)run->first.ns},
				 last = {.order = run->last.order};
	struct orma_sequence *sequence;
	int r = orma_packet_index_sequence(index, &packet, &sequence);
	if (r < 0)
		return r;
	if (index->each || !is_usual(index, &packet) ||
	    !orma_sequence_time_is_trace_time(&sequence->time, &index->clocks,
					      index->trace_default_clock, &packet))
		return 0;
	index->packets += run->count;
	sequence->packets += run->count;
	sequence->needed_state += run->count;
	sequence->events += run->count;
	sequence->is_disordered |= run->is_disordered;
	check_order(index, sequence, orma_packet_rank(&packet, true), run->first.ns);
	check_order(index, sequence, orma_packet_rank(&last, true), run->last.ns);
	index->max_ns = ORMA_MAX(index->max_ns, run->max_ns);
	r = add_run(index, sequence, address, run->size);
	return r < 0 ? r : 1;
}

int orma_packet_index_take(struct orma_packet_index *index,
			   const struct orma_converted_packets *packets)
{
	const struct orma_record_run *run = packets->runs, *end = run + packets->run_count;
	struct orma_packet packet = {0};
	int r = begin(index);
	/* Others came before these, which nobody has shown. The build reads those and all behind them. */
	if (packets->address != index->converted_end)
		return r;
	for (size_t at = 0; r == 0 && at < packets->size;) {
		struct orma_str bytes;
		uint64_t size;
		if (run < end && run->offset == at) {
			r = take_run(index, run, packets->address + at);
			at += r > 0 ? run->size : 0;
			run++;
			if (r != 0) {
				r = ORMA_MIN(r, 0);
				continue;
			}
		}
		r = orma_trace_entry_read(packets->data + at, packets->size - at, &bytes, &size);
		/* A conversion writes whole packets, and compresses none. */
		ORMA_ASSERT(r > 0);
		r = take_entry(index, bytes, packets->address + at, size, &packet);
		at += (size_t)size;
	}
	index->converted_end = packets->address + packets->size;
	return r;
}

int orma_packet_index_build(struct orma_packet_index *index, struct orma_error *reterr)
{
	/* Unpacked packets are added behind this end, after take_compressed() has read them. */
	uint64_t end = orma_trace_bytes_end(index->input), address = index->converted_end;
	struct orma_trace_window window = {0};
	struct orma_packet packet = {0};
	index->bytes = end;
	int r = begin(index);
	if (r == 0 && address > 0 && index->input->progress)
		r = index->input->progress(index->input->progress_ctx, address);
	while (r == 0 && address < end) {
		struct orma_str bytes;
		uint64_t size;
		r = read_entry(index, &window, address, end, &bytes, &size);
		if (r > 0)
			r = take_entry(index, bytes, address, size, &packet);
		if (r > 0)
			r = take_compressed(index, &packet);
		if (r == 0)
			address += size;
	}
	if (r == -EAGAIN) {
		index->counts[ORMA_COUNT_CUT_BYTES] = end - address;
		r = 0;
	}
	if (r == -EBADMSG)
		orma_base_error_set(reterr, r, "the trace is damaged at byte %llu",
				    (unsigned long long)address);
	orma_trace_window_done(&window);
	return r;
}

void orma_packet_index_done(struct orma_packet_index *index)
{
	orma_packet_sequences_done(index);
	for (uint32_t i = 0; i < index->lane_count; i++) {
		orma_base_free(index->lanes[i]->bundles);
		orma_base_free(index->lanes[i]);
	}
	orma_base_free(index->lanes);
	orma_base_free(index->untimed);
	orma_base_map_done(&index->cpus);
	orma_trace_clocks_done(&index->clocks);
	*index = (struct orma_packet_index){0};
}
