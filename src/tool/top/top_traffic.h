/* SPDX-License-Identifier: Apache-2.0
 * top_traffic.h - counts of packets, bytes, events and losses, and the producers that have them.
 */
#ifndef ORMA_TOOL_TOP_TRAFFIC_H
#define ORMA_TOOL_TOP_TRAFFIC_H

#include "base/map.h"
#include "tool/top/top_rows.h"
#include "tool/trace/trace_file.h"

/* A sequence or producer without packets in this many intervals is quiet, and may be removed. */
enum { ORMA_TOP_QUIET_MAX = ORMA_TOP_PAST, ORMA_TOP_PRODUCERS_MAX = 256 };

struct orma_top_traffic {
	uint64_t packets, bytes, events;
	uint64_t undecoded; /* events whose names or track are not known, after a loss */
	uint64_t losses[ORMA_TOOL_GAP_KINDS];
};

struct orma_top_producer {
	int32_t pid;
	uint32_t quiet; /* intervals since the last packet */
	struct orma_top_traffic running, last, all;
};

/* Adds the running interval to `all`, and begins the next one. */
void orma_top_traffic_end_interval(struct orma_top_traffic *running, struct orma_top_traffic *last,
				   struct orma_top_traffic *all);

/* Returns the producer, which is made if it is new; NULL when there is no room or no memory. */
struct orma_top_producer *orma_top_producers_get(struct orma_map *producers, int32_t pid);
void orma_top_producers_end_interval(struct orma_map *producers);
/* Sets all counts to 0. */
void orma_top_producers_zero(struct orma_map *producers);
void orma_top_producers_done(struct orma_map *producers);

#endif
