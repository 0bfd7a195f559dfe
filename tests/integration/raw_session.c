/* SPDX-License-Identifier: Apache-2.0
 * raw_session.c - the pair of clients that most tests of misbehaviour need.
 *
 * Rejected: using the bystander for this (it checks at every step what a misbehaving pair must
 * be free to get wrong).
 */
#include "raw_session.h"

#include "harness.h"

void orma_raw_session_open(struct orma_raw_session *session, const struct orma_test_daemon *daemon,
			   const char *name, const char *descriptor, const char *config)
{
	char text[512];

	*session = (struct orma_raw_session){0};
	orma_raw_producer_open(&session->producer, daemon->producers, name);
	snprintf(text, sizeof(text), "name: \"%s\" %s", name, descriptor);
	orma_raw_producer_register(&session->producer, text);
	orma_raw_consumer_open(&session->consumer, daemon->consumers);
	orma_raw_consumer_enable(
		&session->consumer, -1,
		"buffers { size_kb: 1024 } data_sources { config { name: \"%s\" } } %s", name,
		config);
	session->instance = orma_raw_producer_await_start(&session->producer, name);
	session->target_buffer = session->instance->target_buffer;
}

void orma_raw_session_close(struct orma_raw_session *session)
{
	orma_raw_producer_close(&session->producer);
	orma_raw_consumer_close(&session->consumer);
}

void orma_raw_session_emit(struct orma_raw_session *session, const char *text)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	orma_raw_test_packet(&payload, "%s", text);
	struct orma_raw_chunk chunk = {
		.chunk_id = session->next_chunk_id++,
		.writer_id = 1,
		.fragment_count = 1,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(&session->producer, &chunk, session->target_buffer);
	orma_raw_producer_sync(&session->producer);
}

void orma_raw_session_flush(struct orma_raw_session *session)
{
	uint64_t id = orma_raw_consumer_flush(&session->consumer, 0);

	orma_raw_producer_commit(
		&session->producer, "flush_request_id: %llu",
		(unsigned long long)orma_raw_producer_await_flush(&session->producer));
	CHECK(orma_raw_await(&session->consumer.client, id)->success);
}
