/* SPDX-License-Identifier: Apache-2.0
 * producer_hostile_test.c - producers that do not answer, answer for others, register too much,
 * or connect in crowds.
 */
#include <sys/socket.h>

#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/trace_stats.pb.h"

/* --- silence ---------------------------------------------------------------------------------- */

ORMA_TEST(a_flush_that_is_never_acknowledged_times_out)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "silent", "", "");
	uint64_t id = orma_raw_consumer_flush(&session.consumer, 50);
	orma_bystander_check(&stage.bystander); /* while it waits */
	CHECK(!orma_raw_await(&session.consumer.client, id)->success);
	CHECK_INT(orma_raw_consumer_stats(&session.consumer)->flushes_failed, 1);
	/* An answer that arrives too late is harmless. */
	orma_raw_producer_commit(
		&session.producer, "flush_request_id: %llu",
		(unsigned long long)orma_raw_producer_await_flush(&session.producer));
	orma_raw_session_flush(&session);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(a_producer_that_leaves_during_a_flush_is_not_waited_for)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "leaver", "", "");
	uint64_t id = orma_raw_consumer_flush(&session.consumer, 0);
	orma_raw_producer_await_flush(&session.producer);
	orma_raw_producer_close(&session.producer);
	orma_raw_await(&session.consumer.client,
		       id); /* long before the timeout of 5 s, or the test hangs */
	orma_raw_consumer_close(&session.consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_stop_that_is_never_acknowledged_is_forced)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "silent", "will_notify_on_stop: true",
			      "data_source_stop_timeout_ms: 50");
	orma_raw_session_emit(&session, "kept");
	CHECK(orma_raw_call(&session.consumer.client, "DisableTracing", ORMA_STR(""))->success);
	orma_bystander_check(&stage.bystander);
	orma_raw_consumer_await_disabled(&session.consumer);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "kept"));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(a_start_that_is_never_acknowledged_holds_nothing_up)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "silent", "will_notify_on_start: true", "");
	orma_raw_session_emit(&session, "kept");
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "kept"));
	CHECK(orma_raw_call(&session.consumer.client, "DisableTracing", ORMA_STR(""))->success);
	CHECK_STR(orma_raw_consumer_await_disabled(&session.consumer), "");
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(a_producer_that_never_asks_for_commands_only_harms_itself)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_producer_connect(&producer, stage.daemon.producers);
	CHECK(orma_raw_producer_initialize(&producer, "producer_name: \"deaf\"", -1)->success);
	orma_raw_producer_register(&producer, "name: \"deaf\"");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	/* Each session is at least three commands; they wait in a list with a limit. */
	for (int i = 0; i < 100; i++) {
		orma_raw_consumer_enable(&consumer, -1,
					 "buffers { size_kb: 64 } "
					 "data_sources { config { name: \"deaf\" } }");
		uint64_t id = orma_raw_consumer_flush(&consumer, 1);
		orma_raw_await(&consumer.client, id);
		orma_raw_call(&consumer.client, "DisableTracing", ORMA_STR(""));
		orma_raw_call(&consumer.client, "FreeBuffers", ORMA_STR(""));
		orma_raw_await(&consumer.client, consumer.enable_id);
	}
	orma_raw_await_end(&producer.client);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

/* A config with a field of this size. */
static struct orma_str make_huge(struct orma_raw_consumer *consumer, size_t filler_bytes)
{
	static char filler[ORMA_IPC_FRAME_BYTES_MAX];

	memset(filler, 'c', sizeof(filler));
	return orma_raw_text(&consumer->client, &orma_pb_trace_config_desc,
			     "buffers { size_kb: 64 } data_sources { config { name: \"huge\" "
			     "legacy_config: \"%.*s\" } }",
			     (int)filler_bytes, filler);
}

/* Begun and ended. */
static void enable_huge(struct orma_raw_consumer *consumer, struct orma_str config)
{
	orma_raw_consumer_enable_bytes(consumer, -1, config);
	orma_raw_consumer_fence(consumer);
	orma_raw_call(&consumer->client, "FreeBuffers", ORMA_STR(""));
	orma_raw_await(&consumer->client, consumer->enable_id);
}

ORMA_TEST(waiting_commands_have_a_limit_of_bytes)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_producer_connect(&producer, stage.daemon.producers);
	CHECK(orma_raw_producer_initialize(&producer, "producer_name: \"deaf\"", -1)->success);
	orma_raw_producer_register(&producer, "name: \"huge\"");
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	/* Far fewer than the limit of their number allows. */
	for (int i = 0; i < 10; i++)
		enable_huge(&consumer, make_huge(&consumer, 120000));
	orma_raw_await_end(&producer.client);
	orma_raw_consumer_close(&consumer);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

/* --- answers for others ----------------------------------------------------------------------- */

ORMA_TEST(a_flush_of_somebody_else_cannot_be_acknowledged)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "forger", "", "");
	struct orma_bystander *bystander = &stage.bystander;
	uint64_t id = orma_raw_consumer_flush(&bystander->consumer, 0);
	uint64_t request_id = orma_raw_producer_await_flush(&bystander->producer);
	const uint64_t forged[] = {request_id, request_id - 1, request_id + 1, UINT64_MAX};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(forged); i++)
		orma_raw_producer_commit(&session.producer, "flush_request_id: %llu",
					 (unsigned long long)forged[i]);
	orma_raw_producer_sync(&session.producer);
	/* An answer to the earlier calls would have arrived before this one. */
	orma_raw_consumer_fence(&bystander->consumer);
	CHECK(orma_base_list_is_empty(&bystander->consumer.client.set_aside));
	orma_raw_producer_commit(&bystander->producer, "flush_request_id: %llu",
				 (unsigned long long)request_id);
	CHECK(orma_raw_await(&bystander->consumer.client, id)->success);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(instances_of_others_cannot_be_started_or_stopped)
{
	struct orma_stage stage;
	struct orma_raw_session victim, forger;

	orma_stage_open(&stage);
	orma_raw_session_open(&victim, &stage.daemon, "victim", "will_notify_on_stop: true", "");
	orma_raw_session_open(&forger, &stage.daemon, "forger", "", "");
	CHECK(orma_raw_call(&victim.consumer.client, "DisableTracing", ORMA_STR(""))->success);
	const uint64_t ids[] = {victim.instance->id, forger.instance->id, 0, UINT64_MAX};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(ids); i++) {
		struct orma_raw_client *client = &forger.producer.client;
		struct orma_str args =
			orma_raw_text(client, &orma_pb_notify_data_source_stopped_request_desc,
				      "data_source_id: %llu", (unsigned long long)ids[i]);
		CHECK(orma_raw_call(client, "NotifyDataSourceStopped", args)->success);
		CHECK(orma_raw_call(client, "NotifyDataSourceStarted", args)->success);
	}
	orma_raw_consumer_fence(&victim.consumer);
	CHECK(orma_base_list_is_empty(&victim.consumer.client.set_aside)); /* still stopping */
	orma_raw_call(&victim.producer.client, "NotifyDataSourceStopped",
		      orma_raw_text(&victim.producer.client,
				    &orma_pb_notify_data_source_stopped_request_desc,
				    "data_source_id: %llu", (unsigned long long)ids[0]));
	CHECK_STR(orma_raw_consumer_await_disabled(&victim.consumer), "");
	orma_raw_session_close(&victim);
	orma_raw_session_close(&forger);
	orma_stage_close(&stage);
}

/* --- too much --------------------------------------------------------------------------------- */

static bool is_registered(struct orma_raw_producer *producer, const char *name)
{
	struct orma_pb_register_data_source_response *response;

	orma_raw_decode(
		&producer->client, &orma_pb_register_data_source_response_desc,
		orma_raw_call(&producer->client, "RegisterDataSource",
			      orma_raw_text(&producer->client,
					    &orma_pb_register_data_source_request_desc,
					    "data_source_descriptor { name: \"%s\" }", name)),
		&response);
	return response->error.size == 0;
}

ORMA_TEST(a_thousand_data_sources_and_one_many_times)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	char name[32];

	orma_stage_open(&stage);
	orma_raw_producer_open(&producer, stage.daemon.producers, "many");
	for (int i = 0; i < 1000; i++) {
		snprintf(name, sizeof(name), "many.%d", i);
		CHECK(is_registered(&producer, name));
	}
	for (int i = 0; i < 1000; i++)
		is_registered(&producer, "many.0");
	struct orma_pb_tracing_service_state *state =
		orma_raw_consumer_query(&stage.bystander.consumer);
	CHECK(state->data_sources.count >= 1001);
	orma_bystander_check(&stage.bystander);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(data_sources_beyond_the_limit_are_refused_in_words)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	char name[32];
	int registered = 0;

	orma_stage_open(&stage);
	orma_raw_producer_open(&producer, stage.daemon.producers, "many");
	for (int i = 0; i < 5000; i++) {
		snprintf(name, sizeof(name), "many.%d", i);
		registered += is_registered(&producer, name);
	}
	CHECK(registered < 5000 && registered >= 1000);
	/* Disconnecting is cheap, and makes room. */
	orma_raw_producer_close(&producer);
	orma_bystander_check(&stage.bystander);
	orma_raw_producer_open(&producer, stage.daemon.producers, "many");
	CHECK(is_registered(&producer, "many.0"));
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(names_of_100_kb_are_refused)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	static char name[100000 + 1], args[100100];

	orma_stage_open(&stage);
	memset(name, 'n', sizeof(name) - 1);
	orma_raw_producer_open(&producer, stage.daemon.producers, "long");
	CHECK(!is_registered(&producer, name));
	CHECK(!is_registered(&producer, ""));
	CHECK(!is_registered(&producer, "with\\000zero"));
	CHECK(is_registered(&producer, "short"));
	orma_raw_producer_close(&producer);

	snprintf(args, sizeof(args), "producer_name: \"%s\"", name);
	orma_raw_producer_connect(&producer, stage.daemon.producers);
	CHECK(!orma_raw_producer_initialize(&producer, args, -1)->success);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(the_state_of_huge_descriptors_fits_into_frames)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_str args;
	static char padding[100000 + 1];

	orma_stage_open(&stage);
	memset(padding, 'p', sizeof(padding) - 1);
	orma_raw_producer_open(&producer, stage.daemon.producers, "huge");
	/* 60 of them would be 6 MB: some are refused, the rest are listed in many frames. */
	for (int i = 0; i < 60; i++) {
		args = orma_raw_text(&producer.client, &orma_pb_register_data_source_request_desc,
				     "data_source_descriptor { name: \"huge.%d\" 60: \"%s\" }", i,
				     padding);
		orma_raw_call(&producer.client, "RegisterDataSource", args);
	}
	struct orma_pb_tracing_service_state *state =
		orma_raw_consumer_query(&stage.bystander.consumer);
	CHECK(state->data_sources.count > 30 && state->data_sources.count < 60);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(a_descriptor_as_large_as_a_frame_can_be_queried)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	struct orma_str args;
	static char padding[ORMA_IPC_BODY_BYTES_MAX + 1];

	orma_stage_open(&stage);
	orma_raw_producer_open(&producer, stage.daemon.producers, "huge");
	for (size_t less = 20; less < 80; less += 4) {
		memset(padding, 'p', sizeof(padding));
		padding[ORMA_IPC_BODY_BYTES_MAX - less] = '\0';
		args = orma_raw_text(&producer.client, &orma_pb_register_data_source_request_desc,
				     "data_source_descriptor { name: \"h%zu\" 60: \"%s\" }", less,
				     padding);
		if (args.size <= ORMA_IPC_BODY_BYTES_MAX)
			orma_raw_call(&producer.client, "RegisterDataSource", args);
	}
	CHECK(orma_raw_consumer_query(&stage.bystander.consumer)->data_sources.count >= 1);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

ORMA_TEST(updates_and_removals_of_what_is_not_there_are_harmless)
{
	struct orma_stage stage;
	struct orma_raw_producer producer;
	static const char *const updates[] = {
		"name: \"mine\" id: 0", "name: \"mine\" id: 99",     "name: \"other\" id: 5",
		"name: \"\" id: 5",     "name: \"bystander\" id: 0",
	};

	orma_stage_open(&stage);
	orma_raw_producer_open(&producer, stage.daemon.producers, "updater");
	orma_raw_producer_register(&producer, "name: \"mine\" id: 5");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(updates); i++)
		orma_raw_call(&producer.client, "UpdateDataSource",
			      orma_raw_text(&producer.client,
					    &orma_pb_update_data_source_request_desc,
					    "data_source_descriptor { %s }", updates[i]));
	static const char *const names[] = {"other", "", "bystander", "mine", "mine"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		orma_raw_call(&producer.client, "UnregisterDataSource",
			      orma_raw_text(&producer.client,
					    &orma_pb_unregister_data_source_request_desc,
					    "data_source_name: \"%s\"", names[i]));
	orma_raw_producer_sync(&producer);
	CHECK_INT(orma_raw_consumer_query(&stage.bystander.consumer)->data_sources.count, 1);
	orma_raw_producer_close(&producer);
	orma_stage_close(&stage);
}

#define WRITER_ROUNDS 240

ORMA_TEST(thousands_of_writers_are_registered_and_used)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0}, text = {0};
	uint8_t args[16] = {0x08, 0, 0, 0x10, 0};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "writers", "", "");
	uint32_t method = orma_raw_method_id(&session.producer.client, "RegisterTraceWriter");
	for (uint32_t id = 1; id < 16384; id++) {
		args[1] = (uint8_t)(id | 0x80);
		args[2] = (uint8_t)(id >> 7);
		args[4] = (uint8_t)session.target_buffer;
		orma_raw_invoke_id(&session.producer.client, 1, method,
				   (struct orma_str){(const char *)args, 5}, -1,
				   ORMA_RAW_DROP_REPLY);
	}
	orma_raw_test_packet(&payload, "x");
	for (uint32_t i = 0; i < 64 * WRITER_ROUNDS; i += 64) {
		text.size = 0;
		for (uint32_t page = 0; page < 64; page++) {
			struct orma_raw_chunk chunk = {
				.page_idx = page,
				.chunk_id = UINT32_MAX - i, /* descending, at that */
				.writer_id = (uint16_t)(1 + (i + page) % 15000),
				.fragment_count = 1,
				.payload = {(const char *)payload.data, payload.size},
			};
			orma_raw_producer_write(&session.producer, &chunk);
			orma_base_buf_printf(&text, "chunks_to_move { page: %u target_buffer: %u }",
					     page, session.target_buffer);
		}
		orma_raw_producer_commit(&session.producer, "%.*s", (int)text.size,
					 (const char *)text.data);
		orma_raw_producer_sync(&session.producer);
	}
	orma_raw_producer_sync(&session.producer);
	orma_bystander_check(&stage.bystander);
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&session.consumer)),
		  64 * WRITER_ROUNDS);
	/* The stats of so many writers do not fit into a frame; the other stats are still sent. */
	CHECK_INT(orma_raw_consumer_stats(&session.consumer)->buffer_stats.items[0]->chunks_written,
		  64 * WRITER_ROUNDS);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- crowds ----------------------------------------------------------------------------------- */

ORMA_TEST(hundreds_of_producers_come_and_go)
{
	struct orma_stage stage;
	static struct orma_raw_producer producers[300];

	orma_stage_open(&stage);
	for (int round = 0; round < 3; round++) {
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(producers); i++) {
			orma_raw_producer_open(&producers[i], stage.daemon.producers, "crowd");
			orma_raw_producer_register(&producers[i], "name: \"bystander\"");
		}
		/* They share the bystander's name, so its session has instances of all of them,
		 * which never answer. */
		CHECK_INT(orma_raw_consumer_query(&stage.bystander.consumer)->producers.count,
			  1 + ORMA_ARRAY_SIZE(producers));
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(producers); i++)
			orma_raw_producer_close(&producers[i]);
		orma_bystander_check(&stage.bystander);
	}
	orma_stage_close(&stage);
}

ORMA_TEST(a_producer_that_sends_commits_and_reads_nothing_is_dropped_or_held)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static const char args[] = "\x0a\x06\x08\xff\xff\xff\xff\x0f";

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "flooder", "", "");
	uint32_t method = orma_raw_method_id(&session.producer.client, "CommitData");
	CHECK_INT(orma_base_fd_set_nonblock(session.producer.client.fd), 0);
	struct orma_ipc_envelope envelope;
	CHECK_INT(orma_ipc_envelope_invoke(&envelope, 77, 1, method, false, sizeof(args) - 1), 0);
	uint8_t frame[128];
	memcpy(frame, envelope.prefix, envelope.prefix_size);
	memcpy(frame + envelope.prefix_size, args, sizeof(args) - 1);
	memcpy(frame + envelope.prefix_size + sizeof(args) - 1, envelope.suffix,
	       envelope.suffix_size);
	size_t size = envelope.prefix_size + sizeof(args) - 1 + envelope.suffix_size;
	for (int i = 0; i < 200000; i++)
		if (send(session.producer.client.fd, frame, size, MSG_NOSIGNAL) < 0 &&
		    errno != EAGAIN)
			break;
	orma_bystander_check(&stage.bystander);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}
