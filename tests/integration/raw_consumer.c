/* SPDX-License-Identifier: Apache-2.0
 * raw_consumer.c - the consumer's half of the protocol, call by call.
 *
 * Slices are joined into one encoded Trace and decoded with the tables of src/schema; packets with
 * garbage nested in them are counted and left out. Rejected: streaming packet by packet (the traces
 * here are small, and a test wants to look back).
 */
#include "raw_consumer.h"

#include <stdarg.h>

#include "base/alloc.h"
#include "harness.h"
#include "proto/reader.h"
#include "proto/writer.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"

void orma_raw_consumer_open(struct orma_raw_consumer *consumer, const char *path)
{
	*consumer = (struct orma_raw_consumer){0};
	orma_raw_connect(&consumer->client, path);
	orma_raw_bind(&consumer->client, "ConsumerPort");
}

void orma_raw_consumer_close(struct orma_raw_consumer *consumer)
{
	orma_raw_close(&consumer->client);
}

void orma_raw_consumer_enable_bytes(struct orma_raw_consumer *consumer, int file_fd,
				    struct orma_str config)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf args = {0};
	struct orma_proto_heap_writer heap;

	orma_proto_heap_writer_init(&heap, &args);
	orma_proto_write_str(&heap.writer, ORMA_PB_ENABLE_TRACING_REQUEST_TRACE_CONFIG, config);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	consumer->enable_id =
		orma_raw_invoke(&consumer->client, "EnableTracing",
				(struct orma_str){(const char *)args.data, args.size}, file_fd, 0);
	CHECK(consumer->enable_id != 0);
}

void orma_raw_consumer_enable(struct orma_raw_consumer *consumer, int file_fd, const char *format,
			      ...)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	va_list args;

	va_start(args, format);
	CHECK_INT(orma_base_buf_vprintf(&text, format, args), 0);
	va_end(args);
	orma_raw_consumer_enable_bytes(consumer, file_fd,
				       orma_raw_text(&consumer->client, &orma_pb_trace_config_desc,
						     "%.*s", (int)text.size,
						     (const char *)text.data));
}

const char *orma_raw_consumer_await_disabled(struct orma_raw_consumer *consumer)
{
	struct orma_raw_frame *frame = orma_raw_await(&consumer->client, consumer->enable_id);
	struct orma_pb_enable_tracing_response *response;

	orma_raw_decode(&consumer->client, &orma_pb_enable_tracing_response_desc, frame, &response);
	CHECK(response->disabled);
	CHECK(!frame->has_more);
	char *text = orma_base_arena_strdup(&consumer->client.arena, response->error);
	CHECK(text);
	return text;
}

void orma_raw_consumer_fence(struct orma_raw_consumer *consumer)
{
	CHECK(orma_raw_call(&consumer->client, "QueryCapabilities", ORMA_STR(""))->success);
}

uint64_t orma_raw_consumer_flush(struct orma_raw_consumer *consumer, uint32_t timeout_ms)
{
	return orma_raw_invoke(&consumer->client, "Flush",
			       orma_raw_text(&consumer->client, &orma_pb_flush_request_desc,
					     "timeout_ms: %u", timeout_ms),
			       -1, 0);
}

static void append_packet(struct orma_raw_consumer *consumer, struct orma_buf *trace,
			  struct orma_buf *packet)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_trace_packet *decoded;
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	struct orma_proto_heap_writer heap;
	int result;

	/* The service vouches for the fields of a packet, not for what a producer nests in them. */
	orma_proto_reader_init(&reader, packet->data, packet->size);
	while ((result = orma_proto_reader_next(&reader, &field)) > 0)
		;
	CHECK_INT(result, 0);
	if (orma_proto_decode(&orma_pb_trace_packet_desc, packet->data, packet->size, &arena,
			      &decoded) < 0) {
		consumer->garbled_packets++;
	} else {
		orma_proto_heap_writer_init(&heap, trace);
		orma_proto_write_bytes(&heap.writer, ORMA_PB_TRACE_PACKET, packet->data,
				       packet->size);
		CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	}
	packet->size = 0;
}

struct orma_pb_trace *orma_raw_consumer_read(struct orma_raw_consumer *consumer)
{
	struct orma_raw_client *client = &consumer->client;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf bytes = {0}, packet = {0};
	uint64_t id = orma_raw_invoke(client, "ReadBuffers", ORMA_STR(""), -1, 0);
	struct orma_raw_frame *frame;
	struct orma_pb_trace *trace;

	do {
		struct orma_pb_read_buffers_response *response;

		frame = orma_raw_await(client, id);
		orma_raw_decode(client, &orma_pb_read_buffers_response_desc, frame, &response);
		for (size_t i = 0; i < response->slices.count; i++) {
			const struct orma_pb_read_buffers_response_slice *slice =
				response->slices.items[i];
			CHECK_INT(orma_base_buf_append(&packet, slice->data.data, slice->data.size),
				  0);
			if (slice->last_slice_for_packet)
				append_packet(consumer, &bytes, &packet);
		}
	} while (frame->has_more);
	CHECK_INT(packet.size, 0);
	CHECK_INT(orma_proto_decode_copy(&orma_pb_trace_desc, bytes.data, bytes.size,
					 &client->arena, &trace),
		  0);
	return trace;
}

struct orma_pb_trace_stats *orma_raw_consumer_stats(struct orma_raw_consumer *consumer)
{
	struct orma_pb_get_trace_stats_response *response;

	orma_raw_decode(&consumer->client, &orma_pb_get_trace_stats_response_desc,
			orma_raw_call(&consumer->client, "GetTraceStats", ORMA_STR("")), &response);
	CHECK(response->trace_stats);
	return response->trace_stats;
}

struct orma_pb_tracing_service_state *orma_raw_consumer_query(struct orma_raw_consumer *consumer)
{
	struct orma_raw_client *client = &consumer->client;
	struct orma_pb_query_service_state_response *response =
		orma_pb_query_service_state_response_new(&client->arena);
	uint64_t id = orma_raw_invoke(client, "QueryServiceState", ORMA_STR(""), -1, 0);
	struct orma_raw_frame *frame;

	CHECK(response);
	do {
		frame = orma_raw_await(client, id);
		CHECK(frame->success);
		CHECK_INT(orma_proto_merge(response, frame->body.data, frame->body.size,
					   &client->arena),
			  0);
	} while (frame->has_more);
	CHECK(response->service_state);
	return response->service_state;
}

const struct orma_pb_trace_packet *orma_raw_test_packet_at(const struct orma_pb_trace *trace,
							   size_t idx)
{
	for (size_t i = 0; i < trace->packet.count; i++)
		if (trace->packet.items[i]->for_testing && idx-- == 0)
			return trace->packet.items[i];
	return NULL;
}

size_t orma_raw_test_packet_count(const struct orma_pb_trace *trace)
{
	size_t count = 0;

	for (size_t i = 0; i < trace->packet.count; i++)
		count += trace->packet.items[i]->for_testing != NULL;
	return count;
}

bool orma_raw_trace_has(const struct orma_pb_trace *trace, const char *test_packet_text)
{
	for (size_t i = 0; i < trace->packet.count; i++) {
		const struct orma_pb_test_event *event = trace->packet.items[i]->for_testing;
		if (event && orma_base_str_is(event->str, test_packet_text))
			return true;
	}
	return false;
}
