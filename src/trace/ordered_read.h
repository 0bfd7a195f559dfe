/* SPDX-License-Identifier: Apache-2.0
 * ordered_read.h - the second pass over a trace: all packets and kernel events in the order of time.
 */
#ifndef ORMA_TRACE_ORDERED_READ_H
#define ORMA_TRACE_ORDERED_READ_H

#include "trace/bundle_read.h"
#include "trace/incremental_state.h"
#include "trace/kept_args.h"
#include "trace/track_event_read.h"

enum orma_ordered_kind {
	ORMA_ORDERED_PACKET,
	ORMA_ORDERED_TRACK_EVENT,
	ORMA_ORDERED_KERNEL_EVENT,
	ORMA_ORDERED_SWITCH,
	ORMA_ORDERED_WAKING,
};

/* The next event in time. All pointers are valid until the function returns. */
struct orma_ordered_event {
	enum orma_ordered_kind kind;
	int64_t ns;
	uint32_t machine_idx;
	const struct orma_packet *packet; /* for packets and track events */
	const struct orma_plain_event
		*plain; /* a track event that is plain; its packet has no bytes; NULL = another */
	const struct orma_noted_arg *args; /* a plain event's, if they were noted; else NULL */
	struct orma_sequence_state *state; /* at the packet */
	uint32_t cpu;                      /* for kernel events */
	uint64_t address;                  /* where the bundle's packet is */
	const struct orma_kernel_event *kernel_event;
	const struct orma_compact_switch *compact_switch;
	const struct orma_compact_waking *compact_waking;
};

/* A negative value ends the pass. */
typedef int orma_ordered_fn(void *ctx, const struct orma_ordered_event *event);

/*
 * Events of one time come in this order: packets, track events, kernel events by CPU, there plain events before compact
 * switches before compact wakings; and then in the order of the file. But if the event before was a kernel event, those of its
 * CPU and kind come first. 0, the function's value, -ENOMEM or an error of reading.
 */
int orma_ordered_read(struct orma_packet_index *index, orma_ordered_fn *fn, void *ctx);

#endif
