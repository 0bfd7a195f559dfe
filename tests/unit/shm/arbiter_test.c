/* SPDX-License-Identifier: Apache-2.0
 * arbiter_test.c - many chunks and writers: layouts, wake-ups, batches, ids, emulation, and the end of
 * an arbiter.
 */
#include "shm_reader.h"

#include <sys/mman.h>
#include <unistd.h>

static struct reader reader;

static struct orma_shm_writer *new_writer(void)
{
	struct orma_shm_writer *writer;

	CHECK_INT(orma_shm_writer_new(reader.arbiter, 9, ORMA_SHM_DROP, &writer), 0);
	return writer;
}

static void write_packet(struct orma_shm_writer *writer, size_t size)
{
	static const char text[65536];

	orma_proto_write_bytes(orma_shm_writer_packet_begin(writer), 1, text, size);
	orma_shm_writer_packet_end(writer);
}

static void write_filled_packet(struct orma_shm_writer *writer, size_t size)
{
	static char text[65536];

	memset(text, 'x', size);
	orma_proto_write_bytes(orma_shm_writer_packet_begin(writer), 1, text, size);
	orma_shm_writer_packet_end(writer);
}

static uint64_t lost_packets(void)
{
	struct orma_shm_stats stats;

	orma_shm_arbiter_get_stats(reader.arbiter, &stats);
	return stats.packets_lost;
}

static bool is_wake_fd_readable(void)
{
	struct pollfd wake = {.fd = orma_shm_arbiter_wake_fd(reader.arbiter), .events = POLLIN};

	return poll(&wake, 1, 0) == 1;
}

ORMA_TEST(a_writer_that_keeps_filling_its_chunks_gets_larger_ones)
{
	struct orma_shm_writer *writer;

	reader_init(&reader, 256 * KIB, 4096);
	writer = new_writer();
	for (int i = 0; i < 400; i++) {
		write_packet(writer, 100);
		reader_drain(&reader);
	}
	for (int layout = ORMA_SHM_LAYOUT_2; layout <= ORMA_SHM_LAYOUT_14; layout++)
		CHECK_INT(reader.chunks_by_layout[layout], 1);
	CHECK(reader.chunks_by_layout[ORMA_SHM_LAYOUT_1] >= 8);
	orma_shm_writer_free(writer);
	reader_done(&reader);
}

/* Counts the pages that were ever written to. */
static size_t used_pages(void)
{
	const struct orma_shm_view *view = &reader.view;
	size_t used = 0;

	for (size_t i = 0; i < view->page_count; i++)
		used += view->start[i * view->page_bytes + view->page_bytes / 2] != 0;
	return used;
}

ORMA_TEST(of_a_large_memory_as_much_is_used_as_the_service_leaves_behind)
{
	struct orma_shm_writer *writer;

	reader_init(&reader, 4096 * KIB, 4096);
	writer = new_writer();
	for (int i = 0; i < 2000; i++) {
		write_filled_packet(writer, 4000);
		reader_drain(&reader);
	}
	CHECK(used_pages() <= 256 / 4 + 1);
	/* This chunk was taken late. */
	for (int i = 0; i < 2000; i++) {
		write_filled_packet(writer, 4000);
		if (i % 400 == 0)
			reader_drain(&reader);
	}
	CHECK(used_pages() > 400);
	CHECK_INT(lost_packets(), 0);
	orma_shm_writer_free(writer);
	reader_done(&reader);
}

ORMA_TEST(a_large_packet_goes_to_whole_pages_after_its_second_chunk)
{
	struct orma_shm_writer *writer;

	reader_init(&reader, 256 * KIB, 4096);
	writer = new_writer();
	write_packet(writer, 30000);
	orma_shm_writer_free(writer);
	reader_drain(&reader);
	CHECK_INT(reader.chunks_by_layout[ORMA_SHM_LAYOUT_14], 1);
	CHECK_INT(reader.chunks_by_layout[ORMA_SHM_LAYOUT_7], 1);
	CHECK_INT(reader.chunks_by_layout[ORMA_SHM_LAYOUT_1], 8);
	reader_done(&reader);
}

ORMA_TEST(a_writer_slower_than_the_memory_turns_over_goes_back_to_small_chunks)
{
	struct orma_shm_writer *fast, *slow;

	reader_init(&reader, 64 * KIB, 4096);
	fast = new_writer();
	slow = new_writer();
	for (int i = 0; i < 200; i++)
		write_packet(slow, 100);
	reader_drain(&reader);
	CHECK_INT(slow->layout, ORMA_SHM_LAYOUT_1);
	for (int i = 0; i < 200; i++) {
		for (int j = 0; j < 800; j++) {
			write_packet(fast, 100);
			if (j % 100 == 0)
				reader_drain(&reader);
		}
		write_packet(slow, 100);
	}
	CHECK_INT(slow->layout, ORMA_SHM_LAYOUT_14);
	CHECK_INT(fast->layout, ORMA_SHM_LAYOUT_1);
	CHECK_INT(lost_packets(), 0);
	orma_shm_writer_free(slow);
	orma_shm_writer_free(fast);
	reader_done(&reader);
}

/* If each writer got a page, eight writers would take all of the memory, and the others would lose
 * everything. */
ORMA_TEST(eighty_writers_share_eight_pages)
{
	struct orma_shm_writer *writers[80], *fast;

	reader_init(&reader, 32 * KIB, 4096);
	fast = new_writer();
	for (int i = 0; i < 80; i++) {
		writers[i] = new_writer();
		write_packet(writers[i], 20);
	}
	for (int i = 0; i < 3000; i++) {
		write_packet(fast, 200);
		write_packet(writers[i % 80], 20);
		if (i % 8 == 0)
			reader_drain(&reader);
	}
	CHECK_INT(lost_packets(), 0);
	for (int i = 0; i < 80; i++) {
		uint32_t id = orma_shm_writer_id(writers[i]);

		orma_shm_writer_free(writers[i]);
		reader_drain(&reader);
		reader_assemble(&reader, id);
		CHECK_INT(reader.writers[id].packet_count, 1 + 3000 / 80 + (i < 3000 % 80));
	}
	orma_shm_writer_free(fast);
	reader_drain(&reader);
	reader_assemble(&reader, 1);
	CHECK_INT(reader.writers[1].packet_count, 3000);
	reader_done(&reader);
}

ORMA_TEST(bursting_writers_leave_a_quarter_to_others)
{
	struct orma_shm_writer *writers[100];
	struct orma_shm_view_position position = {0};
	struct orma_shm_chunk chunk;
	size_t pinned = 0;

	reader_init(&reader, 256 * KIB, 4096);
	for (int i = 0; i < 100; i++) {
		writers[i] = new_writer();
		for (int j = 0; j < 200; j++) {
			write_packet(writers[i], 100);
			reader_drain(&reader);
		}
	}
	while (orma_shm_view_next(&reader.view, &position, &chunk))
		pinned += chunk.payload_bytes + 8;
	CHECK(pinned > (size_t)100 * 292 && pinned <= 256 * KIB * 4 / 5);
	CHECK_INT(lost_packets(), 0);
	for (int i = 0; i < 100; i++)
		orma_shm_writer_free(writers[i]);
	reader_done(&reader);
}

ORMA_TEST(one_wake_up_for_the_first_chunk_and_one_when_it_presses)
{
	struct orma_shm_writer *writer;

	reader_init(&reader, 64 * KIB, 4096);
	CHECK(!is_wake_fd_readable());
	writer = new_writer(); /* registration */
	CHECK(is_wake_fd_readable());
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), ORMA_SHM_WANTED_SOON);
	CHECK(!is_wake_fd_readable());
	for (int i = 0; i < 10; i++)
		write_packet(writer, 200);
	CHECK(!is_wake_fd_readable());
	while (!is_wake_fd_readable())
		write_packet(writer, 200);
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), ORMA_SHM_WANTED_NOW);
	for (int i = 0; i < 20; i++)
		write_packet(writer, 200);
	CHECK(!is_wake_fd_readable());
	reader_drain(&reader);
	CHECK(reader.moves >= 4 && reader.moves <= 16);
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), ORMA_SHM_WANTED_NOTHING);
	orma_shm_writer_flush(writer);
	CHECK(is_wake_fd_readable());
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), ORMA_SHM_WANTED_NOW);
	orma_shm_writer_free(writer);
	reader_done(&reader);
}

ORMA_TEST(a_new_writer_is_more_urgent_than_a_chunk)
{
	struct orma_shm_writer *writers[2];

	reader_init(&reader, 64 * KIB, 4096);
	writers[0] = new_writer();
	reader_drain(&reader);
	(void)orma_shm_arbiter_wanted(reader.arbiter);
	while (!is_wake_fd_readable())
		write_packet(writers[0], 200);
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), ORMA_SHM_WANTED_LATER);
	writers[1] = new_writer();
	CHECK(is_wake_fd_readable());
	CHECK_INT(orma_shm_arbiter_wanted(reader.arbiter), ORMA_SHM_WANTED_SOON);
	for (int i = 0; i < 2; i++)
		orma_shm_writer_free(writers[i]);
	reader_done(&reader);
}

ORMA_TEST(a_large_backlog_comes_in_several_batches_in_order)
{
	struct orma_shm_writer *writer;
	struct orma_shm_batch batch;

	reader_init(&reader, 4 * KIB * 1024, 4096);
	writer = new_writer();
	while (reader.view.page_count * 3 / 4 > writer->next_chunk_id)
		write_packet(writer, 1000);
	orma_shm_writer_free(writer);
	CHECK(orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	CHECK(batch.has_more);
	CHECK_INT(batch.registered_count, 1);
	CHECK_INT(batch.registered[0].writer_id, 1);
	CHECK_INT(batch.registered[0].target_buffer, 9);
	CHECK_INT(batch.unregistered_count, 0);
	CHECK_INT(batch.commit.move_count, 128);
	for (size_t i = 0; i < batch.commit.move_count; i++) {
		struct orma_shm_chunk chunk;
		const struct orma_chunk_move *move = &batch.commit.moves[i];

		CHECK_INT(move->target_buffer, 9);
		CHECK_INT(orma_shm_view_begin_read(&reader.view, move->page_idx, move->chunk_idx,
						   &chunk),
			  0);
		CHECK_INT(chunk.chunk_id, i);
		CHECK_INT(orma_shm_view_end_read(&reader.view, &chunk), 0);
	}
	do {
		CHECK(orma_shm_arbiter_take_commit(reader.arbiter, &batch));
		CHECK_INT(batch.registered_count, 0);
	} while (batch.has_more);
	CHECK_INT(batch.unregistered_count, 1);
	CHECK_INT(batch.unregistered[0].writer_id, 1);
	CHECK(!orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	reader_done(&reader);
}

ORMA_TEST(ids_are_reused_late_and_running_out_of_them_loses_packets_only)
{
	static struct orma_shm_writer *writers[ORMA_SHM_WRITER_ID_MAX];
	struct orma_shm_writer *extra;
	struct orma_shm_batch batch;

	reader_init(&reader, 64 * KIB, 4096);
	writers[0] = new_writer();
	CHECK_INT(orma_shm_writer_id(writers[0]), 1);
	orma_shm_writer_free(writers[0]);
	while (orma_shm_arbiter_take_commit(reader.arbiter, &batch))
		;
	writers[0] = new_writer();
	CHECK_INT(orma_shm_writer_id(writers[0]), 2);
	for (int i = 1; i < (int)ORMA_SHM_WRITER_ID_MAX; i++)
		writers[i] = new_writer();
	CHECK_INT(orma_shm_writer_id(writers[ORMA_SHM_WRITER_ID_MAX - 1]), 1);
	extra = new_writer();
	CHECK_INT(orma_shm_writer_id(extra), 0);
	write_packet(extra, 10);
	write_packet(extra, 10000);
	memset(orma_shm_writer_reserve(extra, 127), 0, 127);
	orma_shm_writer_commit(extra, 127);
	orma_shm_writer_flush(extra);
	CHECK_INT(orma_shm_writer_lost_packets(extra), 3);
	orma_shm_writer_free(extra);
	orma_shm_writer_free(writers[7]);
	/* Its departure has not been reported: the id is still taken. */
	extra = new_writer();
	CHECK_INT(orma_shm_writer_id(extra), 0);
	orma_shm_writer_free(extra);
	while (orma_shm_arbiter_take_commit(reader.arbiter, &batch))
		;
	writers[7] = new_writer();
	CHECK_INT(orma_shm_writer_id(writers[7]), 9);
	for (int i = 0; i < (int)ORMA_SHM_WRITER_ID_MAX; i++)
		orma_shm_writer_free(writers[i]);
	reader_done(&reader);
}

ORMA_TEST(a_reused_id_is_registered_after_its_departure)
{
	struct orma_shm_batch batch;
	struct orma_shm_writer *writer;

	reader_init(&reader, 64 * KIB, 4096);
	writer = new_writer();
	orma_shm_writer_free(writer);
	writer = new_writer();
	CHECK(orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	CHECK_INT(batch.registered_count, 1);
	CHECK_INT(batch.unregistered_count, 1);
	CHECK(batch.has_more);
	CHECK(orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	CHECK_INT(batch.registered_count, 1);
	CHECK_INT(batch.unregistered_count, 0);
	CHECK(!batch.has_more);
	orma_shm_writer_free(writer);
	reader_done(&reader);
}

ORMA_TEST(after_the_connection_writers_lose_packets_and_the_last_one_unmaps)
{
	struct orma_shm_writer *in_hand, *idle, *open;
	struct orma_shm_batch batch;

	reader_init(&reader, 16 * KIB, 4096);
	in_hand = new_writer();
	idle = new_writer();
	open = new_writer();
	write_packet(in_hand, 10);
	orma_proto_write_varint(orma_shm_writer_packet_begin(open), 1, 1);
	CHECK(!orma_shm_writer_is_abandoned(open));
	orma_shm_arbiter_abandon(reader.arbiter);
	CHECK(orma_shm_writer_is_abandoned(open));
	CHECK(!orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	/* The chunk in hand can still be written to, without effect. */
	write_packet(in_hand, 10);
	for (int i = 0; i < 100; i++)
		write_packet(in_hand, 1000);
	CHECK(orma_shm_writer_lost_packets(in_hand) >= 100);
	write_packet(idle, 10);
	CHECK_INT(orma_shm_writer_lost_packets(idle), 1);
	CHECK(!orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	orma_shm_arbiter_unref(reader.arbiter);
	CHECK_INT(reader.releases, 0);
	orma_shm_writer_free(in_hand);
	orma_shm_writer_free(idle);
	CHECK_INT(reader.releases, 0);
	orma_shm_writer_packet_end(open);
	orma_shm_writer_free(open);
	CHECK_INT(reader.releases, 1);
	reader.arbiter = NULL;
	reader_done(&reader);
}

ORMA_TEST(abandoning_drops_what_is_queued)
{
	struct orma_shm_writer *writer, *gone;

	reader_init_with(&reader, 64 * KIB, 4096, (struct orma_shm_arbiter_options){0});
	writer = new_writer();
	gone = new_writer();
	for (int i = 0; i < 6; i++) {
		struct orma_proto_nested nested;
		struct orma_proto_writer *proto = orma_shm_writer_packet_begin(writer);
		static const char text[5000];

		orma_proto_nested_begin(proto, &nested, 1);
		orma_proto_write_bytes(proto, 1, text, sizeof(text));
		orma_shm_writer_packet_end(writer);
	}
	orma_shm_writer_free(gone);
	orma_shm_arbiter_unref(reader.arbiter);
	CHECK_INT(reader.releases, 0);
	orma_shm_writer_free(writer);
	CHECK_INT(reader.releases, 1);
	orma_shm_arbiter_unref(NULL);
	orma_shm_writer_free(NULL);
}

ORMA_TEST(a_failing_allocation_leaves_nothing_behind)
{
	static _Alignas(4096) uint8_t memory[8192];
	struct orma_shm_arbiter_options options = {.start = memory,
						   .size_bytes = sizeof(memory),
						   .page_bytes = 4096,
						   .is_emulated = true};
	struct orma_shm_arbiter *arbiter = NULL;
	struct orma_shm_writer *writer = NULL;
	uint64_t nth = 1;

	for (;; nth++) {
		orma_test_fail_allocation(nth);
		if (orma_shm_arbiter_new(&options, &arbiter) == 0)
			break;
		CHECK(orma_test_allocation_failed());
		CHECK(!arbiter);
	}
	orma_test_fail_allocation(1);
	CHECK_INT(nth, 5);
	CHECK_INT(orma_shm_writer_new(arbiter, 1, ORMA_SHM_DROP, &writer), -ENOMEM);
	CHECK(!writer);
	orma_test_fail_allocation(0);
	CHECK_INT(orma_shm_writer_new(arbiter, 1, ORMA_SHM_DROP, &writer), 0);
	/* Nothing may be allocated from here on. */
	orma_test_fail_allocation(1);
	for (int i = 0; i < 100; i++)
		write_packet(writer, 200);
	CHECK(!orma_test_allocation_failed());
	orma_test_fail_allocation(0);
	orma_shm_writer_free(writer);
	orma_shm_arbiter_unref(arbiter);
}

ORMA_TEST(impossible_sizes_are_refused)
{
	static _Alignas(4096) uint8_t memory[8192];
	struct orma_shm_arbiter_options options = {
		.start = memory, .size_bytes = 8192, .page_bytes = 5000};
	struct orma_shm_arbiter *arbiter;

	CHECK_INT(orma_shm_arbiter_new(&options, &arbiter), -EINVAL);
	options.page_bytes = 4096;
	options.size_bytes = 6000;
	CHECK_INT(orma_shm_arbiter_new(&options, &arbiter), -EINVAL);
	options.size_bytes = 8192;
	options.start = NULL;
	CHECK_INT(orma_shm_arbiter_new(&options, &arbiter), -EINVAL);
}

ORMA_TEST(without_shared_memory_commits_carry_the_chunks)
{
	struct orma_shm_writer *writer;
	struct orma_shm_batch batch;
	struct orma_shm_view_position position = {0};
	size_t data_bytes = 0;

	reader_init_with(&reader, 1024 * KIB, 4096,
			 (struct orma_shm_arbiter_options){.is_emulated = true});
	writer = new_writer();
	for (int i = 0; i < 600; i++)
		write_packet(writer, 1000);
	CHECK(orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	CHECK(batch.has_more);
	for (size_t i = 0; i < batch.commit.move_count; i++) {
		data_bytes += batch.commit.moves[i].size;
		reader_move(&reader, &batch.commit.moves[i]);
	}
	CHECK(data_bytes > 100 * KIB && data_bytes <= ORMA_SHM_BATCH_BYTES_MAX);
	reader_drain(&reader);
	/* Everything but the chunk in hand is free again. */
	for (uint32_t page_idx = 0, used = 0; page_idx < reader.view.page_count; page_idx++) {
		uint32_t word;

		memcpy(&word, reader.view.start + (size_t)page_idx * 4096, 4);
		used += word != 0;
		CHECK(used <= 1);
	}
	CHECK(!orma_shm_arbiter_take_incomplete(reader.arbiter, &position, &batch) ||
	      batch.commit.move_count == 1);
	write_packet(writer, 30);
	write_packet(writer, 30);
	position = (struct orma_shm_view_position){0};
	CHECK(orma_shm_arbiter_take_incomplete(reader.arbiter, &position, &batch));
	CHECK_INT(batch.commit.move_count, 1);
	CHECK(batch.commit.moves[0].is_incomplete);
	CHECK_INT(batch.commit.moves[0].target_buffer, 9);
	CHECK_INT(batch.commit.moves[0].size, 4088);
	orma_shm_arbiter_commit_done(reader.arbiter);
	CHECK(!orma_shm_arbiter_take_incomplete(reader.arbiter, &position, &batch));
	for (int i = 0; i < 5000; i++) {
		write_packet(writer, 1000);
		if (i % 100 == 0)
			reader_drain(&reader);
	}
	orma_shm_writer_free(writer);
	reader_drain(&reader);
	reader_assemble(&reader, 1);
	CHECK_INT(reader.writers[1].packet_count, 600 + 2 + 5000);
	CHECK_INT(lost_packets(), 0);
	reader_done(&reader);
}

ORMA_TEST(chunks_in_progress_go_where_their_reservation_goes)
{
	struct orma_shm_view_position position = {0};
	struct orma_shm_writer *writer;
	struct orma_shm_batch batch;
	uint32_t reservation;

	reader_init_with(&reader, 1024 * KIB, 4096,
			 (struct orma_shm_arbiter_options){.is_emulated = true});
	reservation = orma_shm_arbiter_reserve(reader.arbiter);
	CHECK_INT(orma_shm_writer_new(reader.arbiter, reservation, ORMA_SHM_DROP, &writer), 0);
	write_packet(writer, 30);
	write_packet(writer, 30);
	CHECK(!orma_shm_arbiter_take_incomplete(reader.arbiter, &position, &batch));
	orma_shm_arbiter_bind(reader.arbiter, reservation, 9);
	position = (struct orma_shm_view_position){0};
	CHECK(orma_shm_arbiter_take_incomplete(reader.arbiter, &position, &batch));
	CHECK_INT(batch.commit.move_count, 1);
	CHECK_INT(batch.commit.moves[0].target_buffer, 9);
	orma_shm_arbiter_commit_done(reader.arbiter);
	orma_shm_writer_free(writer);
	reader_done(&reader);
}

ORMA_TEST(a_service_that_gives_our_chunks_away_breaks_no_list)
{
	struct orma_shm_writer *a, *b;
	struct orma_shm_stats stats;

	reader_init(&reader, 4096, 4096);
	a = new_writer();
	b = new_writer();
	for (int i = 0; i < 200; i++) {
		/* The service claims again and again that everything is free. */
		memset(reader.memory, 0, 4);
		write_packet(a, 100);
		memset(reader.memory, 0xff, 4);
		write_packet(b, 500);
		memset(reader.memory, i, 4);
		write_packet(b, 100);
	}
	orma_shm_arbiter_get_stats(reader.arbiter, &stats);
	CHECK(stats.violations > 0);
	for (int i = 0; i < 3; i++) {
		struct orma_shm_batch batch;

		orma_shm_arbiter_take_commit(reader.arbiter, &batch);
	}
	orma_shm_writer_free(a);
	orma_shm_writer_free(b);
	reader_done(&reader);
}

ORMA_TEST(a_producer_brings_memory_of_its_own)
{
	size_t size = 64 * KIB;
	int fd = memfd_create("test", MFD_CLOEXEC);
	struct orma_shm_arbiter_options options = {.size_bytes = size, .page_bytes = 8192};
	struct orma_shm_writer *writer;
	struct orma_shm_batch batch;
	struct orma_shm_chunk chunk;
	void *other;

	CHECK(fd >= 0 && ftruncate(fd, (off_t)size) == 0);
	options.start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	other = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	CHECK(options.start != MAP_FAILED && other != MAP_FAILED);
	close(fd);
	memset(&reader, 0, sizeof(reader));
	CHECK_INT(orma_shm_view_init(&reader.view, other, size, 8192), 0);
	CHECK_INT(orma_shm_arbiter_new(&options, &reader.arbiter), 0);
	writer = new_writer();
	write_packet(writer, 10);
	orma_shm_writer_flush(writer);
	CHECK(orma_shm_arbiter_take_commit(reader.arbiter, &batch));
	CHECK_INT(batch.commit.move_count, 1);
	CHECK_INT(orma_shm_view_begin_read(&reader.view, batch.commit.moves[0].page_idx,
					   batch.commit.moves[0].chunk_idx, &chunk),
		  0);
	CHECK_INT(chunk.fragment_count, 2);
	CHECK_INT(orma_shm_view_end_read(&reader.view, &chunk), 0);
	orma_shm_writer_free(writer);
	orma_shm_arbiter_unref(reader.arbiter);
	munmap(options.start, size);
	munmap(other, size);
}
