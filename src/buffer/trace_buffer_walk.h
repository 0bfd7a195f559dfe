/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_walk.h - goes through one sequence of a trace buffer, packet by packet.
 */
#ifndef ORMA_BUFFER_TRACE_BUFFER_WALK_H
#define ORMA_BUFFER_TRACE_BUFFER_WALK_H

#include "buffer/trace_buffer_layout.h"

/* `target` is the offset of a live record; the walk goes through its sequence up to it. */
void orma_trace_buffer_walk_begin(struct orma_trace_buffer *buffer,
				  struct orma_trace_buffer_walk *walk, uint32_t target, bool erase);
/* Consumes the next packet and returns 1; `ret` may be NULL. 0: the walk is over; an erasing walk
 * has then made the target a gap. -EAGAIN: buffer->steps_left is used up (never while erasing). */
int orma_trace_buffer_walk_next(struct orma_trace_buffer *buffer,
				struct orma_trace_buffer_walk *walk,
				struct orma_trace_buffer_packet *ret);
/* Removes the first record of a sequence from the sequence and makes it a gap. */
void orma_trace_buffer_close_first(struct orma_trace_buffer *buffer, uint32_t sequence);

/* The limit counts records and fragments, not packets, because a producer can send empty fragments
 * and chunks at next to no cost. Returns false when the caller has to stop. */
static inline bool orma_trace_buffer_take_step(struct orma_trace_buffer *buffer)
{
	if (buffer->steps_left == 0)
		return false;
	buffer->steps_left--;
	return true;
}

#endif
