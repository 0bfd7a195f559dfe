/* SPDX-License-Identifier: Apache-2.0
 * stats_test.c - statistics as a struct: each number in its place, and messages that are not
 * statistics.
 */
#include <orma/stats.h>

#include "base/arena.h"
#include "base/buf.h"
#include "harness.h"
#include "schema/gen/trace_stats.pb.h"
#include "unit/client/fixture.h"

static void encode(const char *text, struct orma_buf *buf)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	struct orma_error error = {0};

	if (orma_proto_text_parse(&orma_pb_trace_stats_desc, "stats", text, strlen(text), 0, &arena,
				  &stats, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK(orma_proto_encode(stats, buf) >= 0);
	orma_base_arena_done(&arena);
}

ORMA_TEST(each_number_is_where_it_belongs)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	struct orma_trace_stats *stats;

	encode("buffer_stats { bytes_written: 1 chunks_written: 2 chunks_overwritten: 3 "
	       "write_wrap_count: 4 patches_succeeded: 5 patches_failed: 6 readaheads_succeeded: 7 "
	       "readaheads_failed: 8 abi_violations: 9 chunks_rewritten: 10 "
	       "chunks_committed_out_of_order: 11 buffer_size: 12 bytes_overwritten: 13 "
	       "bytes_read: 14 padding_bytes_written: 15 padding_bytes_cleared: 16 chunks_read: 17 "
	       "chunks_discarded: 18 trace_writer_packet_loss: 19 chunks_relocated: 20 }"
	       "buffer_stats { chunks_discarded: 100 trace_writer_packet_loss: 200 }"
	       "producers_connected: 21 producers_seen: 22 data_sources_registered: 23 "
	       "data_sources_seen: 24 tracing_sessions: 25 total_buffers: 26 chunks_discarded: "
	       "1000 "
	       "patches_discarded: 28 invalid_packets: 2000 "
	       "filter_stats { input_packets: 30 input_bytes: 31 output_bytes: 32 errors: 33 "
	       "time_taken_ns: 34 } flushes_requested: 35 flushes_succeeded: 36 flushes_failed: 37 "
	       "final_flush_outcome: FINAL_FLUSH_FAILED",
	       &buf);
	CHECK_INT(orma_trace_stats_parse(buf.data, buf.size, &stats), 0);
	CHECK_INT(stats->struct_size, sizeof(*stats));
	CHECK_INT(stats->lost_packets, 19 + 200 + 2000);
	CHECK_INT(stats->lost_chunks, 3 + 18 + 9 + 100 + 1000);
	CHECK_INT(stats->chunks_refused, 1000);
	CHECK_INT(stats->patches_refused, 28);
	CHECK_INT(stats->packets_invalid, 2000);
	CHECK_INT(stats->flushes_requested, 35);
	CHECK_INT(stats->flushes_succeeded, 36);
	CHECK_INT(stats->flushes_failed, 37);
	CHECK_INT(stats->final_flush, ORMA_FINAL_FLUSH_FAILED);
	CHECK_INT(stats->producers_connected, 21);
	CHECK_INT(stats->producers_seen, 22);
	CHECK_INT(stats->data_sources_registered, 23);
	CHECK_INT(stats->data_sources_seen, 24);
	CHECK_INT(stats->sessions, 25);
	CHECK_INT(stats->buffers_in_all, 26);
	CHECK_INT(stats->filter_packets_in, 30);
	CHECK_INT(stats->filter_bytes_in, 31);
	CHECK_INT(stats->filter_bytes_out, 32);
	CHECK_INT(stats->filter_errors, 33);
	CHECK_INT(stats->filter_time_ns, 34);
	CHECK_INT(stats->buffer_count, 2);
	const struct orma_buffer_stats *buffer = stats->buffers[0];
	CHECK_INT(buffer->struct_size, sizeof(*buffer));
	CHECK_INT(buffer->written_bytes, 1);
	CHECK_INT(buffer->chunks_written, 2);
	CHECK_INT(buffer->chunks_overwritten, 3);
	CHECK_INT(buffer->wraps, 4);
	CHECK_INT(buffer->patches_applied, 5);
	CHECK_INT(buffer->patches_failed, 6);
	CHECK_INT(buffer->packets_joined, 7);
	CHECK_INT(buffer->packets_waited_for, 8);
	CHECK_INT(buffer->chunks_malformed, 9);
	CHECK_INT(buffer->chunks_rewritten, 10);
	CHECK_INT(buffer->chunks_out_of_order, 11);
	CHECK_INT(buffer->size_bytes, 12);
	CHECK_INT(buffer->overwritten_bytes, 13);
	CHECK_INT(buffer->read_bytes, 14);
	CHECK_INT(buffer->padding_bytes_written, 15);
	CHECK_INT(buffer->padding_bytes_released, 16);
	CHECK_INT(buffer->chunks_read, 17);
	CHECK_INT(buffer->chunks_discarded, 18);
	CHECK_INT(buffer->packets_not_written, 19);
	CHECK_INT(buffer->chunks_relocated, 20);
	CHECK_INT(stats->buffers[1]->chunks_discarded, 100);
	orma_trace_stats_free(stats);
	orma_trace_stats_free(NULL);
}

ORMA_TEST(nothing_is_zeroes_and_nonsense_is_refused)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf buf = {0};
	static const uint8_t empty_buffer[] = {0x0a, 0x00}, unknown_outcome[] = {0x78, 0x63};
	struct orma_trace_stats *stats = NULL;

	CHECK_INT(orma_trace_stats_parse(NULL, 0, &stats), 0);
	CHECK_INT(stats->buffer_count, 0);
	CHECK_INT(stats->lost_packets + stats->lost_chunks, 0);
	CHECK_INT(stats->final_flush, ORMA_FINAL_FLUSH_UNKNOWN);
	orma_trace_stats_free(stats);
	CHECK_INT(orma_trace_stats_parse(unknown_outcome, sizeof(unknown_outcome), &stats), 0);
	CHECK_INT(stats->final_flush, ORMA_FINAL_FLUSH_UNKNOWN);
	orma_trace_stats_free(stats);
	CHECK_INT(orma_trace_stats_parse("\x0a\x7f", 2, &stats), -EBADMSG);
	CHECK_INT(orma_trace_stats_parse(NULL, 1, &stats), -EINVAL);
	CHECK_INT(orma_trace_stats_parse("", 0, NULL), -EINVAL);
	for (int i = 0; i < 4096; i++)
		CHECK_INT(orma_base_buf_append(&buf, empty_buffer, sizeof(empty_buffer)), 0);
	CHECK_INT(orma_trace_stats_parse(buf.data, buf.size, &stats), 0);
	CHECK_INT(stats->buffer_count, 4096);
	CHECK_INT(stats->buffers[4095]->written_bytes, 0);
	orma_trace_stats_free(stats);
	CHECK_INT(orma_base_buf_append(&buf, empty_buffer, sizeof(empty_buffer)), 0);
	CHECK_INT(orma_trace_stats_parse(buf.data, buf.size, &stats), -EMSGSIZE);
}

ORMA_TEST(parsing_survives_any_failing_allocation)
{
	struct orma_trace_stats *stats;
	int r = -ENOMEM;

	for (uint64_t nth = 1; r < 0; nth++) {
		orma_test_fail_allocation(nth);
		r = orma_trace_stats_parse("\x0a\x02\x08\x07", 4, &stats);
		orma_test_fail_allocation(0);
		CHECK(r == 0 || r == -ENOMEM);
	}
	CHECK_INT(stats->buffers[0]->written_bytes, 7);
	orma_trace_stats_free(stats);
}

ORMA_TEST(a_ring_that_was_too_small_is_seen_in_the_numbers)
{
	static char text[1000];
	struct source_log log = {0};
	struct orma_data_source *source;
	struct orma_session *session;
	struct orma_trace_stats *stats;

	memset(text, 'x', sizeof(text) - 1);
	init_in_process();
	source = register_source("test.source", &log);
	session = session_start("buffers { size_kb: 16 } data_sources { config { name: "
				"\"test.source\" } }");
	for (int i = 0; i < 200; i++) {
		struct orma_packet *packet = orma_packet_begin(source, 0);

		orma_packet_string(packet, 900, text);
		orma_packet_end(packet);
	}
	CHECK_INT(orma_session_flush(session, WAIT_MS, 0), 0);
	CHECK_INT(orma_session_read_stats(session, &stats), 0);
	CHECK_INT(stats->buffers[0]->size_bytes, 16 * 1024);
	CHECK(stats->buffers[0]->written_bytes > 16 * 1024);
	CHECK(stats->buffers[0]->overwritten_bytes > 0);
	CHECK(stats->buffers[0]->chunks_overwritten > 0);
	CHECK_INT(stats->lost_chunks, stats->buffers[0]->chunks_overwritten);
	CHECK(stats->producers_connected > 0);
	orma_trace_stats_free(stats);
	session_stop(session);
	orma_session_free(session);
	orma_shutdown();
}
