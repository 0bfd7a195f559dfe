/* SPDX-License-Identifier: Apache-2.0
 * trace_origin.h - whether two traces are of one machine and boot, so that their times compare.
 */
#ifndef ORMA_TOOL_TRACE_ORIGIN_H
#define ORMA_TOOL_TRACE_ORIGIN_H

#include "tool/trace/packet_view.h"

/* {0} knows nothing. */
struct orma_trace_origin {
	uint64_t boot_ns; /* CLOCK_REALTIME when CLOCK_BOOTTIME was 0 */
	uint64_t system;  /* hash of the kernel's and the machine's names */
	bool has_boot, has_system;
};

/* Learns from the next packet of the trace. */
void orma_trace_origin_take(struct orma_trace_origin *origin, const void *packet_untrusted,
			    size_t size);
/* Returns what differs as the end of a sentence, "... because", or NULL when nothing that is known does. */
const char *orma_trace_origin_difference(const struct orma_trace_origin *a,
					 const struct orma_trace_origin *b);

#endif
