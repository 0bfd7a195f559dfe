/* SPDX-License-Identifier: Apache-2.0
 * bystander.c - numbered packets from a producer to a consumer, everything by the book.
 *
 * One thread plays both roles, so a flush has three steps: the consumer asks, the producer
 * acknowledges, the consumer receives the answer. Rejected: threads that write all the time
 * (chance would decide what is recorded when, instead of the test).
 */
#include "bystander.h"

#include "base/clock_ns.h"
#include "harness.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"

#define PACKETS_PER_CHUNK 20
#define WRITER_ID         7

void orma_bystander_write(struct orma_bystander *bystander)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	for (uint32_t i = 0; i < PACKETS_PER_CHUNK; i++)
		orma_raw_test_packet(&payload, "bystander %u",
				     bystander->written * PACKETS_PER_CHUNK + i);
	struct orma_raw_chunk chunk = {
		.page_idx = bystander->written % 8,
		.chunk_id = bystander->written,
		.writer_id = WRITER_ID,
		.fragment_count = PACKETS_PER_CHUNK,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(&bystander->producer, &chunk, bystander->target_buffer);
	bystander->written++;
	if (bystander->written % 8 == 0)
		orma_raw_producer_sync(&bystander->producer);
}

void orma_bystander_start(struct orma_bystander *bystander, const struct orma_test_daemon *daemon)
{
	bystander->written = bystander->read_back = 0;
	bystander->longest_flush_ns = 0;
	orma_raw_producer_open(&bystander->producer, daemon->producers, "bystander");
	orma_raw_producer_register(&bystander->producer, "name: \"bystander\"");
	orma_raw_consumer_open(&bystander->consumer, daemon->consumers);
	orma_raw_consumer_enable(&bystander->consumer, -1,
				 "buffers { size_kb: 4096 }"
				 "data_sources { config { name: \"bystander\" } }");
	bystander->target_buffer =
		orma_raw_producer_await_start(&bystander->producer, "bystander")->target_buffer;
	orma_raw_call(&bystander->producer.client, "RegisterTraceWriter",
		      orma_raw_text(&bystander->producer.client,
				    &orma_pb_register_trace_writer_request_desc,
				    "trace_writer_id: %u target_buffer: %u", WRITER_ID,
				    bystander->target_buffer));
	orma_bystander_write(bystander);
}

static void check_packets(struct orma_bystander *bystander, const struct orma_pb_trace *trace)
{
	const struct orma_pb_trace_packet *packet;
	char expected[32];

	for (size_t i = 0; (packet = orma_raw_test_packet_at(trace, i)); i++) {
		snprintf(expected, sizeof(expected), "bystander %u", bystander->read_back);
		CHECK(orma_base_str_is(packet->for_testing->str, expected));
		CHECK_INT(packet->previous_packet_dropped, 0);
		bystander->read_back++;
	}
	CHECK_INT(bystander->read_back, bystander->written * PACKETS_PER_CHUNK);
}

static void flush(struct orma_bystander *bystander)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC), ns;
	uint64_t flush_id = orma_raw_consumer_flush(&bystander->consumer, 0);
	uint64_t request_id = orma_raw_producer_await_flush(&bystander->producer);

	orma_raw_producer_commit(&bystander->producer, "flush_request_id: %llu",
				 (unsigned long long)request_id);
	CHECK(orma_raw_await(&bystander->consumer.client, flush_id)->success);
	ns = orma_base_clock_ns(CLOCK_MONOTONIC) - begin_ns;
	bystander->longest_flush_ns = ORMA_MAX(bystander->longest_flush_ns, ns);
}

void orma_bystander_check(struct orma_bystander *bystander)
{
	orma_bystander_write(bystander);
	flush(bystander);
	check_packets(bystander, orma_raw_consumer_read(&bystander->consumer));

	CHECK_INT(bystander->consumer.garbled_packets, 0);
	struct orma_pb_trace_stats *stats = orma_raw_consumer_stats(&bystander->consumer);
	CHECK_INT(stats->buffer_stats.count, 1);
	CHECK_INT(stats->buffer_stats.items[0]->chunks_written, bystander->written);
	CHECK_INT(stats->buffer_stats.items[0]->chunks_overwritten, 0);
	CHECK_INT(stats->buffer_stats.items[0]->chunks_discarded, 0);
	CHECK_INT(stats->buffer_stats.items[0]->abi_violations, 0);
	CHECK_INT(stats->buffer_stats.items[0]->trace_writer_packet_loss, 0);
	CHECK_INT(stats->invalid_packets, 0);
}

void orma_bystander_finish(struct orma_bystander *bystander)
{
	orma_bystander_check(bystander);
	CHECK(orma_raw_call(&bystander->consumer.client, "DisableTracing", ORMA_STR(""))->success);
	orma_raw_producer_await_stop(&bystander->producer, "bystander");
	CHECK_STR(orma_raw_consumer_await_disabled(&bystander->consumer), "");
	orma_raw_consumer_close(&bystander->consumer);
	orma_raw_producer_close(&bystander->producer);
}

void orma_stage_open(struct orma_stage *stage)
{
	orma_test_daemon_start(&stage->daemon);
	orma_bystander_start(&stage->bystander, &stage->daemon);
}

void orma_stage_close(struct orma_stage *stage)
{
	orma_bystander_finish(&stage->bystander);
	if (getenv("ORMA_PRINT_FLUSHES"))
		fprintf(stderr, "longest flush: %.2f ms\n",
			(double)stage->bystander.longest_flush_ns / 1e6);
	orma_test_daemon_stop(&stage->daemon);
}
