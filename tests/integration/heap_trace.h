/* SPDX-License-Identifier: Apache-2.0
 * heap_trace.h - what the engine reads of a trace of heaps. A file of its own: the engine's headers and those of liborma have
 * names in common.
 */
#ifndef ORMA_TESTS_INTEGRATION_HEAP_TRACE_H
#define ORMA_TESTS_INTEGRATION_HEAP_TRACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct heap_trace {
	int64_t count, bytes, freed_count,
		freed_bytes; /* sums of all rows; of frees they are negative */
	uint64_t dump_count; /* rows of heap_profile */
	bool is_disconnected, is_overrun, is_corrupted,
		has_hit_guardrail; /* the statistics say so */
};

/* Fails the test when the trace has errors. */
void heap_trace_read(const void *trace, size_t size, struct heap_trace *ret);
/* Names of heaps, and paths of mappings, one a line. Valid until the next read. */
const char *heap_trace_heaps(void);
const char *heap_trace_mappings(void);

#endif
