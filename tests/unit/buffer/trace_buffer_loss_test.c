/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_loss_test.c - chunks that are missing, late or malformed, and the loss bits that they
 * cause.
 */
#include "trace_buffer_fixture.h"

ORMA_TEST(missing_chunk_ids_are_a_read_gap)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, 0, "b1c1");
	CHECK_READ(buffer, "a1 b1/3 c1");
	put(buffer, 1, 5, 0, "d1");
	CHECK_READ(buffer, "d1/3");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_gap_is_reported_once_even_when_its_chunk_stalls)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, NEXT, "b1c1");
	CHECK_READ(buffer, "a1 b1/3");
	CHECK_READ(buffer, "");
	put(buffer, 1, 3, PREVIOUS, "d1");
	CHECK_READ(buffer, "c2");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_gap_is_reported_once_even_when_its_chunk_grows)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_DISCARD);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, SCRAPED, "b1c1");
	CHECK_READ(buffer, "a1 b1/3");
	put(buffer, 1, 2, 0, "b1c1");
	CHECK_READ(buffer, "c1");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(chunk_ids_wrap_round)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, UINT32_MAX - 1, 0, "a1");
	put(buffer, 1, 0, 0, "c1");
	put(buffer, 1, UINT32_MAX, 0, "b1");
	put(buffer, 1, 1, 0, "d1");
	CHECK_READ(buffer, "a1 b1 c1 d1");
	CHECK_INT(stats(buffer)->chunks_committed_out_of_order, 1);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(chunks_in_any_order_are_read_in_the_order_of_their_ids)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 3, 0, "d1");
	put(buffer, 1, 1, 0, "b1");
	put(buffer, 2, 0, 0, "x1");
	put(buffer, 1, 2, 0, "c1");
	put(buffer, 1, 0, 0, "a1");
	CHECK_READ(buffer, "a1 b1 c1 d1 x1");
	CHECK_INT(stats(buffer)->chunks_committed_out_of_order, 3);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_chunk_that_comes_after_its_successor_was_read_is_discarded)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, 0, "c1");
	CHECK_READ(buffer, "a1 c1/3");
	CHECK_INT(put(buffer, 1, 1, 0, "b1"), -EPROTO);
	put(buffer, 1, 4, NEXT, "e1f1");
	CHECK_READ(buffer, "e1/3");
	CHECK_INT(put(buffer, 1, 3, 0, "d1"), -EPROTO);
	CHECK_INT(stats(buffer)->chunks_discarded, 2);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(ids_more_than_half_the_circle_apart_are_refused)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	CHECK_INT(put(buffer, 1, 0x7fffffff, 0, "b1"), 3 - 1);
	CHECK_INT(put(buffer, 1, 0x80000001u, 0, "c1"), -EPROTO);
	CHECK_INT(put(buffer, 1, UINT32_MAX, 0, "d1"), -EPROTO);
	CHECK_INT(stats(buffer)->abi_violations, 2);
	CHECK_READ(buffer, "a1 b1/3");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_continuation_without_its_begin_is_an_orphan)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, PREVIOUS, "a1b1");
	CHECK_READ(buffer, "b1/9");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(ids_missing_inside_a_packet_are_a_reassembly_gap)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1");
	put(buffer, 1, 2, PREVIOUS, "b1c1");
	CHECK_READ(buffer, "c1/27"); /* also the gap between the chunks, and the orphan behind it */
	CHECK_INT(stats(buffer)->readaheads_failed, 1);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_next_chunk_that_does_not_continue_breaks_the_packet)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1");
	put(buffer, 1, 1, PREVIOUS | NEXT, "b1");
	put(buffer, 1, 2, 0, "c1");
	CHECK_READ(buffer, "c1/33");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_given_up_packet_is_a_writer_abort_on_the_packet_after_it)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, NEXT, "a1!"), 2);
	put(buffer, 1, 1, 0, "b1");
	CHECK_READ(buffer, "a1 b1/129");
	CHECK_INT(stats(buffer)->trace_writer_packet_loss, 1);
	CHECK_INT(stats(buffer)->abi_violations, 0);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_packet_given_up_in_a_later_chunk_ends_there)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1b1");
	put(buffer, 1, 1, PREVIOUS, "!");
	CHECK_READ(buffer, "a1");
	put(buffer, 1, 2, 0, "c1");
	CHECK_READ(buffer, "c1/129");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(malformed_fragments_cost_the_rest_of_the_chunk)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, NEXT, "a1?b1"), 2);
	put(buffer, 1, 1, 0, "c1");
	CHECK_READ(buffer, "a1 c1/5");
	CHECK_INT(stats(buffer)->abi_violations, 1);
	put(buffer, 1, 2, NEXT, "d1");
	put(buffer, 1, 3, PREVIOUS, "?");
	put(buffer, 1, 4, 0, "e1");
	CHECK_READ(buffer, "e1/5");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(more_fragments_announced_than_there_are_is_a_violation)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_chunk chunk = {.writer = {.producer_id = 1, .writer_id = 1},
						.is_complete = true,
						.fragment_count = 1023,
						.payload_untrusted = "\1a\1b",
						.payload_size_bytes = 4};
	CHECK_INT(orma_trace_buffer_write_chunk(buffer, &chunk), 4);
	chunk.chunk_id = 1;
	chunk.fragment_count = 1;
	chunk.payload_untrusted = "\x80\x80\x80\x80\x01";
	chunk.payload_size_bytes = 5;
	CHECK_INT(orma_trace_buffer_write_chunk(buffer, &chunk), 0);
	chunk.chunk_id = 2;
	chunk.payload_size_bytes = 2;
	CHECK_INT(orma_trace_buffer_write_chunk(buffer, &chunk), 0);
	chunk.chunk_id = 3;
	chunk.payload_untrusted = NULL;
	chunk.payload_size_bytes = 0;
	CHECK_INT(orma_trace_buffer_write_chunk(buffer, &chunk), 0);
	CHECK_INT(stats(buffer)->abi_violations, 4);
	CHECK_READ(buffer, "a1 b1");
	orma_trace_buffer_free(buffer);
}
