/* SPDX-License-Identifier: Apache-2.0
 * heap_list.h - the heaps of the process, and at which intervals the sessions sample them.
 *
 * Threads: any, also in signal handlers, unless a function says otherwise.
 */
#ifndef ORMA_HEAP_HEAP_LIST_H
#define ORMA_HEAP_HEAP_LIST_H

#include <orma-heap/heap_profile.h>
#include <orma/data_source.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "heap/heap_thread.h"

#define ORMA_HEAP_NAME_BYTES 64

struct orma_heap_info {
	char name[ORMA_HEAP_NAME_BYTES];
	orma_heap_enabled_fn *on_enabled;
	orma_heap_disabled_fn *on_disabled;
	void *enabled_ctx, *disabled_ctx;
	_Atomic bool is_registered; /* release after the members above, which are then constant */
	bool is_on; /* the state that the callbacks were called for; the library's thread uses it */

	/*
	 * The smallest interval of all sessions, and the interval of each instance; 0 = not sampled. The library's thread
	 * writes them, and any thread may double an instance's by compare and swap. Read by all threads; relaxed, because
	 * a sample with the previous interval is still valid.
	 */
	_Atomic uint64_t interval;
	_Atomic uint64_t instance_interval[ORMA_INSTANCES_MAX];
	/* The interval in the config, before it was doubled. Written by the library's thread. Relaxed. */
	_Atomic uint64_t first_interval[ORMA_INSTANCES_MAX];
};

extern struct orma_heap_info orma_heap_infos[ORMA_HEAPS_MAX] __attribute__((visibility("hidden")));
/* Changes with each change of an interval, so that threads draw again. Relaxed. */
extern _Atomic uint32_t orma_heap_epoch __attribute__((visibility("hidden")));

/* Registers "libc.malloc". Call it before sessions can begin. */
void orma_heap_register_malloc(void);
/* Returns the smallest id that no heap has yet. */
uint32_t orma_heap_ids_end(void);

/* Returns NULL for ORMA_HEAP_NONE, unknown ids, and heaps that are not registered yet. */
static inline struct orma_heap_info *orma_heap_info_at(uint32_t heap)
{
	struct orma_heap_info *info = &orma_heap_infos[heap % ORMA_HEAPS_MAX];

	if (heap == ORMA_HEAP_NONE || heap >= ORMA_HEAPS_MAX ||
	    !atomic_load_explicit(&info->is_registered, memory_order_acquire))
		return NULL;
	return info;
}

/* Sets the interval at which an instance samples a heap; 0 = it stops sampling. */
void orma_heap_set_interval(struct orma_heap_info *info, uint32_t instance,
			    uint64_t interval_bytes);
/* Doubles the interval of an instance, up to `max_bytes`. True if this call has changed it. */
bool orma_heap_double_interval(struct orma_heap_info *info, uint32_t instance, uint64_t max_bytes);

/* Called on any thread, after a heap was registered. NULL = nothing to do. Set once, with release. */
extern void (*_Atomic orma_heap_on_registered)(void) __attribute__((visibility("hidden")));
/* Calls the callbacks of heaps that were enabled or disabled since the last call. Runs on the library's thread. */
void orma_heap_call_callbacks(void);

#endif
