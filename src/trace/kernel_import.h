/* SPDX-License-Identifier: Apache-2.0
 * kernel_import.h - what the importer does with kernel events.
 */
#ifndef ORMA_TRACE_KERNEL_IMPORT_H
#define ORMA_TRACE_KERNEL_IMPORT_H

#include "trace/kernel_event.h"

/* Whether an event is read: not if it is from before tracing began; without slices, counters and states while some CPUs
 * have no data yet. */
enum { ORMA_KERNEL_DROPPED, ORMA_KERNEL_EARLY, ORMA_KERNEL_WHOLE };
/* Also returns -ENOMEM. */
int orma_kernel_window_search(struct orma_system *system, uint32_t machine_idx, int64_t ts);
static inline int orma_kernel_window(struct orma_system *system, uint32_t machine_idx, int64_t ts)
{
	bool is_whole = machine_idx < system->machine_count &&
			ts >= system->machines[machine_idx].started_ns &&
			ts >= system->machines[machine_idx].data_start_ns;
	return is_whole ? ORMA_KERNEL_WHOLE : orma_kernel_window_search(system, machine_idx, ts);
}

struct orma_kernel_row {
	int64_t ts;
	uint32_t machine_idx, cpu;
	uint32_t id;  /* number of the event; 0 = it has a name of its own */
	int64_t name; /* cell */
	int64_t utid;
	int64_t common_flags;   /* cell */
	int64_t packet, offset; /* cells: the event's field in its bundle; NULL for compact ones */
};
/* All return 0 or a negative errno value. */
int orma_kernel_add_row(struct orma_system *system, const struct orma_kernel_row *row);
/* The row is of a compact switch, and the last row of sched tells all of it. */
int orma_kernel_tell_switch(struct orma_system *system);
int orma_kernel_event_take(struct orma_system *system, const struct orma_ordered_event *event);
int orma_kernel_switch_take(struct orma_system *system, const struct orma_ordered_event *event);
int orma_kernel_waking_take(struct orma_system *system, const struct orma_ordered_event *event);
/* Takes the parts of a bundle that are not events, in the order of the file. */
int orma_kernel_bundle_take(struct orma_system *system, const struct orma_sequence *sequence,
			    const struct orma_packet *packet, const struct orma_bundle_head *head);

#endif
