/* SPDX-License-Identifier: Apache-2.0
 * heap_maps.h - the mappings of this process, as text for the profiler and as tables for its own walks.
 *
 * Threads: all functions run on the library's thread, unless they say otherwise.
 */
#ifndef ORMA_HEAP_HEAP_MAPS_H
#define ORMA_HEAP_HEAP_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/* The instance selects this process, or does no longer. */
void orma_heap_maps_want(uint32_t instance, bool is_wanted);
/* Sends the mappings to all instances that want them, as their generation is the process's. */
void orma_heap_maps_send(void);
/* Libraries were loaded or unloaded since the last call. */
bool orma_heap_maps_have_changed(void);
/* The mappings have changed. Any thread, also inside of a hook. */
void orma_heap_maps_changed(void);
/* A walk has met code that has no table yet. Runs inside of a hook, on any thread. */
void orma_heap_maps_on_stale(void);
/* Runs in the child of a fork. Async-signal-safe. */
void orma_heap_maps_forked(void);

#endif
