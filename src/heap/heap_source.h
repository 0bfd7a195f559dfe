/* SPDX-License-Identifier: Apache-2.0
 * heap_source.h - the data source "orma.heap", whose instances switch the sampling of heaps on and off.
 */
#ifndef ORMA_HEAP_HEAP_SOURCE_H
#define ORMA_HEAP_HEAP_SOURCE_H

#include <stdbool.h>
#include <stdint.h>

/* Registers the data source. Call it after orma_init(). With `waits`, orma_heap_source_wait() follows; sessions that start before
 * its end see the program from its beginning. 0 or -errno. */
int orma_heap_source_register(bool waits);
/* Waits until a session that selects this process has started. The caller is in the library's constructor. */
void orma_heap_source_wait(uint32_t timeout_ms);
/* Tells the sessions that the process ends, and waits at most timeout_ms until the service has everything. */
void orma_heap_source_end_process(uint32_t timeout_ms);
/* Runs in the child of a fork, after the client's own handler. `follows`: the child is to be profiled. Async-signal-safe. */
void orma_heap_source_forked(bool follows);

#endif
