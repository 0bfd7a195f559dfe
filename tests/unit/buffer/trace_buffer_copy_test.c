/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_copy_test.c - read passes, clones, and the end of a buffer.
 */
#include "trace_buffer_whole.h"

#include "trace_buffer_fixture.h"

ORMA_TEST(a_refused_packet_gives_its_loss_to_the_next)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_packet packet;
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, 0, "b1c1");
	orma_trace_buffer_read_begin(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.loss, 3);
	orma_trace_buffer_packet_refused(buffer);
	orma_trace_buffer_packet_refused(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.loss, 7);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_write_ends_the_read_pass)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_packet packet;
	put(buffer, 1, 0, 0, "a1b1");
	orma_trace_buffer_read_begin(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	put(buffer, 1, 1, 0, "c1");
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 0);
	CHECK_READ(buffer, "b1 c1");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_clone_and_its_original_are_read_apart)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING), *copy;
	put(buffer, 1, 0, NEXT, "a1b5");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "a1 x1");
	put(buffer, 1, 1, PREVIOUS, "c5d1");
	put(buffer, 3, 0, SCRAPED, "y1z1");
	CHECK_INT(clone_buffer(buffer, &copy), 0);
	CHECK_INT(stats(copy)->chunks_read, 0);
	CHECK_INT(stats(copy)->chunks_written, 4);
	CHECK_READ(copy, "b10 d1 y1");
	CHECK_READ(buffer, "b10 d1 y1");
	put(buffer, 3, 0, 0, "y1z1");
	CHECK_READ(copy, "");
	orma_trace_buffer_free(buffer);
	orma_trace_buffer_free(copy);
}

/* The cost of a step, in records of some 100 bytes. */
ORMA_TEST(a_clone_is_made_in_steps_of_bounded_size_from_a_buffer_that_goes_on)
{
	struct orma_trace_buffer *buffer, *copy;
	struct orma_trace_buffer_packet packet;
	struct orma_trace_buffer_copy *copying;
	uint32_t id = 0, steps = 0, count = 0;
	int r;

	CHECK_INT(orma_trace_buffer_new(1 << 20, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	for (; !stats(buffer)->write_wrap_count; id++)
		put(buffer, 1, id, 0, "a90");
	CHECK_INT(orma_trace_buffer_copy_begin(buffer, 4096, &copying), 0);
	for (; (r = orma_trace_buffer_copy_step(copying, 8192)) > 0; steps++)
		for (uint32_t i = 0; i < 100; i++)
			put(buffer, 1, id++, 0, "b90");
	CHECK_INT(r, 0);
	CHECK(steps > 100);
	copy = orma_trace_buffer_copy_take(copying);
	orma_trace_buffer_read_begin(copy);
	for (; orma_trace_buffer_read_packet(copy, &packet); count++)
		CHECK_INT(packet.slices[0].data[0], 'a');
	CHECK(count > (1 << 20) / 128 - 10);
	orma_trace_buffer_free(copy);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_clone_outlives_a_source_that_was_freed_cleared_or_dropped)
{
	struct orma_trace_buffer *copy, *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_copy *first, *second, *dropped;

	put(buffer, 1, 0, 0, "a1");
	CHECK_INT(orma_trace_buffer_copy_begin(buffer, 0, &first), 0);
	CHECK_INT(orma_trace_buffer_copy_begin(buffer, 0, &dropped), 0);
	clear_buffer(buffer);
	put(buffer, 1, 0, 0, "b1");
	CHECK_INT(orma_trace_buffer_copy_begin(buffer, 0, &second), 0);
	orma_trace_buffer_copy_free(dropped);
	orma_trace_buffer_free(buffer);
	CHECK_INT(orma_trace_buffer_copy_step(second, UINT64_MAX), 0);
	copy = orma_trace_buffer_copy_take(second);
	CHECK_READ(copy, "b1");
	orma_trace_buffer_free(copy);
	CHECK_INT(orma_trace_buffer_copy_step(first, UINT64_MAX), 0);
	copy = orma_trace_buffer_copy_take(first);
	CHECK_READ(copy, "a1");
	orma_trace_buffer_free(copy);
}

ORMA_TEST(a_copy_that_is_dropped_half_way_costs_its_source_nothing)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_copy *copying;

	put(buffer, 1, 0, 0, "a1");
	CHECK_INT(orma_trace_buffer_copy_begin(buffer, 0, &copying), 0);
	orma_trace_buffer_free(buffer);
	orma_trace_buffer_copy_free(copying);
}

ORMA_TEST(a_buffer_that_ends_gives_its_memory_back_in_steps_but_not_under_a_copy)
{
	struct orma_trace_buffer *buffer;
	struct orma_trace_buffer_copy *copying;
	uint32_t steps = 0;

	CHECK_INT(orma_trace_buffer_new(16 << 20, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	for (uint32_t id = 0; !stats(buffer)->write_wrap_count; id++)
		put(buffer, 1, id, 0, "a4000");
	CHECK_INT(orma_trace_buffer_copy_begin(buffer, 0, &copying), 0);
	CHECK(orma_trace_buffer_shrink(buffer, 4 << 20));
	CHECK_INT(orma_trace_buffer_used_bytes(buffer), 16 << 20);
	orma_trace_buffer_copy_free(copying);
	for (; orma_trace_buffer_shrink(buffer, 4 << 20); steps++)
		;
	CHECK(steps >= 2 && steps <= 4);
	CHECK_INT(orma_trace_buffer_used_bytes(buffer), 0);
	CHECK(!orma_trace_buffer_shrink(buffer, 4 << 20));
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_cleared_buffer_is_as_new)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_DISCARD);
	put_outer(buffer, 1, 9, 'a', 4096);
	put(buffer, 1, 10, 0, "b1");
	clear_buffer(buffer);
	CHECK_INT(stats(buffer)->chunks_written, 0);
	CHECK_INT(stats(buffer)->buffer_size, 4096);
	CHECK_READ(buffer, "");
	CHECK_INT(put(buffer, 1, 3, 0, "c1"), 2);
	CHECK_READ(buffer, "c1");
	orma_trace_buffer_free(buffer);
}
