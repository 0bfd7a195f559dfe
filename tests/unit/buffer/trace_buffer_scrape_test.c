/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_scrape_test.c - scraped chunks, and their later commits.
 */
#include "trace_buffer_fixture.h"

ORMA_TEST(the_last_fragment_of_a_scraped_chunk_is_left_out)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, SCRAPED | NEXT | PATCH, "a1b1c1"), 4);
	CHECK_INT(put(buffer, 2, 0, SCRAPED, ""), 0);
	CHECK_INT(put(buffer, 3, 0, SCRAPED, "?"), 0);
	CHECK_INT(stats(buffer)->abi_violations, 0);
	CHECK_INT(stats(buffer)->bytes_written, 3 * 272);
	CHECK_READ(buffer, "a1 b1");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_stalls_its_sequence_until_it_is_committed)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	put(buffer, 1, 1, 0, "d1");
	CHECK_READ(buffer, "a1");
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1c1"), 6);
	CHECK_READ(buffer, "b1 c1 d1");
	CHECK_INT(stats(buffer)->chunks_relocated, 1);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_gap_stalls_its_sequence_while_gaps_wait)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, NEXT, "c1d1");
	put(buffer, 1, 4, PREVIOUS, "f1");
	put(buffer, 2, 1, 0, "y1");
	put(buffer, 3, 0, 0, "z1");
	orma_trace_buffer_let_gaps_wait(buffer, true);
	CHECK_READ(buffer, "a1 z1");
	put(buffer, 1, 1, 0, "b1");
	CHECK_READ(buffer, "b1 c1");
	put(buffer, 1, 3, NEXT | PREVIOUS, "e1");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "d3 x1 y1");
	put(buffer, 1, 6, 0, "h1");
	CHECK_READ(buffer, "");
	orma_trace_buffer_let_gaps_wait(buffer, false);
	CHECK_READ(buffer, "h1/3");
	orma_trace_buffer_free(buffer);
}

/* Overwriting does not wait. */
ORMA_TEST(a_gap_that_waits_is_overwritten_as_any_other)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, 0, "c1");
	orma_trace_buffer_let_gaps_wait(buffer, true);
	CHECK_READ(buffer, "a1");
	put_outer(buffer, 2, 0, 'x', 4000);
	put_outer(buffer, 2, 1, 'y', 64);
	CHECK_INT(put(buffer, 1, 1, 0, "b1"), -EPROTO);
	CHECK_INT(stats(buffer)->chunks_overwritten, 1);
	orma_trace_buffer_free(buffer);
}

/* The pass that stalled would not come back to the sequence. */
ORMA_TEST(a_pass_begins_anew_when_gaps_wait_no_longer)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_packet packet;
	put(buffer, 1, 1, 0, "b1");
	put(buffer, 2, 0, 0, "x1");
	orma_trace_buffer_let_gaps_wait(buffer, true);
	orma_trace_buffer_read_resume(buffer, 100);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.writer->writer_id, 2);
	orma_trace_buffer_let_gaps_wait(buffer, false);
	orma_trace_buffer_read_resume(buffer, 100);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.writer->writer_id, 1);
	CHECK_INT(packet.loss, 0);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_chunk_scraped_whole_and_read_before_its_commit_is_not_discarded)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, UNCOMMITTED, "a5"), 6);
	CHECK_INT(put(buffer, 1, 1, UNCOMMITTED, "b5"), 6);
	CHECK_INT(put(buffer, 1, 0, 0, "a5"), 6);
	CHECK_READ(buffer, "a5 b5");
	CHECK_INT(put(buffer, 1, 1, UNCOMMITTED, "b5"), 6);
	CHECK_INT(put(buffer, 1, 1, 0, "b5"), 6);
	CHECK_READ(buffer, "");
	CHECK_INT(stats(buffer)->chunks_discarded, 0);
	/* All expected commits have come, so these are too many. */
	CHECK_INT(put(buffer, 1, 1, 0, "b5"), -EPROTO);
	CHECK_INT(put(buffer, 1, 0, 0, "a5"), -EPROTO);
	CHECK_INT(stats(buffer)->chunks_discarded, 2);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_grows_in_place_while_it_has_unread_packets)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	CHECK_INT(put(buffer, 1, 0, SCRAPED, "a1b1c1"), 4);
	CHECK_INT(put(buffer, 1, 0, NEXT, "a1b1c1d1"), 8);
	CHECK_INT(stats(buffer)->chunks_rewritten, 2);
	CHECK_INT(stats(buffer)->chunks_written, 1);
	put(buffer, 1, 1, PREVIOUS, "e1");
	CHECK_READ(buffer, "a1 b1 c1 d2");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_that_has_not_grown_is_just_completed)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	CHECK_READ(buffer, "a1");
	CHECK_INT(put(buffer, 1, 0, 0, "a1"), 2);
	put(buffer, 1, 1, 0, "c1");
	CHECK_READ(buffer, "c1");
	CHECK_INT(stats(buffer)->chunks_rewritten, 0);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_re_commit_may_not_shrink_lose_flags_or_outgrow_its_chunk)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED | PREVIOUS, "a1b1c1");
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1"), -EPROTO);
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1c1"), -EPROTO);
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1b1c300"), -EPROTO);
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1b1c1"), 6);
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1b1c1"), 6);
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1b1c1d1"), -EPROTO);
	CHECK_INT(stats(buffer)->abi_violations, 4);
	CHECK_READ(buffer, "b1/9 c1");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_read_to_its_end_moves_to_the_write_position_when_it_grows)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	put_outer(buffer, 2, 0, 'x', 3824);
	CHECK_READ(buffer, "a1 x3806");
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1"), 4);
	CHECK_INT(stats(buffer)->chunks_relocated, 1);
	CHECK_INT(stats(buffer)->chunks_rewritten, 0);
	CHECK_READ(buffer, "b1");
	CHECK_INT(stats(buffer)->chunks_read, 3);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_that_was_overwritten_comes_back_with_its_new_part)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	CHECK_READ(buffer, "a1");
	put_outer(buffer, 2, 0, 'x', 3824);
	put_outer(buffer, 2, 1, 'y', 512);
	CHECK_INT(put(buffer, 1, 0, 0, "a1"), 2); /* nothing new, and nothing lost */
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1"), -EPROTO);
	put(buffer, 1, 1, SCRAPED, "c1d1");
	CHECK_READ(buffer, "y494/65 c1");
	put_outer(buffer, 2, 2, 'z', 3072);
	put_outer(buffer, 2, 3, 'z', 3072);
	CHECK_INT(put(buffer, 1, 1, 0, "c1"), 2);
	put(buffer, 1, 2, SCRAPED, "e1f1");
	CHECK_READ(buffer, "z3054/65 e1");
	put_outer(buffer, 2, 4, 'z', 3072);
	put_outer(buffer, 2, 5, 'z', 3072);
	CHECK_INT(put(buffer, 1, 2, 0, "e1f1"), 4);
	put(buffer, 1, 3, 0, "g1");
	CHECK_READ(buffer, "z3054/65 f1 g1");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(the_unknown_end_of_an_overwritten_scraped_chunk_is_a_gap)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	CHECK_READ(buffer, "a1");
	put_outer(buffer, 2, 0, 'x', 3824);
	put_outer(buffer, 2, 1, 'y', 512);
	put(buffer, 1, 1, 0, "c1");
	CHECK_READ(buffer, "y494/65 c1/3");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_packet_that_continues_in_a_scraped_chunk_waits_for_it)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, SCRAPED | PREVIOUS, "b5");
	put(buffer, 1, 2, PREVIOUS, "z5");
	CHECK_READ(buffer, "");
	put(buffer, 1, 1, PREVIOUS | NEXT, "b5");
	CHECK_READ(buffer, "a15");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_scraped_packet_given_up_later_is_counted_once)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	put(buffer, 1, 0, 0, "a1b1!");
	put(buffer, 1, 0, 0, "a1b1!");
	put(buffer, 1, 1, 0, "c1");
	CHECK_READ(buffer, "a1 b1 c1/129");
	CHECK_INT(stats(buffer)->trace_writer_packet_loss, 1);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(packets_are_counted_once_where_they_begin_when_their_chunk_is_complete)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1b1");
	CHECK_INT(stats(buffer)->packets_written, 2);
	put(buffer, 1, 1, PREVIOUS | NEXT, "b1"); /* only the middle of one */
	CHECK_INT(stats(buffer)->packets_written, 2);
	put(buffer, 1, 2, PREVIOUS, "b1c1");
	CHECK_INT(stats(buffer)->packets_written, 3);
	/* A commit may replace what was scraped. */
	put(buffer, 2, 0, SCRAPED, "a1b1");
	CHECK_INT(stats(buffer)->packets_written, 3);
	put(buffer, 2, 0, 0, "a1b1c1");
	CHECK_INT(stats(buffer)->packets_written, 6);
	/* Copied whole before its commit. */
	put(buffer, 3, 0, UNCOMMITTED, "a1");
	put(buffer, 3, 0, 0, "a1");
	CHECK_INT(stats(buffer)->packets_written, 7);
	/* Moved to another place. */
	put(buffer, 4, 0, SCRAPED, "a1b1");
	CHECK_READ(buffer, "a1 b3 c1 a1 b1 c1 a1 a1");
	put(buffer, 4, 0, 0, "a1b1");
	CHECK_INT(stats(buffer)->chunks_relocated, 1);
	CHECK_INT(stats(buffer)->packets_written, 9);
	orma_trace_buffer_free(buffer);
}
