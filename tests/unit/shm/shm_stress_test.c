/* SPDX-License-Identifier: Apache-2.0
 * shm_stress_test.c - many threads on one memory while another drains and scrapes it: nothing is lost,
 * torn or out of order.
 */
#include "shm_reader.h"

#include <pthread.h>

static struct reader reader;

struct emitter {
	pthread_t thread;
	enum orma_shm_policy policy;
	int index, packets, rounds; /* rounds: successive writers */
	size_t size_max;
	uint64_t lost;
	uint32_t id;
};

static _Atomic int running;

/* Field 1 of each packet is its number. A string follows whose size is a function of the number, in a
 * nested message if the number is odd. */
static size_t string_size(const struct emitter *emitter, int number)
{
	return (size_t)number * 7919 % (emitter->size_max + 1);
}

static char string_fill(const struct emitter *emitter, int number)
{
	return (char)('A' + (emitter->index + number) % 26);
}

static void write_numbered(struct orma_proto_writer *proto, const struct emitter *emitter,
			   int number, char *text)
{
	struct orma_proto_nested nested;
	size_t size = string_size(emitter, number);

	orma_proto_write_varint(proto, 1, (uint64_t)number);
	memset(text, string_fill(emitter, number), size);
	if (number % 2)
		orma_proto_nested_begin(proto, &nested, 2);
	orma_proto_write_bytes(proto, 3, text, size);
	if (number % 2)
		orma_proto_nested_end(proto, &nested);
}

static void *emit(void *ctx)
{
	struct emitter *emitter = ctx;
	char *text = malloc(emitter->size_max + 1);

	for (int round = 0; round < emitter->rounds; round++) {
		struct orma_shm_writer *writer;

		CHECK_INT(orma_shm_writer_new(reader.arbiter, 1, emitter->policy, &writer), 0);
		emitter->id = orma_shm_writer_id(writer);
		for (int i = 0; i < emitter->packets; i++) {
			if (i % 5 == 3) {
				uint8_t *at = orma_shm_writer_reserve(writer, 6);

				memcpy(at, "\x08\x80\x80\x80\x80\x01", 6);
				at[1] = (uint8_t)(i | 0x80);
				at[2] = (uint8_t)(i >> 7 | 0x80);
				at[3] = (uint8_t)(i >> 14 | 0x80);
				at[4] = (uint8_t)(i >> 21 | 0x80);
				at[5] = 0;
				orma_shm_writer_commit(writer, 6);
				continue;
			}
			write_numbered(orma_shm_writer_packet_begin(writer), emitter, i, text);
			orma_shm_writer_packet_end(writer);
			if (i % 1000 == 999)
				orma_shm_writer_flush(writer);
		}
		emitter->lost += orma_shm_writer_lost_packets(writer);
		orma_shm_writer_free(writer);
	}
	free(text);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

/* Reads all chunks in the memory, as a service does for a flush, and walks their finished fragments. */
static void scrape(void)
{
	struct orma_shm_view_position position = {0};
	struct orma_shm_chunk chunk;

	while (orma_shm_view_next(&reader.view, &position, &chunk)) {
		static uint8_t copy[32768];
		const uint8_t *at = copy, *end = copy + chunk.payload_bytes;

		if (chunk.writer_id == 0 || chunk.state != ORMA_SHM_BEING_WRITTEN)
			continue;
		orma_shm_chunk_copy(&chunk, copy, chunk.payload_bytes);
		for (unsigned i = 0; i + 1u < chunk.fragment_count; i++) {
			uint64_t size;

			at = orma_proto_get_varint(at, end, &size);
			CHECK(at && size <= (uint64_t)(end - at));
			at += size;
		}
	}
}

static void check_packets(const struct emitter *emitter)
{
	struct reader_writer *writer = &reader.writers[emitter->id];
	char *text = malloc(emitter->size_max + 1);
	int next = 0;

	reader_assemble(&reader, emitter->id);
	for (size_t i = 0; i < writer->packet_count; i++) {
		const struct reader_packet *packet = &writer->packets[i];
		const uint8_t *at = packet->data, *end = packet->data + packet->size;
		struct orma_buf buf = {0};
		struct orma_proto_heap_writer heap;
		uint64_t number;

		if (end - at >= 3 && memcmp(at, "\xb8\x05\x01", 3) == 0)
			at += 3;
		if (end - at >= 4 && memcmp(at, "\xd0\x02\x81\x02", 4) == 0)
			at += 4;
		if (at == end)
			continue;
		CHECK(*at == 0x08 && orma_proto_get_varint(at + 1, end, &number));
		CHECK(emitter->lost > 0 ? (int)number >= next : (int)number == next);
		next = (int)number + 1;
		if (number % 5 == 3) {
			CHECK_INT(end - at, 6);
			continue;
		}
		orma_proto_heap_writer_init(&heap, &buf);
		write_numbered(&heap.writer, emitter, (int)number, text);
		CHECK_INT(orma_proto_heap_writer_finish(&heap), 0);
		CHECK_MEM(at, (size_t)(end - at), buf.data, buf.size);
		orma_base_buf_done(&buf);
	}
	CHECK(emitter->lost > 0 || next == emitter->packets);
	free(text);
}

static void run(struct emitter *emitters, int count, bool scrapes)
{
	atomic_store(&running, count);
	for (int i = 0; i < count; i++) {
		emitters[i].index = i;
		if (emitters[i].rounds == 0)
			emitters[i].rounds = 1;
		CHECK_INT(pthread_create(&emitters[i].thread, NULL, emit, &emitters[i]), 0);
	}
	while (atomic_load(&running) > 0) {
		if (scrapes)
			scrape();
		reader_wait_and_drain(&reader);
	}
	for (int i = 0; i < count; i++)
		pthread_join(emitters[i].thread, NULL);
	reader_drain(&reader);
}

static void run_and_check(int count, size_t memory_bytes, uint32_t page_bytes, bool can_hold,
			  struct emitter model)
{
	struct emitter emitters[64];

	reader_init_with(&reader, memory_bytes, page_bytes,
			 (struct orma_shm_arbiter_options){.can_hold_chunks = can_hold,
							   .stall_timeout_ms = 100000});
	for (int i = 0; i < count; i++)
		emitters[i] = model;
	run(emitters, count, true);
	for (int i = 0; i < count; i++) {
		check_packets(&emitters[i]);
		if (model.policy == ORMA_SHM_STALL)
			CHECK_INT(emitters[i].lost, 0);
	}
	CHECK_INT(reader.registered, count);
	CHECK_INT(reader.unregistered, count);
	reader_done(&reader);
}

ORMA_TEST(four_stalling_threads_lose_nothing)
{
	run_and_check(
		4, 256 * KIB, 4096, true,
		(struct emitter){.policy = ORMA_SHM_STALL, .packets = 20000, .size_max = 150});
}

ORMA_TEST(sixteen_stalling_threads_on_eight_pages_lose_nothing)
{
	run_and_check(16, 32 * KIB, 4096, true,
		      (struct emitter){.policy = ORMA_SHM_STALL, .packets = 2000, .size_max = 300});
}

ORMA_TEST(packets_larger_than_the_memory_pass_through_it)
{
	run_and_check(
		3, 32 * KIB, 4096, true,
		(struct emitter){.policy = ORMA_SHM_STALL, .packets = 40, .size_max = 150000});
	run_and_check(
		3, 32 * KIB, 4096, false,
		(struct emitter){.policy = ORMA_SHM_STALL, .packets = 40, .size_max = 150000});
	run_and_check(
		2, 64 * KIB, 32768, true,
		(struct emitter){.policy = ORMA_SHM_STALL, .packets = 40, .size_max = 150000});
}

ORMA_TEST(out_of_band_patches_from_many_threads_arrive)
{
	run_and_check(
		6, 128 * KIB, 4096, false,
		(struct emitter){.policy = ORMA_SHM_STALL, .packets = 1500, .size_max = 6000});
}

ORMA_TEST(dropping_threads_lose_whole_packets_only)
{
	run_and_check(
		8, 64 * KIB, 4096, true,
		(struct emitter){.policy = ORMA_SHM_DROP, .packets = 10000, .size_max = 3000});
	run_and_check(
		8, 64 * KIB, 4096, false,
		(struct emitter){.policy = ORMA_SHM_DROP, .packets = 10000, .size_max = 3000});
}

ORMA_TEST(sixty_four_slow_threads_and_a_fast_one_share_eight_pages)
{
	static struct orma_shm_writer *slow[63];
	struct emitter emitters[64];

	reader_init(&reader, 32 * KIB, 4096);
	/* First make idle writers, each with an open packet. */
	for (int i = 0; i < 32; i++) {
		CHECK_INT(orma_shm_writer_new(reader.arbiter, 1, ORMA_SHM_DROP, &slow[i]), 0);
		orma_proto_write_varint(orma_shm_writer_packet_begin(slow[i]), 1, 1);
		orma_shm_writer_packet_end(slow[i]);
		CHECK_INT(orma_shm_writer_lost_packets(slow[i]), 0);
	}
	for (int i = 0; i < 32; i++)
		emitters[i] = (struct emitter){
			.policy = ORMA_SHM_STALL, .packets = i == 0 ? 20000 : 50, .size_max = 60};
	run(emitters, 32, false);
	for (int i = 0; i < 32; i++) {
		CHECK_INT(emitters[i].lost, 0);
		check_packets(&emitters[i]);
	}
	for (int i = 0; i < 32; i++)
		orma_shm_writer_free(slow[i]);
	reader_drain(&reader);
	reader_done(&reader);
}

static void *churn(void *ctx)
{
	struct orma_shm_arbiter *arbiter = ctx;

	for (int i = 0; i < 300; i++) {
		struct orma_shm_writer *writer;

		CHECK_INT(orma_shm_writer_new(arbiter, 1, ORMA_SHM_DROP, &writer), 0);
		for (int j = 0; j < 50; j++) {
			memset(orma_shm_writer_reserve(writer, 100), 0, 100);
			orma_shm_writer_commit(writer, 100);
		}
		orma_shm_writer_free(writer);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

ORMA_TEST(writers_come_and_go_while_the_connection_dies)
{
	for (int round = 0; round < 5; round++) {
		pthread_t threads[4];
		struct orma_shm_batch batch;

		reader_init(&reader, 64 * KIB, 4096);
		atomic_store(&running, 4);
		for (int i = 0; i < 4; i++)
			CHECK_INT(pthread_create(&threads[i], NULL, churn, reader.arbiter), 0);
		/* Each thread makes its own writers, so the arbiter must live until the last thread
		 * has made its last writer. */
		for (int i = 0; i < 20 * round; i++) {
			struct pollfd wake = {.fd = orma_shm_arbiter_wake_fd(reader.arbiter),
					      .events = POLLIN};

			poll(&wake, 1, 10);
			orma_shm_arbiter_wanted(reader.arbiter);
			while (orma_shm_arbiter_take_commit(reader.arbiter, &batch))
				for (size_t j = 0; j < batch.commit.move_count; j++) {
					struct orma_shm_chunk chunk;

					CHECK_INT(orma_shm_view_begin_read(
							  &reader.view,
							  batch.commit.moves[j].page_idx,
							  batch.commit.moves[j].chunk_idx, &chunk),
						  0);
					CHECK_INT(orma_shm_view_end_read(&reader.view, &chunk), 0);
				}
		}
		orma_shm_arbiter_abandon(reader.arbiter);
		for (int i = 0; i < 4; i++)
			pthread_join(threads[i], NULL);
		reader_done(&reader);
		CHECK_INT(reader.releases, 1);
	}
}
