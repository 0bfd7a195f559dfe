/* SPDX-License-Identifier: Apache-2.0
 * packet_cut.h - rewrites the packets of traces so that a part of them, or several traces in a row, are
 * a trace again.
 */
#ifndef ORMA_TOOL_PACKET_CUT_H
#define ORMA_TOOL_PACKET_CUT_H

#include "base/buf.h"
#include "base/map.h"
#include "tool/trace/packet_select.h"

struct orma_packet_cut {
	const struct orma_packet_select *select; /* borrowed */
	struct orma_packet_clocks clocks;
	struct orma_map sequences; /* struct cut_sequence by key */
	struct orma_map tracks;    /* struct cut_track by key */
	unsigned trace_count, gap_count;
	uint32_t sequence_shift, last_sequence; /* the highest id in the output so far */
	struct orma_buf result;
};

void orma_packet_cut_done(struct orma_packet_cut *cut);
/* The next packets are those of another trace. */
void orma_packet_cut_begin_trace(struct orma_packet_cut *cut);
/* Packets were lost here: what follows must not rely on them. */
void orma_packet_cut_note_gap(struct orma_packet_cut *cut);
/*
 * Takes the next packet. Returns 1 and the packet to write, which is valid until the next call; 0 when
 * there is none; -EBADMSG, -ENOMEM, or -EOVERFLOW: the traces have too many sequences.
 */
int orma_packet_cut_take(struct orma_packet_cut *cut, const void *data, size_t size,
			 struct orma_str *ret);

#endif
