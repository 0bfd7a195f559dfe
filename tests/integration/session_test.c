/* SPDX-License-Identifier: Apache-2.0
 * session_test.c - ordinary sessions through the whole daemon with raw clients, on which all
 * other tests here build.
 */
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"

static void check_what_was_recorded(struct orma_raw_consumer *consumer)
{
	struct orma_pb_trace *trace = orma_raw_consumer_read(consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 2);
	CHECK(orma_raw_trace_has(trace, "one") && orma_raw_trace_has(trace, "two"));
	const struct orma_pb_trace_packet *packet = orma_raw_test_packet_at(trace, 0);
	CHECK_INT(packet->trusted_uid, getuid());
	CHECK_INT(packet->trusted_pid, getpid());
	CHECK(packet->trusted_packet_sequence_id >= 2);

	struct orma_pb_trace_stats *stats = orma_raw_consumer_stats(consumer);
	CHECK_INT(stats->producers_connected, 1);
	CHECK_INT(stats->data_sources_registered, 1);
	CHECK_INT(stats->flushes_succeeded, 1);
	CHECK_INT(stats->buffer_stats.items[0]->chunks_written, 1);

	struct orma_pb_tracing_service_state *state = orma_raw_consumer_query(consumer);
	CHECK_INT(state->num_sessions_started, 1);
	CHECK_INT(state->producers.count, 1);
	CHECK(orma_base_str_is(state->producers.items[0]->name, "test.producer"));
}

ORMA_TEST(a_session_from_registration_to_stats)
{
	struct orma_test_daemon daemon;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	orma_test_daemon_start(&daemon);
	orma_raw_producer_open(&producer, daemon.producers, "test.producer");
	orma_raw_producer_register(&producer, "name: \"test.source\" will_notify_on_stop: true");
	orma_raw_consumer_open(&consumer, daemon.consumers);
	orma_raw_consumer_enable(&consumer, -1,
				 "buffers { size_kb: 64 }"
				 "data_sources { config { name: \"test.source\" } }");
	struct orma_raw_instance *instance =
		orma_raw_producer_await_start(&producer, "test.source");
	CHECK_INT(producer.page_bytes, ORMA_SHM_PAGE_BYTES_DEFAULT);
	CHECK_INT(producer.shm_bytes, ORMA_SHM_BYTES_DEFAULT);

	orma_raw_test_packet(&payload, "one");
	orma_raw_test_packet(&payload, "two");
	struct orma_raw_chunk chunk = {
		.writer_id = 1,
		.fragment_count = 2,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(&producer, &chunk, instance->target_buffer);
	uint64_t flush_id = orma_raw_consumer_flush(&consumer, 0);
	orma_raw_producer_commit(&producer, "flush_request_id: %llu",
				 (unsigned long long)orma_raw_producer_await_flush(&producer));
	CHECK(orma_raw_await(&consumer.client, flush_id)->success);
	CHECK_INT(*(uint32_t *)(void *)producer.shm, 0); /* the page is free again */

	check_what_was_recorded(&consumer);
	CHECK(orma_raw_call(&consumer.client, "DisableTracing", ORMA_STR(""))->success);
	orma_raw_producer_await_stop(&producer, "test.source");
	orma_raw_call(&producer.client, "NotifyDataSourceStopped",
		      orma_raw_text(&producer.client,
				    &orma_pb_notify_data_source_stopped_request_desc,
				    "data_source_id: %llu", (unsigned long long)instance->id));
	CHECK_STR(orma_raw_consumer_await_disabled(&consumer), "");
	CHECK(orma_raw_call(&consumer.client, "FreeBuffers", ORMA_STR(""))->success);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	orma_test_daemon_stop(&daemon);
}

ORMA_TEST(the_bystander_alone)
{
	struct orma_stage stage;

	orma_stage_open(&stage);
	for (int i = 0; i < 50; i++)
		orma_bystander_check(&stage.bystander);
	orma_stage_close(&stage);
}

ORMA_TEST(a_data_source_that_registers_late_joins_the_session)
{
	struct orma_test_daemon daemon;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_test_daemon_start(&daemon);
	orma_raw_consumer_open(&consumer, daemon.consumers);
	orma_raw_consumer_enable(&consumer, -1,
				 "buffers { size_kb: 64 }"
				 "data_sources { config { name: \"late\" } }");
	orma_raw_consumer_fence(&consumer);
	orma_raw_producer_open(&producer, daemon.producers, "late");
	orma_raw_producer_register(&producer, "name: \"late\"");
	orma_raw_producer_await_start(&producer, "late");
	orma_raw_producer_close(&producer);
	/* The session survives its only producer. */
	orma_raw_consumer_fence(&consumer);
	CHECK(orma_raw_await(&consumer.client, orma_raw_consumer_flush(&consumer, 0))->success);
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&consumer)), 0);
	orma_raw_consumer_close(&consumer);
	orma_test_daemon_stop(&daemon);
}

ORMA_TEST(a_deferred_start_waits_for_start_tracing)
{
	struct orma_test_daemon daemon;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_test_daemon_start(&daemon);
	orma_raw_producer_open(&producer, daemon.producers, "deferred");
	orma_raw_producer_register(&producer, "name: \"deferred\"");
	orma_raw_consumer_open(&consumer, daemon.consumers);
	orma_raw_consumer_enable(&consumer, -1,
				 "buffers { size_kb: 64 } deferred_start: true "
				 "data_sources { config { name: \"deferred\" } }");
	while (producer.instance_count == 0)
		orma_raw_producer_command(&producer);
	orma_raw_producer_sync(&producer);
	CHECK(!producer.instances[0].is_started);
	CHECK(orma_raw_call(&consumer.client, "StartTracing", ORMA_STR(""))->success);
	orma_raw_producer_await_start(&producer, "deferred");
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_await_stop(&producer,
				     "deferred"); /* the session went with its consumer */
	orma_raw_producer_close(&producer);
	orma_test_daemon_stop(&daemon);
}

/* One fragment of a packet of 6,000,000 bytes whose only field is for_testing.str. */
static void write_piece(struct orma_raw_producer *producer, uint32_t target_buffer, uint32_t idx,
			uint32_t count)
{
	static const uint8_t head[] = {0xa2, 0x38, 0xfa, 0x9a, 0xee, 0x02,
				       0x0a, 0xf5, 0x9a, 0xee, 0x02};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
	char piece[4000];

	memset(piece, 'a' + (int)(idx % 26), sizeof(piece));
	if (idx == 0)
		memcpy(piece, head, sizeof(head));
	orma_raw_fragment(&payload, piece, sizeof(piece));
	struct orma_raw_chunk chunk = {
		.chunk_id = idx,
		.writer_id = 1,
		.fragment_count = 1,
		.flags = (uint8_t)((idx > 0 ? ORMA_SHM_CONTINUES_FROM_PREVIOUS : 0) |
				   (idx + 1 < count ? ORMA_SHM_CONTINUES_IN_NEXT : 0)),
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(producer, &chunk, target_buffer);
	orma_raw_producer_sync(producer);
}

/* A read cannot be undone, so packets for which the socket's queue has no room have to wait
 * somewhere. */
ORMA_TEST(a_packet_that_is_larger_than_the_queue_of_a_socket_is_read_whole)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_producer_open(&producer, stage.daemon.producers, "large");
	orma_raw_producer_register(&producer, "name: \"large\"");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	orma_raw_consumer_enable(&consumer, -1,
				 "buffers { size_kb: 16384 }"
				 "data_sources { config { name: \"large\" } }");
	uint32_t target = orma_raw_producer_await_start(&producer, "large")->target_buffer;
	for (uint32_t i = 0; i < 1500; i++)
		write_piece(&producer, target, i, 1500);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 1);
	struct orma_str text = orma_raw_test_packet_at(trace, 0)->for_testing->str;
	CHECK_INT(text.size, 6000000 - 11);
	for (size_t i = 0; i < text.size; i += 1000)
		CHECK_INT(text.data[i], 'a' + (int)((i + 11) / 4000 % 26));
	orma_bystander_check(&stage.bystander);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}
