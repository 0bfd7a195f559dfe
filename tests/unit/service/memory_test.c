/* SPDX-License-Identifier: Apache-2.0
 * memory_test.c - the memory that producers share: how much of it a user gets, and that the service
 * allocates none of it by looking.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "fixture.h"

enum { PAGE_BYTES = 4096, LARGE_BYTES = 8 << 20 };

static size_t allocated_bytes(int fd)
{
	struct stat st;

	CHECK_INT(fstat(fd, &st), 0);
	return (size_t)st.st_blocks * 512;
}

/* --- holes ------------------------------------------------------------------------------------ */

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	int fd; /* the memory's */
};

/* A producer with 8 MiB of memory, which the service makes or the producer brings. */
static void open_scene(struct scene *s, bool is_provided, uint32_t page_bytes)
{
	struct orma_producer_info info = producer_info("p");

	memset(s, 0, sizeof(*s));
	world_open(&s->world);
	info.page_size_hint_bytes = page_bytes;
	info.shm_size_hint_bytes = LARGE_BYTES;
	if (is_provided) {
		info.shm_fd = orma_base_memfd_new("test", LARGE_BYTES);
		CHECK(info.shm_fd >= 0);
	}
	CHECK_INT(producer_try(&s->world, &s->producer, &info), 0);
	consumer_open(&s->world, &s->consumer);
	CHECK_INT(register_source(&s->producer, "name: 'test'"), 0);
	enable_ok(&s->consumer, ONE_BUFFER);
	CHECK_INT(s->producer.memory_bytes, LARGE_BYTES);
	CHECK_INT(s->producer.page_bytes, page_bytes);
	CHECK_INT(s->producer.memory_fd == -1, is_provided);
	s->fd = is_provided ? info.shm_fd : fcntl(s->producer.memory_fd, F_DUPFD_CLOEXEC, 0);
	CHECK(s->fd >= 0);
	orma_producer_port_register_writer(s->producer.port, 1, s->producer.target_buffer);
}

static void close_scene(struct scene *s)
{
	consumer_close(&s->consumer);
	if (s->producer.port)
		producer_close(&s->producer);
	world_close(&s->world);
	close(s->fd);
}

static void flush_and_answer(struct scene *s)
{
	log_clear(&s->consumer.log);
	flush(&s->consumer, 0);
	answer_flush(&s->producer);
	while (!s->consumer.log.size)
		orma_service_run(s->world.service);
	CHECK_LOG(&s->consumer.log, "flushed");
}

static void check_texts(struct scene *s, const char *expected)
{
	struct packets packets = {0};

	read_all(&s->consumer, &packets);
	CHECK_STR(texts_of(&packets), expected);
	packets_done(&packets);
}

static void scrape_holes(bool is_provided)
{
	struct scene s;

	open_scene(&s, is_provided, PAGE_BYTES);
	write_chunk(&s.producer, (struct chunk){.page_idx = 700, .writer_id = 1}, TEXTS("one"));
	flush_and_answer(&s);
	check_texts(&s, "one");
	CHECK_INT(allocated_bytes(s.fd), PAGE_BYTES);
	/* Pages that are written later are seen later; the service leaves with the producer. */
	write_chunk(&s.producer, (struct chunk){.page_idx = 9, .chunk_id = 1, .writer_id = 1},
		    TEXTS("two"));
	write_chunk(&s.producer, (struct chunk){.page_idx = 2000, .chunk_id = 2, .writer_id = 1},
		    TEXTS("three"));
	flush_and_answer(&s);
	check_texts(&s, "two three");
	producer_close(&s.producer);
	CHECK_INT(allocated_bytes(s.fd), 3 * PAGE_BYTES);
	close_scene(&s);
}

ORMA_TEST(pages_that_nobody_wrote_are_holes_after_a_scrape)
{
	scrape_holes(false);
}

ORMA_TEST(pages_that_nobody_wrote_are_holes_after_a_scrape_of_memory_that_was_brought)
{
	scrape_holes(true);
}

ORMA_TEST(the_end_of_a_large_chunk_is_a_hole_after_a_scrape)
{
	struct scene s;

	open_scene(&s, false, 32 << 10);
	write_chunk(&s.producer,
		    (struct chunk){.page_idx = 3, .writer_id = 1, .state = ORMA_SHM_BEING_WRITTEN},
		    TEXTS("small"));
	flush_and_answer(&s);
	check_texts(&s, "small");
	CHECK_INT(allocated_bytes(s.fd), PAGE_BYTES);
	close_scene(&s);
}

ORMA_TEST(pages_that_nobody_wrote_are_holes_after_a_commit_of_them)
{
	struct scene s;

	open_scene(&s, false, PAGE_BYTES);
	for (uint32_t i = 0; i < LARGE_BYTES / PAGE_BYTES + 2; i++)
		commit_page(&s.producer, i, s.producer.target_buffer);
	CHECK_INT(allocated_bytes(s.fd), 0);
	/* The same pages count once there is something in them. */
	send_packet(&s.producer, 0, "first");
	check_texts(&s, "first");
	close_scene(&s);
}

/* --- the limit of a user ---------------------------------------------------------------------- */

enum { LARGEST = ORMA_SERVICE_SHM_BYTES_MAX };
enum { FITTING = ORMA_SERVICE_SHM_BYTES_PER_USER / LARGEST }; /* producers */

/* A producer of this user that wishes for the largest memory, and gets a first instance. */
static void join(struct world *world, struct producer *producer, uid_t uid)
{
	struct orma_producer_info info = producer_info("p");

	info.uid = uid;
	info.shm_size_hint_bytes = LARGEST;
	info.page_size_hint_bytes = 32 << 10;
	CHECK_INT(producer_try(world, producer, &info), 0);
	CHECK_INT(register_source(producer, "name: 'test'"), 0);
}

ORMA_TEST(a_user_who_shares_too_much_gets_the_default_size_which_works)
{
	struct world world;
	struct producer producers[FITTING], late, other, next;
	struct consumer consumer;
	struct packets packets = {0};

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, ONE_BUFFER);
	for (size_t i = 0; i < FITTING; i++) {
		join(&world, &producers[i], 1000);
		CHECK_INT(producers[i].memory_bytes, LARGEST);
	}
	join(&world, &late, 1000);
	CHECK_INT(late.memory_bytes, ORMA_SERVICE_SHM_BYTES_DEFAULT);
	CHECK_INT(late.page_bytes, 32 << 10);
	join(&world, &other, 1001);
	CHECK_INT(other.memory_bytes, LARGEST);
	send_packet(&late, 0, "works");
	read_all(&consumer, &packets);
	CHECK_STR(texts_of(&packets), "works");
	/* When a producer disconnects its memory is free again, except for the share of the
	 * small one. */
	producer_close(&producers[0]);
	producer_close(&late);
	join(&world, &next, 1000);
	CHECK_INT(next.memory_bytes, LARGEST);
	packets_done(&packets);
	consumer_close(&consumer);
	for (size_t i = 1; i < FITTING; i++)
		producer_close(&producers[i]);
	producer_close(&next);
	producer_close(&other);
	world_close(&world);
}

/* --- upstream's libraries --------------------------------------------------------------------- */

#define UPSTREAM "Perfetto v56.0-0123456789 (0123456789)"

ORMA_TEST(upstreams_libraries_get_as_many_pages_but_larger_ones_when_nobody_names_a_size)
{
	static const struct {
		const char *version, *config;
		uint32_t shm_kb, page_kb;
		const char *log;
	} cases[] = {
		{UPSTREAM, "", 0, 0, "memory:1024/16"},
		{"Perfetto v20.1-x (y)", "", 128, 0, "memory:512/16"},
		{UPSTREAM, "", 1024, 0, "memory:4096/16"},
		{UPSTREAM, "", 1028, 0, "memory:1028/4"},
		{UPSTREAM, "", 2048, 32, "memory:2048/32"},
		{UPSTREAM, "", 0, 4, "memory:256/4"},
		{UPSTREAM, "", 129, 0, "memory:1024/16"},
		{UPSTREAM, "producers { producer_name: 'p' page_size_kb: 4 }", 0, 0,
		 "memory:256/4"},
		{UPSTREAM, "producers { producer_name: 'p' shm_size_kb: 512 }", 0, 0,
		 "memory:512/4"},
		{UPSTREAM, "producers { producer_name: 'q' shm_size_kb: 512 }", 0, 0,
		 "memory:1024/16"},
		/* A library that sends no version, or another one, gets small pages. */
		{"", "", 0, 0, "memory:256/4"},
		{NULL, "", 0, 0, "memory:256/4"},
		{"orma 0.1.0", "", 0, 0, "memory:256/4"},
		{"PerfettoX", "", 0, 0, "memory:256/4"},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		struct orma_producer_info info = producer_info("p");
		struct world world;
		struct producer producer;
		struct consumer consumer;
		char config[256];

		info.sdk_version = cases[i].version;
		info.shm_size_hint_bytes = cases[i].shm_kb << 10;
		info.page_size_hint_bytes = cases[i].page_kb << 10;
		snprintf(config, sizeof(config), ONE_BUFFER "%s", cases[i].config);
		world_open(&world);
		CHECK_INT(producer_try(&world, &producer, &info), 0);
		consumer_open(&world, &consumer);
		CHECK_INT(register_source(&producer, "name: 'test'"), 0);
		enable_ok(&consumer, config);
		producer.log.text[strcspn(producer.log.text, " ")] = '\0';
		CHECK_STR(producer.log.text, cases[i].log);
		send_packet(&producer, 0, "works");
		consumer_close(&consumer);
		producer_close(&producer);
		world_close(&world);
	}
}

ORMA_TEST(upstreams_libraries_get_what_they_ask_for_when_their_users_share_is_used_up)
{
	struct orma_producer_info info = producer_info("p");
	struct world world;
	struct producer producers[FITTING], late;
	struct consumer consumer;

	world_open(&world);
	consumer_open(&world, &consumer);
	enable_ok(&consumer, ONE_BUFFER);
	for (size_t i = 0; i < FITTING; i++)
		join(&world, &producers[i], info.uid);
	for (uint32_t shm_kb = 0; shm_kb <= 512; shm_kb += 128) {
		info.sdk_version = UPSTREAM;
		info.shm_size_hint_bytes = shm_kb << 10;
		CHECK_INT(producer_try(&world, &late, &info), 0);
		CHECK_INT(register_source(&late, "name: 'test'"), 0);
		CHECK_INT(late.memory_bytes, (shm_kb == 128 ? 128 : 256) << 10);
		CHECK_INT(late.page_bytes, 4096);
		producer_close(&late);
	}
	for (size_t i = 0; i < FITTING; i++)
		producer_close(&producers[i]);
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(a_user_who_shares_too_much_may_bring_memory_of_the_default_size_only)
{
	struct orma_producer_info info = producer_info("p");
	struct orma_producer_port *ports[FITTING + 1];
	struct world world;
	bool is_taken;

	world_open(&world);
	for (size_t i = 0; i < FITTING; i++) {
		info.shm_fd = orma_base_memfd_new("test", LARGEST);
		CHECK_INT(orma_producer_port_open(world.service, &info, &producer_callbacks, NULL,
						  &is_taken, &ports[i]),
			  0);
		CHECK(is_taken);
		close(info.shm_fd);
	}
	for (int is_small = 0; is_small < 2; is_small++) {
		info.shm_fd = orma_base_memfd_new("test", (size_t)ORMA_SERVICE_SHM_BYTES_DEFAULT
								  << !is_small);
		CHECK_INT(orma_producer_port_open(world.service, &info, &producer_callbacks, NULL,
						  &is_taken, &ports[FITTING]),
			  0);
		CHECK_INT(is_taken, is_small);
		orma_producer_port_close(ports[FITTING]);
		close(info.shm_fd);
	}
	for (size_t i = 0; i < FITTING; i++)
		orma_producer_port_close(ports[i]);
	world_close(&world);
}
