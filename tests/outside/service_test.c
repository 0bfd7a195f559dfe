/* SPDX-License-Identifier: Apache-2.0
 * service_test.c - a service in an embedder, with the public headers only: the embedder's time,
 * randomness, files, codec, regular expressions and log, and a producer without the library.
 */
#include <fcntl.h>
#include <orma/orma.h>
#include <time.h>
#include <unistd.h>

#include "harness.h"

/* --- a world that the test owns --------------------------------------------------------------------- */

struct block {
	char data[300000];
	size_t size;
	bool is_finished;
};

struct world {
	struct orma_service *service;
	struct orma_consumer_port *consumer;
	struct orma_producer_port *producer;
	uint64_t now_ns;
	int randoms;
	/* producer */
	uint32_t page_bytes;
	uint64_t instance_id;
	int setups, starts, stops;
	uint64_t flush_id;
	/* consumer */
	int disabled, readable;
	char error[256];
	/* a file */
	int opened, written, closed, file_error;
	bool is_file_full;
	int file_fd;
	/* a codec */
	struct block blocks[ORMA_COMPRESSOR_BLOCKS_MAX];
	int submitted, taken, streams;
	/* regular expressions */
	int regexes, matches;
};

static uint64_t tell_time(void *ctx, int clock_id)
{
	const struct world *world = ctx;

	return clock_id == CLOCK_REALTIME ? UINT64_C(1700000000000000000) + world->now_ns
					  : UINT64_C(1000000000000) + world->now_ns;
}

static uint64_t monotonic_ns(struct world *world)
{
	return tell_time(world, CLOCK_MONOTONIC);
}

static void be_random(void *ctx, void *data, size_t size)
{
	((struct world *)ctx)->randoms++;
	memset(data, 0x42, size);
}

static void on_setup_tracing(void *ctx, const struct orma_shared_memory *memory)
{
	CHECK_INT(memory->fd, -1);
	((struct world *)ctx)->page_bytes = memory->page_size_bytes;
}

static void on_setup(void *ctx, uint64_t id, const void *config, size_t size)
{
	struct world *world = ctx;

	CHECK(config && size > 0);
	world->instance_id = id;
	world->setups++;
}

static void on_start(void *ctx, uint64_t id, const void *config, size_t size)
{
	(void)config;
	(void)size;
	CHECK_INT(id, ((struct world *)ctx)->instance_id);
	((struct world *)ctx)->starts++;
}

static void on_stop(void *ctx, uint64_t id)
{
	CHECK_INT(id, ((struct world *)ctx)->instance_id);
	((struct world *)ctx)->stops++;
}

static void on_flush(void *ctx, uint64_t request_id, const uint64_t *ids, size_t count,
		     uint64_t flags)
{
	(void)flags;
	CHECK_INT(count, 1);
	CHECK_INT(ids[0], ((struct world *)ctx)->instance_id);
	((struct world *)ctx)->flush_id = request_id;
}

static void on_disabled(void *ctx, const char *error)
{
	struct world *world = ctx;

	world->disabled++;
	snprintf(world->error, sizeof(world->error), "%s", error ? error : "");
}

static void on_readable(void *ctx)
{
	((struct world *)ctx)->readable++;
}

static void on_flushed(void *ctx, bool is_complete)
{
	*(int *)ctx = is_complete ? 1 : -1;
}

static const struct orma_producer_callbacks producer_callbacks = {
	.struct_size = sizeof(producer_callbacks),
	.setup_tracing = on_setup_tracing,
	.setup_data_source = on_setup,
	.start_data_source = on_start,
	.stop_data_source = on_stop,
	.flush = on_flush,
};

static const struct orma_consumer_callbacks consumer_callbacks = {
	.struct_size = sizeof(consumer_callbacks),
	.tracing_disabled = on_disabled,
	.readable = on_readable,
};

static struct orma_service_options world_options(struct world *world)
{
	return (struct orma_service_options){
		.struct_size = sizeof(struct orma_service_options),
		.ctx = world,
		.now_ns = tell_time,
		.random = be_random,
		.version = "embedder 1.0",
		.has_uid = true,
		.uid = 77,
	};
}

static void world_open(struct world *world, const struct orma_service_options *options)
{
	/* name: "hand"; will_notify_on_start and _stop stay false */
	static const char descriptor[] = "\x0a\x04hand";
	const struct orma_producer_info producer = {
		.struct_size = sizeof(producer),
		.uid = 1000,
		.pid = 4711,
		.name = "by.hand",
		.shm_fd = -1,
		.cannot_pass_fds = true,
	};
	const struct orma_consumer_info consumer = {
		.struct_size = sizeof(consumer), .uid = 77, .pid = 1};

	CHECK_INT(orma_service_new(options, &world->service), 0);
	CHECK_INT(orma_producer_port_open(world->service, &producer, &producer_callbacks, world,
					  NULL, &world->producer),
		  0);
	CHECK_INT(orma_producer_port_register_data_source(world->producer, descriptor,
							  sizeof(descriptor) - 1),
		  0);
	CHECK_INT(orma_consumer_port_open(world->service, &consumer, &consumer_callbacks, world,
					  &world->consumer),
		  0);
}

static int try_enable(struct world *world, const char *text, int fd, struct orma_error *reterr)
{
	struct orma_error error = {0};
	void *config;
	size_t size;
	int r;

	if (orma_config_parse("test", text, strlen(text), &config, &size, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	r = orma_consumer_port_enable(world->consumer, config, size, fd, reterr);
	orma_config_free(config);
	return r;
}

static void enable(struct world *world, const char *text, int fd)
{
	struct orma_error error = {0};

	if (try_enable(world, text, fd, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
}

/* Passes time, serving each deadline. */
static void pass_ms(struct world *world, uint64_t ms)
{
	uint64_t end_ns = world->now_ns + ms * 1000000;

	for (;;) {
		uint64_t next_ns = orma_service_next_deadline_ns(world->service);

		if (next_ns == UINT64_MAX || next_ns > monotonic_ns(world) + end_ns - world->now_ns)
			break;
		if (next_ns > monotonic_ns(world))
			world->now_ns += next_ns - monotonic_ns(world);
		orma_service_run(world->service);
	}
	world->now_ns = end_ns;
	orma_service_run(world->service);
}

/* One chunk with packets whose field 900 holds a text, as a producer without memory sends it. */
static void commit(struct world *world, uint32_t chunk_id, uint32_t buffer, int count)
{
	/* for_testing (900) { str (1): "from-a-hand" } */
	static const char packet[] = "\xa2\x38\x0d\x0a\x0b"
				     "from-a-hand";
	char chunk[4096] = {0};
	size_t size = 8;
	uint16_t writer_id = 1, counts = (uint16_t)count;

	memcpy(chunk, &chunk_id, 4);
	memcpy(chunk + 4, &writer_id, 2);
	memcpy(chunk + 6, &counts, 2);
	for (int i = 0; i < count; i++) {
		chunk[size++] = sizeof(packet) - 1;
		memcpy(chunk + size, packet, sizeof(packet) - 1);
		size += sizeof(packet) - 1;
	}
	const struct orma_chunk_move move = {
		.target_buffer = buffer, .data = chunk, .size = world->page_bytes - 8};
	const struct orma_commit commit = {
		.moves = &move, .move_count = 1, .flush_request_id = world->flush_id};

	orma_producer_port_commit(world->producer, &commit);
}

static size_t count_in(const void *data, size_t size)
{
	size_t count = 0;

	for (size_t at = 0; at + 11 <= size; at++)
		count += memcmp((const char *)data + at, "from-a-hand", 11) == 0;
	return count;
}

static size_t read_and_count(struct world *world)
{
	struct orma_trace_batch batch;
	size_t count = 0;

	do {
		CHECK_INT(orma_consumer_port_read(world->consumer, 4096, &batch), 0);
		for (size_t i = 0; i < batch.count; i++)
			count += count_in(batch.slices[i].data, batch.slices[i].size);
	} while (batch.has_more);
	return count;
}

#define HAND "buffers { size_kb: 512 } data_sources { config { name: \"hand\" target_buffer: 0 } } "

/* --- time ------------------------------------------------------------------------------------------- */

ORMA_TEST(time_passes_when_the_embedder_says_so)
{
	struct world world = {0};
	struct orma_service_options options = world_options(&world);

	world_open(&world, &options);
	CHECK(orma_service_next_deadline_ns(world.service) == UINT64_MAX);
	enable(&world, HAND "duration_ms: 60000 flush_timeout_ms: 100", -1);
	CHECK_INT(world.setups, 1);
	CHECK_INT(world.starts, 1);
	CHECK(world.page_bytes >= 4096);
	CHECK(world.randoms > 0);
	CHECK(orma_service_next_deadline_ns(world.service) <=
	      monotonic_ns(&world) + UINT64_C(60000000000));
	commit(&world, 0, 1, 3);
	pass_ms(&world, 59999);
	CHECK_INT(world.disabled, 0);
	/* A minute passes at once; nothing answers the last flush. */
	pass_ms(&world, 1 + 100);
	CHECK_INT(world.disabled, 1);
	CHECK_STR(world.error, "");
	CHECK_INT(world.stops, 1);
	CHECK_INT(read_and_count(&world), 3);
	orma_service_free(world.service);
}

ORMA_TEST(a_producer_by_hand_answers_a_flush)
{
	struct world world = {0};
	struct orma_service_options options = world_options(&world);
	struct orma_trace_stats *stats;
	const void *data;
	size_t size;
	int done = 0;

	world_open(&world, &options);
	enable(&world, HAND, -1);
	CHECK_INT(orma_consumer_port_flush(world.consumer, 5000, 0, on_flushed, &done), 0);
	CHECK(world.flush_id > 0);
	CHECK_INT(done, 0);
	commit(&world, 0, 1, 5);
	CHECK_INT(done, 1);
	CHECK_INT(orma_consumer_port_flush(world.consumer, 5000, 0, on_flushed, &done), 0);
	pass_ms(&world, 5001);
	CHECK_INT(done, -1);
	/* The buffer belongs to another session: nothing is written, and the attempt is counted. */
	world.flush_id = 0;
	commit(&world, 1, 2, 5);
	CHECK_INT(orma_consumer_port_get_stats(world.consumer, &data, &size), 0);
	CHECK_INT(orma_trace_stats_parse(data, size, &stats), 0);
	CHECK_INT(stats->chunks_refused, 1);
	CHECK_INT(stats->buffers[0]->chunks_written, 1);
	CHECK_INT(stats->flushes_requested, 2);
	CHECK_INT(stats->flushes_failed, 1);
	orma_trace_stats_free(stats);
	CHECK_INT(read_and_count(&world), 5);
	CHECK_INT(orma_consumer_port_query_state(world.consumer, false, &data, &size), 0);
	CHECK(memmem(data, size, "by.hand", 7));
	CHECK(memmem(data, size, "embedder 1.0", 12));
	CHECK_INT(orma_consumer_port_query_capabilities(world.consumer, &data, &size), 0);
	CHECK(size > 0);
	CHECK_INT(orma_consumer_port_get_config(world.consumer, &data, &size), 0);
	CHECK(memmem(data, size, "hand", 4));
	orma_consumer_port_free_buffers(world.consumer);
	CHECK_INT(world.disabled, 1);
	CHECK_INT(orma_consumer_port_get_config(world.consumer, &data, &size), -ENOENT);
	CHECK_INT(orma_consumer_port_get_stats(world.consumer, &data, &size), -ENOENT);
	orma_service_free(world.service);
}

/* --- files ------------------------------------------------------------------------------------------ */

static int file_open(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	struct world *world = ctx;

	CHECK(session_id > 0);
	if (world->file_error) {
		close(fd);
		return world->file_error;
	}
	world->opened++;
	world->file_fd = fd;
	*ret_file = world;
	return 0;
}

static int file_write(void *ctx, void *file, const struct iovec *iov, int iov_count)
{
	struct world *world = ctx;

	CHECK(file == world);
	if (world->is_file_full)
		return -EAGAIN;
	for (int i = 0; i < iov_count; i++)
		world->written += (int)count_in(iov[i].iov_base, iov[i].iov_len);
	return 0;
}

static void file_close(void *ctx, void *file, bool sync)
{
	struct world *world = ctx;

	(void)sync;
	CHECK(file == world);
	world->closed++;
	close(world->file_fd);
}

static const struct orma_service_file_ops file_ops = {
	.struct_size = offsetof(struct orma_service_file_ops, sync),
	.open = file_open,
	.write = file_write,
	.close = file_close,
};

#define INTO_FILE HAND "write_into_file: true file_write_period_ms: 1000 "

static int open_null(void)
{
	char path[200];

	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	return open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
}

ORMA_TEST(files_are_written_by_the_embedder_and_it_may_be_slow)
{
	struct world world = {0};
	struct orma_service_options options = world_options(&world);
	int fd = open_null();

	options.file_ops = &file_ops;
	world_open(&world, &options);
	enable(&world, INTO_FILE, fd);
	close(fd); /* the service has its own */
	CHECK_INT(world.opened, 1);
	commit(&world, 0, 1, 5);
	world.is_file_full = true;
	pass_ms(&world, 3000);
	CHECK_INT(world.written, 0);
	world.is_file_full = false;
	orma_service_file_event(world.service, 1, 0);
	pass_ms(&world, 1000);
	CHECK_INT(world.written, 5);
	commit(&world, 1, 1, 2);
	CHECK(orma_service_has_open_files(world.service));
	orma_service_shut_down(world.service, 10);
	pass_ms(&world, 20);
	CHECK_INT(world.written, 7);
	CHECK_INT(world.closed, 1);
	CHECK_INT(world.disabled, 0);
	CHECK(orma_service_has_open_files(world.service));
	orma_service_file_event(world.service, 1, 1);
	CHECK(!orma_service_has_open_files(world.service));
	CHECK_INT(world.disabled, 1);
	/* Events of unknown files are ignored. */
	orma_service_file_event(world.service, 1, 1);
	orma_service_file_event(world.service, 99, -EIO);
	orma_service_free(world.service);
}

ORMA_TEST(a_file_that_cannot_be_opened_or_written_ends_its_session_with_the_reason)
{
	struct world world = {.file_error = -EROFS};
	struct orma_service_options options = world_options(&world);
	struct orma_error error = {0};
	int fd = open_null();

	options.file_ops = &file_ops;
	world_open(&world, &options);
	CHECK_INT(try_enable(&world, INTO_FILE, fd, &error), -EROFS);
	CHECK(error.message[0]);
	CHECK_INT(world.setups, 0);
	world.file_error = 0;
	enable(&world, INTO_FILE, fd);
	close(fd);
	commit(&world, 0, 1, 1);
	/* The failed session had the first number. */
	for (uint64_t id = 1; id < 4; id++)
		orma_service_file_event(world.service, id, -ENOSPC);
	pass_ms(&world, 20000);
	CHECK_INT(world.closed, 1);
	for (uint64_t id = 1; id < 4; id++)
		orma_service_file_event(world.service, id, 1);
	CHECK_INT(world.disabled, 1);
	CHECK(world.error[0]);
	orma_service_free(world.service);
}

/* --- a codec that does nothing, later ---------------------------------------------------------------- */

static int stream_open(void *ctx, enum orma_codec codec, int level, uint64_t session_id,
		       void **ret_stream)
{
	struct world *world = ctx;

	(void)level;
	CHECK_INT(codec, ORMA_CODEC_DEFLATE);
	CHECK_INT(session_id, 1);
	world->streams++;
	*ret_stream = world;
	return 0;
}

static int stream_submit(void *ctx, void *stream, const void *data, size_t size)
{
	struct world *world = ctx;
	struct block *block = &world->blocks[world->submitted % ORMA_COMPRESSOR_BLOCKS_MAX];

	CHECK(stream == world);
	CHECK(world->submitted - world->taken < ORMA_COMPRESSOR_BLOCKS_MAX);
	CHECK(size <= sizeof(block->data));
	memcpy(block->data, data, size);
	block->size = size;
	block->is_finished = false;
	world->submitted++;
	return 0;
}

static int stream_take(void *ctx, void *stream, const void **ret_data, size_t *ret_size)
{
	struct world *world = ctx;
	struct block *block = &world->blocks[world->taken % ORMA_COMPRESSOR_BLOCKS_MAX];

	CHECK(stream == world);
	if (world->taken == world->submitted || !block->is_finished)
		return 0;
	world->taken++;
	*ret_data = block->data;
	*ret_size = block->size;
	return 1;
}

static void stream_close(void *ctx, void *stream)
{
	CHECK(stream == ctx);
	((struct world *)ctx)->streams--;
}

static const struct orma_compressor_ops compressor_ops = {
	.struct_size = sizeof(compressor_ops),
	.codecs = 1 << ORMA_CODEC_DEFLATE,
	.open = stream_open,
	.submit = stream_submit,
	.take = stream_take,
	.close = stream_close,
};

ORMA_TEST(blocks_are_compressed_by_the_embedder_when_it_likes)
{
	static struct world world;
	struct orma_service_options options = world_options(&world);
	struct orma_trace_batch batch;

	options.compressor_ops = &compressor_ops;
	options.compressor_ctx = &world;
	world_open(&world, &options);
	enable(&world, HAND "compression { deflate { } }", -1);
	commit(&world, 0, 1, 4);
	CHECK_INT(orma_consumer_port_read(world.consumer, 1 << 20, &batch), -EAGAIN);
	CHECK_INT(world.submitted, 1);
	CHECK_INT(world.streams, 1);
	CHECK_INT(world.readable, 0);
	world.blocks[0].is_finished = true;
	orma_service_compressor_event(world.service, 1);
	orma_service_compressor_event(world.service, 99);
	CHECK_INT(world.readable, 1);
	/* "Compressed" into itself. */
	CHECK_INT(read_and_count(&world), 4);
	orma_service_free(world.service);
	CHECK_INT(world.streams, 0);
}

/* --- regular expressions: equality is one ---------------------------------------------------------- */

struct regex {
	struct world *world;
	char text[64];
};

static int regex_compile(void *ctx, const char *pattern, size_t size, bool is_whole, void **ret,
			 struct orma_error *reterr)
{
	struct world *world = ctx;
	struct regex *regex;

	if (size > 20) {
		snprintf(reterr->message, sizeof(reterr->message), "longer than I can remember");
		return -EINVAL;
	}
	CHECK(is_whole);
	regex = calloc(1, sizeof(*regex));
	CHECK(regex);
	regex->world = world;
	memcpy(regex->text, pattern, size);
	world->regexes++;
	*ret = regex;
	return 0;
}

static int regex_match(void *regex, const char *text, size_t size, size_t offset,
		       uint32_t step_limit, struct orma_regex_group *groups, size_t group_max)
{
	struct regex *self = regex;

	(void)groups;
	CHECK(step_limit > 0 && offset == 0 && group_max == 0);
	self->world->matches++;
	return strlen(self->text) == size && memcmp(self->text, text, size) == 0;
}

static void regex_free(void *regex)
{
	((struct regex *)regex)->world->regexes--;
	free(regex);
}

static const struct orma_regex_ops regex_ops = {
	.struct_size = sizeof(regex_ops),
	.compile = regex_compile,
	.match = regex_match,
	.free = regex_free,
};

ORMA_TEST(regular_expressions_are_the_embedders)
{
	static const char config[] = "buffers { size_kb: 64 } data_sources { config { name: "
				     "\"hand\" } producer_name_regex_filter: \"%s\" }";
	struct world world = {0};
	struct orma_service_options options = world_options(&world);
	struct orma_error error = {0};
	char text[300];

	options.regex_ops = &regex_ops;
	world_open(&world, &options);
	snprintf(text, sizeof(text), config, "an expression that is too long");
	CHECK_INT(try_enable(&world, text, -1, &error), -EINVAL);
	CHECK(strstr(error.message, "longer than I can remember"));
	snprintf(text, sizeof(text), config, "by.hand");
	enable(&world, text, -1);
	CHECK(world.matches > 0);
	CHECK_INT(world.setups, 1);
	CHECK(world.regexes > 0);
	orma_service_free(world.service);
	CHECK_INT(world.regexes, 0);
}

/* --- refusals --------------------------------------------------------------------------------------- */

ORMA_TEST(options_that_are_not_whole_are_refused)
{
	struct world world = {0};
	struct orma_service_options options = world_options(&world);
	struct orma_service_file_ops file = file_ops;
	struct orma_regex_ops regex = regex_ops;
	struct orma_compressor_ops compressor = compressor_ops;
	struct {
		struct orma_service_options known;
		int unknown;
	} newer;
	struct orma_service *service;

	CHECK_INT(orma_service_new(&options, NULL), -EINVAL);
	options.struct_size = 0;
	CHECK_INT(orma_service_new(&options, &service), -EINVAL);
	options = world_options(&world);
	options.file_ops = &file;
	file.write = NULL;
	CHECK_INT(orma_service_new(&options, &service), -EINVAL);
	options.file_ops = NULL;
	options.regex_ops = &regex;
	regex.struct_size = offsetof(struct orma_regex_ops, free);
	CHECK_INT(orma_service_new(&options, &service), -EINVAL);
	options.regex_ops = NULL;
	options.compressor_ops = &compressor;
	compressor.take = NULL;
	CHECK_INT(orma_service_new(&options, &service), -EINVAL);
	memset(&newer, 0, sizeof(newer));
	newer.known = world_options(&world);
	newer.known.struct_size = sizeof(newer);
	CHECK_INT(orma_service_new(&newer.known, &service), 0);
	orma_service_free(service);
	newer.unknown = 1;
	CHECK_INT(orma_service_new(&newer.known, &service), -EINVAL);
	CHECK_INT(orma_service_new(NULL, &service), 0);
	orma_service_free(service);
	orma_service_free(NULL);
}

ORMA_TEST(a_service_survives_any_failing_allocation)
{
	struct world world = {0};
	struct orma_service_options options = world_options(&world);
	struct orma_service *service;
	int r = -ENOMEM;

	for (uint64_t nth = 1; r < 0; nth++) {
		orma_test_fail_allocation(nth);
		r = orma_service_new(&options, &service);
		orma_test_fail_allocation(0);
		CHECK(r == 0 || r == -ENOMEM);
	}
	orma_service_free(service);
}

ORMA_TEST(ports_are_not_opened_for_nobody)
{
	struct world world = {0};
	struct orma_service_options options = world_options(&world);
	struct orma_producer_info info = {.struct_size = sizeof(info), .name = "x", .shm_fd = -1};
	struct orma_consumer_info consumer_info = {.struct_size = sizeof(consumer_info)};
	struct orma_producer_port *producer;
	struct orma_consumer_port *consumer;
	char name[1100];

	world_open(&world, &options);
	CHECK_INT(orma_producer_port_open(world.service, NULL, &producer_callbacks, NULL, NULL,
					  &producer),
		  -EINVAL);
	CHECK_INT(orma_producer_port_open(world.service, &info, NULL, NULL, NULL, &producer),
		  -EINVAL);
	CHECK_INT(orma_producer_port_open(world.service, &info, &producer_callbacks, NULL, NULL,
					  NULL),
		  -EINVAL);
	memset(name, 'n', sizeof(name));
	name[sizeof(name) - 1] = '\0';
	info.name = name;
	CHECK_INT(orma_producer_port_open(world.service, &info, &producer_callbacks, NULL, NULL,
					  &producer),
		  -EINVAL);
	info.name = NULL;
	info.struct_size = 1;
	CHECK_INT(orma_producer_port_open(world.service, &info, &producer_callbacks, NULL, NULL,
					  &producer),
		  -EINVAL);
	CHECK_INT(
		orma_consumer_port_open(world.service, NULL, &consumer_callbacks, NULL, &consumer),
		-EINVAL);
	CHECK_INT(orma_consumer_port_open(world.service, &consumer_info, NULL, NULL, &consumer),
		  -EINVAL);
	consumer_info.struct_size = 2;
	CHECK_INT(orma_consumer_port_open(world.service, &consumer_info, &consumer_callbacks, NULL,
					  &consumer),
		  -EINVAL);
	orma_producer_port_close(NULL);
	orma_consumer_port_close(NULL);
	orma_service_free(world.service);
}

ORMA_TEST(what_a_session_cannot_do_in_its_state_is_refused)
{
	struct world world = {0};
	struct orma_service_options options = world_options(&world);
	struct orma_error error = {0};
	struct orma_trace_batch batch;
	int done = 0;

	world_open(&world, &options);
	CHECK_INT(orma_consumer_port_start(world.consumer, &error), -ENOENT);
	CHECK_INT(orma_consumer_port_read(world.consumer, 1, &batch), -ENOENT);
	CHECK_INT(orma_consumer_port_change_config(world.consumer, "", 0), -ENOENT);
	CHECK_INT(orma_consumer_port_detach(world.consumer, "key"), -ENOENT);
	CHECK_INT(orma_consumer_port_detach(world.consumer, ""), -EINVAL);
	CHECK_INT(orma_consumer_port_attach(world.consumer, "key"), -ENOENT);
	CHECK_INT(orma_consumer_port_attach(world.consumer, NULL), -EINVAL);
	CHECK_INT(orma_consumer_port_flush(world.consumer, 1, 0, on_flushed, &done), 0);
	CHECK_INT(done, -1);
	orma_consumer_port_disable(world.consumer);
	orma_consumer_port_free_buffers(world.consumer);
	CHECK_INT(orma_consumer_port_enable(world.consumer, "\xff", 1, -1, &error), -EBADMSG);
	CHECK(error.message[0]);
	enable(&world, HAND "deferred_start: true", -1);
	CHECK_INT(try_enable(&world, HAND, -1, NULL), -EBUSY);
	CHECK_INT(world.starts, 0);
	CHECK_INT(orma_consumer_port_start(world.consumer, NULL), 0);
	CHECK_INT(world.starts, 1);
	CHECK_INT(orma_consumer_port_start(world.consumer, &error), -EBUSY);
	CHECK_INT(orma_consumer_port_detach(world.consumer, "key"), 0);
	CHECK_INT(world.disabled, 0);
	CHECK_INT(orma_consumer_port_attach(world.consumer, "key"), 0);
	CHECK_INT(orma_consumer_port_attach(world.consumer, "key"), -EEXIST);
	orma_consumer_port_disable(world.consumer);
	pass_ms(&world, 10000);
	CHECK_INT(world.disabled, 1);
	CHECK_INT(orma_consumer_port_detach(world.consumer, "key"), -ESTALE);
	CHECK_INT(orma_consumer_port_change_config(world.consumer, "", 0), -ESTALE);
	orma_service_free(world.service);
}

/* --- the log ---------------------------------------------------------------------------------------- */

static void take_message(void *ctx, enum orma_log_level level, const char *message)
{
	CHECK_INT(level, ORMA_LOG_WARNING);
	snprintf(ctx, 200, "%s", message);
}

ORMA_TEST(messages_go_where_the_program_wants_them)
{
	struct world world = {0};
	struct orma_service_options options = world_options(&world);
	char message[200] = "";

	world_open(&world, &options);
	orma_log_set_sink(take_message, message);
	/* An empty config with an unknown field. */
	orma_consumer_port_enable(world.consumer,
				  "\x0a\x02\x08\x40"
				  "\x8a\xfa\x3f\x01x",
				  9, -1, NULL);
	orma_log_set_sink(NULL, NULL);
	CHECK(strstr(message, "does not know"));
	orma_service_free(world.service);
}
