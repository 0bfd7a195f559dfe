/* SPDX-License-Identifier: Apache-2.0
 * trace_buffer_patch_test.c - packets that wait for patches, and patches that do not fit.
 */
#include "trace_buffer_fixture.h"

ORMA_TEST(a_chunk_that_waits_for_a_patch_stalls_its_own_sequence_only)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_patch patch = {.offset_untrusted = 3,
						.data = {'W', 'X', 'Y', 'Z'}};
	struct orma_trace_buffer_packet packet;
	put(buffer, 1, 0, NEXT | PATCH, "a1b6");
	put(buffer, 1, 1, PREVIOUS, "c1d1");
	put(buffer, 2, 0, 0, "x1");
	CHECK_READ(buffer, "a1 x1");
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 0, &patch, 1, true), 0);
	CHECK_READ(buffer, "");
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 0, &patch, 1, false), 0);
	orma_trace_buffer_read_begin(buffer);
	CHECK_INT(orma_trace_buffer_read_packet(buffer, &packet), 1);
	CHECK_MEM(packet.slices[0].data, packet.slices[0].size, "WXYZbb", 6);
	CHECK_INT(packet.loss, 0);
	CHECK_INT(stats(buffer)->patches_succeeded, 2);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_continuation_that_waits_for_a_patch_stalls_too)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, PREVIOUS | NEXT | PATCH, "b5");
	put(buffer, 1, 2, PREVIOUS, "c5");
	CHECK_READ(buffer, "");
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 1, NULL, 0, false), 0);
	CHECK_READ(buffer, "a15");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_packet_does_not_wait_for_the_patch_of_its_successor)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, PREVIOUS | NEXT | PATCH, "b5c5");
	CHECK_READ(buffer, "a10");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(patches_outside_of_the_chunk_are_refused_whole)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_patch patches[2] = {{.offset_untrusted = 2, .data = "ZZZ"},
						     {.offset_untrusted = 4}};
	put(buffer, 1, 0, NEXT | PATCH, "a6");
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 0, patches, 2, false), -EPROTO);
	patches[1].offset_untrusted = UINT32_MAX;
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 0, patches, 2, false), -EPROTO);
	put(buffer, 2, 0, NEXT | PATCH, "a2");
	patches[0].offset_untrusted = 0;
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 2, 0, patches, 1, false), -EPROTO);
	CHECK_INT(stats(buffer)->patches_failed, 5);
	CHECK_INT(stats(buffer)->patches_succeeded, 0);
	CHECK_READ(buffer, "");
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(patches_of_an_unknown_sequence_or_chunk_are_counted)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_patch patch = {0};
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 0, &patch, 1, false), -ENOENT);
	put(buffer, 1, 0, 0, "a6");
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 1, &patch, 1, false), -ENOENT);
	CHECK_INT(stats(buffer)->patches_failed, 2);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_patch_over_a_fragments_size_costs_that_chunk_only)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_patch patch = {.offset_untrusted = 2, .data = {0x7f, 0, 0, 0}};
	put(buffer, 1, 0, 0, "a1b6");
	put(buffer, 1, 1, 0, "c1");
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 0, &patch, 1, false), 0);
	CHECK_READ(buffer, "a1 c1/5");
	CHECK_INT(stats(buffer)->abi_violations, 1);
	orma_trace_buffer_free(buffer);
}

ORMA_TEST(a_patch_over_a_continuations_size_is_a_corrupted_chunk)
{
	struct orma_trace_buffer *buffer = make(ORMA_TRACE_BUFFER_RING);
	struct orma_trace_buffer_patch patch = {.offset_untrusted = 0, .data = {0x7f, 0, 0, 0}};
	put(buffer, 1, 0, NEXT, "a5");
	put(buffer, 1, 1, PREVIOUS, "b5");
	put(buffer, 1, 2, 0, "c1");
	CHECK_INT(orma_trace_buffer_patch(buffer, 1, 1, 1, &patch, 1, false), 0);
	CHECK_READ(buffer, "c1/5");
	orma_trace_buffer_free(buffer);
}
