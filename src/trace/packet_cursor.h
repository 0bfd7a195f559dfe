/* SPDX-License-Identifier: Apache-2.0
 * packet_cursor.h - the packets of one sequence, one after the other.
 */
#ifndef ORMA_TRACE_PACKET_CURSOR_H
#define ORMA_TRACE_PACKET_CURSOR_H

#include "trace/packet_index.h"

/* A packet of a sequence that has to be sorted. */
struct orma_packet_place {
	int64_t ns;
	uint64_t address : 56, header : 8;
	uint32_t size, rank;
};

struct orma_packet_cursor {
	const struct orma_packet_index *index;
	const struct orma_sequence *sequence;
	struct orma_sequence_time time;
	struct orma_trace_window window;
	size_t ahead_bytes;
	uint32_t run_idx;
	uint64_t address;                 /* where the next entry is */
	struct orma_packet_place *places; /* a disordered sequence's packets, sorted */
	uint32_t place_count, place_capacity, place_idx;
	/* The current packet. */
	struct orma_packet packet;
	int64_t ns;
	uint32_t rank; /* see orma_packet_rank() */
};

/* 0, -ENOMEM or an error of reading. Reads all packets of a disordered sequence. `blocks` and `read_bytes` are of
 * the cursor's window. */
int orma_packet_cursor_init(struct orma_packet_cursor *cursor,
			    const struct orma_packet_index *index,
			    const struct orma_sequence *sequence, size_t ahead_bytes,
			    struct orma_trace_blocks *blocks, uint64_t *read_bytes);
void orma_packet_cursor_done(struct orma_packet_cursor *cursor);
/* Goes to the next packet, by (time, rank, place in the file). 1, 0 (there is none), -ENOMEM or an error of reading. */
int orma_packet_cursor_next(struct orma_packet_cursor *cursor);

#endif
