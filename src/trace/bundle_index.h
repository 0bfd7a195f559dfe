/* SPDX-License-Identifier: Apache-2.0
 * bundle_index.h - where the kernel events of each CPU are.
 */
#ifndef ORMA_TRACE_BUNDLE_INDEX_H
#define ORMA_TRACE_BUNDLE_INDEX_H

#include "trace/packet_index.h"

enum { ORMA_LANES_MAX = 1 << 14 };

/* The fields of an FtraceEventBundle around its events. Times are on the clock of the kernel's buffer. */
struct orma_bundle_head {
	uint32_t cpu;
	uint32_t clock; /* FtraceClock of the buffer; 0 = BOOTTIME */
	bool has_events;
	uint64_t first_ns, last_ns;
	uint64_t ftrace_ns, boot_ns; /* the same moment on both clocks; 0 = not given */
	struct orma_str compact;     /* CompactSched */
	uint64_t start_ns;           /* from when on the CPU has data; 0 = not given */
	bool has_notes;              /* there are descriptions of events, or a loss */
};

/* Reads an untrusted bundle. 0 or -EBADMSG. */
int orma_bundle_head_read(struct orma_str content, struct orma_bundle_head *ret);
/* The same without looking at the times of its events. */
int orma_bundle_frame_read(struct orma_str content, struct orma_bundle_head *ret);
/* Returns the key of the clock that the bundle's events have their times from. */
uint64_t orma_bundle_clock_key(const struct orma_sequence *sequence, uint32_t ftrace_clock);
/* Adds a packet with a bundle. 0, -ENOMEM or -EOVERFLOW; a bundle that can't be read is counted. */
int orma_bundle_index_add(struct orma_packet_index *index, struct orma_sequence *sequence,
			  const struct orma_packet *packet);

#endif
