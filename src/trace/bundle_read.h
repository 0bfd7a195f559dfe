/* SPDX-License-Identifier: Apache-2.0
 * bundle_read.h - the kernel events of one bundle, in three ascending lists.
 */
#ifndef ORMA_TRACE_BUNDLE_READ_H
#define ORMA_TRACE_BUNDLE_READ_H

#include "trace/bundle_index.h"

/* The name of a task, which many events of a bundle have in common. */
struct orma_compact_name {
	struct orma_str text;
	int64_t cell; /* in the tables of who takes the events; 0 = not asked for */
};

struct orma_kernel_event {
	int64_t ns;
	struct orma_str bytes; /* FtraceEvent */
	uint32_t order;        /* in the bundle */
	uint32_t offset;       /* where `bytes` are in the bundle's packet */
};

struct orma_compact_switch {
	int64_t ns;
	int64_t prev_state;
	int32_t next_pid, next_prio;
	struct orma_compact_name *next_comm; /* NULL = it has none */
	uint32_t order;
};

struct orma_compact_waking {
	int64_t ns;
	int32_t pid, target_cpu, prio;
	uint32_t common_flags;
	bool has_flags;
	struct orma_compact_name *comm; /* NULL = it has none */
	uint32_t order;
};

static inline struct orma_str orma_compact_name_text(const struct orma_compact_name *name)
{
	return name ? name->text : (struct orma_str){NULL, 0};
}

/* A bundle's content; its bytes are the caller's. {0} is empty; memory is reused from bundle to bundle. */
struct orma_bundle_events {
	struct orma_kernel_event *events;
	struct orma_compact_switch *switches;
	struct orma_compact_waking *wakings;
	struct orma_compact_name *names;
	uint32_t event_count, event_capacity;
	uint32_t switch_count, switch_capacity;
	uint32_t waking_count, waking_capacity;
	uint32_t name_count, name_capacity;
	uint64_t bad_compact; /* lists of compact events that differ in length or can't be read */
};

void orma_bundle_events_done(struct orma_bundle_events *events);
/*
 * Reads all events of a bundle, with times on the clock of the trace. Events that have none are left out. 0 or
 * -ENOMEM.
 */
int orma_bundle_events_read(struct orma_bundle_events *events, const struct orma_clocks *clocks,
			    const struct orma_sequence *sequence, const struct orma_packet *packet,
			    uint32_t snapshots);

#endif
