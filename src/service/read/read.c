/* SPDX-License-Identifier: Apache-2.0
 * read.c - reads packets out of a session: the service's own, then those of the buffers in the
 * order of the config.
 *
 * A pass begins with own_before(), goes through the buffers once and ends with own_after(); each
 * call does a bounded part of it and leaves the result in the service's one batch (batch.c). With a
 * filter, slices point into the filter's output; the last packet, own_stats(), is not filtered. A
 * packet of megabytes is held separately and handed out by later calls (read_large.c). Rejected:
 * starting each call at the first buffer (a busy one would starve the rest).
 */
#include "service/read/read.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "service/output/output_hold.h"
#include "service/read/batch.h"
#include "service/read/own_packets.h"
#include "service/read/packet_check.h"
#include "service/read/read_filter.h"
#include "service/read/read_large.h"
#include "service/scrape.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"
#include "service/trigger/trigger_state.h"

/* 1 = taken, 0 = refused and counted, -ENOMEM = lost and marked as such. */
static int take_packet(struct orma_service_session *session, struct orma_trace_buffer *buffer,
		       const struct orma_trace_buffer_packet *packet)
{
	struct orma_service_batch *batch = &session->service->batch;
	size_t begin = batch->count;
	uint32_t writers_loss;

	if (orma_service_batch_reserve(batch, packet->slice_count + 1) < 0) {
		orma_trace_buffer_packet_refused(buffer);
		return -ENOMEM;
	}
	for (size_t i = 0; i < packet->slice_count; i++)
		batch->slices[batch->count++] = (struct orma_trace_slice){
			packet->slices[i].data, packet->slices[i].size, false};
	if (!orma_service_packet_is_valid(&batch->slices[begin], packet->slice_count,
					  &writers_loss)) {
		batch->count = begin;
		session->read.invalid_packet_count++;
		orma_trace_buffer_packet_refused(buffer);
		return 0;
	}
	batch->bytes += packet->size_bytes;
	orma_service_batch_end_packet(batch, packet->writer,
				      packet->loss ? packet->loss | writers_loss : 0);
	return 1;
}

/* When this returns, packets from slice *unfiltered on are not filtered yet. */
static int take_packets(struct orma_service_session *session,
			struct orma_service_session_buffer *buffer, size_t max_bytes,
			size_t *unfiltered)
{
	struct orma_service_batch *batch = &session->service->batch;
	size_t group = session->output.cut ? 1 : orma_service_batch_filter_group(session);
	struct orma_trace_buffer_packet packet;
	size_t in_group = 0;
	bool is_for_next = false;
	size_t work_bytes = 0; /* refused packets cost time too */
	int r;

	while (batch->bytes < max_bytes && batch->trailer_count < ORMA_SERVICE_BATCH_TRAILERS_MAX &&
	       batch->count < ORMA_SERVICE_BATCH_SLICES_MAX && work_bytes < 4 * max_bytes &&
	       !batch->is_out_of_time &&
	       !(session->output.cut && orma_service_rotation_is_full(session))) {
		r = orma_trace_buffer_read_packet(buffer->trace_buffer, &packet);
		if (r == -EAGAIN)
			return 1;
		if (r <= 0)
			return r;
		/* While a file is being cut, packets are handled whole. */
		if (packet.size_bytes >= ORMA_SERVICE_LARGE_BYTES && !session->output.cut &&
		    orma_service_large_begin(session, buffer, &packet) == 0)
			return 1;
		work_bytes += packet.size_bytes + ORMA_SERVICE_TRAILER_BYTES;
		r = take_packet(session, buffer->trace_buffer, &packet);
		if (r < 0)
			return r;
		in_group += r > 0;
		if (r > 0 && session->output.cut)
			is_for_next = orma_service_rotation_is_for_next(
				session, packet.writer->sequence_id, &batch->slices[*unfiltered],
				batch->count - *unfiltered - 1);
		if (in_group == group) {
			orma_service_batch_filter(session, *unfiltered, buffer);
			r = is_for_next ? orma_service_rotation_hold(session, *unfiltered) : 0;
			if (r < 0)
				return r;
			*unfiltered = batch->count;
			in_group = 0;
		}
	}
	return 1;
}

/* 1 = the batch is full or took long enough, 0 = the buffer is empty, -ENOMEM. */
static int read_buffer(struct orma_service_session *session,
		       struct orma_service_session_buffer *buffer, size_t max_bytes,
		       uint32_t *steps)
{
	size_t unfiltered = session->service->batch.count;
	int r;

	orma_trace_buffer_let_gaps_wait(buffer->trace_buffer,
					orma_service_scrape_fills_gaps(session));
	/* Resume: a new pass would begin at the same incomplete chunk each time. */
	orma_trace_buffer_read_resume(buffer->trace_buffer, *steps);
	r = take_packets(session, buffer, max_bytes, &unfiltered);
	*steps = orma_trace_buffer_steps_left(buffer->trace_buffer);
	orma_service_batch_filter(session, unfiltered, buffer);
	return r;
}

/* Does what orma_service_read() does. A large packet is handed out in parts of part_bytes. */
static int read_session(struct orma_service_session *session, size_t max_bytes, size_t part_bytes)
{
	struct orma_service_batch *batch = &session->service->batch;
	uint32_t steps = ORMA_TRACE_BUFFER_STEPS_PER_READ;
	size_t unfiltered;
	int r;

	if (!batch->trailers)
		batch->trailers = orma_base_alloc_array(ORMA_SERVICE_BATCH_TRAILERS_MAX,
							sizeof(*batch->trailers));
	if (!batch->trailers)
		return -ENOMEM;
	orma_service_batch_begin(session->service);
	if (orma_service_triggers_hide_data(session))
		return 0;
	r = orma_service_rotation_read_held(session, max_bytes);
	if (r != 0)
		return r;
	/* The rest of a packet follows its first part. */
	if (!orma_service_large_is_partly_sent(session)) {
		r = orma_service_own_before(session);
		if (r < 0)
			return r;
		orma_service_batch_filter(session, 0, NULL);
	}
	if (session->read.large) {
		unfiltered = batch->count;
		r = orma_service_large_read(session, part_bytes);
		if (r != 0) {
			orma_service_batch_filter(session, unfiltered,
						  &session->buffers[session->read.buffer_idx]);
			return r;
		}
	}
	max_bytes = batch->bytes + ORMA_MAX(max_bytes, (size_t)1);
	while (session->read.buffer_idx < session->buffer_count) {
		r = read_buffer(session, &session->buffers[session->read.buffer_idx], max_bytes,
				&steps);
		if (orma_service_rotation_is_full(session))
			return 0;
		if (r != 0)
			return r;
		session->read.buffer_idx++;
	}
	session->read.buffer_idx = 0;
	unfiltered = batch->count;
	r = orma_service_own_after(session);
	if (r < 0)
		return r;
	orma_service_batch_filter(session, unfiltered, NULL);
	return orma_service_own_stats(session);
}

int orma_service_read(struct orma_service_session *session, size_t max_bytes)
{
	return read_session(session, max_bytes, SIZE_MAX);
}

int orma_service_read_parts(struct orma_service_session *session, size_t max_bytes)
{
	/* A filter needs whole packets. */
	return read_session(session, max_bytes, session->filter.program ? SIZE_MAX : max_bytes);
}
