/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_test.c - one case per rule of the trace buffer and per reason of loss.
 *
 * A chunk is written down as a string of fragments: each letter is a fragment of as many bytes of
 * that letter as the number behind it says ("a5b3": aaaaa, bbb), '-' an empty fragment, '!' the
 * mark of a given-up packet, '?' a size beyond the chunk. What is read is compared as text: packets
 * in order, each as its first byte, its size and its loss bits.
 */
#include "service/trace_buffer.h"

#include "base/alloc.h"
#include "harness.h"

enum {
	PREVIOUS = ORMA_BUFFER_CHUNK_CONTINUES_PREVIOUS,
	NEXT = ORMA_BUFFER_CHUNK_CONTINUES_ON_NEXT,
	PATCH = ORMA_BUFFER_CHUNK_NEEDS_PATCHING,
	SCRAPED = 0x80,      /* test only: is_complete = false */
	UNCOMMITTED = 0x100, /* test only: is_scraped = true */
};

static uint8_t payload[1 << 16];

/* Returns the fragments' count, and their bytes in `payload`. */
static uint16_t encode(const char *text, size_t *ret_size)
{
	uint16_t count = 0;
	size_t at = 0;
	for (; *text; count++) {
		char letter = *text++;
		unsigned long size = strtoul(text, (char **)&text, 10);
		if (letter == '!' || letter == '?') {
			static const uint8_t abort_mark[4] = {0xff, 0xff, 0xff, 0x7f},
					     huge[4] = {0xff, 0xff, 0xff, 0x01};
			memcpy(payload + at, letter == '!' ? abort_mark : huge, 4);
			at += 4;
			continue;
		}
		if (size >= 128)
			payload[at++] = (uint8_t)(size | 0x80);
		payload[at++] = (uint8_t)(size >= 128 ? size >> 7 : size);
		memset(payload + at, letter, size);
		at += size;
	}
	*ret_size = at;
	return count;
}

static int put_as(struct orma_trace_buffer *buffer, struct orma_buffer_writer writer,
		  uint32_t chunk_id, unsigned flags, const char *text, size_t chunk_size)
{
	size_t size;
	uint16_t count = encode(text, &size);
	return orma_service_buffer_write_chunk(
		buffer, &(struct orma_buffer_chunk){.writer = writer,
						    .chunk_id = chunk_id,
						    .fragment_count = count,
						    .flags = (uint8_t)(flags & 7),
						    .is_complete = !(flags & SCRAPED),
						    .is_scraped = flags & UNCOMMITTED,
						    .payload_untrusted = payload,
						    .payload_size_bytes =
							    chunk_size > size ? chunk_size : size});
}

static int put(struct orma_trace_buffer *buffer, uint16_t writer_id, uint32_t chunk_id,
	       unsigned flags, const char *text)
{
	return put_as(buffer, (struct orma_buffer_writer){.producer_id = 1, .writer_id = writer_id},
		      chunk_id, flags, text, flags & SCRAPED ? 256 : 0);
}

static void read_pass(struct orma_trace_buffer *buffer, char *text, size_t size)
{
	struct orma_buffer_packet packet;
	size_t at = 0;
	text[0] = 0;
	orma_service_buffer_read_begin(buffer);
	while (orma_service_buffer_read_packet(buffer, &packet)) {
		size_t sum = 0;
		for (size_t i = 0; i < packet.slice_count; i++)
			sum += packet.slices[i].size;
		CHECK_INT(sum, packet.size_bytes);
		at += (size_t)snprintf(text + at, size - at, "%s%c%zu", at ? " " : "",
				       packet.slices[0].data[0], packet.size_bytes);
		if (packet.loss)
			at += (size_t)snprintf(text + at, size - at, "/%u", packet.loss);
		CHECK(at < size);
	}
}

static void check_read(const char *file, int line, struct orma_trace_buffer *buffer,
		       const char *expected)
{
	static char text[4096];
	read_pass(buffer, text, sizeof(text));
	if (strcmp(text, expected) != 0)
		orma_test_fail(file, line, "read \"%s\", expected \"%s\"", text, expected);
}
#define CHECK_READ(buffer, expected) check_read(__FILE__, __LINE__, buffer, expected)

static struct orma_trace_buffer *make(enum orma_buffer_policy policy)
{
	struct orma_trace_buffer *buffer;
	CHECK_INT(orma_service_buffer_new(4096, policy, &buffer), 0);
	return buffer;
}

static const struct orma_service_buffer_stats *stats(const struct orma_trace_buffer *buffer)
{
	return orma_service_buffer_stats(buffer);
}

/* A chunk that takes `outer` bytes of the buffer, all one packet of the letter. */
static int put_outer(struct orma_trace_buffer *buffer, uint16_t writer_id, uint32_t chunk_id,
		     char letter, unsigned outer)
{
	char text[16];
	unsigned size = outer - 16 - (outer - 16 > 128 ? 2 : 1);
	snprintf(text, sizeof(text), "%c%u", letter, size);
	return put(buffer, writer_id, chunk_id, 0, text);
}

ORMA_TEST(sizes_are_rounded_to_pages_and_limited_to_four_gib)
{
	struct orma_trace_buffer *buffer;
	CHECK_INT(orma_service_buffer_new(0, ORMA_BUFFER_RING, &buffer), 0);
	CHECK_INT(orma_service_buffer_size_bytes(buffer), 4096);
	orma_service_buffer_free(buffer);
	CHECK_INT(orma_service_buffer_new(4097, ORMA_BUFFER_RING, &buffer), 0);
	CHECK_INT(stats(buffer)->buffer_size, 8192);
	orma_service_buffer_free(buffer);
	CHECK_INT(orma_service_buffer_new(UINT64_C(4194303) * 1024, ORMA_BUFFER_RING, &buffer),
		  -EMSGSIZE);
	CHECK_INT(orma_service_buffer_new(UINT64_MAX, ORMA_BUFFER_RING, &buffer), -EMSGSIZE);
	orma_service_buffer_free(NULL);
}

ORMA_TEST(an_empty_buffer_reads_nothing)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_packet packet;
	CHECK(!orma_service_buffer_has_data(buffer));
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 0);
	CHECK_READ(buffer, "");
	orma_service_buffer_packet_refused(buffer);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(packets_come_out_once_in_the_order_of_writing)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, 0, "a1b2"), 5);
	CHECK_INT(put(buffer, 2, 0, 0, "c3"), 4);
	CHECK_INT(put(buffer, 1, 1, 0, "d4-e200"), 5 + 1 + 202);
	CHECK(orma_service_buffer_has_data(buffer));
	CHECK_READ(buffer, "a1 b2 c3 d4 e200");
	CHECK(!orma_service_buffer_has_data(buffer));
	CHECK_READ(buffer, "");
	CHECK_INT(stats(buffer)->chunks_written, 3);
	CHECK_INT(stats(buffer)->chunks_read, 3);
	CHECK_INT(stats(buffer)->bytes_written, 32 + 32 + 224);
	CHECK_INT(stats(buffer)->bytes_read, 32 + 32 + 224);
	CHECK_INT(orma_service_buffer_used_bytes(buffer), 32 + 32 + 224);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_packet_names_its_writer)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_writer writer = {.producer_id = 7,
					    .writer_id = 9,
					    .sequence_id = 42,
					    .uid = 1000,
					    .pid = 77,
					    .machine_id = 3};
	struct orma_buffer_packet packet;
	put_as(buffer, writer, 0, 0, "a1", 0);
	orma_service_buffer_read_begin(buffer);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_MEM(packet.writer, sizeof(*packet.writer), &writer, sizeof(writer));
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_reused_producer_id_does_not_rename_the_former_owners_packets)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_writer old = {.producer_id = 7,
					 .writer_id = 9,
					 .sequence_id = 1,
					 .pid = 1},
				  young = old;
	struct orma_buffer_packet packet;
	young.pid = 2;
	young.sequence_id = 2;
	put_as(buffer, old, 5, 0, "a1", 0);
	put_as(buffer, young, 0, 0, "b1", 0);
	orma_service_buffer_read_begin(buffer);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.writer->pid, 1);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.writer->pid, 2);
	CHECK_INT(packet.loss, 0);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_packet_is_put_together_from_several_chunks)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_packet packet;
	put(buffer, 1, 0, NEXT, "a1b5");
	put(buffer, 1, 1, PREVIOUS | NEXT, "c6");
	put(buffer, 1, 2, PREVIOUS, "d7e1");
	orma_service_buffer_read_begin(buffer);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.slice_count, 3);
	CHECK_MEM(packet.slices[0].data, packet.slices[0].size, "bbbbb", 5);
	CHECK_MEM(packet.slices[1].data, packet.slices[1].size, "cccccc", 6);
	CHECK_MEM(packet.slices[2].data, packet.slices[2].size, "ddddddd", 7);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.size_bytes, 1);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 0);
	CHECK_INT(stats(buffer)->readaheads_succeeded, 1);
	CHECK_INT(stats(buffer)->readaheads_failed, 0);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(reading_ahead_for_a_packet_leaves_the_rest_of_the_chunk_in_its_turn)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 2, 0, 0, "x1");
	put(buffer, 1, 1, PREVIOUS, "b5c1");
	CHECK_READ(buffer, "a10 x1 c1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(an_empty_chunk_in_the_middle_of_a_packet_is_passed_over)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, 0, "");
	put(buffer, 1, 2, PREVIOUS, "b5");
	CHECK_READ(buffer, "a10");
	CHECK_INT(stats(buffer)->chunks_read, 3);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(empty_fragments_are_no_packets_and_no_slices)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "--");
	put(buffer, 1, 1, PREVIOUS, "--");
	put(buffer, 1, 2, NEXT, "-");
	put(buffer, 1, 3, PREVIOUS, "a4");
	CHECK_READ(buffer, "a4");
	CHECK(!orma_service_buffer_has_data(buffer));
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_packet_whose_rest_is_missing_waits_without_loss)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1b5");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "a1 x1");
	CHECK_READ(buffer, "");
	CHECK_INT(stats(buffer)->readaheads_failed, 2);
	put(buffer, 1, 1, PREVIOUS, "c5");
	CHECK_READ(buffer, "b10");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_chunk_that_waits_for_a_patch_stalls_its_own_sequence_only)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_patch patch = {.offset_untrusted = 3, .data = {'W', 'X', 'Y', 'Z'}};
	struct orma_buffer_packet packet;
	put(buffer, 1, 0, NEXT | PATCH, "a1b6");
	put(buffer, 1, 1, PREVIOUS, "c1d1");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "a1 x1");
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 0, &patch, 1, true), 0);
	CHECK_READ(buffer, "");
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 0, &patch, 1, false), 0);
	orma_service_buffer_read_begin(buffer);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_MEM(packet.slices[0].data, packet.slices[0].size, "WXYZbb", 6);
	CHECK_INT(packet.loss, 0);
	CHECK_INT(stats(buffer)->patches_succeeded, 2);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_continuation_that_waits_for_a_patch_stalls_too)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, PREVIOUS | NEXT | PATCH, "b5");
	put(buffer, 1, 2, PREVIOUS, "c5");
	CHECK_READ(buffer, "");
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 1, NULL, 0, false), 0);
	CHECK_READ(buffer, "a15");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_packet_does_not_wait_for_the_patch_of_its_successor)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, PREVIOUS | NEXT | PATCH, "b5c5");
	CHECK_READ(buffer, "a10");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(patches_outside_of_the_chunk_are_refused_whole)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_patch patches[2] = {{.offset_untrusted = 2, .data = "ZZZ"},
					       {.offset_untrusted = 4}};
	put(buffer, 1, 0, NEXT | PATCH, "a6");
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 0, patches, 2, false), -EPROTO);
	patches[1].offset_untrusted = UINT32_MAX;
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 0, patches, 2, false), -EPROTO);
	put(buffer, 2, 0, NEXT | PATCH, "a2");
	patches[0].offset_untrusted = 0;
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 2, 0, patches, 1, false), -EPROTO);
	CHECK_INT(stats(buffer)->patches_failed, 5);
	CHECK_INT(stats(buffer)->patches_succeeded, 0);
	CHECK_READ(buffer, "");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(patches_of_an_unknown_sequence_or_chunk_are_counted)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_patch patch = {0};
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 0, &patch, 1, false), -ENOENT);
	put(buffer, 1, 0, 0, "a6");
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 1, &patch, 1, false), -ENOENT);
	CHECK_INT(stats(buffer)->patches_failed, 2);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_patch_over_a_fragments_size_costs_that_chunk_only)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_patch patch = {.offset_untrusted = 2, .data = {0x7f, 0, 0, 0}};
	put(buffer, 1, 0, 0, "a1b6");
	put(buffer, 1, 1, 0, "c1");
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 0, &patch, 1, false), 0);
	CHECK_READ(buffer, "a1 c1/5");
	CHECK_INT(stats(buffer)->abi_violations, 1);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_patch_over_a_continuations_size_is_a_corrupted_chunk)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_patch patch = {.offset_untrusted = 0, .data = {0x7f, 0, 0, 0}};
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, PREVIOUS, "b5");
	put(buffer, 1, 2, 0, "c1");
	CHECK_INT(orma_service_buffer_patch(buffer, 1, 1, 1, &patch, 1, false), 0);
	CHECK_READ(buffer, "c1/5");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(missing_chunk_ids_are_a_read_gap)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, 0, "b1c1");
	CHECK_READ(buffer, "a1 b1/3 c1");
	put(buffer, 1, 5, 0, "d1");
	CHECK_READ(buffer, "d1/3");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_gap_is_reported_once_even_when_its_chunk_stalls)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, NEXT, "b1c1");
	CHECK_READ(buffer, "a1 b1/3");
	CHECK_READ(buffer, "");
	put(buffer, 1, 3, PREVIOUS, "d1");
	CHECK_READ(buffer, "c2");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_gap_is_reported_once_even_when_its_chunk_grows)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_DISCARD);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, SCRAPED, "b1c1");
	CHECK_READ(buffer, "a1 b1/3");
	put(buffer, 1, 2, 0, "b1c1");
	CHECK_READ(buffer, "c1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(chunk_ids_wrap_round)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, UINT32_MAX - 1, 0, "a1");
	put(buffer, 1, 0, 0, "c1");
	put(buffer, 1, UINT32_MAX, 0, "b1");
	put(buffer, 1, 1, 0, "d1");
	CHECK_READ(buffer, "a1 b1 c1 d1");
	CHECK_INT(stats(buffer)->chunks_committed_out_of_order, 1);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(chunks_in_any_order_are_read_in_the_order_of_their_ids)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 3, 0, "d1");
	put(buffer, 1, 1, 0, "b1");
	put(buffer, 2, 0, 0, "x1");
	put(buffer, 1, 2, 0, "c1");
	put(buffer, 1, 0, 0, "a1");
	CHECK_READ(buffer, "a1 b1 c1 d1 x1");
	CHECK_INT(stats(buffer)->chunks_committed_out_of_order, 3);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_chunk_that_comes_after_its_successor_was_read_is_discarded)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, 0, "c1");
	CHECK_READ(buffer, "a1 c1/3");
	CHECK_INT(put(buffer, 1, 1, 0, "b1"), -EPROTO);
	put(buffer, 1, 4, NEXT, "e1f1");
	CHECK_READ(buffer, "e1/3");
	CHECK_INT(put(buffer, 1, 3, 0, "d1"), -EPROTO);
	CHECK_INT(stats(buffer)->chunks_discarded, 2);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(ids_more_than_half_the_circle_apart_are_refused)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, 0, "a1");
	CHECK_INT(put(buffer, 1, 0x7fffffff, 0, "b1"), 3 - 1);
	CHECK_INT(put(buffer, 1, 0x80000001u, 0, "c1"), -EPROTO);
	CHECK_INT(put(buffer, 1, UINT32_MAX, 0, "d1"), -EPROTO);
	CHECK_INT(stats(buffer)->abi_violations, 2);
	CHECK_READ(buffer, "a1 b1/3");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_continuation_without_its_begin_is_an_orphan)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, PREVIOUS, "a1b1");
	CHECK_READ(buffer, "b1/9");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(ids_missing_inside_a_packet_are_a_reassembly_gap)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1");
	put(buffer, 1, 2, PREVIOUS, "b1c1");
	CHECK_READ(buffer, "c1/27"); /* with the gap between the chunks and the orphan it leaves */
	CHECK_INT(stats(buffer)->readaheads_failed, 1);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_next_chunk_that_does_not_continue_breaks_the_packet)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1");
	put(buffer, 1, 1, PREVIOUS | NEXT, "b1");
	put(buffer, 1, 2, 0, "c1");
	CHECK_READ(buffer, "c1/33");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_given_up_packet_is_a_writer_abort_on_the_packet_after_it)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, NEXT, "a1!"), 2);
	put(buffer, 1, 1, 0, "b1");
	CHECK_READ(buffer, "a1 b1/129");
	CHECK_INT(stats(buffer)->trace_writer_packet_loss, 1);
	CHECK_INT(stats(buffer)->abi_violations, 0);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_packet_given_up_in_a_later_chunk_ends_there)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1b1");
	put(buffer, 1, 1, PREVIOUS, "!");
	CHECK_READ(buffer, "a1");
	put(buffer, 1, 2, 0, "c1");
	CHECK_READ(buffer, "c1/129");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(malformed_fragments_cost_the_rest_of_the_chunk)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, NEXT, "a1?b1"), 2);
	put(buffer, 1, 1, 0, "c1");
	CHECK_READ(buffer, "a1 c1/5");
	CHECK_INT(stats(buffer)->abi_violations, 1);
	put(buffer, 1, 2, NEXT, "d1");
	put(buffer, 1, 3, PREVIOUS, "?");
	put(buffer, 1, 4, 0, "e1");
	CHECK_READ(buffer, "e1/5");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(more_fragments_announced_than_there_are_is_a_violation)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_chunk chunk = {.writer = {.producer_id = 1, .writer_id = 1},
					  .is_complete = true,
					  .fragment_count = 1023,
					  .payload_untrusted = "\1a\1b",
					  .payload_size_bytes = 4};
	CHECK_INT(orma_service_buffer_write_chunk(buffer, &chunk), 4);
	chunk.chunk_id = 1;
	chunk.fragment_count = 1;
	chunk.payload_untrusted = "\x80\x80\x80\x80\x01";
	chunk.payload_size_bytes = 5;
	CHECK_INT(orma_service_buffer_write_chunk(buffer, &chunk), 0);
	chunk.chunk_id = 2;
	chunk.payload_size_bytes = 2;
	CHECK_INT(orma_service_buffer_write_chunk(buffer, &chunk), 0);
	chunk.chunk_id = 3;
	chunk.payload_untrusted = NULL;
	chunk.payload_size_bytes = 0;
	CHECK_INT(orma_service_buffer_write_chunk(buffer, &chunk), 0);
	CHECK_INT(stats(buffer)->abi_violations, 4);
	CHECK_READ(buffer, "a1 b1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(chunks_larger_than_the_buffer_or_than_a_chunk_can_be_are_refused)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING), *large;
	static uint8_t bytes[70000];
	struct orma_buffer_chunk chunk = {.writer = {.producer_id = 1, .writer_id = 1},
					  .is_complete = true,
					  .fragment_count = 4080,
					  .payload_untrusted = bytes,
					  .payload_size_bytes = 4081};
	CHECK_INT(orma_service_buffer_write_chunk(buffer, &chunk), -EMSGSIZE);
	chunk.payload_size_bytes = 4080;
	CHECK_INT(orma_service_buffer_write_chunk(buffer, &chunk), 4080);
	CHECK_INT(stats(buffer)->abi_violations, 1);
	CHECK_INT(orma_service_buffer_new(1 << 20, ORMA_BUFFER_RING, &large), 0);
	chunk.fragment_count = 65535;
	for (size_t size = 65535; size <= 70000; size += 4465) {
		chunk.payload_size_bytes = size;
		CHECK_INT(orma_service_buffer_write_chunk(large, &chunk), -EMSGSIZE);
	}
	chunk.payload_size_bytes = chunk.fragment_count = ORMA_BUFFER_PAYLOAD_MAX_BYTES;
	CHECK_INT(orma_service_buffer_write_chunk(large, &chunk), ORMA_BUFFER_PAYLOAD_MAX_BYTES);
	orma_service_buffer_free(buffer);
	orma_service_buffer_free(large);
}

ORMA_TEST(overwritten_packets_are_reported_on_the_next_of_their_sequence)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
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
	orma_service_buffer_free(buffer);
}

ORMA_TEST(what_was_read_can_be_overwritten_without_loss)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	for (uint32_t i = 0; i < 40; i++) {
		put_outer(buffer, 1, i, 'a', 1024);
		CHECK_READ(buffer, "a1006");
	}
	CHECK_INT(stats(buffer)->chunks_overwritten, 0);
	CHECK_INT(stats(buffer)->chunks_read, 40);
	CHECK_INT(stats(buffer)->write_wrap_count, 9);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(overwriting_the_begin_of_a_packet_takes_its_continuations_along)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT | PATCH, "a1000");
	put(buffer, 1, 1, PREVIOUS, "b500c1");
	put_outer(buffer, 2, 0, 'x', 2048);
	put_outer(buffer, 2, 1, 'y', 1024);
	CHECK_READ(buffer, "c1/65 x2030 y1006");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_continuation_that_comes_after_its_begin_was_overwritten_is_an_orphan)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a100");
	put_outer(buffer, 2, 0, 'x', 2048);
	put_outer(buffer, 2, 1, 'y', 2048);
	put(buffer, 1, 1, PREVIOUS, "b5c1");
	CHECK_READ(buffer, "y2030/65 c1/73");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(overwriting_ends_a_stall)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT | PATCH, "a900");
	put(buffer, 1, 1, PREVIOUS, "b4c4");
	CHECK_READ(buffer, "");
	put_outer(buffer, 2, 0, 'x', 3072);
	put_outer(buffer, 2, 1, 'y', 512);
	CHECK_READ(buffer, "c4/65 x3054 y494");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(overwriting_a_late_record_takes_what_its_sequence_has_before_it)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put_outer(buffer, 1, 1, 'b', 1024);
	put_outer(buffer, 1, 0, 'a', 1024);
	put_outer(buffer, 1, 2, 'c', 1024);
	put_outer(buffer, 2, 0, 'x', 1024);
	put_outer(buffer, 2, 1, 'y', 512);
	CHECK_INT(stats(buffer)->chunks_overwritten, 2);
	CHECK_READ(buffer, "c1006/65 x1006 y494");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_chunk_whose_room_costs_its_own_successors_is_dropped)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put_outer(buffer, 1, 5, 'f', 2048);
	put_outer(buffer, 1, 6, 'g', 2048);
	CHECK_INT(put_outer(buffer, 1, 4, 'e', 1024), -EPROTO);
	CHECK_INT(stats(buffer)->chunks_discarded, 1);
	CHECK_READ(buffer, "g2030/65");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "x1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(discard_stops_at_the_end_of_the_buffer_for_good)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_DISCARD);
	CHECK_INT(put_outer(buffer, 1, 0, 'a', 2048), 2032);
	CHECK_INT(put_outer(buffer, 1, 1, 'b', 2032), 2016);
	CHECK_INT(put_outer(buffer, 1, 2, 'c', 32), -ENOBUFS);
	CHECK_READ(buffer, "a2030 b2014");
	CHECK_INT(put(buffer, 1, 3, 0, ""), -ENOBUFS);
	CHECK_INT(stats(buffer)->chunks_discarded, 2);
	CHECK_INT(stats(buffer)->chunks_overwritten, 0);
	CHECK_READ(buffer, "");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(discard_fills_to_the_last_byte)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_DISCARD);
	CHECK(put_outer(buffer, 1, 0, 'a', 4096) > 0);
	CHECK_READ(buffer, "a4078");
	CHECK_INT(put(buffer, 1, 1, 0, ""), -ENOBUFS);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_in_a_full_discard_buffer_still_gets_its_end)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_DISCARD);
	CHECK_INT(put(buffer, 1, 0, SCRAPED, "a1b1"), 2);
	put_outer(buffer, 2, 0, 'x', 3808);
	CHECK_INT(put_outer(buffer, 2, 1, 'y', 64), -ENOBUFS);
	CHECK_READ(buffer, "a1 x3790");
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1c1"), 6);
	CHECK_READ(buffer, "b1 c1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(the_last_fragment_of_a_scraped_chunk_is_left_out)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, SCRAPED | NEXT | PATCH, "a1b1c1"), 4);
	CHECK_INT(put(buffer, 2, 0, SCRAPED, ""), 0);
	CHECK_INT(put(buffer, 3, 0, SCRAPED, "?"), 0);
	CHECK_INT(stats(buffer)->abi_violations, 0);
	CHECK_INT(stats(buffer)->bytes_written, 3 * 272);
	CHECK_READ(buffer, "a1 b1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_stalls_its_sequence_until_it_is_committed)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	put(buffer, 1, 1, 0, "d1");
	CHECK_READ(buffer, "a1");
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1c1"), 6);
	CHECK_READ(buffer, "b1 c1 d1");
	CHECK_INT(stats(buffer)->chunks_relocated, 1);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_chunk_scraped_whole_and_read_before_its_commit_is_not_discarded)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	CHECK_INT(put(buffer, 1, 0, UNCOMMITTED, "a5"), 6);
	CHECK_INT(put(buffer, 1, 1, UNCOMMITTED, "b5"), 6);
	CHECK_INT(put(buffer, 1, 0, 0, "a5"), 6);
	CHECK_READ(buffer, "a5 b5");
	CHECK_INT(put(buffer, 1, 1, UNCOMMITTED, "b5"), 6);
	CHECK_INT(put(buffer, 1, 1, 0, "b5"), 6);
	CHECK_READ(buffer, "");
	CHECK_INT(stats(buffer)->chunks_discarded, 0);
	/* Each commit that was expected came: these are one too many. */
	CHECK_INT(put(buffer, 1, 1, 0, "b5"), -EPROTO);
	CHECK_INT(put(buffer, 1, 0, 0, "a5"), -EPROTO);
	CHECK_INT(stats(buffer)->chunks_discarded, 2);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_grows_in_place_while_it_has_unread_packets)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	CHECK_INT(put(buffer, 1, 0, SCRAPED, "a1b1c1"), 4);
	CHECK_INT(put(buffer, 1, 0, NEXT, "a1b1c1d1"), 8);
	CHECK_INT(stats(buffer)->chunks_rewritten, 2);
	CHECK_INT(stats(buffer)->chunks_written, 1);
	put(buffer, 1, 1, PREVIOUS, "e1");
	CHECK_READ(buffer, "a1 b1 c1 d2");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_that_has_not_grown_is_just_completed)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	CHECK_READ(buffer, "a1");
	CHECK_INT(put(buffer, 1, 0, 0, "a1"), 2);
	put(buffer, 1, 1, 0, "c1");
	CHECK_READ(buffer, "c1");
	CHECK_INT(stats(buffer)->chunks_rewritten, 0);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_re_commit_may_not_shrink_lose_flags_or_outgrow_its_chunk)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED | PREVIOUS, "a1b1c1");
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1"), -EPROTO);
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1c1"), -EPROTO);
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1b1c300"), -EPROTO);
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1b1c1"), 6);
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1b1c1"), 6);
	CHECK_INT(put(buffer, 1, 0, PREVIOUS, "a1b1c1d1"), -EPROTO);
	CHECK_INT(stats(buffer)->abi_violations, 4);
	CHECK_READ(buffer, "b1/9 c1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_read_to_its_end_moves_to_the_write_position_when_it_grows)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	put_outer(buffer, 2, 0, 'x', 3824);
	CHECK_READ(buffer, "a1 x3806");
	CHECK_INT(put(buffer, 1, 0, 0, "a1b1"), 4);
	CHECK_INT(stats(buffer)->chunks_relocated, 1);
	CHECK_INT(stats(buffer)->chunks_rewritten, 0);
	CHECK_READ(buffer, "b1");
	CHECK_INT(stats(buffer)->chunks_read, 3);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_scraped_chunk_that_was_overwritten_comes_back_with_its_new_part)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	CHECK_READ(buffer, "a1");
	put_outer(buffer, 2, 0, 'x', 3824);
	put_outer(buffer, 2, 1, 'y', 512);
	CHECK_INT(put(buffer, 1, 0, 0, "a1"), 2); /* nothing new: nothing lost either */
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
	orma_service_buffer_free(buffer);
}

ORMA_TEST(the_unknown_end_of_an_overwritten_scraped_chunk_is_a_gap)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	CHECK_READ(buffer, "a1");
	put_outer(buffer, 2, 0, 'x', 3824);
	put_outer(buffer, 2, 1, 'y', 512);
	put(buffer, 1, 1, 0, "c1");
	CHECK_READ(buffer, "y494/65 c1/3");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_packet_that_continues_in_a_scraped_chunk_waits_for_it)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, SCRAPED | PREVIOUS, "b5");
	put(buffer, 1, 2, PREVIOUS, "z5");
	CHECK_READ(buffer, "");
	put(buffer, 1, 1, PREVIOUS | NEXT, "b5");
	CHECK_READ(buffer, "a15");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_scraped_packet_given_up_later_is_counted_once)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, SCRAPED, "a1b1");
	put(buffer, 1, 0, 0, "a1b1!");
	put(buffer, 1, 0, 0, "a1b1!");
	put(buffer, 1, 1, 0, "c1");
	CHECK_READ(buffer, "a1 b1 c1/129");
	CHECK_INT(stats(buffer)->trace_writer_packet_loss, 1);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_refused_packet_gives_its_loss_to_the_next)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_packet packet;
	put(buffer, 1, 0, 0, "a1");
	put(buffer, 1, 2, 0, "b1c1");
	orma_service_buffer_read_begin(buffer);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.loss, 3);
	orma_service_buffer_packet_refused(buffer);
	orma_service_buffer_packet_refused(buffer);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	CHECK_INT(packet.loss, 7);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_write_ends_the_read_pass)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_packet packet;
	put(buffer, 1, 0, 0, "a1b1");
	orma_service_buffer_read_begin(buffer);
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 1);
	put(buffer, 1, 1, 0, "c1");
	CHECK_INT(orma_service_buffer_read_packet(buffer, &packet), 0);
	CHECK_READ(buffer, "b1 c1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_clone_and_its_original_are_read_apart)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING), *copy;
	put(buffer, 1, 0, NEXT, "a1b5");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "a1 x1");
	put(buffer, 1, 1, PREVIOUS, "c5d1");
	put(buffer, 3, 0, SCRAPED, "y1z1");
	CHECK_INT(orma_service_buffer_clone(buffer, &copy), 0);
	CHECK_INT(stats(copy)->chunks_read, 0);
	CHECK_INT(stats(copy)->chunks_written, 4);
	CHECK_READ(copy, "b10 d1 y1");
	CHECK_READ(buffer, "b10 d1 y1");
	put(buffer, 3, 0, 0, "y1z1");
	CHECK_READ(copy, "");
	orma_service_buffer_free(buffer);
	orma_service_buffer_free(copy);
}

/* What a step costs, in records of some 100 bytes. */
ORMA_TEST(a_clone_is_made_in_steps_of_bounded_size_from_a_buffer_that_goes_on)
{
	struct orma_trace_buffer *buffer, *copy;
	struct orma_buffer_packet packet;
	struct orma_buffer_copy *copying;
	uint32_t id = 0, steps = 0, count = 0;
	int result;

	CHECK_INT(orma_service_buffer_new(1 << 20, ORMA_BUFFER_RING, &buffer), 0);
	for (; !stats(buffer)->write_wrap_count; id++)
		put(buffer, 1, id, 0, "a90");
	CHECK_INT(orma_service_buffer_copy_begin(buffer, 4096, &copying), 0);
	for (; (result = orma_service_buffer_copy_step(copying, 8192)) > 0; steps++)
		for (uint32_t i = 0; i < 100; i++)
			put(buffer, 1, id++, 0, "b90");
	CHECK_INT(result, 0);
	CHECK(steps > 100);
	copy = orma_service_buffer_copy_take(copying);
	orma_service_buffer_read_begin(copy);
	for (; orma_service_buffer_read_packet(copy, &packet); count++)
		CHECK_INT(packet.slices[0].data[0], 'a');
	CHECK(count > (1 << 20) / 128 - 10);
	orma_service_buffer_free(copy);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_clone_outlives_a_source_that_was_freed_cleared_or_dropped)
{
	struct orma_trace_buffer *copy, *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_copy *first, *second, *dropped;

	put(buffer, 1, 0, 0, "a1");
	CHECK_INT(orma_service_buffer_copy_begin(buffer, 0, &first), 0);
	CHECK_INT(orma_service_buffer_copy_begin(buffer, 0, &dropped), 0);
	orma_service_buffer_clear(buffer);
	put(buffer, 1, 0, 0, "b1");
	CHECK_INT(orma_service_buffer_copy_begin(buffer, 0, &second), 0);
	orma_service_buffer_copy_free(dropped);
	orma_service_buffer_free(buffer);
	CHECK_INT(orma_service_buffer_copy_step(second, UINT64_MAX), 0);
	copy = orma_service_buffer_copy_take(second);
	CHECK_READ(copy, "b1");
	orma_service_buffer_free(copy);
	CHECK_INT(orma_service_buffer_copy_step(first, UINT64_MAX), 0);
	copy = orma_service_buffer_copy_take(first);
	CHECK_READ(copy, "a1");
	orma_service_buffer_free(copy);
}

ORMA_TEST(a_copy_that_is_dropped_half_way_costs_its_source_nothing)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	struct orma_buffer_copy *copying;

	put(buffer, 1, 0, 0, "a1");
	CHECK_INT(orma_service_buffer_copy_begin(buffer, 0, &copying), 0);
	orma_service_buffer_free(buffer);
	orma_service_buffer_copy_free(copying);
}

ORMA_TEST(a_buffer_that_ends_gives_its_memory_back_in_steps_but_not_under_a_copy)
{
	struct orma_trace_buffer *buffer;
	struct orma_buffer_copy *copying;
	uint32_t steps = 0;

	CHECK_INT(orma_service_buffer_new(16 << 20, ORMA_BUFFER_RING, &buffer), 0);
	for (uint32_t id = 0; !stats(buffer)->write_wrap_count; id++)
		put(buffer, 1, id, 0, "a4000");
	CHECK_INT(orma_service_buffer_copy_begin(buffer, 0, &copying), 0);
	CHECK(orma_service_buffer_shrink(buffer, 4 << 20));
	CHECK_INT(orma_service_buffer_used_bytes(buffer), 16 << 20);
	orma_service_buffer_copy_free(copying);
	for (; orma_service_buffer_shrink(buffer, 4 << 20); steps++)
		;
	CHECK(steps >= 2 && steps <= 4);
	CHECK_INT(orma_service_buffer_used_bytes(buffer), 0);
	CHECK(!orma_service_buffer_shrink(buffer, 4 << 20));
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_cleared_buffer_is_as_new)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_DISCARD);
	put_outer(buffer, 1, 9, 'a', 4096);
	put(buffer, 1, 10, 0, "b1");
	orma_service_buffer_clear(buffer);
	CHECK_INT(stats(buffer)->chunks_written, 0);
	CHECK_INT(stats(buffer)->buffer_size, 4096);
	CHECK_READ(buffer, "");
	CHECK_INT(put(buffer, 1, 3, 0, "c1"), 2);
	CHECK_READ(buffer, "c1");
	orma_service_buffer_free(buffer);
}

ORMA_TEST(only_the_last_1024_empty_sequences_are_remembered)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	static char text[1 << 16];
	for (uint32_t id = 0; id < 3; id += 2) {
		for (uint16_t writer = 1; writer <= 1500; writer++) {
			put(buffer, writer, id, 0, "a1");
			if (id == 0)
				CHECK_READ(buffer, "a1");
			else if (writer <= 400)
				CHECK_READ(buffer, "a1"); /* forgotten: as good as new */
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
	orma_service_buffer_free(buffer);
}

ORMA_TEST(thirty_two_thousand_writers_and_descending_ids_are_taken)
{
	struct orma_trace_buffer *buffer;
	struct orma_buffer_packet packet;
	uint32_t count = 0;
	CHECK_INT(orma_service_buffer_new(16 << 20, ORMA_BUFFER_RING, &buffer), 0);
	for (uint32_t i = 0; i < 2 * 32767; i++)
		CHECK_INT(put(buffer, (uint16_t)(1 + i % 32767), i / 32767, 0, "a1"), 2);
	for (uint32_t i = 200000; i > 0; i--)
		CHECK_INT(put_as(buffer,
				 (struct orma_buffer_writer){.producer_id = 2, .writer_id = 1}, i,
				 0, "b1", 0),
			  2);
	orma_service_buffer_read_begin(buffer);
	for (; orma_service_buffer_read_packet(buffer, &packet); count++)
		CHECK_INT(packet.loss, 0);
	CHECK_INT(count, 2 * 32767 + 200000);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(a_chunk_too_far_out_of_order_is_refused)
{
	struct orma_trace_buffer *buffer;
	CHECK_INT(orma_service_buffer_new(16 << 20, ORMA_BUFFER_RING, &buffer), 0);
	for (uint32_t i = 0; i < 4 * ORMA_BUFFER_LATE_MAX; i++)
		put(buffer, 1, 2 * i, 0, "a1");
	CHECK_INT(put(buffer, 1, 4 * ORMA_BUFFER_LATE_MAX + 1, 0, "a1"), -EPROTO);
	CHECK_INT(put(buffer, 1, ORMA_BUFFER_LATE_MAX + 1, 0, "a1"), 2);
	CHECK_INT(stats(buffer)->abi_violations, 1);
	orma_service_buffer_free(buffer);
}

ORMA_TEST(constructors_survive_every_failing_allocation)
{
	for (uint64_t nth = 1;; nth++) {
		struct orma_trace_buffer *buffer = NULL, *copy = NULL;
		orma_test_fail_allocation(0);
		CHECK_INT(orma_service_buffer_new(4096, ORMA_BUFFER_RING, &buffer), 0);
		put(buffer, 1, 0, 0, "a1");
		put(buffer, 2, 0, 0, "a1");
		orma_test_fail_allocation(nth);
		int result = orma_service_buffer_clone(buffer, &copy);
		bool failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(result, failed ? -ENOMEM : 0);
		CHECK_READ(buffer, "a1 a1");
		orma_service_buffer_free(buffer);
		orma_service_buffer_free(copy);
		if (!failed)
			break;
	}
	struct orma_trace_buffer *buffer;
	orma_test_fail_allocation(1);
	CHECK_INT(orma_service_buffer_new(4096, ORMA_BUFFER_RING, &buffer), -ENOMEM);
}

ORMA_TEST(a_write_without_memory_drops_the_chunk_and_counts_it)
{
	for (uint64_t nth = 1;; nth++) {
		struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
		orma_test_fail_allocation(nth);
		int result = put(buffer, 1, 0, 0, "a1");
		bool failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		CHECK_INT(result, failed ? -ENOMEM : 2);
		CHECK_INT(stats(buffer)->chunks_discarded, failed);
		put(buffer, 1, 1, 0, "b1");
		CHECK_READ(buffer, failed ? "b1" : "a1 b1");
		orma_service_buffer_free(buffer);
		if (!failed)
			break;
	}
}

ORMA_TEST(a_packet_without_memory_for_its_slices_is_skipped_and_reported)
{
	struct orma_trace_buffer *buffer = make(ORMA_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a1");
	put(buffer, 1, 1, PREVIOUS, "b1c1");
	orma_test_fail_allocation(1);
	CHECK_READ(buffer, "c1/1");
	orma_test_fail_allocation(0);
	CHECK_INT(stats(buffer)->readaheads_failed, 1);
	orma_service_buffer_free(buffer);
}
