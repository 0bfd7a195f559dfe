/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_limits_test.c - very many sequences and chunks, and lack of memory.
 */
#include "trace_buffer_whole.h"

#include "trace_buffer_fixture.h"

ORMA_TEST(only_the_last_1024_empty_sequences_are_remembered)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	static char text[1 << 16];
	for (uint32_t id = 0; id < 3; id += 2) {
		for (uint16_t writer = 1; writer <= 1500; writer++) {
			put(buffer, writer, id, 0, "a1");
			if (id == 0)
				CHECK_READ(buffer, "a1");
			else if (writer <= 400)
				CHECK_READ(buffer, "a1"); /* forgotten, so like a new sequence */
		}
		if (id == 0)
			continue;
		read_pass(buffer, text, sizeof(text));
		CHECK(strstr(text, "a1"));
	}
	for (uint16_t writer = 1500; writer > 1490; writer--) {
		put(buffer, writer, 9, 0, "a1");
		CHECK_READ(buffer, "a1/3");
	}
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(thirty_two_thousand_writers_and_descending_ids_are_taken)
{
	struct orma_trace_buffer *buffer;
	struct orma_trace_buffer_packet packet;
	uint32_t count = 0;
	CHECK_INT(orma_trace_buffer_new(16 << 20, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	for (uint32_t i = 0; i < 2 * 32767; i++)
		CHECK_INT(put(buffer, (uint16_t)(1 + i % 32767), i / 32767, 0, "a1"), 2);
	for (uint32_t i = 200000; i > 0; i--)
		CHECK_INT(
			put_as(buffer,
			       (struct orma_trace_buffer_writer){.producer_id = 2, .writer_id = 1},
			       i, 0, "b1", 0),
			2);
	orma_trace_buffer_read_begin(buffer);
	for (; orma_trace_buffer_read_packet(buffer, &packet); count++)
		CHECK_INT(packet.loss, 0);
	CHECK_INT(count, 2 * 32767 + 200000);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_chunk_too_far_out_of_order_is_refused)
{
	struct orma_trace_buffer *buffer;
	CHECK_INT(orma_trace_buffer_new(16 << 20, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	for (uint32_t i = 0; i < 4 * ORMA_TRACE_BUFFER_LATE_MAX; i++)
		put(buffer, 1, 2 * i, 0, "a1");
	CHECK_INT(put(buffer, 1, 4 * ORMA_TRACE_BUFFER_LATE_MAX + 1, 0, "a1"), -EPROTO);
	CHECK_INT(put(buffer, 1, ORMA_TRACE_BUFFER_LATE_MAX + 1, 0, "a1"), 2);
	CHECK_INT(stats(buffer)->abi_violations, 1);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(constructors_survive_every_failing_allocation)
{
	for (uint64_t nth = 1;; nth++) {
		struct orma_trace_buffer *buffer = NULL, *copy = NULL;
		orma_test_fail_allocation(0);
		CHECK_INT(orma_trace_buffer_new(4096, ORMA_TRACE_BUFFER_RING, &buffer), 0);
		put(buffer, 1, 0, 0, "a1");
		put(buffer, 2, 0, 0, "a1");
		orma_test_fail_allocation(nth);
		int r = clone_buffer(buffer, &copy);
		bool failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, failed ? -ENOMEM : 0);
		CHECK_READ(buffer, "a1 a1");
		orma_trace_buffer_free(buffer);
		orma_trace_buffer_free(copy);
		if (!failed)
			break;
	}
	struct orma_trace_buffer *buffer;
	orma_test_fail_allocation(1);
	CHECK_INT(orma_trace_buffer_new(4096, ORMA_TRACE_BUFFER_RING, &buffer), -ENOMEM);
}

ORMA_TEST(a_write_without_memory_drops_the_chunk_and_counts_it)
{
	for (uint64_t nth = 1;; nth++) {
		struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
		orma_test_fail_allocation(nth);
		int r = put(buffer, 1, 0, 0, "a1");
		bool failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(r, failed ? -ENOMEM : 2);
		CHECK_INT(stats(buffer)->chunks_discarded, failed);
		put(buffer, 1, 1, 0, "b1");
		CHECK_READ(buffer, failed ? "b1" : "a1 b1");
		orma_trace_buffer_free(buffer);
		if (!failed)
			break;
	}
}

ORMA_TEST(a_packet_without_memory_for_its_slices_is_skipped_and_reported)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1");
	put(buffer, 1, 1, PREVIOUS, "b1c1");
	orma_test_fail_allocation(1);
	CHECK_READ(buffer, "c1/1");
	orma_test_fail_allocation(0);
	CHECK_INT(stats(buffer)->readaheads_failed, 1);
	orma_trace_buffer_free(buffer);
}

/* Writes a chunk of this many empty fragments. */
static void put_empty(struct orma_trace_buffer *buffer, uint32_t chunk_id, uint16_t count)
{
	static const uint8_t zeros[1023];
	struct orma_trace_buffer_chunk chunk = {
		.writer = {.producer_id = 3, .writer_id = 1},
		.chunk_id = chunk_id,
		.fragment_count = count,
		.is_complete = true,
		.payload_untrusted = zeros,
		.payload_size_bytes = sizeof(zeros),
	};
	CHECK(orma_trace_buffer_write_chunk(buffer, &chunk) >= 0);
}

static uint32_t count_rounds(struct orma_trace_buffer *buffer, uint32_t *ret_packets)
{
	struct orma_trace_buffer_packet packet;
	uint32_t rounds = 0;
	int r;

	*ret_packets = 0;
	do {
		orma_trace_buffer_read_resume(buffer, ORMA_TRACE_BUFFER_STEPS_PER_READ);
		while ((r = orma_trace_buffer_read_packet(buffer, &packet)) == 1)
			++*ret_packets;
		rounds++;
	} while (r == -EAGAIN);
	CHECK_INT(r, 0);
	return rounds;
}

ORMA_TEST(reading_what_is_empty_is_done_in_pieces)
{
	struct orma_trace_buffer *buffer;
	uint32_t packets, rounds;

	CHECK_INT(orma_trace_buffer_new(4 << 20, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	for (uint32_t i = 0; i < 1000; i++)
		put_empty(buffer, i, 1023);
	CHECK_INT(put(buffer, 1, 0, 0, "a1"), 2);
	rounds = count_rounds(buffer, &packets);
	CHECK_INT(packets, 1);
	CHECK(rounds >= 1000 * 1023 / ORMA_TRACE_BUFFER_STEPS_PER_READ);
	for (uint32_t i = 1000; i < 1000 + 2 * ORMA_TRACE_BUFFER_STEPS_PER_READ; i++)
		put_empty(buffer, i, 0);
	CHECK(count_rounds(buffer, &packets) >= 2);
	CHECK_INT(packets, 0);
	orma_trace_buffer_free(buffer);
}

/* A new pass after a write visits each of these chunks again. */
ORMA_TEST(chunks_that_wait_hide_nothing_from_a_reader_that_is_interrupted)
{
	struct orma_trace_buffer *buffer;
	struct orma_trace_buffer_packet packet;
	uint32_t rounds = 0;
	int r;

	CHECK_INT(orma_trace_buffer_new(16 << 20, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	for (uint32_t i = 0; i < 4 * ORMA_TRACE_BUFFER_STEPS_PER_READ; i++)
		CHECK_INT(put(buffer, 1, i,
			      ORMA_TRACE_BUFFER_CHUNK_NEEDS_PATCHING |
				      ORMA_TRACE_BUFFER_CHUNK_CONTINUES_ON_NEXT,
			      "a1"),
			  2);
	CHECK_INT(put(buffer, 2, 0, 0, "b1"), 2);
	do {
		CHECK(++rounds < 10);
		orma_trace_buffer_read_resume(buffer, ORMA_TRACE_BUFFER_STEPS_PER_READ);
		r = orma_trace_buffer_read_packet(buffer, &packet);
		CHECK_INT(put(buffer, 3, rounds, 0, "c1"), 2);
	} while (r == -EAGAIN);
	CHECK_INT(r, 1);
	CHECK_INT(packet.writer->writer_id, 2);
	orma_trace_buffer_free(buffer);
}
