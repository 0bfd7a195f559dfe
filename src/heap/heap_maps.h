/* SPDX-License-Identifier: Apache-2.0
 * heap_maps.h - the mappings of this process, as text for the profiler and as tables for its own walks.
 *
 * Threads: all functions run on the library's thread, unless they say otherwise.
 */
#ifndef ORMA_HEAP_HEAP_MAPS_H
#define ORMA_HEAP_HEAP_MAPS_H

#include <stdbool.h>
#include <stdint.h>

/* Begins or ends sending mappings to an instance. */
void orma_heap_maps_want(uint32_t instance, bool is_wanted);
/* Sends the mappings to all instances that want them, because all share the generations. */
void orma_heap_maps_send(void);
/* True if libraries were loaded or unloaded since the last call. */
bool orma_heap_maps_have_changed(void);
/* Announces that the mappings have changed. Any thread, also inside of a hook. */
void orma_heap_maps_changed(void);
/* Announces that a walk has met code without a table. Any thread, inside of a hook. */
void orma_heap_maps_on_stale(void);
/* Runs in the child of a fork. Async-signal-safe. */
void orma_heap_maps_forked(void);

#endif
