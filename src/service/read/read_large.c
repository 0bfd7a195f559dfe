/* SPDX-License-Identifier: Apache-2.0
 * read_large.c - a packet of megabytes on its way out of a session, over many turns.
 *
 *   read from the buffer --> held --> checked in steps --> handed out: in parts, or whole
 *
 * A packet may have 256 MiB. Checking it and copying it to the reader take up to a second, so both
 * are done in pieces, and the loop serves other peers between them. The packet's bytes are held
 * meanwhile (trace_buffer_hold.c). A session has at most one such packet, and nothing else is read
 * from its buffers before it is finished, so the order is kept. A host that forwards packets in
 * pieces takes it in parts. Files, compressors, filters and embedders take it whole.
 *
 * Rejected: a limit below the protocol's (upstream's services accept such packets), checking a part
 * when it is sent (the part of a forged packet that was sent cannot be taken back).
 */
#include "service/read/read_large.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "service/read/batch.h"
#include "service/read/packet_check.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

struct position {
	size_t slice, offset;
};

struct orma_service_large {
	struct orma_service_session_buffer *buffer;
	/* The hold is of this trace buffer; the session's buffer may have got another one since. */
	struct orma_trace_buffer *trace_buffer;
	struct orma_trace_buffer_hold *hold;
	struct orma_trace_slice *slices; /* as they were in the ring */
	size_t count;
	struct orma_trace_buffer_writer writer;
	uint32_t loss;
	bool is_checked, is_over;
	struct orma_service_packet_check check;
	struct position sent, released;
};

int orma_service_large_begin(struct orma_service_session *session,
			     struct orma_service_session_buffer *buffer,
			     const struct orma_trace_buffer_packet *packet)
{
	struct orma_service_large *large = orma_base_zalloc(sizeof(*large));

	if (!large)
		return -ENOMEM;
	large->slices = orma_base_alloc_array(packet->slice_count, sizeof(*large->slices));
	if (!large->slices || orma_trace_buffer_hold_new(buffer->trace_buffer, packet->slices,
							 packet->slice_count, &large->hold) < 0) {
		orma_base_free(large->slices);
		orma_base_free(large);
		return -ENOMEM;
	}
	for (size_t i = 0; i < packet->slice_count; i++)
		large->slices[i] = (struct orma_trace_slice){packet->slices[i].data,
							     packet->slices[i].size, false};
	large->count = packet->slice_count;
	large->buffer = buffer;
	large->trace_buffer = buffer->trace_buffer;
	large->writer = *packet->writer;
	large->loss = packet->loss;
	ORMA_ASSERT(!session->read.large);
	session->read.large = large;
	return 0;
}

void orma_service_large_drop(struct orma_service_session *session)
{
	struct orma_service_large *large = ORMA_TAKE(session->read.large);

	if (!large)
		return;
	orma_trace_buffer_hold_free(large->hold);
	orma_base_free(large->slices);
	orma_base_free(large);
}

bool orma_service_large_is_partly_sent(const struct orma_service_session *session)
{
	const struct orma_service_large *large = session->read.large;

	return large && !large->is_over && (large->sent.slice || large->sent.offset);
}

void orma_service_large_restart(struct orma_service_session *session)
{
	if (session->read.large &&
	    (session->read.large->sent.slice || session->read.large->sent.offset))
		orma_service_large_drop(session);
}

/* Returns at most max_bytes of the piece at *position and moves *position past them. False at the
 * end, or when the piece is lost. */
static bool next_piece(const struct orma_service_large *large, struct position *position,
		       size_t max_bytes, const uint8_t **ret_in_ring, const uint8_t **ret,
		       size_t *ret_size)
{
	const struct orma_trace_slice *slice = &large->slices[position->slice];

	if (position->slice == large->count)
		return false;
	*ret_in_ring = (const uint8_t *)slice->data + position->offset;
	*ret_size = ORMA_MIN(slice->size - position->offset, max_bytes);
	*ret = orma_trace_buffer_hold_piece(large->hold, *ret_in_ring, ret_size);
	if (!*ret)
		return false;
	position->offset += *ret_size;
	if (position->offset == slice->size)
		*position = (struct position){position->slice + 1, 0};
	return true;
}

/* Releases the pieces of the last batch, which the reader has finished with. */
static void release_sent(struct orma_service_large *large)
{
	const uint8_t *in_ring, *data;
	size_t size;

	while ((large->released.slice != large->sent.slice ||
		large->released.offset != large->sent.offset) &&
	       next_piece(large, &large->released,
			  large->released.slice == large->sent.slice
				  ? large->sent.offset - large->released.offset
				  : SIZE_MAX,
			  &in_ring, &data, &size))
		orma_trace_buffer_hold_release(large->hold, in_ring, size);
}

/* 1 = there is more to check, 0 = the packet is valid, a negative error: it was dropped and
 * counted. */
static int check(struct orma_service_session *session)
{
	struct orma_service_large *large = session->read.large;
	int r = large->is_checked ? 0
				  : orma_service_packet_check_step(&large->check, large->slices,
								   large->count, large->hold,
								   ORMA_SERVICE_LARGE_CHECK_FIELDS);

	large->is_checked = r == 0;
	if (r >= 0)
		return r;
	session->read.invalid_packet_count += r == -EBADMSG;
	if (large->buffer->trace_buffer == large->trace_buffer)
		orma_trace_buffer_held_packet_refused(large->trace_buffer, &large->writer,
						      large->loss);
	orma_service_large_drop(session);
	return r;
}

int orma_service_large_read(struct orma_service_session *session, size_t max_bytes)
{
	struct orma_service_large *large = session->read.large;
	struct orma_service_batch *batch = &session->service->batch;
	const uint8_t *in_ring, *data;
	size_t size, begin = batch->bytes;
	int r;

	release_sent(large);
	if (large->is_over) {
		orma_service_large_drop(session);
		return 0;
	}
	r = check(session);
	if (r != 0) {
		batch->is_out_of_time = r > 0;
		return r == -EBADMSG ? 0 : r;
	}
	while (batch->bytes - begin < max_bytes &&
	       next_piece(large, &large->sent, max_bytes - (batch->bytes - begin), &in_ring, &data,
			  &size) &&
	       orma_service_batch_append(batch, data, size) == 0)
		;
	large->is_over = large->sent.slice == large->count;
	if (large->is_over) {
		orma_service_batch_end_packet(batch, &large->writer,
					      large->loss ? large->loss | large->check.loss : 0);
	} else if (batch->bytes - begin < max_bytes) {
		orma_service_large_drop(session);
		return -ENOMEM;
	}
	return 1;
}
