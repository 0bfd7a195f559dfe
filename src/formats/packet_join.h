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
};

void orma_packet_join_done(struct orma_packet_join *join);
/* Appends a trace. 0 or a negative errno value: -EBADMSG (it is damaged; what comes before is appended). */
int orma_packet_join_add(struct orma_packet_join *join, const struct orma_trace_bytes *packets);

#endif
