/* SPDX-License-Identifier: Apache-2.0
 * art_process.h - the processes of Java heap dumps, and the allocations that failed.
 */
#ifndef ORMA_TRACE_ART_PROCESS_H
#define ORMA_TRACE_ART_PROCESS_H

#include "trace/call_stacks.h"
#include "trace/heap_graph.h"
#include "trace/packages.h"

/* Takes an ArtProcessMetadata. 0 or a negative errno value. */
int orma_art_process_take(struct orma_heap_graphs *graphs, struct orma_packages *packages,
			  struct orma_call_stacks *stacks, const struct orma_ordered_event *event);

#endif
