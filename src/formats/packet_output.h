/* SPDX-License-Identifier: Apache-2.0
 * packet_output.h - writes a trace of packets into a spool, for readers of other formats.
 */
#ifndef ORMA_FORMATS_PACKET_OUTPUT_H
#define ORMA_FORMATS_PACKET_OUTPUT_H

#include "base/arena.h"
#include "base/map.h"
#include "proto/writer.h"
#include "trace/converted_packets.h"
#include "trace/event_record.h"
#include "trace/stat_values.h"
#include "trace/trace_bytes.h"

/* The reader numbers its sequences: 1, 2, ... */
enum { ORMA_OUTPUT_SEQUENCES_MAX = 1024 };

enum { ORMA_OUTPUT_RECENT_BITS = 12, ORMA_OUTPUT_RECENT_STRINGS = 1 << ORMA_OUTPUT_RECENT_BITS };

/* Records behind so many runs of a batch are taken one by one. */
enum { ORMA_OUTPUT_RUNS = 1024 };

/* Tells what has been written into a sequence. */
struct orma_output_state {
	uint64_t *has_string; /* a bit for each number of a string */
	uint32_t capacity;
	bool has_begun;
};

/*
 * Packets are collected in `batch`, and whole batches go to the spool. Writing never fails; orma_packet_output_end() returns the
 * first error from then on, and so does orma_packet_output_finish().
 *
 * Each sequence has one incremental state. A string has one number in all sequences, and is written into each sequence that
 * uses it, with the first packet that does.
 */
struct orma_packet_output {
	struct orma_trace_bytes *bytes;
	/* The clock of all timestamps, and of the trace; 0 = the default. It is set before the first packet. */
	uint32_t clock;
	bool lacks_idle_task; /* the trace is not of a kernel, so number 0 is a task like any other */
	bool has_records; /* only src/trace reads the packets, so events may be records; see trace/event_record.h */
	/* Called with packets that were written; NULL = not called. */
	orma_converted_fn *converted;
	void *converted_ctx;
	struct orma_stats stats; /* counted by the conversion; the importer adds them to its own */
	int error;
	/* Private. */
	struct orma_buf batch, interned;
	struct orma_proto_heap_writer heap, interned_heap;
	struct orma_proto_nested packet, event;
	struct orma_map strings;                                       /* by hash */
	struct orma_output_string *recent[ORMA_OUTPUT_RECENT_STRINGS]; /* some of them, by hash */
	struct orma_arena arena;
	uint32_t string_count;
	uint32_t sequence; /* the open packet's, from 0 */
	bool has_clock, has_interned;
	struct orma_record_run runs[ORMA_OUTPUT_RUNS]; /* in the batch */
	uint32_t run_count;
	struct orma_output_state states[ORMA_OUTPUT_SEQUENCES_MAX];
};

void orma_packet_output_init(struct orma_packet_output *output, struct orma_trace_bytes *bytes);
/* Writes what was counted and what is left, and frees all. `size_bytes` is that of the trace before. 0 or the first error:
 * -ENOSPC or another of writing a file, -ENOMEM. */
int orma_packet_output_finish(struct orma_packet_output *output, const char *format_name,
			      uint64_t size_bytes);

/* Begins a packet; `sequence` is from 1 to ORMA_OUTPUT_SEQUENCES_MAX. The fields of TracePacket go to the writer. */
struct orma_proto_writer *orma_packet_output_begin(struct orma_packet_output *output,
						   uint32_t sequence, int64_t ns);
/* The same for a packet without a time, which happens when the file has come to it. */
struct orma_proto_writer *orma_packet_output_begin_untimed(struct orma_packet_output *output,
							   uint32_t sequence);
/* Ends a message that is open in the packet, and any in it. Unlike orma_proto_nested_end(), which leaves four bytes for each length, it
 * moves the content up, which takes less time than every reader saves. */
void orma_packet_output_nested_end(struct orma_packet_output *output,
				   struct orma_proto_nested *nested);
/* Ends the packet and all messages that are open in it. 0 or the first error. */
int orma_packet_output_end(struct orma_packet_output *output);

/*
 * Returns the number of a string in the sequence of the open packet; `field` is that of InternedData. 0 when the string is
 * empty, long or one too many: then it is to be written in place.
 */
uint64_t orma_packet_output_intern(struct orma_packet_output *output, uint32_t field,
				   struct orma_str text);
/* Returns the writer of the InternedData that the open packet will have, for other entries than strings. */
struct orma_proto_writer *orma_packet_output_interned(struct orma_packet_output *output);
/* Chooses the sequence of the next record, for which strings may be interned then. False when its next packet cannot be a record. */
static inline bool orma_packet_output_choose(struct orma_packet_output *output, uint32_t sequence)
{
	output->sequence = sequence - 1;
	return output->states[sequence - 1].has_begun;
}
/* Writes a packet with a record of the chosen sequence: its head and its numbers, which are the first `size` bytes of an array, and
 * a text. 0 or the first error. */
int orma_packet_output_record(struct orma_packet_output *output,
			      const uint8_t record[ORMA_RECORD_MAX_BYTES], size_t size,
			      struct orma_str text);
static inline void orma_packet_output_count(struct orma_packet_output *output, enum orma_stat stat)
{
	orma_stats_add(&output->stats, 0, stat, 0, 1);
}

#endif
