/* SPDX-License-Identifier: Apache-2.0
 * emulated_test.c - producers over TCP: no memory is shared, chunks arrive inside commits,
 * identities are claims.
 */
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/trace_stats.pb.h"

/* A producer over TCP with a session of its own. */
static void open_session(struct orma_raw_session *session, const struct orma_stage *stage,
			 const char *init_args)
{
	*session = (struct orma_raw_session){0};
	orma_raw_producer_connect_tcp(&session->producer, stage->daemon.tcp_port);
	CHECK(orma_raw_producer_initialize(&session->producer, init_args, -1)->success);
	CHECK(session->producer.is_emulated);
	orma_raw_producer_listen(&session->producer);
	orma_raw_producer_register(&session->producer, "name: \"remote\"");
	orma_raw_consumer_open(&session->consumer, stage->daemon.consumers);
	orma_raw_consumer_enable(&session->consumer, -1,
				 "trace_all_machines: true buffers { size_kb: 1024 } "
				 "data_sources { config { name: \"remote\" } }");
	session->instance = orma_raw_producer_await_start(&session->producer, "remote");
	session->target_buffer = session->instance->target_buffer;
	CHECK(!session->producer.shm);
	CHECK_INT(session->producer.page_bytes, 4096);
}

/* One packet as a chunk inside a commit. */
static void emit(struct orma_raw_session *session, const char *text, size_t size)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf chunk = {0};
	uint32_t chunk_id = session->next_chunk_id++;
	uint16_t writer_id = 1, packets = 1;

	orma_base_buf_append(&chunk, &chunk_id, 4);
	orma_base_buf_append(&chunk, &writer_id, 2);
	orma_base_buf_append(&chunk, &packets, 2);
	orma_raw_test_packet(&chunk, "%s", text);
	while (chunk.size < size)
		orma_base_buf_append(&chunk, "", 1);
	orma_raw_producer_commit_bytes(&session->producer,
				       (struct orma_str){(const char *)chunk.data, chunk.size},
				       session->target_buffer, false);
}

ORMA_TEST(an_emulated_producer_is_recorded)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	open_session(&session, &stage, "producer_name: \"remote\"");
	emit(&session, "small", 0);
	emit(&session, "page", 4088);
	orma_raw_session_flush(&session);
	struct orma_pb_trace *trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), 2);
	CHECK(orma_raw_trace_has(trace, "small") && orma_raw_trace_has(trace, "page"));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(emulated_chunks_of_lengths_that_no_chunk_has_are_counted)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static const size_t wrong[] = {0, 1, 4, 7, 8, 32769, 65535, 65536, 65537, 65544, 120000};
	static char bytes[120000];

	orma_stage_open(&stage);
	open_session(&session, &stage, "producer_name: \"remote\"");
	memset(bytes, 1, sizeof(bytes));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(wrong); i++) {
		orma_raw_producer_commit_bytes(&session.producer,
					       (struct orma_str){bytes, wrong[i]},
					       session.target_buffer, i % 2);
		emit(&session, "honest", 0);
	}
	CHECK_INT(orma_raw_consumer_stats(&session.consumer)->chunks_discarded,
		  ORMA_ARRAY_SIZE(wrong));
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&session.consumer)),
		  ORMA_ARRAY_SIZE(wrong));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(emulated_chunks_of_every_length_and_content_are_survived)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static char bytes[4096];
	uint32_t random = 1;

	orma_stage_open(&stage);
	open_session(&session, &stage, "producer_name: \"remote\"");
	for (size_t size = 0; size < sizeof(bytes); size += size < 64 ? 1 : 61) {
		for (size_t i = 0; i < size; i++)
			bytes[i] = (char)((random = random * 1664525u + 1013904223u) >> 24);
		orma_raw_producer_commit_bytes(&session.producer, (struct orma_str){bytes, size},
					       session.target_buffer, size % 2);
	}
	orma_raw_consumer_read(&session.consumer);
	emit(&session, "honest", 0);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "honest"));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(moves_without_data_from_an_emulated_producer_are_counted)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	open_session(&session, &stage, "producer_name: \"remote\"");
	for (uint32_t page = 0; page < 3; page++)
		orma_raw_producer_commit(&session.producer,
					 "chunks_to_move { page: %u chunk: 0 target_buffer: %u }",
					 page, session.target_buffer);
	orma_raw_producer_sync(&session.producer);
	CHECK_INT(orma_raw_consumer_stats(&session.consumer)->chunks_discarded, 3);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(an_emulated_producer_that_claims_memory_or_scraping_gets_neither)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	orma_stage_open(&stage);
	open_session(&session, &stage,
		     "producer_name: \"remote\" producer_provided_shmem: true "
		     "smb_scraping_mode: SMB_SCRAPING_ENABLED");
	CHECK(!session.producer.uses_own_memory);
	emit(&session, "before", 0);
	orma_raw_session_flush(&session);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "before"));
	orma_raw_session_close(&session);
	orma_bystander_check(&stage.bystander);
	orma_stage_close(&stage);
}

ORMA_TEST(an_identity_over_tcp_is_taken_once)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	const struct orma_str identities[] = {
		ORMA_STR("\x42\x0e\x08\x2a\x10\x07\x1a\x04host\x22\x02me"), /* pid 42, uid 7 */
		ORMA_STR("\x42\x0a\x08\x01\x10\x01\x1a\x04tsoh"),
	};

	orma_stage_open(&stage);
	session = (struct orma_raw_session){0};
	orma_raw_producer_connect_tcp(&session.producer, stage.daemon.tcp_port);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(identities); i++)
		CHECK(orma_raw_send_frame(&session.producer.client, identities[i].data,
					  identities[i].size, -1));
	CHECK(orma_raw_producer_initialize(&session.producer, "producer_name: \"remote\"", -1)
		      ->success);
	struct orma_pb_tracing_service_state *state =
		orma_raw_consumer_query(&stage.bystander.consumer);
	bool is_found = false;
	for (size_t i = 0; i < state->producers.count; i++) {
		const struct orma_pb_tracing_service_state_producer *each =
			state->producers.items[i];
		if (!orma_base_str_is(each->name, "remote"))
			continue;
		is_found = true;
		CHECK_INT(each->pid, 42);
		CHECK_INT(each->uid, 7);
	}
	CHECK(is_found);
	orma_raw_producer_close(&session.producer);
	orma_stage_close(&stage);
}
