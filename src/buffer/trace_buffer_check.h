/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_check.h - the six invariants of a trace buffer (trace_buffer.c), checked in builds
 * that check invariants (base/assert.h).
 */
#ifndef ORMA_BUFFER_TRACE_BUFFER_CHECK_H
#define ORMA_BUFFER_TRACE_BUFFER_CHECK_H

#include "buffer/trace_buffer_layout.h"

#ifdef ORMA_ASSERTS
/* The number of an invariant that does not hold, or 0 when all six do. Visits every record and
 * every sequence. */
int orma_trace_buffer_check(const struct orma_trace_buffer *buffer, uint32_t *ret_visited);
/* The same for what one call may have changed: the positions, the records at them, and both ends of
 * a sequence (0 = none). Visits a fixed number of records. */
int orma_trace_buffer_check_near(const struct orma_trace_buffer *buffer, uint32_t sequence);
/* Aborts when an invariant does not hold. Runs the second check, and the first when it is due. */
void orma_trace_buffer_check_call(struct orma_trace_buffer *buffer, uint32_t sequence);
#else
static inline void orma_trace_buffer_check_call(struct orma_trace_buffer *buffer, uint32_t sequence)
{
	(void)buffer;
	(void)sequence;
}
#endif

#endif
