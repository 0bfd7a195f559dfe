/* SPDX-License-Identifier: Apache-2.0
 * heap_profiles.h - what programs allocated and freed, by call stack: dumps of heapprofd.
 */
#ifndef ORMA_TRACE_HEAP_PROFILES_H
#define ORMA_TRACE_HEAP_PROFILES_H

#include "trace/interned_stacks.h"

/* {.system = ..., .interned = ...} is empty. */
struct orma_heap_profiles {
	struct orma_system *system;
	struct orma_interned_stacks *interned;
	struct orma_map sequences; /* struct orma_heap_sequence by machine and number */
	struct orma_map sites;     /* struct heap_site, see heap_profiles.c */
	struct orma_map windows;   /* dumps that have a row */
	struct orma_clock_cache clock_cache;
	struct orma_arena arena;
};

void orma_heap_profiles_done(struct orma_heap_profiles *profiles);
/* Takes a ProfilePacket. 0 or a negative errno value. */
int orma_heap_profile_take(struct orma_heap_profiles *profiles,
			   const struct orma_ordered_event *event);

#endif
