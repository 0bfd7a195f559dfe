/* SPDX-License-Identifier: Apache-2.0
 * packet_join.h - joins traces of packets into one, so that their sequences stay apart.
 */
#ifndef ORMA_FORMATS_PACKET_JOIN_H
#define ORMA_FORMATS_PACKET_JOIN_H

#include "base/map.h"
#include "trace/trace_bytes.h"

/* {.output = ...} is empty. */
struct orma_packet_join {
	struct orma_trace_bytes *output;
	struct orma_map ids; /* new ids by trace and id */
	uint32_t trace_idx;  /* the next trace's */
	struct orma_buf batch;
	uint64_t end_address; /* where the last trace ended, or its damage is */
};

void orma_packet_join_done(struct orma_packet_join *join);
/* Appends a trace, which has this number in the list of files. 0 or a negative errno value: -EBADMSG (it is damaged; what comes before is appended). */
int orma_packet_join_add(struct orma_packet_join *join, uint32_t file,
			 const struct orma_trace_bytes *packets);

#endif
