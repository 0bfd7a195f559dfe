/* SPDX-License-Identifier: Apache-2.0
 * packet_time.h - when packets happened, on one clock for the whole trace.
 */
#ifndef ORMA_TOOL_PACKET_TIME_H
#define ORMA_TOOL_PACKET_TIME_H

#include "base/map.h"
#include "tool/trace/packet_view.h"

#define ORMA_GLOBAL_CLOCKS 64 /* ids below are the same clock in every sequence */

struct orma_packet_clocks {
	struct orma_map sequences; /* struct clock_sequence by key */
	uint32_t reference;        /* clock of the results; 0 = not known yet */
	/* reference = clock + offset, by the latest snapshot. */
	int64_t offset_ns[ORMA_GLOBAL_CLOCKS];
	bool is_known[ORMA_GLOBAL_CLOCKS];
};

struct orma_packet_times {
	uint64_t first_ns, last_ns; /* the same but for bundles of kernel events */
	/* The packet's timestamp is the difference to the previous one of its sequence. */
	bool is_difference;
};

void orma_packet_clocks_done(struct orma_packet_clocks *clocks);
/*
 * Takes every packet of a trace, in order. Returns 1 and the packet's times, 0 when it has none on a
 * known clock of the service's machine (`is_difference` is set even then), or -ENOMEM.
 */
int orma_packet_clocks_take(struct orma_packet_clocks *clocks,
			    const struct orma_packet_view *packet, struct orma_packet_times *ret);

#endif
