/* SPDX-License-Identifier: Apache-2.0
 * batch.c - the batch: the packets of one read, as slices.
 *
 * Slices point into the trace buffers (nothing is copied), into the batch's arena (the service's
 * own packets) or into its trailers (the trusted fields that end each packet of a producer).
 * Consecutive packets of one sequence share a trailer. All of it stays valid until the next read,
 * which may overwrite a buffer. The service has one batch. Rejected: packets as objects (a malloc
 * per packet).
 */
#include "service/read/batch.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/arena.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "proto/wire.h"
#include "proto/writer.h"
#include "schema/gen/builtin_clock.pb.h"
#include "schema/gen/trace.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "service/service_core.h"
#include "service/service_limits.h"

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

int orma_service_batch_reserve(struct orma_service_batch *batch, size_t extra)
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
	ORMA_ASSERT(batch->count < batch->capacity);
	batch->slices[batch->count++] = (struct orma_trace_slice){data, size, ends_packet};
	batch->bytes += size;
	batch->packet_count += ends_packet;
}

/* Appends a packet of the service's own; it is copied. */
static int add_own(struct orma_service *service, const void *data, size_t size)
{
	struct orma_service_batch *batch = &service->batch;
	void *copy = orma_base_arena_memdup(&batch->own, data, size);

	if (!copy || orma_service_batch_reserve(batch, 1) < 0)
		return -ENOMEM;
	append(batch, copy, size, true);
	return 0;
}

int orma_service_batch_add_borrowed(struct orma_service *service, const void *data, size_t size)
{
	if (orma_service_batch_reserve(&service->batch, 1) < 0)
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

	if (!copy ||
	    orma_service_batch_reserve(batch, size / ORMA_SERVICE_COMPRESSED_SLICE + 2) < 0)
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
	ORMA_ASSERT(begin <= batch->count);
	ORMA_ASSERT(batch->count == 0 || batch->slices[batch->count - 1].ends_packet);

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

/* Encodes the trusted fields; at most 12 + 6 + 12 + 7 + 7 bytes. */
static void make_trailer(struct orma_service_batch *batch,
			 const struct orma_trace_buffer_writer *writer, uint32_t loss)
{
	ORMA_ASSERT(batch->trailer_count < ORMA_SERVICE_BATCH_TRAILERS_MAX);

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
	ORMA_ASSERT(batch->last_trailer_bytes <= ORMA_SERVICE_TRAILER_BYTES);
	/* A trailer that reports a loss is used for one packet only. */
	batch->last_sequence_id = loss ? 0 : writer->sequence_id;
}

int orma_service_batch_append(struct orma_service_batch *batch, const void *data, size_t size)
{
	/* Two: one for the packet's end. */
	int r = orma_service_batch_reserve(batch, 2);

	if (r == 0)
		append(batch, data, size, false);
	return r;
}

void orma_service_batch_end_packet(struct orma_service_batch *batch,
				   const struct orma_trace_buffer_writer *writer, uint32_t loss)
{
	if (loss || batch->last_sequence_id != writer->sequence_id)
		make_trailer(batch, writer, loss);
	append(batch, batch->last_trailer, batch->last_trailer_bytes, true);
}

void orma_service_own_begin(struct orma_service *service, struct orma_proto_heap_writer *heap)
{
	service->scratch.size = 0;
	orma_proto_heap_writer_init(heap, &service->scratch);
}

void orma_service_own_write_trusted(struct orma_service *service, struct orma_proto_writer *writer)
{
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TRUSTED_UID,
				(uint64_t)(int64_t)(int32_t)service->uid);
	orma_proto_write_varint(writer, ORMA_PB_TRACE_PACKET_TRUSTED_PACKET_SEQUENCE_ID,
				ORMA_SERVICE_SEQUENCE_ID);
}

int orma_service_own_end_bare(struct orma_service *service, struct orma_proto_heap_writer *heap)
{
	int r = orma_proto_heap_writer_finish(heap);

	return r < 0 ? r : add_own(service, service->scratch.data, service->scratch.size);
}

int orma_service_own_end(struct orma_service *service, struct orma_proto_heap_writer *heap)
{
	orma_proto_writer_end_all(&heap->writer);
	orma_service_own_write_trusted(service, &heap->writer);
	orma_proto_write_varint(&heap->writer, ORMA_PB_TRACE_PACKET_TIMESTAMP_CLOCK_ID,
				ORMA_PB_BUILTIN_CLOCK_BUILTIN_CLOCK_BOOTTIME);
	return orma_service_own_end_bare(service, heap);
}
