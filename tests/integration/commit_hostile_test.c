/* SPDX-License-Identifier: Apache-2.0
 * commit_hostile_test.c - invalid commits: indices and buffers out of range, patches without a
 * chunk, forged headers and packets, emulated chunks of every length. Each invalid entry is
 * counted, and valid entries beside it are recorded.
 */
#include <unistd.h>

#include "bystander.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"

static uint64_t chunks_discarded(struct orma_stage *stage)
{
	return orma_raw_consumer_stats(&stage->bystander.consumer)->chunks_discarded;
}

ORMA_TEST(indices_out_of_range_are_counted)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static const uint32_t pages[] = {64, 65, 1000000, UINT32_MAX};
	static const uint32_t chunks[] = {1, 13, 14, 15, 1000, UINT32_MAX};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "hostile", "", "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(pages); i++)
		orma_raw_producer_commit(&session.producer,
					 "chunks_to_move { page: %u target_buffer: %u }", pages[i],
					 session.target_buffer);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(chunks); i++)
		orma_raw_producer_commit(&session.producer,
					 "chunks_to_move { chunk: %u target_buffer: %u }",
					 chunks[i], session.target_buffer);
	/* Page 0 is free, nothing in it is complete. */
	orma_raw_producer_commit(&session.producer, "chunks_to_move { target_buffer: %u }",
				 session.target_buffer);
	orma_raw_session_emit(&session, "honest");
	CHECK_INT(chunks_discarded(&stage), ORMA_ARRAY_SIZE(pages) + ORMA_ARRAY_SIZE(chunks) + 1);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "honest"));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(chunks_for_buffers_that_were_never_granted_are_counted)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "hostile", "", "");
	orma_raw_test_packet(&payload, "forged");
	const uint32_t targets[] = {0,         stage.bystander.target_buffer, 999, 65535, 65536,
				    UINT32_MAX};
	for (uint32_t i = 0; i < ORMA_ARRAY_SIZE(targets); i++) {
		struct orma_raw_chunk chunk = {
			.chunk_id = i,
			.writer_id = 7, /* the bystander's */
			.fragment_count = 1,
			.payload = {(const char *)payload.data, payload.size},
		};
		orma_raw_producer_write_and_commit(&session.producer, &chunk, targets[i]);
		orma_raw_producer_sync(&session.producer);
		/* A chunk that is refused is freed too. */
		CHECK_INT(*(uint32_t *)(void *)session.producer.shm, 0);
	}
	CHECK_INT(chunks_discarded(&stage), ORMA_ARRAY_SIZE(targets));
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&session.consumer)), 0);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(registering_a_writer_for_a_foreign_buffer_opens_nothing)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static const uint32_t writer_ids[] = {0, 1, 7, 32767, 32768, 65535, 65536, UINT32_MAX};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "hostile", "", "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(writer_ids); i++)
		orma_raw_call(&session.producer.client, "RegisterTraceWriter",
			      orma_raw_text(&session.producer.client,
					    &orma_pb_register_trace_writer_request_desc,
					    "trace_writer_id: %u target_buffer: %u", writer_ids[i],
					    stage.bystander.target_buffer));
	/* Scraping checks this unfinished chunk, and the buffer that it claims. */
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};
	orma_raw_test_packet(&payload, "forged");
	orma_raw_test_packet(&payload, "unfinished");
	struct orma_raw_chunk chunk = {
		.state = ORMA_SHM_BEING_WRITTEN,
		.chunk_id = 1,
		.writer_id = 7,
		.fragment_count = 2,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write(&session.producer, &chunk);
	orma_raw_session_flush(&session);
	orma_bystander_check(&stage.bystander);
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&session.consumer)), 0);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(writer_ids); i++)
		orma_raw_call(&session.producer.client, "UnregisterTraceWriter",
			      orma_raw_text(&session.producer.client,
					    &orma_pb_unregister_trace_writer_request_desc,
					    "trace_writer_id: %u", writer_ids[i]));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(patches_for_nothing_are_counted)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	const char *const in_own_buffer[] = {
		"writer_id: 1 chunk_id: 99 patches { offset: 0 data: \"abcd\" }",
		"writer_id: 2 chunk_id: 0 patches { offset: 0 data: \"abcd\" }",
		"writer_id: 1 chunk_id: 0 patches { offset: 5000 data: \"abcd\" }",
		"writer_id: 1 chunk_id: 0 patches { offset: 4294967295 data: \"abcd\" }",
		"writer_id: 1 chunk_id: 0 patches { offset: 0 data: \"abc\" }",
		"writer_id: 1 chunk_id: 0 patches { offset: 0 data: \"abcde\" }",
		"writer_id: 1 chunk_id: 0 patches { offset: 0 }",
	};
	const char *const nowhere[] = {
		"target_buffer: 0 writer_id: 1 patches { offset: 0 data: \"abcd\" }",
		"target_buffer: 65535 writer_id: 1 patches { offset: 0 data: \"abcd\" }",
		"writer_id: 0 patches { offset: 0 data: \"abcd\" }",
		"writer_id: 65537 patches { offset: 0 data: \"abcd\" }",
	};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "hostile", "", "");
	orma_raw_session_emit(&session, "before the patches");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(in_own_buffer); i++)
		orma_raw_producer_commit(&session.producer,
					 "chunks_to_patch { target_buffer: %u %s }",
					 session.target_buffer, in_own_buffer[i]);
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(nowhere); i++)
		orma_raw_producer_commit(&session.producer, "chunks_to_patch { %s }", nowhere[i]);
	orma_raw_producer_commit(&session.producer,
				 "chunks_to_patch { target_buffer: %u writer_id: 7 chunk_id: 0 "
				 "patches { offset: 0 data: \"abcd\" } }",
				 stage.bystander.target_buffer);
	orma_raw_producer_sync(&session.producer);
	struct orma_pb_trace_stats *stats = orma_raw_consumer_stats(&session.consumer);
	CHECK_INT(stats->buffer_stats.items[0]->patches_failed, ORMA_ARRAY_SIZE(in_own_buffer));
	CHECK_INT(stats->buffer_stats.items[0]->patches_succeeded, 0);
	CHECK_INT(stats->patches_discarded, ORMA_ARRAY_SIZE(nowhere) + 1);
	CHECK(orma_raw_trace_has(orma_raw_consumer_read(&session.consumer), "before the patches"));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(more_patches_than_a_chunk_may_have_are_ignored)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "hostile", "", "");
	orma_raw_session_emit(&session, "not patched");
	for (uint32_t count = 1024; count <= 1025; count++) {
		text.size = 0;
		for (uint32_t i = 0; i < count; i++)
			orma_base_buf_append_str(&text, "patches { offset: 9 data: \"XXXX\" } ");
		orma_raw_producer_commit(&session.producer,
					 "chunks_to_patch { target_buffer: %u writer_id: 1 "
					 "chunk_id: 0 %.*s }",
					 session.target_buffer, (int)text.size,
					 (const char *)text.data);
		orma_raw_producer_sync(&session.producer);
		struct orma_pb_trace_stats *stats = orma_raw_consumer_stats(&session.consumer);
		CHECK_INT(stats->buffer_stats.items[0]->patches_succeeded, 1024);
	}
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- packets ---------------------------------------------------------------------------------- */

static void emit_raw(struct orma_raw_session *session, struct orma_str packet)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	orma_raw_fragment(&payload, packet.data, packet.size);
	struct orma_raw_chunk chunk = {
		.chunk_id = session->next_chunk_id++,
		.writer_id = 1,
		.fragment_count = 1,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(&session->producer, &chunk, session->target_buffer);
	orma_raw_producer_sync(&session->producer);
}

ORMA_TEST(packets_with_forged_trusted_fields_are_dropped_and_counted)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	const char *const forged[] = {
		"trusted_uid: 0",
		"trusted_packet_sequence_id: 1",
		"trusted_pid: 1",
		"machine_id: 7",
		"trace_config { duration_ms: 1 }",
		"trace_stats { producers_connected: 99 }",
		"synchronization_marker: \"0123456789abcdef\"",
		"compressed_packets: \"x\"",
		"service_event { tracing_started: true }",
	};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "hostile", "", "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(forged); i++) {
		/* Two encodings in a row form one message; the text format cannot set both
		 * fields of a oneof. */
		struct orma_raw_client *client = &session.producer.client;
		struct orma_str test = orma_raw_text(client, &orma_pb_trace_packet_desc,
						     "for_testing { str: \"forged\" }");
		struct orma_str lie =
			orma_raw_text(client, &orma_pb_trace_packet_desc, "%s", forged[i]);
		ORMA_AUTO(orma_base_buf_done) struct orma_buf packet = {0};
		CHECK_INT(orma_base_buf_append(&packet, test.data, test.size), 0);
		CHECK_INT(orma_base_buf_append(&packet, lie.data, lie.size), 0);
		emit_raw(&session, (struct orma_str){(const char *)packet.data, packet.size});
		orma_raw_session_emit(&session, "honest");
	}
	struct orma_pb_trace *trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), ORMA_ARRAY_SIZE(forged));
	CHECK(!orma_raw_trace_has(trace, "forged"));
	CHECK_INT(orma_raw_consumer_stats(&session.consumer)->invalid_packets,
		  ORMA_ARRAY_SIZE(forged));
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(packets_that_do_not_decode_are_dropped_and_counted)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	const struct orma_str bad[] = {
		{"\xff", 1},
		{"\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11},
		{"\x0a\x05"
		 "ab",
		 4},                     /* a length past the end, into the service's own fields */
		{"\x0b\x0c", 2},         /* a group */
		{"\x00\x01", 2},         /* field 0 */
		{"\x0d\x01", 2},         /* half a fixed32 */
		{"\x09\x01\x02\x03", 4}, /* half a fixed64 */
		{"\x08", 1},             /* no value */
		{"\x0a\xff\xff\xff\xff\x7f", 6}, /* 32 GiB */
		{"\x9a\x80\x80\x80\x10\x01", 6}, /* trusted_uid with a tag wider than 32 bits */
		{"\x98\x80\x80\x80\x00\x01", 6}, /* trusted_uid with a tag written long */
	};

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "hostile", "", "");
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(bad); i++) {
		emit_raw(&session, bad[i]);
		orma_raw_session_emit(&session, "honest");
	}
	struct orma_pb_trace *trace = orma_raw_consumer_read(&session.consumer);
	CHECK_INT(orma_raw_test_packet_count(trace), ORMA_ARRAY_SIZE(bad));
	CHECK_INT(orma_raw_consumer_stats(&session.consumer)->invalid_packets,
		  ORMA_ARRAY_SIZE(bad));
	for (size_t i = 0; i < trace->packet.count; i++)
		if (trace->packet.items[i]->for_testing)
			CHECK_INT(trace->packet.items[i]->trusted_uid, getuid());
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

/* --- emulated chunks -------------------------------------------------------------------------- */

ORMA_TEST(emulated_chunks_over_a_unix_socket_are_refused_at_any_length)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	static const size_t sizes[] = {0, 1, 7, 8, 9, 4096, 32768, 65535, 65536, 65544, 100000};
	static char chunk[100000];

	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "hostile", "", "");
	memset(chunk, 1, sizeof(chunk));
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(sizes); i++)
		orma_raw_producer_commit_bytes(&session.producer,
					       (struct orma_str){chunk, sizes[i]},
					       session.target_buffer, false);
	CHECK_INT(chunks_discarded(&stage), ORMA_ARRAY_SIZE(sizes));
	orma_raw_session_emit(&session, "honest");
	CHECK_INT(orma_raw_test_packet_count(orma_raw_consumer_read(&session.consumer)), 1);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}
