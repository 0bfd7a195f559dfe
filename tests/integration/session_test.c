/* SPDX-License-Identifier: Apache-2.0
 * session_test.c - ordinary sessions through the whole daemon with clients made by hand: what every
 * other test here builds on.
 */
#include <unistd.h>

#include "bystander.h"
#include "harness.h"

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
	/* The session does not mind that its only producer left. */
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
