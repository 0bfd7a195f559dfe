/* SPDX-License-Identifier: Apache-2.0
 * read.c - taking packets out of a session: its own ones, then its buffers' in the order of the
 * config.
 *
 * The result is the service's one batch: slices that point into the trace buffers (nothing is
 * copied), into the batch's arena (the service's packets) and into its trailers (the trusted fields
 * appended to each packet of a producer). Consecutive packets of one sequence share a trailer. All
 * of it stays valid until the next call, which may overwrite a buffer. A pass begins with
 * own_before(), goes through the buffers once and ends with own_after(); each call does a bounded
 * part of it. With a filter, slices point into what it wrote; own_stats(), the last packet, is not
 * filtered. A packet of megabytes is kept apart and handed out by later calls (read_large.c).
 * Rejected: packets as objects (a malloc per packet), starting each call at the first
 * buffer (a busy one would starve the rest).
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "proto/wire.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "service/state.h"

void orma_service_batch_done(struct orma_service_batch *batch)
{
	orma_base_free(batch->slices);
	orma_base_free(batch->trailers);
	orma_base_arena_done(&batch->own);
}

void orma_service_batch_begin(struct orma_service *service)
{
	struct orma_service_batch *batch = &service->batch;

	batch->count = 0;
	batch->packet_count = 0;
	batch->bytes = 0;
	batch->trailer_count = 0;
	batch->last_sequence_id = 0;
	batch->filtered = NULL;
	batch->filtered_left = 0;
	batch->filter_ns = 0;
	batch->is_out_of_time = false;
	orma_base_arena_clear(&batch->own);
}

static int reserve(struct orma_service_batch *batch, size_t extra)
{
	size_t capacity = batch->capacity ? batch->capacity : 256;
	struct orma_trace_slice *slices;

	if (batch->count + extra <= batch->capacity)
		return 0;
	while (capacity < batch->count + extra)
		capacity *= 2;
	slices = orma_base_realloc_array(batch->slices, capacity, sizeof(*slices));
	if (!slices)
		return -ENOMEM;
	batch->slices = slices;
	batch->capacity = capacity;
	return 0;
}

static void append(struct orma_service_batch *batch, const void *data, size_t size,
		   bool ends_packet)
{
	batch->slices[batch->count++] = (struct orma_trace_slice){data, size, ends_packet};
	batch->bytes += size;
	batch->packet_count += ends_packet;
}

int orma_service_batch_add_own(struct orma_service *service, const void *data, size_t size)
{
	struct orma_service_batch *batch = &service->batch;
	void *copy = orma_base_arena_memdup(&batch->own, data, size);

	if (!copy || reserve(batch, 1) < 0)
		return -ENOMEM;
	append(batch, copy, size, true);
	return 0;
}

int orma_service_batch_add_borrowed(struct orma_service *service, const void *data, size_t size)
{
	if (reserve(&service->batch, 1) < 0)
		return -ENOMEM;
	append(&service->batch, data, size, true);
	return 0;
}

int orma_service_batch_add_outer(struct orma_service *service, const void *head, size_t head_size,
				 const void *data, size_t size)
{
	struct orma_service_batch *batch = &service->batch;
	void *copy = orma_base_arena_memdup(&batch->own, head, head_size);
	const uint8_t *at = data;

	if (!copy || reserve(batch, size / ORMA_SERVICE_COMPRESSED_SLICE + 2) < 0)
		return -ENOMEM;
	append(batch, copy, head_size, false);
	do {
		size_t part = ORMA_MIN(size, (size_t)ORMA_SERVICE_COMPRESSED_SLICE);

		append(batch, at, part, part == size);
		at += part;
		size -= part;
	} while (size > 0);
	return 0;
}

static size_t put_entry_head(uint8_t head[ORMA_SERVICE_PREAMBLE_BYTES], size_t size)
{
	uint8_t *at =
		orma_proto_put_varint(head, orma_proto_tag(ORMA_PB_TRACE_PACKET, ORMA_PROTO_BYTES));

	return (size_t)(orma_proto_put_varint(at, size) - head);
}

int orma_service_batch_encode(const struct orma_service_batch *batch, size_t begin,
			      struct orma_buf *to)
{
	int r = orma_base_buf_reserve(to, batch->bytes + batch->packet_count *
								 ORMA_SERVICE_PREAMBLE_BYTES);

	while (begin < batch->count && r == 0) {
		uint8_t head[ORMA_SERVICE_PREAMBLE_BYTES];
		size_t end = begin, size = 0;

		do
			size += batch->slices[end].size;
		while (!batch->slices[end++].ends_packet);
		r = orma_base_buf_append(to, head, put_entry_head(head, size));
		for (; begin < end && r == 0; begin++)
			r = orma_base_buf_append(to, batch->slices[begin].data,
						 batch->slices[begin].size);
	}
	return r;
}

static uint8_t *put_field(uint8_t *at, uint32_t field_id, uint64_t value)
{
	at = orma_proto_put_varint(at, orma_proto_tag(field_id, ORMA_PROTO_VARINT));
	return orma_proto_put_varint(at, value);
}

/* The trusted fields; at most 12 + 6 + 12 + 7 + 7 bytes. */
static void make_trailer(struct orma_service_batch *batch,
			 const struct orma_trace_buffer_writer *writer, uint32_t loss)
{
	uint8_t *begin = batch->trailers[batch->trailer_count++];
	uint8_t *at = begin;

	at = put_field(at, ORMA_PB_TRACE_PACKET_TRUSTED_UID, (uint64_t)(int64_t)writer->uid);
	at = put_field(at, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID, writer->sequence_id);
	if (writer->pid > 0)
		at = put_field(at, ORMA_PB_TRACE_PACKET_TRUSTED_PID, (uint64_t)writer->pid);
	if (writer->machine_id)
		at = put_field(at, ORMA_PB_TRACE_PACKET_MACHINE_ID, writer->machine_id);
	if (loss)
		at = put_field(at, ORMA_PB_TRACE_PACKET_PREVIOUS_PACKET_DROPPED, loss);
	batch->last_trailer = begin;
	batch->last_trailer_bytes = (size_t)(at - begin);
	/* One with a loss is for its packet alone. */
	batch->last_sequence_id = loss ? 0 : writer->sequence_id;
}

/* There is room for a slice. */
static void end_packet(struct orma_service_batch *batch,
		       const struct orma_trace_buffer_writer *writer, uint32_t loss)
{
	if (loss || batch->last_sequence_id != writer->sequence_id)
		make_trailer(batch, writer, loss);
	append(batch, batch->last_trailer, batch->last_trailer_bytes, true);
}

int orma_service_batch_append(struct orma_service_batch *batch, const void *data, size_t size)
{
	/* For the packet's end, too. */
	int r = reserve(batch, 2);

	if (r == 0)
		append(batch, data, size, false);
	return r;
}

void orma_service_batch_end_packet(struct orma_service_batch *batch,
				   const struct orma_trace_buffer_writer *writer, uint32_t loss)
{
	end_packet(batch, writer, loss);
}

/* 1 = taken, 0 = refused and counted, -ENOMEM = lost and marked as such. */
static int take_packet(struct orma_service_session *session, struct orma_trace_buffer *buffer,
		       const struct orma_trace_buffer_packet *packet)
{
	struct orma_service_batch *batch = &session->service->batch;
	size_t begin = batch->count;
	uint32_t writers_loss;

	if (reserve(batch, packet->slice_count + 1) < 0) {
		orma_trace_buffer_packet_refused(buffer);
		return -ENOMEM;
	}
	for (size_t i = 0; i < packet->slice_count; i++)
		batch->slices[batch->count++] = (struct orma_trace_slice){
			packet->slices[i].data, packet->slices[i].size, false};
	if (!orma_service_packet_is_valid(&batch->slices[begin], packet->slice_count,
					  &writers_loss)) {
		batch->count = begin;
		session->invalid_packets++;
		orma_trace_buffer_packet_refused(buffer);
		return 0;
	}
	batch->bytes += packet->size_bytes;
	end_packet(batch, packet->writer, packet->loss ? packet->loss | writers_loss : 0);
	return 1;
}

/* What was taken and not filtered yet begins at *unfiltered when this returns. */
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
		/* While a file is cut, whole packets are sorted. */
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

	/* Behind a chunk that waits, a new pass would begin at that chunk each time. */
	orma_trace_buffer_read_resume(buffer->trace_buffer, *steps);
	r = take_packets(session, buffer, max_bytes, &unfiltered);
	*steps = orma_trace_buffer_steps_left(buffer->trace_buffer);
	orma_service_batch_filter(session, unfiltered, buffer);
	return r;
}

/* As orma_service_read(). A large packet is handed out in parts of part_bytes. */
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
	r = orma_service_own_before(session);
	if (r < 0)
		return r;
	orma_service_batch_filter(session, 0, NULL);
	if (session->large) {
		unfiltered = batch->count;
		r = orma_service_large_read(session, part_bytes);
		if (r != 0) {
			orma_service_batch_filter(session, unfiltered,
						  &session->buffers[session->read_buffer_idx]);
			return r;
		}
	}
	max_bytes = batch->bytes + ORMA_MAX(max_bytes, (size_t)1);
	while (session->read_buffer_idx < session->buffer_count) {
		r = read_buffer(session, &session->buffers[session->read_buffer_idx], max_bytes,
				&steps);
		if (orma_service_rotation_is_full(session))
			return 0;
		if (r != 0)
			return r;
		session->read_buffer_idx++;
	}
	session->read_buffer_idx = 0;
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
	/* A filter looks at whole packets. */
	return read_session(session, max_bytes, session->filter ? SIZE_MAX : max_bytes);
}
