/* SPDX-License-Identifier: Apache-2.0
 * trace_counter.h - sums up packets one by one, as they pass.
 */
#ifndef ORMA_TOOL_TRACE_COUNTER_H
#define ORMA_TOOL_TRACE_COUNTER_H

#include "base/map.h"
#include "tool/trace/trace_file.h"
#include "tool/trace/trace_unpack.h"

/* {0} is a good one. `summary` is complete after orma_tool_counter_done(). */
struct orma_tool_counter {
	struct orma_tool_summary summary;
	struct orma_map sequences; /* trusted_packet_sequence_id -> struct sequence */
	struct orma_tool_unpacker unpacker;
};

/* A packet that is damaged, or compressed by a codec that this build lacks, counts as one of a
 * source that is not known. */
void orma_tool_counter_add(struct orma_tool_counter *counter, const void *packet, size_t size);
/* All packets of a file, from where it stands; errors as orma_tool_trace_read(). */
int orma_tool_counter_add_file(struct orma_tool_counter *counter, int fd,
			       struct orma_error *reterr);
/* TraceStats, serialized, of a trace that cannot be read: its losses. 0, or -EBADMSG, -ENOMEM. */
int orma_tool_counter_add_stats(struct orma_tool_counter *counter, const void *stats, size_t size);
/* Frees the memory and keeps the summary. */
void orma_tool_counter_done(struct orma_tool_counter *counter);

#endif
