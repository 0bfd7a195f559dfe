/* SPDX-License-Identifier: Apache-2.0
 * trace_writer_test.c - the packets of one thread: bytes, fragments, patched lengths, loss.
 */
#include "shm_reader.h"

#include "base/clock_ns.h"

static struct reader reader;

static struct orma_shm_writer *new_writer(enum orma_shm_policy policy)
{
	struct orma_shm_writer *writer;

	CHECK_INT(orma_shm_writer_new(reader.arbiter, 5, policy, &writer), 0);
	return writer;
}

/* A packet whose only field is a string of that many bytes, all `fill`. */
static void write_string(struct orma_shm_writer *writer, size_t size, char fill)
{
	char *text = malloc(size + 1);

	memset(text, fill, size);
	orma_proto_write_bytes(orma_shm_writer_packet_begin(writer), 1, text, size);
	orma_shm_writer_packet_end(writer);
	free(text);
}

/* Writes the same content with any proto writer: strings of `size` bytes in and between `depth` nested
 * messages. */
static void write_tree(struct orma_proto_writer *proto, int depth, size_t size)
{
	struct orma_proto_nested nested[8];
	char text[700];

	memset(text, 't', sizeof(text));
	for (int i = 0; i < depth; i++) {
		orma_proto_nested_begin(proto, &nested[i], 10 + (uint32_t)i);
		orma_proto_write_varint(proto, 1, size + (uint64_t)i);
		for (size_t left = size; left > 0; left -= ORMA_MIN(left, sizeof(text)))
			orma_proto_write_bytes(proto, 2, text, ORMA_MIN(left, sizeof(text)));
	}
	while (depth-- > 0) {
		orma_proto_nested_end(proto, &nested[depth]);
		orma_proto_write_string(proto, 3, "behind");
	}
}

static void check_tree(const struct reader_packet *packet, bool is_first, int depth, size_t size)
{
	struct orma_buf buf = {0};
	struct orma_proto_heap_writer heap;

	orma_proto_heap_writer_init(&heap, &buf);
	if (is_first)
		orma_proto_write_bool(&heap.writer, 87, true);
	write_tree(&heap.writer, depth, size);
	CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
	CHECK_MEM(packet->data, packet->size, buf.data, buf.size);
	orma_base_buf_done(&buf);
}

static void check_string(const struct reader_packet *packet, const char *prefix, size_t prefix_size,
			 size_t size, char fill)
{
	size_t header = 1 + orma_proto_varint_size(size);

	CHECK_INT(packet->size, prefix_size + header + size);
	CHECK(memcmp(packet->data, prefix, prefix_size) == 0);
	for (size_t i = 0; i < size; i++)
		CHECK(packet->data[prefix_size + header + i] == (uint8_t)fill);
}

#define FIRST   "\xb8\x05\x01"
#define DROPPED "\xd0\x02\x81\x02"

static struct reader_writer *finish(struct orma_shm_writer *writer)
{
	uint32_t id = orma_shm_writer_id(writer);

	orma_shm_writer_free(writer);
	reader_drain(&reader);
	reader_assemble(&reader, id);
	return &reader.writers[id];
}

ORMA_TEST(the_bytes_in_memory_are_those_of_the_protocol)
{
	static const uint8_t expected[] = {
		0x01, 0,    0,    0x50, 0,    0,    0,    0, /* layout 14, chunk 0 being written */
		0,    0,    0,    0,    0x01, 0,    0x04, 0, /* id 0, writer 1, 3 packets + 1 */
		0x05, 0xb8, 0x05, 0x01, 0x08, 0x2a,          /* first packet, one byte of size */
		0x03, 0x08, 0x96, 0x01,                      /* reserve and commit */
		0x80, 0x81, 0x80, 0x00, 0x0a, 0x7e, 'x',  'x', /* 128 bytes: four bytes of size */
	};
	struct orma_shm_writer *writer;
	uint32_t word;

	reader_init(&reader, 8192, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	orma_proto_write_varint(orma_shm_writer_packet_begin(writer), 1, 42);
	orma_shm_writer_packet_end(writer);
	memcpy(orma_shm_writer_reserve(writer, 3), "\x08\x96\x01", 3);
	orma_shm_writer_commit(writer, 3);
	write_string(writer, 126, 'x');
	CHECK(memcmp(reader.memory, expected, sizeof(expected)) == 0);
	orma_shm_writer_flush(writer);
	memcpy(&word, reader.memory, 4);
	CHECK_INT(word, 0x50000003);
	/* The fragment that was counted in advance is empty. */
	CHECK_INT(((uint8_t *)reader.memory)[16 + 6 + 4 + 4 + 128], 0);
	orma_shm_writer_free(writer);
	reader_done(&reader);
}

ORMA_TEST(packets_of_every_size_arrive)
{
	for (uint32_t page_bytes = 4096; page_bytes <= 32768; page_bytes *= 8) {
		struct orma_shm_writer *writer;
		struct reader_writer *result;
		size_t n = 0;

		reader_init(&reader, (size_t)64 * page_bytes, page_bytes);
		writer = new_writer(ORMA_SHM_DROP);
		for (size_t size = 0; size < (size_t)5 * page_bytes;
		     size += size < 600 ? 1 : 97, n++) {
			write_string(writer, size, (char)('a' + n % 26));
			reader_drain(&reader);
		}
		result = finish(writer);
		CHECK_INT(result->packet_count, n);
		n = 0;
		for (size_t size = 0; size < (size_t)5 * page_bytes;
		     size += size < 600 ? 1 : 97, n++)
			check_string(&result->packets[n], FIRST, n == 0 ? 3 : 0, size,
				     (char)('a' + n % 26));
		CHECK_INT(result->target_buffer, 5);
		CHECK_INT(reader.patches, 0);
		CHECK(reader.chunks_by_layout[1] > reader.chunks_by_layout[5]);
		reader_done(&reader);
		CHECK_INT(reader.releases, 1);
	}
}

static void write_trees(bool can_hold_chunks)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;
	size_t n = 0;

	reader_init_with(&reader, 256 * KIB, 4096,
			 (struct orma_shm_arbiter_options){.can_hold_chunks = can_hold_chunks});
	writer = new_writer(ORMA_SHM_DROP);
	for (int depth = 1; depth <= 8; depth++)
		for (size_t size = 0; size < 4000; size += size < 300 ? 1 : 239, n++) {
			write_tree(orma_shm_writer_packet_begin(writer), depth, size);
			orma_shm_writer_packet_end(writer);
			reader_drain(&reader);
		}
	result = finish(writer);
	CHECK_INT(result->packet_count, n);
	n = 0;
	for (int depth = 1; depth <= 8; depth++)
		for (size_t size = 0; size < 4000; size += size < 300 ? 1 : 239, n++)
			check_tree(&result->packets[n], n == 0, depth, size);
}

ORMA_TEST(lengths_in_chunks_left_behind_are_written_in_place_when_the_service_allows)
{
	write_trees(true);
	CHECK_INT(reader.patches, 0);
	reader_done(&reader);
}

ORMA_TEST(lengths_in_chunks_left_behind_follow_as_patches_otherwise)
{
	write_trees(false);
	CHECK(reader.patches > 100);
	reader_done(&reader);
}

ORMA_TEST(a_packet_that_holds_too_much_is_released_and_patched)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;

	/* An eighth of 64 KiB is two pages. There are four nested messages of 8 KB each. */
	reader_init(&reader, 64 * KIB, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	write_tree(orma_shm_writer_packet_begin(writer), 4, 8000);
	orma_shm_writer_packet_end(writer);
	result = finish(writer);
	CHECK_INT(result->packet_count, 1);
	check_tree(&result->packets[0], true, 4, 8000);
	CHECK(reader.patches > 0);
	reader_done(&reader);
}

ORMA_TEST(patches_go_out_in_order_and_say_whether_more_follow)
{
	struct orma_proto_nested outer, inner;
	struct orma_proto_writer *proto;
	struct orma_shm_writer *writer;
	struct reader_writer *result;
	static char text[6000];

	reader_init_with(&reader, 64 * KIB, 4096, (struct orma_shm_arbiter_options){0});
	writer = new_writer(ORMA_SHM_DROP);
	proto = orma_shm_writer_packet_begin(writer);
	orma_proto_nested_begin(proto, &outer, 1);
	orma_proto_nested_begin(proto, &inner, 2);
	orma_proto_write_bytes(proto, 3, text, sizeof(text));
	reader_drain(&reader);
	CHECK(reader.moves > 0);
	CHECK(reader.writers[1].chunks[0].flags & ORMA_SHM_NEEDS_PATCHING);
	/* The inner length is known, and is sent when the chunk or the packet ends. */
	orma_proto_nested_end(proto, &inner);
	orma_proto_write_bytes(proto, 4, text, 1);
	orma_shm_writer_packet_end(writer);
	reader_drain(&reader);
	CHECK_INT(reader.patches, 2);
	result = finish(writer);
	CHECK_INT(result->packet_count, 1);
	CHECK_INT(result->packets[0].size, 3 + 1 + 4 + 1 + 4 + 3 + sizeof(text) + 3);
	reader_done(&reader);
}

ORMA_TEST(a_full_memory_drops_the_packet_with_a_marker_and_tells_the_next)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;

	reader_init(&reader, 16 * KIB, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	write_string(writer, 10, 'a');
	write_string(writer, 40000, 'b'); /* larger than the memory */
	CHECK_INT(orma_shm_writer_lost_packets(writer), 1);
	write_string(writer, 10, 'c'); /* still no room */
	CHECK_INT(orma_shm_writer_lost_packets(writer), 2);
	reader_drain(&reader);
	write_string(writer, 10, 'd');
	write_string(writer, 10, 'e');
	CHECK_INT(orma_shm_writer_lost_packets(writer), 2);
	result = finish(writer);
	CHECK_INT(result->packet_count, 3);
	CHECK_INT(result->dropped, 1);
	check_string(&result->packets[0], FIRST, 3, 10, 'a');
	check_string(&result->packets[1], DROPPED, 4, 10, 'd');
	check_string(&result->packets[2], "", 0, 10, 'e');
	reader_done(&reader);
}

ORMA_TEST(a_packet_with_open_messages_is_dropped_as_cleanly)
{
	for (int can_hold = 0; can_hold < 2; can_hold++) {
		struct orma_shm_writer *writer;
		struct reader_writer *result;

		reader_init_with(&reader, 64 * KIB, 4096,
				 (struct orma_shm_arbiter_options){.can_hold_chunks = can_hold});
		writer = new_writer(ORMA_SHM_DROP);
		write_string(writer, 10, 'a');
		for (int i = 0; i < 20; i++) {
			write_tree(orma_shm_writer_packet_begin(writer), 6, 60000);
			orma_shm_writer_packet_end(writer);
			CHECK_INT(orma_shm_writer_lost_packets(writer), i + 1);
			reader_drain(&reader);
		}
		write_string(writer, 10, 'd');
		result = finish(writer);
		CHECK_INT(result->packet_count, 2);
		CHECK_INT(result->dropped, 20);
		check_string(&result->packets[1], DROPPED, 4, 10, 'd');
		reader_done(&reader);
	}
}

ORMA_TEST(the_first_good_packet_is_the_first_even_after_a_loss)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;

	reader_init(&reader, 4096, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	write_string(writer, 9000, 'b');
	reader_drain(&reader);
	write_string(writer, 10, 'd');
	result = finish(writer);
	CHECK_INT(result->packet_count, 1);
	check_string(&result->packets[0], FIRST DROPPED, 7, 10, 'd');
	reader_done(&reader);
}

ORMA_TEST(a_loss_that_no_packet_follows_is_told_at_the_flush)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;

	reader_init(&reader, 4096, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	write_string(writer, 9000, 'b');
	orma_shm_writer_flush(writer); /* no room for it yet */
	reader_drain(&reader);
	orma_shm_writer_flush(writer);
	orma_shm_writer_flush(writer);
	result = finish(writer);
	CHECK_INT(result->packet_count, 1);
	CHECK_MEM(result->packets[0].data, result->packets[0].size, FIRST DROPPED, 7);
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), 0);
	reader_done(&reader);
}

ORMA_TEST(a_packet_given_up_by_its_author_is_not_read)
{
	for (size_t size = 10; size < 100000; size *= 10) {
		static char text[100000];
		struct orma_proto_nested nested;
		struct orma_proto_writer *proto;
		struct orma_shm_writer *writer;
		struct reader_writer *result;

		reader_init(&reader, 256 * KIB, 4096);
		writer = new_writer(ORMA_SHM_DROP);
		write_string(writer, 10, 'a');
		proto = orma_shm_writer_packet_begin(writer);
		orma_proto_nested_begin(proto, &nested, 1);
		orma_proto_write_bytes(proto, 1, text, size);
		orma_shm_writer_packet_drop(writer);
		CHECK_INT(orma_shm_writer_lost_packets(writer), 1);
		write_string(writer, 10, 'c');
		result = finish(writer);
		CHECK_INT(result->packet_count, 2);
		CHECK_INT(result->dropped, 1);
		check_string(&result->packets[1], DROPPED, 4, 10, 'c');
		reader_done(&reader);
	}
}

ORMA_TEST(freeing_a_writer_inside_a_packet_gives_the_packet_up)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;

	reader_init(&reader, 64 * KIB, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	write_string(writer, 10, 'a');
	orma_proto_write_varint(orma_shm_writer_packet_begin(writer), 1, 1);
	result = finish(writer);
	CHECK_INT(result->packet_count, 2); /* and the packet that reports the loss */
	CHECK_INT(result->dropped, 1);
	reader_done(&reader);
}

ORMA_TEST(a_chunk_takes_no_more_packets_than_it_can_count)
{
	/* The packet with index 0 has one byte, and was not reserved. */
	static const size_t sizes[] = {0, 1, ORMA_SHM_RESERVE_BYTES_MIN - 1,
				       ORMA_SHM_RESERVE_BYTES_MIN, 15};

	for (size_t s = 0; s < ORMA_ARRAY_SIZE(sizes); s++) {
		struct orma_shm_writer *writer;
		struct reader_writer *result;

		reader_init(&reader, 512 * KIB, 32768);
		writer = new_writer(ORMA_SHM_DROP);
		for (int i = 0; i < 20000; i++) {
			if (sizes[s] > 0) {
				memset(orma_shm_writer_reserve(writer, sizes[s]), 8, sizes[s]);
				orma_shm_writer_commit(writer, sizes[s]);
			} else {
				orma_proto_write_raw(orma_shm_writer_packet_begin(writer), "\x08",
						     1);
				orma_shm_writer_packet_end(writer);
			}
			if (i % 1000 == 0)
				reader_drain(&reader);
		}
		result = finish(writer);
		CHECK_INT(result->packet_count, 20000 + (sizes[s] > 0));
		for (size_t id = 0; id < result->chunk_count; id++)
			CHECK(result->chunks[id].fragment_count <= ORMA_SHM_FRAGMENT_COUNT_MAX);
		reader_done(&reader);
	}
}

ORMA_TEST(a_writer_that_only_tries_finds_its_chunk_full_at_the_last_packet_it_can_count)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;
	int tried = 0;

	reader_init(&reader, 512 * KIB, 32768);
	writer = new_writer(ORMA_SHM_DROP);
	for (int i = 0; i < 20000; i++) {
		const size_t size = ORMA_SHM_RESERVE_BYTES_MIN;
		uint8_t *at = orma_shm_writer_try_reserve(writer, 32);

		if (at) {
			tried++;
			at[-1] = (uint8_t)size;
			memset(at, 8, size);
			orma_shm_writer_commit_sized(writer, at + size);
		} else {
			memset(orma_shm_writer_reserve(writer, size), 8, size);
			orma_shm_writer_commit(writer, size);
		}
		if (i % 1000 == 0)
			reader_drain(&reader);
	}
	result = finish(writer);
	CHECK_INT(result->packet_count, 20000 + 1);
	CHECK(tried > 19000);
	for (size_t id = 0; id < result->chunk_count; id++)
		CHECK(result->chunks[id].fragment_count <= ORMA_SHM_FRAGMENT_COUNT_MAX);
	reader_done(&reader);
}

ORMA_TEST(reserved_packets_of_every_size_arrive)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;
	size_t n = 0;

	reader_init(&reader, 64 * KIB, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	for (size_t round = 0; round < 50; round++) {
		for (size_t size = 1; size <= 127; size++) {
			memset(orma_shm_writer_reserve(writer, size), (int)size, size);
			orma_shm_writer_commit(writer, size);
		}
		reader_drain(&reader);
	}
	result = finish(writer);
	CHECK_INT(result->packet_count, 50 * 127 + 1);
	CHECK_MEM(result->packets[n].data, result->packets[n].size, FIRST, 3);
	for (size_t round = 0; round < 50; round++)
		for (size_t size = 1; size <= 127; size++) {
			n++;
			CHECK_INT(result->packets[n].size, size);
			for (size_t i = 0; i < size; i++)
				CHECK(result->packets[n].data[i] == size);
		}
	reader_done(&reader);
}

ORMA_TEST(reserved_packets_without_room_are_counted_and_told)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;
	uint64_t lost;
	size_t n = 0;

	reader_init(&reader, 4096, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	for (; orma_shm_writer_lost_packets(writer) < 10; n++) {
		memset(orma_shm_writer_reserve(writer, 100), 1, 100);
		orma_shm_writer_commit(writer, 100);
	}
	lost = orma_shm_writer_lost_packets(writer);
	reader_drain(&reader);
	memset(orma_shm_writer_reserve(writer, 1), 1, 1);
	orma_shm_writer_commit(writer, 1);
	CHECK_INT(orma_shm_writer_lost_packets(writer), lost);
	result = finish(writer);
	CHECK_INT(result->packet_count, 1 + n - lost + 1 + 1);
	CHECK_MEM(result->packets[1 + n - lost].data, result->packets[1 + n - lost].size, DROPPED,
		  4);
	reader_done(&reader);
}

ORMA_TEST(a_scraper_sees_every_finished_packet_and_no_other)
{
	struct orma_shm_view_position position = {0};
	struct orma_shm_writer *writer;
	struct orma_shm_chunk chunk;
	uint8_t copy[4096];

	reader_init(&reader, 64 * KIB, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	CHECK(!orma_shm_view_next(&reader.view, &position, &chunk));
	orma_proto_write_varint(orma_shm_writer_packet_begin(writer), 1, 1);
	position = (struct orma_shm_view_position){0};
	CHECK(orma_shm_view_next(&reader.view, &position, &chunk));
	CHECK_INT(chunk.fragment_count, 1);
	orma_shm_writer_packet_end(writer);
	memcpy(orma_shm_writer_reserve(writer, 2), "\x08\x07", 2);
	orma_shm_writer_commit(writer, 2);
	orma_proto_write_varint(orma_shm_writer_packet_begin(writer), 1, 3);
	position = (struct orma_shm_view_position){0};
	CHECK(orma_shm_view_next(&reader.view, &position, &chunk));
	CHECK_INT(chunk.state, ORMA_SHM_BEING_WRITTEN);
	CHECK_INT(chunk.writer_id, orma_shm_writer_id(writer));
	CHECK_INT(chunk.fragment_count, 3);
	orma_shm_chunk_copy(&chunk, copy, chunk.payload_bytes);
	CHECK(memcmp(copy, "\x05" FIRST "\x08\x01\x02\x08\x07", 9) == 0);
	orma_shm_writer_packet_end(writer);
	finish(writer);
	reader_done(&reader);
}

static int commit_now_calls;

static void commit_now(void *ctx)
{
	commit_now_calls++;
	reader_drain(ctx);
}

ORMA_TEST(a_stalling_writer_on_the_loop_thread_commits_itself)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;
	struct orma_shm_stats stats;

	for (int can_hold = 0; can_hold < 2; can_hold++) {
		reader_init_with(&reader, 16 * KIB, 4096,
				 (struct orma_shm_arbiter_options){.can_hold_chunks = can_hold,
								   .commit_now = commit_now,
								   .ctx = &reader});
		writer = new_writer(ORMA_SHM_STALL);
		errno = 1234;
		write_tree(orma_shm_writer_packet_begin(writer), 7, 20000);
		orma_shm_writer_packet_end(writer);
		for (int i = 0; i < 300; i++)
			write_string(writer, 1000, 'x');
		CHECK_INT(errno, 1234);
		CHECK_INT(orma_shm_writer_lost_packets(writer), 0);
		orma_shm_arbiter_get_stats(reader.arbiter, &stats);
		CHECK(stats.stalls > 0);
		CHECK(commit_now_calls > 0);
		result = finish(writer);
		CHECK_INT(result->packet_count, 301);
		check_tree(&result->packets[0], true, 7, 20000);
		reader_done(&reader);
	}
}

ORMA_TEST(a_stalling_writer_on_the_loop_thread_commits_itself_after_a_commit_of_nothing)
{
	struct orma_shm_writer *writer;
	struct orma_shm_batch batch;

	reader_init_with(&reader, 16 * KIB, 4096,
			 (struct orma_shm_arbiter_options){.stall_timeout_ms = 1000,
							   .commit_now = commit_now,
							   .ctx = &reader});
	commit_now_calls = 0;
	CHECK(!orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	writer = new_writer(ORMA_SHM_STALL);
	write_tree(orma_shm_writer_packet_begin(writer), 7, 20000);
	orma_shm_writer_packet_end(writer);
	CHECK(commit_now_calls > 0);
	CHECK_INT(orma_shm_writer_lost_packets(writer), 0);
	CHECK_INT(finish(writer)->packet_count, 1);
	reader_done(&reader);
}

ORMA_TEST(a_stall_ends_after_its_timeout_and_the_packet_is_lost)
{
	struct orma_shm_writer *writer;
	struct reader_writer *result;
	uint64_t start_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

	reader_init_with(&reader, 16 * KIB, 4096,
			 (struct orma_shm_arbiter_options){.stall_timeout_ms = 20});
	writer = new_writer(ORMA_SHM_STALL);
	write_tree(orma_shm_writer_packet_begin(writer), 3, 20000);
	orma_shm_writer_packet_end(writer);
	CHECK(orma_base_clock_ns(CLOCK_MONOTONIC) - start_ns >= 20 * ORMA_NS_PER_MS);
	CHECK_INT(orma_shm_writer_lost_packets(writer), 1);
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), ORMA_SHM_WANTED_NOW);
	write_string(writer, 10, 'c'); /* does not wait again */
	CHECK_INT(orma_shm_writer_lost_packets(writer), 2);
	reader_drain(&reader);
	write_string(writer, 10, 'd');
	result = finish(writer);
	CHECK_INT(result->packet_count, 1);
	CHECK_INT(result->dropped, 1);
	check_string(&result->packets[0], FIRST DROPPED, 7, 10, 'd');
	reader_done(&reader);
}

ORMA_TEST(without_a_record_for_a_patch_the_packet_is_lost_and_nothing_else)
{
	struct orma_proto_nested nested[200];
	struct orma_proto_writer *proto;
	struct orma_shm_writer *writer;
	struct reader_writer *result;

	/* 64 + 4 records for each of 16 pages: 128, and 200 open messages. */
	reader_init_with(&reader, 64 * KIB, 4096, (struct orma_shm_arbiter_options){0});
	writer = new_writer(ORMA_SHM_DROP);
	for (int round = 0; round < 3; round++) {
		write_string(writer, 10, 'a');
		proto = orma_shm_writer_packet_begin(writer);
		for (int i = 0; i < 200; i++) {
			char text[100] = {0};

			orma_proto_nested_begin(proto, &nested[i], 1);
			orma_proto_write_bytes(proto, 2, text, sizeof(text));
		}
		orma_shm_writer_packet_end(writer);
		CHECK_INT(orma_shm_writer_lost_packets(writer), round + 1);
		reader_drain(&reader);
		write_tree(orma_shm_writer_packet_begin(writer), 4, 2000);
		orma_shm_writer_packet_end(writer);
		CHECK_INT(orma_shm_writer_lost_packets(writer), round + 1);
		reader_drain(&reader);
	}
	result = finish(writer);
	CHECK_INT(result->packet_count, 6);
	CHECK_INT(result->dropped, 3);
	reader_done(&reader);
}

ORMA_TEST(a_flush_hands_over_what_there_is_once)
{
	struct orma_shm_writer *writer;

	reader_init(&reader, 64 * KIB, 4096);
	writer = new_writer(ORMA_SHM_DROP);
	orma_shm_writer_flush(writer);
	reader_drain(&reader);
	CHECK_INT(reader.moves, 0);
	write_string(writer, 10, 'a');
	reader_drain(&reader);
	CHECK_INT(reader.moves, 0);
	orma_shm_writer_flush(writer);
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), ORMA_SHM_WANTED_NOW);
	reader_drain(&reader);
	CHECK_INT(reader.moves, 1);
	orma_shm_writer_flush(writer);
	reader_drain(&reader);
	CHECK_INT(reader.moves, 1);
	/* It has no effect inside of a packet. */
	orma_proto_write_varint(orma_shm_writer_packet_begin(writer), 1, 1);
	orma_shm_writer_flush(writer);
	orma_shm_writer_packet_end(writer);
	orma_shm_writer_packet_end(writer);
	CHECK_INT(finish(writer)->packet_count, 2);
	reader_done(&reader);
}
