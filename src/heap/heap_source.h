/* SPDX-License-Identifier: Apache-2.0
 * heap_source.h - the data source "orma.heap": sessions of the profiler come and go, and switch heaps on and off.
 */
#ifndef ORMA_HEAP_HEAP_SOURCE_H
#define ORMA_HEAP_HEAP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers the data source. Call it after orma_init(). `waits`: sessions that start before the end of
 * orma_heap_source_wait() see the program from its beginning. 0 or -errno. */
int orma_heap_source_register(bool waits);
/* Waits until a session that selects this process has started. The caller is in the library's constructor. */
void orma_heap_source_wait(uint32_t timeout_ms);
/* The process ends: says so to the sessions and waits until the service has it, at most timeout_ms. */
void orma_heap_source_say_bye(uint32_t timeout_ms);
/* Runs in the child of a fork, after the client's own handler. Async-signal-safe. `follows`: it connects soon. */
void orma_heap_source_forked(bool follows);

#endif
