/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_whole.h - empties or copies a buffer in one call, for tests and fuzz targets. The
 * service copies in steps, and frees a buffer instead of emptying it.
 */
#ifndef ORMA_TEST_TRACE_BUFFER_WHOLE_H
#define ORMA_TEST_TRACE_BUFFER_WHOLE_H

#include <stdint.h>
#include <sys/mman.h>

#include "buffer/trace_buffer_index.h"
#include "buffer/trace_buffer_layout.h"
#include "buffer/trace_buffer_save.h"

/* Makes the buffer as good as new: no chunks, no sequences, statistics zero. Its copies and holds
 * first save the records that they still need. */
static inline void clear_buffer(struct orma_trace_buffer *buffer)
{
	struct orma_trace_buffer empty = {
		.ring = buffer->ring,
		.staging = buffer->staging,
		.size = buffer->size,
		.policy = buffer->policy,
		.stats.buffer_size = buffer->size,
		.slices = buffer->slices,
		.slice_capacity = buffer->slice_capacity,
	};
	orma_trace_buffer_will_change(buffer, 0, buffer->used);
	for (uint32_t i = 1; i <= buffer->sequences.count; i++)
		(void)orma_trace_buffer_sequence_get(buffer, i);
	empty.copies = buffer->copies;
	empty.holds = buffer->holds;
	orma_trace_buffer_sequences_done(&buffer->sequences);
	(void)madvise(buffer->ring, buffer->used, MADV_DONTNEED);
	*buffer = empty;
}

/* Copies everything that is unread into a buffer that can only be read. Returns 0 or -ENOMEM. */
static inline int clone_buffer(struct orma_trace_buffer *buffer, struct orma_trace_buffer **ret)
{
	struct orma_trace_buffer_copy *copy;
	int r = orma_trace_buffer_copy_begin(buffer, 0, &copy);

	if (r < 0)
		return r;
	do
		r = orma_trace_buffer_copy_step(copy, UINT64_MAX);
	while (r > 0);
	if (r < 0)
		orma_trace_buffer_copy_free(copy);
	else
		*ret = orma_trace_buffer_copy_take(copy);
	return r;
}

#endif
