/* SPDX-License-Identifier: Apache-2.0
 * trace_counter.h - summarises packets one by one as they pass.
 */
#ifndef ORMA_TOOL_TRACE_COUNTER_H
#define ORMA_TOOL_TRACE_COUNTER_H

#include "base/map.h"
#include "tool/trace/packet_time.h"
#include "tool/trace/trace_file.h"
#include "tool/trace/trace_unpack.h"

/* {0} is empty. `summary` is complete after orma_tool_counter_done(). */
struct orma_tool_counter {
	struct orma_tool_summary summary;
	struct orma_map sequences; /* trusted_packet_sequence_id -> struct sequence */
	struct orma_packet_clocks clocks;
	struct orma_tool_unpacker unpacker;
};

/* Counts a packet. One that is damaged, or compressed by a codec that this build lacks, counts as a
 * packet of an unknown source. */
void orma_tool_counter_add(struct orma_tool_counter *counter, const void *packet, size_t size);
/* Counts all packets of a file from its position on. Errors as for orma_tool_trace_read(). */
int orma_tool_counter_add_file(struct orma_tool_counter *counter, int fd,
			       struct orma_error *reterr);
/* Takes the losses from the serialized TraceStats of a trace that cannot be read. 0, -EBADMSG or
 * -ENOMEM. */
int orma_tool_counter_add_stats(struct orma_tool_counter *counter, const void *stats, size_t size);
/* Frees the memory and keeps the summary. */
void orma_tool_counter_done(struct orma_tool_counter *counter);

#endif
