/* SPDX-License-Identifier: Apache-2.0
 * incremental_test.c - when the service asks producers to begin their incremental state anew: by
 * time where the config says so, else by the bytes that were written into a ring.
 */
#include "fixture.h"

enum {
	TEXT_BYTES = 100,
	TEXTS = 28,
	/* The size of a chunk with this many packets in a buffer. */
	CHUNK_BYTES = (TEXTS * (TEXT_BYTES + 6) + 16 + 15) / 16 * 16,
};

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	uint32_t next_chunk_id;
};

static void open_scene(struct scene *scene, const char *config)
{
	memset(scene, 0, sizeof(*scene));
	world_open(&scene->world);
	producer_open(&scene->world, &scene->producer, "p");
	consumer_open(&scene->world, &scene->consumer);
	CHECK_INT(register_source(&scene->producer,
				  "name: 'test' handles_incremental_state_clear: true"),
		  0);
	enable_ok(&scene->consumer, config);
	log_clear(&scene->producer.log);
}

static void close_scene(struct scene *scene)
{
	consumer_close(&scene->consumer);
	producer_close(&scene->producer);
	world_close(&scene->world);
}

/* Whole chunks, together at least so many bytes. Timers that are due run after each of them. */
static void write_bytes(struct scene *scene, struct producer *producer, size_t bytes)
{
	const char *texts[TEXTS];
	char text[TEXT_BYTES + 1];

	memset(text, 'x', TEXT_BYTES);
	text[TEXT_BYTES] = '\0';
	for (size_t i = 0; i < TEXTS; i++)
		texts[i] = text;
	for (size_t written = 0; written < bytes; written += CHUNK_BYTES) {
		struct chunk chunk = {.chunk_id = scene->next_chunk_id++, .writer_id = 1};

		write_chunk(producer, chunk, texts, TEXTS);
		commit_page(producer, 0, producer->target_buffer);
		pass_ns(&scene->world, 0);
	}
}

#define RING_KB 1024u
#define SHARE   ((size_t)(RING_KB << 10) / ORMA_SERVICE_CLEARS_PER_RING)
#define RING    "buffers { size_kb: 1024 } data_sources { config { name: 'test' } } "

ORMA_TEST(each_share_of_a_ring_asks_for_clearing_once)
{
	struct scene s;

	open_scene(&s, RING);
	write_bytes(&s, &s.producer, SHARE - CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "");
	write_bytes(&s, &s.producer, CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "clear:1");
	write_bytes(&s, &s.producer, SHARE - CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "");
	write_bytes(&s, &s.producer, CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "clear:1");
	/* Time alone asks for nothing. */
	pass_ms(&s.world, 60000);
	CHECK_LOG(&s.producer.log, "");
	close_scene(&s);
}

ORMA_TEST(a_request_is_not_made_inside_of_a_commit)
{
	struct orma_chunk_move moves[64];
	struct orma_commit commit = {.moves = moves, .move_count = ORMA_ARRAY_SIZE(moves)};
	const char *texts[TEXTS];
	struct scene s;

	for (uint32_t i = 0; i < TEXTS; i++)
		texts[i] = "a text of some bytes";
	open_scene(&s, "buffers { size_kb: 64 } data_sources { config { name: 'test' } }");
	for (uint32_t i = 0; i < ORMA_ARRAY_SIZE(moves); i++) {
		write_chunk(&s.producer,
			    (struct chunk){.page_idx = i, .chunk_id = i, .writer_id = 1}, texts,
			    TEXTS);
		moves[i] = (struct orma_chunk_move){.page_idx = i,
						    .target_buffer = s.producer.target_buffer};
	}
	orma_producer_port_commit(s.producer.port, &commit);
	CHECK_LOG(&s.producer.log, "");
	pass_ns(&s.world, 0);
	CHECK_LOG(&s.producer.log, "clear:1");
	close_scene(&s);
}

ORMA_TEST(small_rings_are_not_filled_with_state)
{
	struct scene s;

	open_scene(&s, "buffers { size_kb: 4 } data_sources { config { name: 'test' } }");
	write_bytes(&s, &s.producer, ORMA_SERVICE_CLEAR_BYTES_MIN - CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "");
	write_bytes(&s, &s.producer, CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "clear:1");
	close_scene(&s);
}

ORMA_TEST(the_request_goes_out_at_the_chunk_that_ends_nearest_to_a_share)
{
	struct scene s;

	/* The share is 6.5 KB: two chunks of 2.9 KB end nearer to it than three. */
	open_scene(&s, "buffers { size_kb: 208 } data_sources { config { name: 'test' } }");
	write_bytes(&s, &s.producer, CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "");
	write_bytes(&s, &s.producer, CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "clear:1");
	close_scene(&s);
}

ORMA_TEST(a_config_that_says_when_to_clear_is_obeyed)
{
	struct scene s;

	open_scene(&s, RING "incremental_state_config { clear_period_ms: 1000 }");
	write_bytes(&s, &s.producer, 10 * SHARE);
	CHECK_LOG(&s.producer.log, "");
	pass_ms(&s.world, 1000);
	CHECK_LOG(&s.producer.log, "clear:1");
	close_scene(&s);
	open_scene(&s, RING "incremental_state_config { clear_period_ms: 0 }");
	write_bytes(&s, &s.producer, 10 * SHARE);
	pass_ms(&s.world, 60000);
	CHECK_LOG(&s.producer.log, "");
	close_scene(&s);
}

ORMA_TEST(a_buffer_that_discards_needs_no_clearing)
{
	struct scene s;

	open_scene(&s, "buffers { size_kb: 1024 fill_policy: DISCARD } "
		       "data_sources { config { name: 'test' } }");
	write_bytes(&s, &s.producer, RING_KB << 10);
	CHECK_LOG(&s.producer.log, "");
	close_scene(&s);
}

ORMA_TEST(only_producers_that_wrote_into_the_ring_are_asked)
{
	struct producer other;
	struct scene s;

	open_scene(&s, RING "data_sources { config { name: 'other' } } "
			    "data_sources { config { name: 'elsewhere' target_buffer: 1 } } "
			    "data_sources { config { name: 'unable' } } "
			    "buffers { size_kb: 64 fill_policy: DISCARD }");
	producer_open(&s.world, &other, "q");
	CHECK_INT(register_source(&other, "name: 'other' handles_incremental_state_clear: true"),
		  0);
	CHECK_INT(register_source(&other, "name: 'unable'"), 0);
	CHECK_INT(
		register_source(&other, "name: 'elsewhere' handles_incremental_state_clear: true"),
		0);
	/* The last that was set up is for the other buffer. */
	other.target_buffer = s.producer.target_buffer;
	log_clear(&other.log);
	write_bytes(&s, &s.producer, SHARE);
	CHECK_LOG(&s.producer.log, "clear:1");
	CHECK_LOG(&other.log, "");
	/* One chunk is enough, and counts once. */
	write_bytes(&s, &other, CHUNK_BYTES);
	write_bytes(&s, &s.producer, SHARE - CHUNK_BYTES);
	CHECK_LOG(&s.producer.log, "clear:1");
	CHECK_LOG(&other.log, "clear:2");
	write_bytes(&s, &s.producer, 3 * SHARE);
	CHECK_LOG(&other.log, "");
	producer_close(&other);
	close_scene(&s);
}

ORMA_TEST(each_ring_of_a_session_has_its_own_share)
{
	struct producer other;
	struct scene s;

	open_scene(&s, RING "data_sources { config { name: 'other' target_buffer: 1 } } "
			    "buffers { size_kb: 1024 }");
	producer_open(&s.world, &other, "q");
	CHECK_INT(register_source(&other, "name: 'other' handles_incremental_state_clear: true"),
		  0);
	log_clear(&other.log);
	write_bytes(&s, &other, SHARE - CHUNK_BYTES);
	write_bytes(&s, &s.producer, SHARE);
	CHECK_LOG(&s.producer.log, "clear:1");
	CHECK_LOG(&other.log, "");
	write_bytes(&s, &other, CHUNK_BYTES);
	CHECK_LOG(&other.log, "clear:2");
	CHECK_LOG(&s.producer.log, "");
	producer_close(&other);
	close_scene(&s);
}

ORMA_TEST(nobody_is_asked_after_the_session_stopped)
{
	struct scene s;

	open_scene(&s, RING);
	write_bytes(&s, &s.producer, SHARE - CHUNK_BYTES);
	orma_consumer_port_disable(s.consumer.port);
	log_clear(&s.producer.log);
	write_bytes(&s, &s.producer, 3 * SHARE);
	CHECK_LOG(&s.producer.log, "");
	close_scene(&s);
}

/* --- rings that are drained into a file ------------------------------------------------------- */

static int file_open(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	(void)session_id;
	close(fd);
	*ret_file = ctx;
	return 0;
}

static int file_write(void *ctx, void *file, const struct iovec *iov, int iov_count)
{
	(void)ctx;
	(void)file;
	(void)iov;
	(void)iov_count;
	return 0;
}

static void file_close(void *ctx, void *file, bool sync)
{
	(void)ctx;
	(void)file;
	(void)sync;
}

static const struct orma_service_file_ops file_ops = {
	.struct_size = sizeof(file_ops),
	.open = file_open,
	.write = file_write,
	.close = file_close,
};

ORMA_TEST(a_ring_that_is_drained_asks_once_it_has_overwritten_something)
{
	struct scene s = {0};

	world_open_with(&s.world, &file_ops);
	producer_open(&s.world, &s.producer, "p");
	consumer_open(&s.world, &s.consumer);
	CHECK_INT(
		register_source(&s.producer, "name: 'test' handles_incremental_state_clear: true"),
		0);
	CHECK_INT(enable_into(&s.consumer, STDOUT_FILENO,
			      RING "write_into_file: true file_write_period_ms: 1000 "
				   "write_flush_mode: WRITE_FLUSH_DISABLED"),
		  0);
	log_clear(&s.producer.log);
	for (int i = 0; i < 5; i++) {
		write_bytes(&s, &s.producer, (RING_KB << 10) - SHARE);
		pass_ms(&s.world, 1000);
	}
	CHECK_LOG(&s.producer.log, "");
	/* Nothing is read: the second lap overwrites the first. */
	write_bytes(&s, &s.producer, (RING_KB << 10) - SHARE);
	CHECK_LOG(&s.producer.log, "");
	write_bytes(&s, &s.producer, 3 * SHARE);
	CHECK(strncmp(s.producer.log.text, "clear:1", 7) == 0);
	/* It ends when all has been read. */
	pass_ms(&s.world, 1000);
	write_bytes(&s, &s.producer, 2 * SHARE);
	log_clear(&s.producer.log);
	write_bytes(&s, &s.producer, 2 * SHARE);
	CHECK_LOG(&s.producer.log, "");
	close_scene(&s);
}
