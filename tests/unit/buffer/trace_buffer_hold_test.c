/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_hold_test.c - the held bytes of a packet stay readable until they are released, whatever
 * happens to the ring.
 */
#include "trace_buffer_whole.h"

#include "trace_buffer_fixture.h"

enum { CHUNK = 4000, CHUNKS = 100, RING = 1 << 20 };

static struct orma_trace_buffer *make_ring(void)
{
	struct orma_trace_buffer *buffer;

	CHECK_INT(orma_trace_buffer_new(RING, ORMA_TRACE_BUFFER_RING, &buffer), 0);
	return buffer;
}

/* Writes one packet over many chunks, each of another letter. */
static void put_packet(struct orma_trace_buffer *buffer)
{
	for (uint32_t i = 0; i < CHUNKS; i++) {
		char text[16];

		snprintf(text, sizeof(text), "%c%u", 'a' + (int)(i % 26), CHUNK);
		put(buffer, 1, i, (i > 0 ? PREVIOUS : 0u) | (i + 1 < CHUNKS ? NEXT : 0u), text);
	}
}

static struct orma_trace_buffer_hold *hold_packet(struct orma_trace_buffer *buffer,
						  struct orma_trace_buffer_slice slices[CHUNKS])
{
	struct orma_trace_buffer_packet packet;
	struct orma_trace_buffer_hold *hold;

	put_packet(buffer);
	orma_trace_buffer_read_begin(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.slice_count, CHUNKS);
	memcpy(slices, packet.slices, CHUNKS * sizeof(*slices));
	CHECK_INT(orma_trace_buffer_hold_new(buffer, slices, CHUNKS, &hold), 0);
	return hold;
}

static void overwrite(struct orma_trace_buffer *buffer, uint32_t *next_id, uint32_t count)
{
	for (; count > 0; count--)
		put(buffer, 2, (*next_id)++, 0, "Z3900");
}

static void check_slice(const struct orma_trace_buffer_hold *hold,
			const struct orma_trace_buffer_slice *slice, char letter)
{
	size_t size;

	for (size_t at = 0; at < slice->size; at += size) {
		const uint8_t *data;

		size = slice->size - at;
		data = orma_trace_buffer_hold_piece(hold, slice->data + at, &size);
		CHECK(data && size > 0);
		for (size_t i = 0; i < size; i++)
			CHECK_INT(data[i], letter);
	}
}

static void release(struct orma_trace_buffer_hold *hold,
		    const struct orma_trace_buffer_slice *slice)
{
	size_t size;

	for (size_t at = 0; at < slice->size; at += size) {
		size = slice->size - at;
		(void)orma_trace_buffer_hold_piece(hold, slice->data + at, &size);
		orma_trace_buffer_hold_release(hold, slice->data + at, size);
	}
}

ORMA_TEST(held_bytes_are_what_they_were_while_the_ring_is_overwritten)
{
	struct orma_trace_buffer *buffer = make_ring();
	struct orma_trace_buffer_slice slices[CHUNKS];
	struct orma_trace_buffer_hold *hold = hold_packet(buffer, slices);
	uint32_t next_id = 0;

	for (uint32_t i = 0; i < CHUNKS; i++) {
		check_slice(hold, &slices[i], (char)('a' + i % 26));
		release(hold, &slices[i]);
		overwrite(buffer, &next_id, 7);
	}
	orma_trace_buffer_hold_free(hold);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(held_bytes_survive_the_clearing_and_the_end_of_their_buffer)
{
	for (int is_cleared = 0; is_cleared < 2; is_cleared++) {
		struct orma_trace_buffer *buffer = make_ring();
		struct orma_trace_buffer_slice slices[CHUNKS];
		struct orma_trace_buffer_hold *hold = hold_packet(buffer, slices);

		if (is_cleared)
			clear_buffer(buffer);
		CHECK(!orma_trace_buffer_shrink(buffer, RING));
		orma_trace_buffer_free(buffer);
		for (uint32_t i = 0; i < CHUNKS; i++)
			check_slice(hold, &slices[i], (char)('a' + i % 26));
		orma_trace_buffer_hold_free(hold);
	}
}

ORMA_TEST(a_copy_and_two_holds_of_one_buffer_do_not_disturb_each_other)
{
	struct orma_trace_buffer *buffer = make_ring(), *clone;
	struct orma_trace_buffer_slice slices[CHUNKS];
	struct orma_trace_buffer_hold *holds[2] = {hold_packet(buffer, slices), NULL};
	struct orma_trace_buffer_copy *copy;
	uint32_t next_id = 1;

	CHECK_INT(orma_trace_buffer_hold_new(buffer, slices, CHUNKS, &holds[1]), 0);
	put(buffer, 2, 0, 0, "k9");
	CHECK_INT(orma_trace_buffer_copy_begin(buffer, 0, &copy), 0);
	overwrite(buffer, &next_id, 2 * RING / 4000);
	orma_trace_buffer_free(buffer);
	orma_trace_buffer_hold_free(holds[0]);
	while (orma_trace_buffer_copy_step(copy, 1 << 16) > 0)
		;
	clone = orma_trace_buffer_copy_take(copy);
	CHECK_READ(clone, "k9");
	orma_trace_buffer_free(clone);
	for (uint32_t i = 0; i < CHUNKS; i++)
		check_slice(holds[1], &slices[i], (char)('a' + i % 26));
	orma_trace_buffer_hold_free(holds[1]);
}

ORMA_TEST(bytes_that_cannot_be_saved_for_lack_of_memory_are_lost_and_not_wrong)
{
	struct orma_trace_buffer *buffer = make_ring();
	struct orma_trace_buffer_slice slices[CHUNKS];
	struct orma_trace_buffer_hold *hold = hold_packet(buffer, slices);
	size_t size = slices[0].size;

	orma_base_alloc_fail_nth(1);
	clear_buffer(buffer);
	orma_base_alloc_fail_nth(0);
	CHECK(!orma_trace_buffer_hold_piece(hold, slices[0].data, &size));
	orma_trace_buffer_hold_free(hold);
	orma_trace_buffer_free(buffer);
}
