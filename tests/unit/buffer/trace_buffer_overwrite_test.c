/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_overwrite_test.c - buffers that are full: overwriting and discarding.
 */
#include "trace_buffer_fixture.h"

ORMA_TEST(chunks_larger_than_the_buffer_or_than_a_chunk_can_be_are_refused)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING), *large;
	static uint8_t bytes[70000];
	struct orma_trace_buffer_chunk chunk = {.writer = {.producer_id = 1, .writer_id = 1},
						.is_complete = true,
						.fragment_count = 4080,
						.payload_untrusted = bytes,
						.payload_size_bytes = 4081};
	CHECK_INT(orma_trace_buffer_write_chunk(buffer, &chunk), -EMSGSIZE);
	chunk.payload_size_bytes = 4080;
	CHECK_INT(orma_trace_buffer_write_chunk(buffer, &chunk), 4080);
	CHECK_INT(stats(buffer)->abi_violations, 1);
	CHECK_INT(orma_trace_buffer_new(1 << 20, ORMA_TRACE_BUFFER_RING, &large), 0);
	chunk.fragment_count = 65535;
	for (size_t size = 65535; size <= 70000; size += 4465) {
		chunk.payload_size_bytes = size;
		CHECK_INT(orma_trace_buffer_write_chunk(large, &chunk), -EMSGSIZE);
	}
	chunk.payload_size_bytes = chunk.fragment_count = ORMA_TRACE_BUFFER_PAYLOAD_MAX_BYTES;
	CHECK_INT(orma_trace_buffer_write_chunk(large, &chunk),
		  ORMA_TRACE_BUFFER_PAYLOAD_MAX_BYTES);
	orma_trace_buffer_free(buffer);
	orma_trace_buffer_free(large);
}

ORMA_TEST(overwritten_packets_are_reported_on_the_next_of_their_sequence)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put_outer(buffer, 1, 0, 'a', 1024);
	put_outer(buffer, 2, 0, 'b', 1024);
	put_outer(buffer, 1, 1, 'c', 1024);
	put_outer(buffer, 1, 2, 'd', 1024);
	put_outer(buffer, 1, 3, 'e', 512);
	CHECK_INT(stats(buffer)->write_wrap_count, 1);
	CHECK_INT(stats(buffer)->chunks_overwritten, 1);
	CHECK_INT(stats(buffer)->bytes_overwritten, 1024);
	CHECK_INT(stats(buffer)->padding_bytes_written, 512);
	CHECK_READ(buffer, "b1006 c1006/65 d1006 e494");
	put_outer(buffer, 3, 0, 'f', 512);
	CHECK_INT(stats(buffer)->padding_bytes_cleared, 512);
	CHECK_INT(stats(buffer)->chunks_overwritten, 1);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(what_was_read_can_be_overwritten_without_loss)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	for (uint32_t i = 0; i < 40; i++) {
		put_outer(buffer, 1, i, 'a', 1024);
		CHECK_READ(buffer, "a1006");
	}
	CHECK_INT(stats(buffer)->chunks_overwritten, 0);
	CHECK_INT(stats(buffer)->chunks_read, 40);
	CHECK_INT(stats(buffer)->write_wrap_count, 9);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(overwriting_the_begin_of_a_packet_takes_its_continuations_along)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT | PATCH, "a1000");
	put(buffer, 1, 1, PREVIOUS, "b500c1");
	put_outer(buffer, 2, 0, 'x', 2048);
	put_outer(buffer, 2, 1, 'y', 1024);
	CHECK_READ(buffer, "c1/65 x2030 y1006");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_continuation_that_comes_after_its_begin_was_overwritten_is_an_orphan)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a100");
	put_outer(buffer, 2, 0, 'x', 2048);
	put_outer(buffer, 2, 1, 'y', 2048);
	put(buffer, 1, 1, PREVIOUS, "b5c1");
	CHECK_READ(buffer, "y2030/65 c1/73");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(overwriting_ends_a_stall)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT | PATCH, "a900");
	put(buffer, 1, 1, PREVIOUS, "b4c4");
	CHECK_READ(buffer, "");
	put_outer(buffer, 2, 0, 'x', 3072);
	put_outer(buffer, 2, 1, 'y', 512);
	CHECK_READ(buffer, "c4/65 x3054 y494");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(overwriting_a_late_record_takes_what_its_sequence_has_before_it)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put_outer(buffer, 1, 1, 'b', 1024);
	put_outer(buffer, 1, 0, 'a', 1024);
	put_outer(buffer, 1, 2, 'c', 1024);
	put_outer(buffer, 2, 0, 'x', 1024);
	put_outer(buffer, 2, 1, 'y', 512);
	CHECK_INT(stats(buffer)->chunks_overwritten, 2);
	CHECK_READ(buffer, "c1006/65 x1006 y494");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_chunk_whose_room_costs_its_own_successors_is_dropped)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put_outer(buffer, 1, 5, 'f', 2048);
	put_outer(buffer, 1, 6, 'g', 2048);
	CHECK_INT(put_outer(buffer, 1, 4, 'e', 1024), -EPROTO);
	CHECK_INT(stats(buffer)->chunks_discarded, 1);
	CHECK_READ(buffer, "g2030/65");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "x1");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(discard_stops_at_the_end_of_the_buffer_for_good)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_DISCARD);
	CHECK_INT(put_outer(buffer, 1, 0, 'a', 2048), 2032);
	CHECK_INT(put_outer(buffer, 1, 1, 'b', 2032), 2016);
	CHECK_INT(put_outer(buffer, 1, 2, 'c', 32), -ENOBUFS);
	CHECK_READ(buffer, "a2030 b2014");
	CHECK_INT(put(buffer, 1, 3, 0, ""), -ENOBUFS);
	CHECK_INT(stats(buffer)->chunks_discarded, 2);
	CHECK_INT(stats(buffer)->chunks_overwritten, 0);
	CHECK_READ(buffer, "");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(discard_fills_to_the_last_byte)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_DISCARD);
	CHECK(put_outer(buffer, 1, 0, 'a', 4096) > 0);
	CHECK_READ(buffer, "a4078");
	CHECK_INT(put(buffer, 1, 1, 0, ""), -ENOBUFS);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_in_a_full_discard_buffer_still_gets_its_end)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_DISCARD);
	CHECK_INT(put(buffer, 1, 0, SCRAPED, "a1b1"), 2);
	put_outer(buffer, 2, 0, 'x', 3808);
	CHECK_INT(put_outer(buffer, 2, 1, 'y', 64), -ENOBUFS);
	CHECK_READ(buffer, "a1 x3790");
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1c1"), 6);
	CHECK_READ(buffer, "b1 c1");
	orma_trace_buffer_free(buffer);
}
