/* SPDX-License-Identifier: Apache-2.0
 * scrape_test.c - large memories are scraped in steps, between which the service goes on.
 */
#include <fcntl.h>

#include "fixture.h"
#include "schema/gen/trace_packet.pb.h"
#include "schema/gen/trace_stats.pb.h"
#include "service/steps.h"

enum { PRODUCERS = 3, PAGE_KB = 32, PAGES = 256 }; /* 8 MiB per producer */

struct scene {
	struct world world;
	struct producer producers[PRODUCERS];
	struct consumer consumer, other;
	struct packets packets;
};

/* All pages of all producers hold a chunk that nobody has committed. */
static void fill(struct producer *producer, uint32_t tag)
{
	orma_producer_port_register_writer(producer->port, 1, producer->target_buffer);
	for (uint32_t i = 0; i < PAGES; i++) {
		char text[32];

		snprintf(text, sizeof(text), "%u.%u", tag, i);
		write_chunk(producer, (struct chunk){.page_idx = i, .chunk_id = i, .writer_id = 1},
			    TEXTS(text));
	}
}

static void open_scene(struct scene *s)
{
	memset(s, 0, sizeof(*s));
	world_open(&s->world);
	for (uint32_t i = 0; i < PRODUCERS; i++) {
		struct orma_producer_info info = producer_info("p");

		info.shm_size_hint_bytes = PAGES * PAGE_KB << 10;
		info.page_size_hint_bytes = PAGE_KB << 10;
		CHECK_INT(producer_try(&s->world, &s->producers[i], &info), 0);
		CHECK_INT(register_source(&s->producers[i], "name: 'test'"), 0);
	}
	consumer_open(&s->world, &s->consumer);
	consumer_open(&s->world, &s->other);
	enable_ok(&s->consumer,
		  "buffers { size_kb: 65536 } data_sources { config { name: 'test' } }");
	for (uint32_t i = 0; i < PRODUCERS; i++)
		fill(&s->producers[i], i);
	enable_ok(&s->other, "buffers { size_kb: 64 }");
}

static void close_scene(struct scene *s)
{
	consumer_close(&s->other);
	if (s->consumer.port)
		consumer_close(&s->consumer);
	for (uint32_t i = 0; i < PRODUCERS; i++)
		if (s->producers[i].port)
			producer_close(&s->producers[i]);
	packets_done(&s->packets);
	world_close(&s->world);
}

static void flush_and_answer(struct scene *s)
{
	flush(&s->consumer, 0);
	for (uint32_t i = 0; i < PRODUCERS; i++)
		answer_flush(&s->producers[i]);
}

static uint64_t chunks_written(struct consumer *consumer)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_stats *stats;
	const void *data;
	uint64_t count;
	size_t size;

	CHECK_INT(orma_consumer_port_get_stats(consumer->port, &data, &size), 0);
	CHECK_INT(orma_pb_trace_stats_decode(data, size, &arena, &stats), 0);
	count = stats->buffer_stats.items[0]->chunks_written;
	orma_base_arena_done(&arena);
	return count;
}

/* One turn of a loop, in which at most as much as one step may be copied. */
static void run_once(struct scene *s)
{
	uint64_t before = chunks_written(&s->consumer);

	CHECK(orma_service_next_deadline_ns(s->world.service) <= START_NS + s->world.passed_ns);
	orma_service_run(s->world.service);
	CHECK(chunks_written(&s->consumer) - before <=
	      ORMA_SERVICE_SCRAPE_STEP_BYTES / (PAGE_KB << 10) + 1);
}

static size_t count_texts(struct scene *s)
{
	size_t count = 0;

	read_all(&s->consumer, &s->packets);
	for (size_t i = 0; i < s->packets.count; i++) {
		count += s->packets.items[i]->for_testing != NULL;
		CHECK_INT(s->packets.items[i]->previous_packet_dropped, 0);
	}
	return count;
}

ORMA_TEST(a_flush_of_large_memories_is_scraped_in_steps_while_others_go_on)
{
	struct scene s;
	unsigned steps = 1;

	open_scene(&s);
	flush_and_answer(&s);
	CHECK_LOG(&s.consumer.log, "");
	CHECK(chunks_written(&s.consumer) > 0);
	flush(&s.other, 0);
	CHECK_LOG(&s.other.log, "flushed");
	for (; !s.consumer.log.size; steps++)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK(steps >= PRODUCERS * PAGES * PAGE_KB / (ORMA_SERVICE_SCRAPE_STEP_BYTES >> 10));
	CHECK_INT(chunks_written(&s.consumer), PRODUCERS * PAGES);
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES);
	close_scene(&s);
}

/* Data written behind the position of the first scrape belong to the second flush. */
ORMA_TEST(a_flush_that_is_answered_during_a_scrape_gets_one_of_its_own)
{
	struct scene s;

	open_scene(&s);
	flush_and_answer(&s);
	commit_page(&s.producers[0], 0, s.producers[0].target_buffer);
	write_chunk(&s.producers[0],
		    (struct chunk){.page_idx = 0, .chunk_id = PAGES, .writer_id = 1},
		    TEXTS("late"));
	flush_and_answer(&s);
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK_INT(chunks_written(&s.consumer), PRODUCERS * PAGES + 1);
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES + 1);
	close_scene(&s);
}

/* The writer completes a chunk in a page behind the scrape and begins the next one before it. */
ORMA_TEST(a_chunk_that_a_scrape_has_missed_is_copied_when_a_later_one_was)
{
	struct producer *producer;
	struct scene s;

	open_scene(&s);
	producer = &s.producers[0];
	flush_and_answer(&s);
	commit_page(producer, 0, producer->target_buffer);
	commit_page(producer, PAGES - 1, producer->target_buffer);
	write_chunk(producer, (struct chunk){.page_idx = 0, .chunk_id = PAGES, .writer_id = 1},
		    TEXTS("behind"));
	write_chunk(producer,
		    (struct chunk){.page_idx = PAGES - 1, .chunk_id = PAGES + 1, .writer_id = 1},
		    TEXTS("before"));
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK_INT(chunks_written(&s.consumer), PRODUCERS * PAGES + 2);
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES + 2);
	close_scene(&s);
}

/* The first pages have been committed and written anew, so the newest chunks lie before older ones. */
static void go_round(struct producer *producer)
{
	for (uint32_t i = 0; i < PAGES / 2; i++) {
		char text[32];

		commit_page(producer, i, producer->target_buffer);
		snprintf(text, sizeof(text), "again.%u", i);
		write_chunk(producer,
			    (struct chunk){.page_idx = i, .chunk_id = PAGES + i, .writer_id = 1},
			    TEXTS(text));
	}
}

ORMA_TEST(a_reader_does_not_pass_the_gaps_between_the_steps_of_a_scrape)
{
	struct scene s;

	open_scene(&s);
	go_round(&s.producers[0]);
	flush_and_answer(&s);
	while (!s.consumer.log.size) {
		read_all(&s.consumer, &s.packets);
		run_once(&s);
	}
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES + PAGES / 2);
	close_scene(&s);
}

ORMA_TEST(a_reader_waits_for_the_first_chunk_of_a_writer)
{
	struct producer *producer;
	struct scene s;

	open_scene(&s);
	producer = &s.producers[0];
	orma_producer_port_register_writer(producer->port, 2, producer->target_buffer);
	for (uint32_t i = 0; i < PAGES; i++) {
		commit_page(producer, i, producer->target_buffer);
		write_chunk(producer,
			    (struct chunk){.page_idx = i,
					   .chunk_id = (i + PAGES / 2) % PAGES,
					   .writer_id = 2},
			    TEXTS("two"));
	}
	flush_and_answer(&s);
	while (!s.consumer.log.size) {
		read_all(&s.consumer, &s.packets);
		run_once(&s);
	}
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK_INT(count_texts(&s), (PRODUCERS + 1) * PAGES);
	close_scene(&s);
}

/* Chunks that the first scrape has copied are no news to the second one. */
ORMA_TEST(a_scrape_that_begins_anew_knows_the_gaps_of_the_one_before)
{
	struct scene s;

	open_scene(&s);
	go_round(&s.producers[0]);
	flush_and_answer(&s);
	run_once(&s);
	orma_consumer_port_disable(s.consumer.port);
	while (!s.consumer.log.size) {
		read_all(&s.consumer, &s.packets);
		run_once(&s);
	}
	CHECK_LOG(&s.consumer.log, "flushed disabled");
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES + PAGES / 2);
	close_scene(&s);
}

ORMA_TEST(a_flush_that_times_out_is_scraped_in_steps_too)
{
	struct scene s;

	open_scene(&s);
	flush(&s.consumer, 10);
	pass_ms(&s.world, 9);
	CHECK_INT(chunks_written(&s.consumer), 0);
	s.world.passed_ns += ORMA_NS_PER_MS;
	run_once(&s);
	CHECK_LOG(&s.consumer.log, "");
	/* Too late to count. */
	for (uint32_t i = 0; i < PRODUCERS; i++)
		answer_flush(&s.producers[i]);
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES);
	close_scene(&s);
}

/* Each look at the clock takes so long that the flush's time is over in the middle. */
ORMA_TEST(a_scrape_ends_at_the_deadline_of_its_flush_which_has_failed_then)
{
	struct scene s;

	open_scene(&s);
	s.world.tick_ns = 400 * ORMA_NS_PER_MS;
	flush(&s.consumer, 4000);
	for (uint32_t i = 0; i < PRODUCERS; i++)
		answer_flush(&s.producers[i]);
	while (!s.consumer.log.size)
		orma_service_run(s.world.service);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	CHECK(chunks_written(&s.consumer) > 0);
	CHECK(chunks_written(&s.consumer) < PRODUCERS * PAGES);
	/* The next one begins anew. */
	s.world.tick_ns = 0;
	flush_and_answer(&s);
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES);
	close_scene(&s);
}

ORMA_TEST(the_last_scrape_of_a_session_ends_at_the_time_for_stopping)
{
	struct scene s;

	open_scene(&s);
	s.world.tick_ns = 600 * ORMA_NS_PER_MS;
	orma_consumer_port_disable(s.consumer.port);
	while (!s.consumer.log.size)
		orma_service_run(s.world.service);
	CHECK_LOG(&s.consumer.log, "disabled");
	CHECK(chunks_written(&s.consumer) > 0);
	CHECK(chunks_written(&s.consumer) < PRODUCERS * PAGES);
	close_scene(&s);
}

ORMA_TEST(a_session_has_ended_when_the_last_of_the_memory_is_scraped)
{
	struct scene s;

	open_scene(&s);
	orma_consumer_port_disable(s.consumer.port);
	CHECK_LOG(&s.consumer.log, "");
	/* Neither again nor anew. */
	orma_consumer_port_disable(s.consumer.port);
	flush(&s.consumer, 0);
	CHECK_LOG(&s.consumer.log, "flush_failed");
	CHECK_INT(orma_consumer_port_start(s.consumer.port, NULL), -EBUSY);
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "disabled");
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES);
	close_scene(&s);
}

/* A scrape for a flush is under way when the session is stopped: the flush has succeeded, too. */
ORMA_TEST(a_session_that_ends_during_a_scrape_is_scraped_from_the_beginning)
{
	struct scene s;

	open_scene(&s);
	flush_and_answer(&s);
	commit_page(&s.producers[0], 0, s.producers[0].target_buffer);
	write_chunk(&s.producers[0],
		    (struct chunk){.page_idx = 0, .chunk_id = PAGES, .writer_id = 1},
		    TEXTS("late"));
	orma_consumer_port_disable(s.consumer.port);
	CHECK_LOG(&s.consumer.log, "");
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flushed disabled");
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES + 1);
	close_scene(&s);
}

ORMA_TEST(producers_may_come_and_go_while_memory_is_scraped)
{
	struct orma_producer_info info = producer_info("q");
	struct scene s;
	struct producer late;

	open_scene(&s);
	flush_and_answer(&s);
	producer_close(&s.producers[0]);
	producer_close(&s.producers[2]);
	info.shm_size_hint_bytes = PAGES * PAGE_KB << 10;
	info.page_size_hint_bytes = PAGE_KB << 10;
	CHECK_INT(producer_try(&s.world, &late, &info), 0);
	CHECK_INT(register_source(&late, "name: 'test'"), 0);
	fill(&late, 9);
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flushed");
	/* The new one came after the flush; its answer was not asked for. */
	CHECK_INT(chunks_written(&s.consumer), PRODUCERS * PAGES);
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES);
	producer_close(&late);
	close_scene(&s);
}

/* A step of the first one's leaving, at most as much as one step may be. */
static bool leave_once(struct scene *s)
{
	uint64_t before = chunks_written(&s->consumer);
	bool is_over = orma_service_disconnect_step(s->producers[0].port);

	CHECK(chunks_written(&s->consumer) - before <=
	      ORMA_SERVICE_SCRAPE_STEP_BYTES / (PAGE_KB << 10) + 1);
	return is_over;
}

ORMA_TEST(the_memory_of_a_producer_that_leaves_is_scraped_in_steps)
{
	struct scene s;
	unsigned steps = 1;

	open_scene(&s);
	for (; !leave_once(&s); steps++)
		;
	CHECK(steps >= PAGES * PAGE_KB / (ORMA_SERVICE_SCRAPE_STEP_BYTES >> 10));
	CHECK_INT(chunks_written(&s.consumer), PAGES);
	/* That was all. */
	CHECK(leave_once(&s));
	CHECK_INT(chunks_written(&s.consumer), PAGES);
	producer_close(&s.producers[0]);
	CHECK_INT(count_texts(&s), PAGES);
	close_scene(&s);
}

ORMA_TEST(a_reader_does_not_pass_the_gaps_that_a_leaving_producer_still_fills)
{
	struct scene s;

	open_scene(&s);
	go_round(&s.producers[0]);
	while (!leave_once(&s))
		read_all(&s.consumer, &s.packets);
	producer_close(&s.producers[0]);
	CHECK_INT(count_texts(&s), PAGES + PAGES / 2);
	close_scene(&s);
}

/* Nobody would read again. */
ORMA_TEST(a_reader_passes_the_gaps_of_a_leaving_producer_when_the_session_has_ended)
{
	struct scene s;
	size_t count = 0;

	open_scene(&s);
	go_round(&s.producers[0]);
	CHECK(!leave_once(&s));
	/* The last scrape is cut at its first step. */
	s.world.tick_ns = 6 * ORMA_NS_PER_SEC;
	orma_consumer_port_disable(s.consumer.port);
	while (!s.consumer.log.size)
		orma_service_run(s.world.service);
	CHECK_LOG(&s.consumer.log, "disabled");
	read_all(&s.consumer, &s.packets);
	for (size_t i = 0; i < s.packets.count; i++)
		count += s.packets.items[i]->for_testing &&
			 strncmp(s.packets.items[i]->for_testing->str.data, "again", 5) == 0;
	CHECK(count > 0);
	close_scene(&s);
}

ORMA_TEST(a_producer_that_leaves_is_scraped_for_all_its_sessions_in_one_walk)
{
	struct scene s;
	struct packets packets = {0};
	size_t count = 0;

	open_scene(&s);
	consumer_close(&s.other);
	consumer_open(&s.world, &s.other);
	enable_ok(&s.other, "buffers { size_kb: 65536 } data_sources { config { name: 'test' } }");
	/* Its buffer is the last that the producer was told of. */
	orma_producer_port_register_writer(s.producers[0].port, 2, s.producers[0].target_buffer);
	write_chunk(&s.producers[0],
		    (struct chunk){.page_idx = PAGES - 1, .chunk_id = 0, .writer_id = 2},
		    TEXTS("two"));
	producer_close(&s.producers[0]);
	CHECK_INT(count_texts(&s), PAGES - 1);
	read_all(&s.other, &packets);
	for (size_t i = 0; i < packets.count; i++)
		count += packets.items[i]->for_testing != NULL;
	CHECK_INT(count, 1);
	packets_done(&packets);
	close_scene(&s);
}

/* It is still there, so it is asked, and has answered when it has left. */
ORMA_TEST(a_flush_while_a_producer_leaves_ends_with_its_end_and_everything_is_there_once)
{
	struct scene s;

	open_scene(&s);
	CHECK(!leave_once(&s));
	flush(&s.consumer, 0);
	answer_flush(&s.producers[1]);
	answer_flush(&s.producers[2]);
	while (!leave_once(&s))
		;
	CHECK_LOG(&s.consumer.log, "");
	producer_close(&s.producers[0]);
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "flushed");
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES);
	close_scene(&s);
}

ORMA_TEST(a_session_may_end_while_a_producer_leaves)
{
	struct scene s;

	open_scene(&s);
	CHECK(!leave_once(&s));
	/* The scrape of the end begins anew with what there is. */
	orma_consumer_port_disable(s.consumer.port);
	while (!s.consumer.log.size)
		run_once(&s);
	CHECK_LOG(&s.consumer.log, "disabled");
	producer_close(&s.producers[0]);
	CHECK_INT(count_texts(&s), PRODUCERS * PAGES);
	close_scene(&s);

	open_scene(&s);
	CHECK(!leave_once(&s));
	consumer_close(&s.consumer);
	while (orma_service_next_deadline_ns(s.world.service) <= START_NS + s.world.passed_ns)
		orma_service_run(s.world.service);
	CHECK(orma_service_disconnect_step(s.producers[0].port));
	producer_close(&s.producers[0]);
	close_scene(&s);
}

ORMA_TEST(consumers_may_go_while_memory_is_scraped)
{
	struct scene s;

	for (int i = 0; i < 3; i++) {
		open_scene(&s);
		if (i > 0)
			flush_and_answer(&s);
		if (i != 1)
			orma_consumer_port_disable(s.consumer.port);
		consumer_close(&s.consumer);
		while (orma_service_next_deadline_ns(s.world.service) <=
		       START_NS + s.world.passed_ns)
			orma_service_run(s.world.service);
		/* It has gone: its name and its place are free. */
		consumer_open(&s.world, &s.consumer);
		enable_ok(&s.consumer, "buffers { size_kb: 64 } unique_session_name: 'x'");
		close_scene(&s);
	}
	open_scene(&s);
	flush_and_answer(&s);
	close_scene(&s);
}

/* Stands for a file. */
struct fake_file {
	uint64_t session_id;
	size_t bytes;
	bool is_closed;
};
static struct fake_file fake_file;

static int fake_open(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	(void)ctx;
	close(fd);
	fake_file = (struct fake_file){.session_id = session_id};
	*ret_file = &fake_file;
	return 0;
}

static int fake_write(void *ctx, void *file, const struct iovec *iov, int iov_count)
{
	(void)ctx;
	for (int i = 0; i < iov_count; i++)
		((struct fake_file *)file)->bytes += iov[i].iov_len;
	return 0;
}

static void fake_close(void *ctx, void *file, bool sync)
{
	(void)ctx;
	(void)sync;
	((struct fake_file *)file)->is_closed = true;
}

/* The service is told to end while the last scrape is under way: the file gets everything. */
ORMA_TEST(a_service_that_ends_waits_for_the_last_scrape)
{
	static const struct orma_service_file_ops ops = {
		.struct_size = sizeof(ops),
		.open = fake_open,
		.write = fake_write,
		.close = fake_close,
	};
	struct orma_producer_info info = producer_info("p");
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
	struct world world;
	struct producer producer;
	struct consumer consumer;

	world_open_with(&world, &ops);
	info.shm_size_hint_bytes = PAGES * PAGE_KB << 10;
	info.page_size_hint_bytes = PAGE_KB << 10;
	CHECK_INT(producer_try(&world, &producer, &info), 0);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	consumer_open(&world, &consumer);
	CHECK_INT(enable_into(&consumer, fd,
			      "buffers { size_kb: 65536 } write_into_file: true "
			      "data_sources { config { name: 'test' } }"),
		  0);
	close(fd);
	fill(&producer, 0);
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&consumer.log, "");
	orma_service_shut_down(world.service, 1000);
	pass_ms(&world, 10);
	CHECK(fake_file.is_closed);
	CHECK(fake_file.bytes > PAGES * strlen("0.000"));
	orma_service_file_event(world.service, fake_file.session_id, ORMA_FILE_CLOSED);
	CHECK_LOG(&consumer.log, "disabled");
	CHECK(!orma_service_has_open_files(world.service));
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}
