/* SPDX-License-Identifier: Apache-2.0
 * profiles.h - all that profilers write: who takes which packet.
 */
#ifndef ORMA_TRACE_PROFILES_H
#define ORMA_TRACE_PROFILES_H

#include "trace/deobfuscation.h"
#include "trace/heap_profiles.h"
#include "trace/profiler_samples.h"
#include "trace/streaming_samples.h"

struct orma_profiles {
	struct orma_system *system;
	struct orma_call_stacks stacks;
	struct orma_interned_stacks interned;
	struct orma_profiler profiler;
	struct orma_streaming_samples streaming;
	struct orma_heap_profiles heaps;
	struct orma_heap_graphs graphs;
	struct orma_packages packages;
	struct orma_deobfuscation deobfuscation;
};

void orma_profiles_init(struct orma_profiles *profiles, struct orma_system *system);
void orma_profiles_done(struct orma_profiles *profiles);
/* Takes a packet in the order of time: 1, 0 (it is not of a profiler), or a negative errno value. */
int orma_profiles_packet(struct orma_profiles *profiles, const struct orma_ordered_event *event);
/* Completes what needs the whole trace, and notes what is wrong. 0 or a negative errno value. */
int orma_profiles_end(struct orma_profiles *profiles);

#endif
