/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_test.c - the packets that are read from a trace buffer, and their order.
 */
#include "trace_buffer_fixture.h"

ORMA_TEST(sizes_are_rounded_to_pages_and_limited_to_four_gib)
{
	struct orma_trace_buffer *buffer;
	CHECK_INT(orma_trace_buffer_new(0, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	CHECK_INT(orma_trace_buffer_size_bytes(buffer), 4096);
	orma_trace_buffer_free(buffer);
	CHECK_INT(orma_trace_buffer_new(4097, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	CHECK_INT(stats(buffer)->buffer_size, 8192);
	orma_trace_buffer_free(buffer);
	CHECK_INT(orma_trace_buffer_new(UINT64_C(4194303) * 1024, ORMA_TRACE_BUFFER_RING, &buffer),
		  -EMSGSIZE);
	CHECK_INT(orma_trace_buffer_new(UINT64_MAX, ORMA_TRACE_BUFFER_RING, &buffer), -EMSGSIZE);
	orma_trace_buffer_free(NULL);
}

ORMA_TEST(an_empty_buffer_reads_nothing)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_packet packet;
	CHECK(!orma_trace_buffer_has_data(buffer));
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 0);
	CHECK_READ(buffer, "");
	orma_trace_buffer_packet_refused(buffer);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(packets_come_out_once_in_the_order_of_writing)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, 0, "a1b2"), 5);
	CHECK_INT(put(buffer, 2, 0, 0, "c3"), 4);
	CHECK_INT(put(buffer, 1, 1, 0, "d4-e200"), 5 + 1 + 202);
	CHECK(orma_trace_buffer_has_data(buffer));
	CHECK_READ(buffer, "a1 b2 c3 d4 e200");
	CHECK(!orma_trace_buffer_has_data(buffer));
	CHECK_READ(buffer, "");
	CHECK_INT(stats(buffer)->chunks_written, 3);
	CHECK_INT(stats(buffer)->chunks_read, 3);
	CHECK_INT(stats(buffer)->bytes_written, 32 + 32 + 224);
	CHECK_INT(stats(buffer)->bytes_read, 32 + 32 + 224);
	CHECK_INT(orma_trace_buffer_used_bytes(buffer), 32 + 32 + 224);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_packet_names_its_writer)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_writer writer = {.producer_id = 7,
						  .writer_id = 9,
						  .sequence_id = 42,
						  .uid = 1000,
						  .pid = 77,
						  .machine_id = 3};
	struct orma_trace_buffer_packet packet;
	put_as(buffer, writer, 0, 0, "a1", 0);
	orma_trace_buffer_read_begin(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_MEM(packet.writer, sizeof(*packet.writer), &writer, sizeof(writer));
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_reused_producer_id_does_not_rename_the_former_owners_packets)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_writer old = {.producer_id = 7,
					       .writer_id = 9,
					       .sequence_id = 1,
					       .pid = 1},
					young = old;
	struct orma_trace_buffer_packet packet;
	young.pid = 2;
	young.sequence_id = 2;
	put_as(buffer, old, 5, 0, "a1", 0);
	put_as(buffer, young, 0, 0, "b1", 0);
	orma_trace_buffer_read_begin(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.writer->pid, 1);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.writer->pid, 2);
	CHECK_INT(packet.loss, 0);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_packet_is_put_together_from_several_chunks)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_packet packet;
	put(buffer, 1, 0, NEXT, "a1b5");
	put(buffer, 1, 1, PREVIOUS | NEXT, "c6");
	put(buffer, 1, 2, PREVIOUS, "d7e1");
	orma_trace_buffer_read_begin(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.slice_count, 3);
	CHECK_MEM(packet.slices[0].data, packet.slices[0].size, "bbbbb", 5);
	CHECK_MEM(packet.slices[1].data, packet.slices[1].size, "cccccc", 6);
	CHECK_MEM(packet.slices[2].data, packet.slices[2].size, "ddddddd", 7);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.size_bytes, 1);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 0);
	CHECK_INT(stats(buffer)->readaheads_succeeded, 1);
	CHECK_INT(stats(buffer)->readaheads_failed, 0);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(reading_ahead_for_a_packet_leaves_the_rest_of_the_chunk_in_its_turn)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 2, 0, 0, "x1");
	put(buffer, 1, 1, PREVIOUS, "b5c1");
	CHECK_READ(buffer, "a10 x1 c1");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(an_empty_chunk_in_the_middle_of_a_packet_is_passed_over)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, 0, "");
	put(buffer, 1, 2, PREVIOUS, "b5");
	CHECK_READ(buffer, "a10");
	CHECK_INT(stats(buffer)->chunks_read, 3);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(empty_fragments_are_no_packets_and_no_slices)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "--");
	put(buffer, 1, 1, PREVIOUS, "--");
	put(buffer, 1, 2, NEXT, "-");
	put(buffer, 1, 3, PREVIOUS, "a4");
	CHECK_READ(buffer, "a4");
	CHECK(!orma_trace_buffer_has_data(buffer));
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_packet_whose_rest_is_missing_waits_without_loss)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1b5");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "a1 x1");
	CHECK_READ(buffer, "");
	CHECK_INT(stats(buffer)->readaheads_failed, 2);
	put(buffer, 1, 1, PREVIOUS, "c5");
	CHECK_READ(buffer, "b10");
	orma_trace_buffer_free(buffer);
}
