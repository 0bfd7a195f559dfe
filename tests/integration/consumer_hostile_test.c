/* SPDX-License-Identifier: Apache-2.0
 * consumer_hostile_test.c - consumers that call without a session, repeat calls, connect in
 * crowds, or disconnect in the middle.
 */
#include <unistd.h>

#include "base/fd.h"
#include "bystander.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"

#define ANY_CONFIG "buffers { size_kb: 64 } data_sources { config { name: \"nobody\" } }"

/* --- without a session ------------------------------------------------------------------------ */

ORMA_TEST(calls_without_a_session_are_answered)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (int round = 0; round < 2; round++) {
		struct orma_raw_client *client = &consumer.client;
		CHECK_INT(orma_raw_consumer_read(&consumer)->packet.count, 0);
		CHECK(!orma_raw_call(client, "StartTracing", ORMA_STR(""))->success);
		CHECK(!orma_raw_call(client, "GetTraceStats", ORMA_STR(""))->success);
		CHECK(!orma_raw_await(client, orma_raw_consumer_flush(&consumer, 100))->success);
		CHECK(!orma_raw_call(client, "Detach", ORMA_STR("\x0a\x03key"))->success);
		CHECK(!orma_raw_call(client, "Attach", ORMA_STR("\x0a\x03key"))->success);
		CHECK(!orma_raw_call(client, "Attach", ORMA_STR(""))->success);
		orma_raw_call(client, "DisableTracing", ORMA_STR(""));
		orma_raw_call(client, "FreeBuffers", ORMA_STR(""));
		orma_raw_call(client, "CloneSession", ORMA_STR("\x08\x63"));
		orma_raw_call(client, "ChangeTraceConfig", ORMA_STR("\x0a\x00"));
	}
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(detaching_and_attaching_with_bad_keys_is_refused)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer, other;
	static char long_key[20000 + 3] = {0x0a, (char)0xa0, (char)0x9c};

	orma_stage_open(&stage);
	memset(long_key + 4, 'k', sizeof(long_key) - 4);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	orma_raw_consumer_open(&other, stage.daemon.consumers);
	orma_raw_consumer_enable(&consumer, -1, ANY_CONFIG);
	CHECK(!orma_raw_call(&consumer.client, "Detach", ORMA_STR(""))->success);
	CHECK(!orma_raw_call(&consumer.client, "Detach", ORMA_STR("\x0a\x00"))->success);
	orma_raw_call(&consumer.client, "Detach", (struct orma_str){long_key, sizeof(long_key)});
	/* An attach without a key must not find the bystander's session, or any other. */
	CHECK(!orma_raw_call(&other.client, "Attach", ORMA_STR("\x0a\x00"))->success);
	CHECK(!orma_raw_call(&other.client, "Attach", ORMA_STR(""))->success);
	CHECK(!orma_raw_call(&other.client, "Attach", ORMA_STR("\x0a\x05other"))->success);
	orma_raw_consumer_close(&consumer);
	orma_raw_consumer_close(&other);
	orma_stage_close(&stage);
}

ORMA_TEST(a_second_session_on_one_connection_is_refused_and_the_first_goes_on)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "first", "", "");
	uint64_t first_id = session.consumer.enable_id;
	orma_raw_consumer_enable(&session.consumer, -1, ANY_CONFIG);
	CHECK(strstr(orma_raw_consumer_await_disabled(&session.consumer), "session"));
	orma_raw_session_emit(&session, "still recorded");
	orma_raw_session_flush(&session);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "still recorded"));
	CHECK(orma_raw_call(&session.consumer.client, "DisableTracing", ORMA_STR(""))->success);
	session.consumer.enable_id = first_id;
	CHECK_STR(orma_raw_consumer_await_disabled(&session.consumer), "");
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(calls_repeated_and_out_of_order_are_harmless)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	static const char *const methods[] = {"StartTracing",  "DisableTracing", "StartTracing",
					      "FreeBuffers",   "FreeBuffers",    "DisableTracing",
					      "GetTraceStats", "ReadBuffers"};

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (int round = 0; round < 20; round++) {
		orma_raw_consumer_enable(&consumer, -1, "%s deferred_start: %s", ANY_CONFIG,
					 round % 2 ? "true" : "false");
		for (size_t i = 0; i < ORMA_ARRAY_SIZE(methods); i++)
			orma_raw_call(&consumer.client,
				      methods[(i * 3 + (size_t)round) % ORMA_ARRAY_SIZE(methods)],
				      ORMA_STR(""));
		orma_raw_call(&consumer.client, "FreeBuffers", ORMA_STR(""));
		orma_raw_await(&consumer.client, consumer.enable_id);
	}
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

/* --- reading ---------------------------------------------------------------------------------- */

/* Fills the session's buffer with about 1 MB. */
static void fill(struct orma_raw_session *session)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
	static char text[4000];

	memset(text, 'x', sizeof(text));
	orma_raw_test_packet(&payload, "%.*s", (int)sizeof(text), text);
	for (uint32_t i = 0; i < 250; i++) {
		struct orma_raw_chunk chunk = {
			.page_idx = i % 64,
			.chunk_id = session->next_chunk_id++,
			.writer_id = 1,
			.fragment_count = 1,
			.payload = {(const char *)payload.data, payload.size},
		};
		orma_raw_producer_write_and_commit(&session->producer, &chunk,
						   session->target_buffer);
		if (i % 64 == 63)
			orma_raw_producer_sync(&session->producer);
	}
	orma_raw_producer_sync(&session->producer);
}

ORMA_TEST(a_consumer_that_leaves_while_it_reads)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	struct orma_raw_frame *frame;

	orma_stage_open(&stage);
	for (int frames = 0; frames < 6; frames++) {
		orma_raw_session_open(&session, &stage.daemon, "reader", "", "");
		fill(&session);
		orma_raw_invoke(&session.consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0);
		for (int i = 0; i < frames; i++)
			CHECK(orma_raw_next(&session.consumer.client, &frame));
		orma_raw_consumer_close(&session.consumer);
		orma_bystander_check(&stage.bystander);
		orma_raw_producer_close(&session.producer);
	}
	orma_stage_close(&stage);
}

ORMA_TEST(a_consumer_that_reads_nothing_holds_up_nobody)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "reader", "", "");
	fill(&session);
	uint64_t id = orma_raw_invoke(&session.consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0);
	for (int i = 0; i < 20; i++)
		orma_bystander_check(&stage.bystander);
	/* When it finally reads, the trace is complete. */
	size_t bytes = 0;
	for (struct orma_raw_frame *frame = NULL; !frame || frame->has_more;) {
		frame = orma_raw_await(&session.consumer.client, id);
		CHECK(frame->success);
		bytes += frame->body.size;
	}
	CHECK(bytes > (size_t)250 * 4000);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(reading_twice_at_once_rejects_the_first_call)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "reader", "", "");
	fill(&session);
	uint64_t first =
		orma_raw_invoke(&session.consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0);
	uint64_t second =
		orma_raw_invoke(&session.consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0);
	const uint64_t ids[] = {first, second};
	for (size_t i = 0; i < 2; i++)
		for (struct orma_raw_frame *frame = NULL; !frame || frame->has_more;)
			frame = orma_raw_await(&session.consumer.client, ids[i]);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(freeing_the_buffers_while_they_are_read)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "reader", "", "");
	fill(&session);
	uint64_t read_id =
		orma_raw_invoke(&session.consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0);
	uint64_t free_id =
		orma_raw_invoke(&session.consumer.client, "FreeBuffers", ORMA_STR(""), -1, 0);
	for (struct orma_raw_frame *frame = NULL; !frame || (frame->success && frame->has_more);)
		frame = orma_raw_await(&session.consumer.client, read_id);
	CHECK(orma_raw_await(&session.consumer.client, free_id)->success);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(reading_without_a_reply_wanted_is_no_way_to_lose_a_trace)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "reader", "", "");
	orma_raw_session_emit(&session, "still there");
	orma_raw_invoke(&session.consumer.client, "ReadBuffers", ORMA_STR(""), -1,
			ORMA_RAW_DROP_REPLY);
	orma_raw_consumer_fence(&session.consumer);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "still there"));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- crowds ----------------------------------------------------------------------------------- */

ORMA_TEST(flushes_by_the_thousand_are_answered_each)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	uint64_t first = 0, last = 0;

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "flushed", "", "");
	for (int i = 0; i < 2000; i++) {
		last = orma_raw_consumer_flush(&session.consumer, 20);
		first = first ? first : last;
	}
	orma_bystander_check(&stage.bystander);
	for (uint64_t id = first; id <= last; id++)
		CHECK(!orma_raw_await(&session.consumer.client, id)->success);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(observers_by_the_thousand)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer, crowd[200];

	orma_stage_open(&stage);
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	for (int i = 0; i < 3000; i++)
		orma_raw_invoke(&consumer.client, "ObserveEvents",
				i % 3 ? ORMA_STR("\x08\x01\x08\x02\x08\x04") : ORMA_STR("\x08\x7f"),
				-1, i % 5 ? 0 : ORMA_RAW_DROP_REPLY);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(crowd); i++) {
		orma_raw_consumer_open(&crowd[i], stage.daemon.consumers);
		orma_raw_invoke(&crowd[i].client, "ObserveEvents",
				ORMA_STR("\x08\x01\x08\x02\x08\x04"), -1, 0);
	}
	orma_bystander_check(&stage.bystander);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(crowd); i++)
		orma_raw_consumer_close(&crowd[i]);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(connections_beyond_the_cap_are_refused_in_words)
{
	struct orma_stage stage;
	static struct orma_raw_client clients[1500];
	size_t refused = 0;

	orma_stage_open(&stage);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clients); i++)
		orma_raw_connect(&clients[i], stage.daemon.consumers);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clients); i++) {
		struct orma_raw_frame *frame;
		/* A connection that is served answers a bind. A refused one receives an error,
		 * and then its stream ends. */
		orma_raw_send(&clients[i],
			      "\x12\0\0\0\x10\x07\x1a\x0e\x0a\x0c"
			      "ConsumerPort",
			      22);
		CHECK(orma_raw_next(&clients[i], &frame));
		if (frame->kind == ORMA_IPC_FRAME_BIND_REPLY)
			continue;
		CHECK_INT(frame->kind, ORMA_IPC_FRAME_ERROR);
		CHECK(orma_base_str_is(frame->body, "too many connections of this user"));
		refused++;
	}
	CHECK(refused > 400 && refused < 1000);
	orma_bystander_check(&stage.bystander);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(clients); i++)
		orma_raw_close(&clients[i]);
	/* There is room again. */
	struct orma_raw_consumer consumer;
	while (orma_raw_consumer_query(&stage.bystander.consumer)->num_sessions != 1)
		;
	orma_raw_consumer_open(&consumer, stage.daemon.consumers);
	orma_raw_consumer_close(&consumer);
	orma_stage_close(&stage);
}

ORMA_TEST(more_sessions_than_allowed_are_refused_in_words)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumers[30];
	size_t refused = 0;

	orma_stage_open(&stage);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(consumers); i++) {
		orma_raw_consumer_open(&consumers[i], stage.daemon.consumers);
		orma_raw_consumer_enable(&consumers[i], -1, ANY_CONFIG);
		orma_raw_consumer_fence(&consumers[i]);
		if (orma_base_list_is_empty(&consumers[i].client.set_aside))
			continue;
		CHECK(strstr(orma_raw_consumer_await_disabled(&consumers[i]), "too many sessions"));
		refused++;
	}
	CHECK(refused >= ORMA_ARRAY_SIZE(consumers) - 15);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(consumers); i++)
		orma_raw_consumer_close(&consumers[i]);
	orma_stage_close(&stage);
}

ORMA_TEST(sessions_begun_and_left_by_the_hundred)
{
	struct orma_stage stage;
	struct orma_raw_consumer consumer;
	static const char *const methods[] = {"DisableTracing", "ReadBuffers", "Flush",
					      "GetTraceStats", "FreeBuffers"};

	orma_stage_open(&stage);
	for (size_t i = 0; i < 300; i++) {
		orma_raw_consumer_open(&consumer, stage.daemon.consumers);
		orma_raw_consumer_enable(&consumer, -1, ANY_CONFIG " duration_ms: 1");
		for (size_t k = 0; k < i % 6 && k < ORMA_ARRAY_SIZE(methods); k++)
			orma_raw_invoke(&consumer.client, methods[k], ORMA_STR(""), -1, 0);
		orma_raw_consumer_close(&consumer);
	}
	while (orma_raw_consumer_query(&stage.bystander.consumer)->num_sessions != 1)
		;
	orma_stage_close(&stage);
}
