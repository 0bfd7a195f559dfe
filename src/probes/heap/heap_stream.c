/* SPDX-License-Identifier: Apache-2.0
 * heap_stream.c - StreamingAllocation and StreamingFree: columns of equal length.
 *
 * The number of an event is the serial number of the sampled block, so an allocation and its free have the same number.
 */
#include "probes/heap/heap_stream.h"

#include "proto/writer.h"
#include "schema/gen/profile_packet.pb.h"
#include "schema/gen/trace_packet.pb.h"

#define SAMPLE(name) ORMA_PB_STREAMING_ALLOCATION_##name
#define FREE(name)   ORMA_PB_STREAMING_FREE_##name

static void send(struct orma_heap_stream *stream, struct orma_proto_heap_writer *writer,
		 uint32_t field_id, struct orma_buf *message)
{
	if (orma_proto_heap_writer_finish(writer) < 0)
		stream->output->dropped_count++;
	else
		orma_heap_output_packet(stream->output, field_id, orma_base_buf_str(message));
}

static void flush_samples(struct orma_heap_stream *stream)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf message = {0};
	struct orma_proto_heap_writer writer;

	if (stream->sample_count == 0)
		return;
	orma_proto_heap_writer_init(&writer, &message);
	for (uint32_t i = 0; i < stream->sample_count; i++) {
		const struct orma_heap_event *event = &stream->samples[i];
		orma_proto_write_varint(&writer.writer, SAMPLE(ADDRESS), event->address);
		orma_proto_write_varint(&writer.writer, SAMPLE(SIZE), event->size);
		orma_proto_write_varint(&writer.writer, SAMPLE(SAMPLE_SIZE), event->bytes);
		orma_proto_write_varint(&writer.writer, SAMPLE(CLOCK_MONOTONIC_COARSE_TIMESTAMP),
					event->timestamp_ns);
		orma_proto_write_varint(&writer.writer, SAMPLE(HEAP_ID), event->heap_id);
		orma_proto_write_varint(&writer.writer, SAMPLE(SEQUENCE_NUMBER), event->serial);
	}
	send(stream, &writer, ORMA_PB_TRACE_PACKET_STREAMING_ALLOCATION, &message);
	stream->sample_count = 0;
}

static void flush_frees(struct orma_heap_stream *stream)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf message = {0};
	struct orma_proto_heap_writer writer;

	if (stream->free_count == 0)
		return;
	orma_proto_heap_writer_init(&writer, &message);
	for (uint32_t i = 0; i < stream->free_count; i++) {
		const struct orma_heap_event *event = &stream->frees[i];
		orma_proto_write_varint(&writer.writer, FREE(ADDRESS), event->address);
		orma_proto_write_varint(&writer.writer, FREE(HEAP_ID), event->heap_id);
		orma_proto_write_varint(&writer.writer, FREE(SEQUENCE_NUMBER), event->serial);
	}
	send(stream, &writer, ORMA_PB_TRACE_PACKET_STREAMING_FREE, &message);
	stream->free_count = 0;
}

void orma_heap_stream_flush(struct orma_heap_stream *stream)
{
	flush_samples(stream);
	flush_frees(stream);
}

void orma_heap_stream_take(void *ctx, const struct orma_heap_event *event)
{
	struct orma_heap_stream *stream = ctx;

	if (event->is_sample)
		stream->samples[stream->sample_count++] = *event;
	else
		stream->frees[stream->free_count++] = *event;
	if (stream->sample_count == ORMA_HEAP_STREAM_EVENTS ||
	    stream->free_count == ORMA_HEAP_STREAM_EVENTS)
		orma_heap_stream_flush(stream);
}
