/* SPDX-License-Identifier: Apache-2.0
 * packet_index.h - the first pass over a trace: where each sequence's packets are, and all that depends on their order in
 * the file.
 */
#ifndef ORMA_TRACE_PACKET_INDEX_H
#define ORMA_TRACE_PACKET_INDEX_H

#include <orma/error.h>

#include "base/map.h"
#include "trace/clocks.h"
#include "trace/conversion_fields.h"
#include "trace/converted_packets.h"
#include "trace/packet_fields.h"
#include "trace/sequence_time.h"
#include "trace/trace_bytes.h"

/* Neighbouring entries of the file, all of one sequence. */
struct orma_run {
	uint64_t address;
	uint32_t size;
	uint32_t snapshots; /* clock snapshots before it */
};

enum {
	ORMA_NOTE_CLEARED = 1, /* the incremental state begins anew */
	ORMA_NOTE_INTERNED = 2,
	ORMA_NOTE_DEFAULTS = 4,
	ORMA_NOTE_THREAD = 8, /* a ThreadDescriptor */
};

/* A packet that changes the incremental state of its sequence. */
struct orma_note {
	uint64_t address; /* where the packet is */
	uint32_t size;
	uint32_t flags;
};

enum { ORMA_LOSS_CAUSES = 9 }; /* bits of TracePacket.previous_packet_dropped */

/* A time in which packets or kernel events are missing. */
struct orma_gap {
	const struct orma_sequence
		*sequence; /* it lacks packets; NULL = a CPU lacks kernel events */
	uint32_t machine_idx, cpu;
	uint32_t causes; /* bits of TracePacket.previous_packet_dropped */
	int64_t first_ns, end_ns;
};
/* More of them are only counted by statistics. */
enum { ORMA_GAPS_MAX = 10000 };

struct orma_sequence {
	uint32_t id, machine_idx;
	uint32_t trace_file; /* the number of the file that it begins in */
	uint64_t seed;       /* the index's */
	struct orma_run *runs;
	struct orma_note *notes; /* in the order of their addresses */
	uint32_t run_count, run_capacity, note_count, note_capacity;
	bool is_disordered; /* times go back */
	bool has_first;     /* its first packet is in the trace */
	unsigned last_rank; /* the last packet's; see orma_packet_rank() */
	int64_t last_ns;
	uint64_t packets, events; /* all packets; those with track events */
	uint64_t needed_state, skipped;
	uint64_t losses, losses_by_cause[ORMA_LOSS_CAUSES];
	uint32_t gap_causes; /* why the gap that goes on began; 0 = none goes on */
	int64_t gap_first_ns;
	int64_t utid; /* the thread of its last event if packets are missing, from the second pass; -1 = none */
	struct orma_sequence_time time; /* at the end of the file; the second pass starts anew */
};

/* Kernel events of one CPU, in bundles that do not overlap in time. */
struct orma_bundle {
	uint64_t address; /* where the packet is */
	uint32_t size;
	uint32_t snapshots;
	int64_t first_ns, last_ns;
};

struct orma_lane {
	uint32_t machine_idx, cpu;
	struct orma_bundle *bundles;
	uint32_t bundle_count, bundle_capacity;
	struct orma_lane *next; /* another lane of the same CPU */
};

/* A packet without a timestamp. It happened when the file had come to it. */
struct orma_untimed {
	uint64_t address;
	uint32_t size, snapshots;
	int64_t ns;
	struct orma_sequence *sequence;
};

struct orma_packet_index;

/* Sees each packet that is not skipped, in the order of the file, but for track events and kernel events. A negative
 * value ends the pass. */
typedef int orma_file_order_fn(void *ctx, struct orma_packet_index *index,
			       struct orma_sequence *sequence, const struct orma_packet *packet,
			       int64_t ns);
/* Sees each packet but compressed ones, in the order of the file; `is_skipped`: its sequence has no valid state. */
typedef int orma_indexed_packet_fn(void *ctx, const struct orma_packet *packet, bool is_skipped);
struct orma_bundle_head;
/* Sees each bundle of kernel events, and each clock snapshot that was accepted, in the order of the file. */
typedef int orma_bundle_fn(void *ctx, struct orma_sequence *sequence,
			   const struct orma_packet *packet, const struct orma_bundle_head *head);
typedef int orma_snapshot_fn(void *ctx, const struct orma_clock_reading *readings, size_t count);
/* Unpacks the content of a field of TracePacket: zlib or zstd of compressed packets, gzip of an extension descriptor. 0 or a
 * negative errno value. */
typedef int orma_unpack_fn(uint32_t field_id, const void *data_untrusted, size_t size,
			   size_t max_bytes, struct orma_buf *ret);

enum orma_index_count {
	ORMA_COUNT_CLOCK_UNKNOWN_SOURCE,
	ORMA_COUNT_CLOCK_UNKNOWN_TARGET,
	ORMA_COUNT_CLOCK_NO_PATH,
	ORMA_COUNT_NEGATIVE_TIMES,
	ORMA_COUNT_NEGATIVE_EVENT_TIMES,
	ORMA_COUNT_EVENTS_WITHOUT_TIME,
	ORMA_COUNT_EVENTS_WITHOUT_REFERENCE,
	ORMA_COUNT_EVENTS_WITHOUT_SEQUENCE,
	ORMA_COUNT_THREADS_WITHOUT_SEQUENCE,
	ORMA_COUNT_THREADS_WITHOUT_STATE,
	ORMA_COUNT_CLEARED_WITHOUT_SEQUENCE,
	ORMA_COUNT_DROPPED_WITHOUT_SEQUENCE,
	ORMA_COUNT_DEFAULTS_WITHOUT_SEQUENCE,
	ORMA_COUNT_INTERNED_WITHOUT_SEQUENCE,
	ORMA_COUNT_INTERNED_WITHOUT_STATE,
	ORMA_COUNT_SKIPPED_WITHOUT_STATE,
	ORMA_COUNT_BAD_PACKETS,
	ORMA_COUNT_BAD_BUNDLES,
	ORMA_COUNT_UNPACK_FAILED,
	ORMA_COUNT_CUT_BYTES, /* at the end of the file */
	ORMA_COUNT_KINDS,
};

/* On how many threads the second pass runs: two if the trace is large and there are two CPUs, or as tests want it. */
enum orma_read_threads { ORMA_THREADS_AUTO, ORMA_THREADS_ONE, ORMA_THREADS_TWO };

struct orma_packet_index {
	struct orma_trace_bytes *input;
	enum orma_read_threads threads;
	orma_unpack_fn *unpack;
	orma_file_order_fn *file_order;
	orma_indexed_packet_fn *each; /* NULL = none */
	orma_bundle_fn *bundle;       /* NULL = none */
	orma_snapshot_fn *snapshot;   /* NULL = none */
	void *ctx;
	struct orma_clocks clocks;
	uint32_t trace_default_clock;
	struct orma_map machines; /* index + 1 by id */
	uint32_t *machine_ids;
	uint32_t machine_count, machine_capacity;
	bool is_host_used;                   /* a packet of the host was seen */
	struct orma_map sequence_map;        /* struct orma_sequence by machine and id */
	struct orma_sequence *last_sequence; /* that a packet was of; NULL = none */
	uint32_t last_machine;               /* the machine's id of that packet */
	/* The number of the file that packets are of now, and how many files there are. */
	uint32_t trace_file, trace_file_count;
	struct orma_sequence **sequences; /* in the order of their first packets */
	uint32_t sequence_count, sequence_capacity;
	struct orma_map cpus;     /* the first struct orma_lane by machine and CPU */
	struct orma_lane **lanes; /* in the order of their first bundles */
	uint32_t lane_count, lane_capacity;
	struct orma_untimed *untimed;
	uint32_t untimed_count, untimed_capacity;
	struct orma_gap *gaps; /* in the order in which their ends were found */
	uint32_t gap_count, gap_capacity;
	int64_t max_ns;
	uint64_t counts[ORMA_COUNT_KINDS];
	uint64_t packets, bytes;
	bool has_begun;
	uint64_t converted_end; /* packets before it were taken when they were converted */
	uint64_t
		seed; /* makes the maps hard to attack; a secret number when strangers wrote the trace */
};

/* Packets of one time are in the order of their ranks. */
enum { ORMA_RANK_PACKET, ORMA_RANK_TRACK_EVENT };
/* Behind all ranks of track events, which their order is added to. */
#define ORMA_RANK_FTRACE UINT32_C(0x80000000)

static inline uint32_t orma_packet_rank(const struct orma_packet *packet, bool is_event)
{
	uint32_t order =
		packet->order < ORMA_EVENT_ORDER_MAX ? packet->order : ORMA_EVENT_ORDER_MAX;
	return is_event ? ORMA_RANK_TRACK_EVENT + order : ORMA_RANK_PACKET;
}

/* Adds a gap, while there are fewer than ORMA_GAPS_MAX. 0 or -ENOMEM. */
int orma_packet_index_add_gap(struct orma_packet_index *index, const struct orma_gap *gap);
/* Reads the whole input once. `index->input` and the functions, and may be `threads`, are set by the caller, all else is 0. 0, -EBADMSG (not a
 * trace, or damaged: `reterr` says where; what came before is indexed), -ENOMEM, or an error of reading or of a
 * function. */
int orma_packet_index_build(struct orma_packet_index *index, struct orma_error *reterr);
/* Takes packets that will be in the input, when they are written: those that the input begins with, and the next of them with each
 * call. Packets with others before them that were not taken are ignored. orma_packet_index_build() reads what is behind those that
 * were taken. 0, -ENOMEM or an error of a function. */
int orma_packet_index_take(struct orma_packet_index *index,
			   const struct orma_converted_packets *packets);
/* Returns the packet's sequence, which is made when it is new, and takes a clock snapshot. 0 or a negative errno value. */
int orma_packet_index_sequence(struct orma_packet_index *index, const struct orma_packet *packet,
			       struct orma_sequence **ret);
int orma_packet_index_snapshot(struct orma_packet_index *index, struct orma_sequence *sequence,
			       struct orma_str snapshot);
void orma_packet_index_done(struct orma_packet_index *index);

/* Finds the next packet in entries of a Trace message. 1 (found; *ret_size is the entry's size), 0 (another field),
 * -EAGAIN (it goes on beyond `size`; *ret_size is how much is needed, 0 = not known), -EBADMSG. */
int orma_trace_entry_read_any(const uint8_t *data, size_t size, struct orma_str *ret_packet,
			      uint64_t *ret_size);
static inline int orma_trace_entry_read(const uint8_t *data, size_t size,
					struct orma_str *ret_packet, uint64_t *ret_size)
{
	enum { PACKET_TAG = 1 << 3 | 2 };
	/* Nearly all entries are packets of up to 127 bytes, or of up to 16383. */
	if (size >= 2 && data[0] == PACKET_TAG && data[1] < 0x80 && data[1] <= size - 2) {
		*ret_packet = (struct orma_str){(const char *)data + 2, data[1]};
		*ret_size = (uint64_t)data[1] + 2;
		return 1;
	}
	if (size >= 3 && data[0] == PACKET_TAG && data[2] < 0x80) {
		size_t packet = (size_t)(data[1] & 0x7f) | (size_t)data[2] << 7;
		if (data[1] >= 0x80 && packet <= size - 3) {
			*ret_packet = (struct orma_str){(const char *)data + 3, packet};
			*ret_size = (uint64_t)packet + 3;
			return 1;
		}
	}
	return orma_trace_entry_read_any(data, size, ret_packet, ret_size);
}

#endif
