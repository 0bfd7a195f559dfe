/* SPDX-License-Identifier: Apache-2.0
 * host_commit_test.c - the hand-written decoder of CommitDataRequest gives the same result as
 * the tables.
 */
#include <orma/service.h>

#include "base/buf.h"
#include "harness.h"
#include "host/host_commit.h"
#include "proto/writer.h"
#include "schema/gen/commit_data.pb.h"

static void put_move(struct orma_proto_writer *writer, uint64_t page, uint64_t chunk,
		     uint64_t buffer)
{
	struct orma_proto_nested move;
	orma_proto_nested_begin(writer, &move, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_PAGE, page);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_CHUNK, chunk);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_MOVE_TARGET_BUFFER,
				buffer);
	orma_proto_nested_end(writer, &move);
}

static void put_patch(struct orma_proto_writer *writer, uint64_t offset, size_t size)
{
	struct orma_proto_nested patch;
	orma_proto_nested_begin(writer, &patch, ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCHES);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_OFFSET,
				offset);
	orma_proto_write_bytes(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_PATCH_DATA,
			       "abcdefgh", size);
	orma_proto_nested_end(writer, &patch);
}

static void put_chunk_patch(struct orma_proto_writer *writer, uint64_t chunk_id, size_t patch_count)
{
	struct orma_proto_nested entry;
	orma_proto_nested_begin(writer, &entry, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_TARGET_BUFFER,
				3);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_WRITER_ID, 9);
	orma_proto_write_varint(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_CHUNK_ID,
				chunk_id);
	for (size_t i = 0; i < patch_count; i++)
		put_patch(writer, i, 4);
	orma_proto_write_bool(writer, ORMA_PB_COMMIT_DATA_REQUEST_CHUNK_TO_PATCH_HAS_MORE_PATCHES,
			      true);
	orma_proto_nested_end(writer, &entry);
}

ORMA_TEST(moves_patches_and_flush_id_arrive)
{
	struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	struct orma_host_commit scratch = {0};
	struct orma_commit commit;

	orma_proto_heap_writer_init(&heap, &buf);
	for (unsigned i = 0; i < 100; i++)
		put_move(&heap.writer, i, i % 14, 7);
	put_chunk_patch(&heap.writer, 41, 2);
	put_chunk_patch(&heap.writer, 42, 40);
	orma_proto_write_varint(&heap.writer, ORMA_PB_COMMIT_DATA_REQUEST_FLUSH_REQUEST_ID, 5);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);

	for (int round = 0; round < 2; round++) {
		CHECK_INT(orma_host_commit_decode(&scratch, buf.data, buf.size, &commit), 0);
		CHECK_INT(commit.move_count, 100);
		CHECK_INT(commit.moves[99].page_idx, 99);
		CHECK_INT(commit.moves[99].chunk_idx, 99 % 14);
		CHECK_INT(commit.moves[99].target_buffer, 7);
		CHECK(commit.moves[99].data == NULL);
		CHECK_INT(commit.patch_count, 2);
		CHECK_INT(commit.patches[0].chunk_id, 41);
		CHECK_INT(commit.patches[0].count, 2);
		CHECK_INT(commit.patches[1].count, 40);
		CHECK_INT(commit.patches[1].patches[39].offset, 39);
		CHECK_MEM(commit.patches[1].patches[39].data, 4, "abcd", 4);
		CHECK(commit.patches[1].has_more_patches);
		CHECK_INT(commit.flush_request_id, 5);
	}
	orma_host_commit_done(&scratch);
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_patch_that_is_not_four_bytes_points_nowhere)
{
	struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	struct orma_host_commit scratch = {0};
	struct orma_commit commit;
	struct orma_proto_nested entry;

	orma_proto_heap_writer_init(&heap, &buf);
	orma_proto_nested_begin(&heap.writer, &entry, ORMA_PB_COMMIT_DATA_REQUEST_CHUNKS_TO_PATCH);
	put_patch(&heap.writer, 8, 5);
	put_patch(&heap.writer, 8, 0);
	orma_proto_nested_end(&heap.writer, &entry);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_INT(orma_host_commit_decode(&scratch, buf.data, buf.size, &commit), 0);
	CHECK_INT(commit.patches[0].count, 2);
	CHECK_INT(commit.patches[0].patches[0].offset, UINT32_MAX);
	CHECK_INT(commit.patches[0].patches[1].offset, UINT32_MAX);
	orma_host_commit_done(&scratch);
	orma_base_buf_done(&buf);
}

ORMA_TEST(an_entry_of_more_than_1024_patches_is_dropped_whole)
{
	struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	struct orma_host_commit scratch = {0};
	struct orma_commit commit;

	orma_proto_heap_writer_init(&heap, &buf);
	put_chunk_patch(&heap.writer, 1, 1025);
	put_chunk_patch(&heap.writer, 2, 1024);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_INT(orma_host_commit_decode(&scratch, buf.data, buf.size, &commit), 0);
	CHECK_INT(commit.patch_count, 1);
	CHECK_INT(commit.patches[0].chunk_id, 2);
	CHECK_INT(commit.patches[0].count, 1024);
	orma_host_commit_done(&scratch);
	orma_base_buf_done(&buf);
}

ORMA_TEST(numbers_beyond_32_bits_do_not_wrap_into_range)
{
	struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	struct orma_host_commit scratch = {0};
	struct orma_commit commit;

	orma_proto_heap_writer_init(&heap, &buf);
	put_move(&heap.writer, UINT64_C(1) << 32, UINT64_C(1) << 40, UINT64_MAX);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_INT(orma_host_commit_decode(&scratch, buf.data, buf.size, &commit), 0);
	CHECK_INT(commit.moves[0].page_idx, UINT32_MAX);
	CHECK_INT(commit.moves[0].chunk_idx, UINT32_MAX);
	CHECK_INT(commit.moves[0].target_buffer, UINT32_MAX);
	orma_host_commit_done(&scratch);
	orma_base_buf_done(&buf);
}

ORMA_TEST(a_commit_cut_anywhere_is_refused_or_shorter)
{
	struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	struct orma_host_commit scratch = {0};
	struct orma_commit commit;
	int refused = 0;

	orma_proto_heap_writer_init(&heap, &buf);
	put_move(&heap.writer, 1, 2, 3);
	put_chunk_patch(&heap.writer, 1, 3);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	for (size_t size = 0; size < buf.size; size++) {
		int result = orma_host_commit_decode(&scratch, buf.data, size, &commit);
		CHECK(result == 0 || result == -EBADMSG);
		refused += result == -EBADMSG;
	}
	CHECK(refused > 10);
	orma_host_commit_done(&scratch);
	orma_base_buf_done(&buf);
}

ORMA_TEST(without_memory_a_commit_is_refused)
{
	struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;
	struct orma_commit commit;

	orma_proto_heap_writer_init(&heap, &buf);
	put_move(&heap.writer, 1, 2, 3);
	put_chunk_patch(&heap.writer, 1, 3);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	for (uint64_t nth = 1;; nth++) {
		struct orma_host_commit scratch = {0};
		orma_test_fail_allocation(nth);
		int result = orma_host_commit_decode(&scratch, buf.data, buf.size, &commit);
		bool has_failed = orma_test_allocation_failed();
		orma_test_fail_allocation(0);
		orma_host_commit_done(&scratch);
		CHECK_INT(result, has_failed ? -ENOMEM : 0);
		if (!has_failed)
			break;
	}
	orma_base_buf_done(&buf);
}
