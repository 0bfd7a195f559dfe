/* SPDX-License-Identifier: Apache-2.0
 * compress_test.c - compressed sessions with a compressor that does as it is told: what it gets, in
 * which order it comes out, and what happens when it is slow, fails, or has nobody to work for.
 */
#include <fcntl.h>

#include "fixture.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_stats.pb.h"

#define BLOCKS_KEPT 64

/* "Compresses" a block by keeping it as it is; blocks are finished when the test says so. */
struct fake {
	struct orma_buf blocks[BLOCKS_KEPT];
	size_t submitted, finished, taken, largest;
	int open_streams, opened, codec, level;
	int open_error, submit_error, take_error;
	bool is_quick; /* finishes each block at once */
	uint64_t session_id;
};

static struct fake fake;

static int fake_open(void *ctx, enum orma_codec codec, int level, uint64_t session_id,
		     void **ret_stream)
{
	CHECK(ctx);
	if (fake.open_error)
		return fake.open_error;
	fake.codec = (int)codec;
	fake.level = level;
	fake.session_id = session_id;
	fake.open_streams++;
	fake.opened++;
	*ret_stream = &fake;
	return 0;
}

static int fake_submit(void *ctx, void *stream, const void *data, size_t size)
{
	struct orma_buf *block = &fake.blocks[fake.submitted % BLOCKS_KEPT];

	CHECK(ctx && stream == &fake && size > 0);
	if (fake.submit_error)
		return fake.submit_error;
	block->size = 0;
	if (orma_base_buf_append(block, data, size) < 0)
		return -ENOMEM;
	fake.submitted++;
	fake.largest = ORMA_MAX(fake.largest, size);
	CHECK(fake.submitted - fake.taken <= ORMA_COMPRESSOR_BLOCKS_MAX);
	if (fake.is_quick)
		fake.finished = fake.submitted;
	return 0;
}

static int fake_take(void *ctx, void *stream, const void **ret_data, size_t *ret_size)
{
	const struct orma_buf *block = &fake.blocks[fake.taken % BLOCKS_KEPT];

	CHECK(ctx && stream == &fake);
	if (fake.taken == fake.finished)
		return 0;
	fake.taken++;
	*ret_data = block->data;
	*ret_size = block->size;
	return fake.take_error ? fake.take_error : 1;
}

static void fake_close(void *ctx, void *stream)
{
	CHECK(ctx && stream == &fake);
	fake.open_streams--;
}

static const struct orma_compressor_ops both = {
	.struct_size = sizeof(both),
	.codecs = 1u << ORMA_CODEC_DEFLATE | 1u << ORMA_CODEC_ZSTD,
	.open = fake_open,
	.submit = fake_submit,
	.take = fake_take,
	.close = fake_close,
};

/* A file that takes everything, or nothing. */
static struct {
	struct orma_buf content;
	bool is_full, is_closed;
	uint64_t session_id;
} file;

static int file_open(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	(void)ctx;
	close(fd);
	file.session_id = session_id;
	*ret_file = &file;
	return 0;
}

static int file_write(void *ctx, void *opened, const struct iovec *iov, int iov_count)
{
	(void)ctx;
	(void)opened;
	CHECK(!file.is_closed);
	if (file.is_full)
		return -EAGAIN;
	for (int i = 0; i < iov_count; i++)
		CHECK_INT(orma_base_buf_append(&file.content, iov[i].iov_base, iov[i].iov_len), 0);
	return 0;
}

static void file_close(void *ctx, void *opened, bool sync)
{
	(void)ctx;
	(void)opened;
	(void)sync;
	file.is_closed = true;
}

static const struct orma_service_file_ops file_ops = {
	.struct_size = sizeof(file_ops),
	.open = file_open,
	.write = file_write,
	.close = file_close,
};

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct packets packets; /* the content of compressed ones */
	size_t outer;           /* compressed ones */
};

#define LARGE_BUFFER                                                                               \
	"buffers { size_kb: 16384 } data_sources { config { name: 'test' } } "                     \
	"builtin_data_sources { disable_service_events: true } "
#define ZSTD "compression { zstd {} } "

static void open_scene_with(struct scene *scene, const struct orma_compressor_ops *ops)
{
	memset(scene, 0, sizeof(*scene));
	memset(&fake, 0, sizeof(fake));
	memset(&file, 0, sizeof(file));
	world_open_full(&scene->world, &file_ops, ops);
	producer_open(&scene->world, &scene->producer, "p");
	consumer_open(&scene->world, &scene->consumer);
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
}

static void open_scene(struct scene *scene, const char *config)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	open_scene_with(scene, &both);
	if (enable_into(&scene->consumer, strstr(config, "write_into_file") ? fd : -1, config) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", scene->consumer.error.message);
	close(fd);
}

static void close_scene(struct scene *scene)
{
	packets_done(&scene->packets);
	if (scene->consumer.port)
		consumer_close(&scene->consumer);
	producer_close(&scene->producer);
	world_close(&scene->world);
	CHECK_INT(fake.open_streams, 0);
	for (size_t i = 0; i < BLOCKS_KEPT; i++)
		orma_base_buf_done(&fake.blocks[i]);
	orma_base_buf_done(&file.content);
}

static void unpack(struct scene *scene, const void *data, size_t size)
{
	struct orma_pb_trace_packet *packet;
	struct orma_arena arena = {0};

	CHECK_INT(orma_proto_decode(&orma_pb_trace_packet_desc, data, size, &arena, &packet), 0);
	struct orma_str content = fake.codec == ORMA_CODEC_ZSTD ? packet->zstd_compressed_packets
								: packet->compressed_packets;
	CHECK(content.size > 0);
	/* The preamble and what was compressed, nothing else. */
	CHECK_INT(size, orma_proto_varint_size(content.size) + 2 + content.size);
	read_trace_file(content.data, content.size, &scene->packets);
	scene->outer++;
	orma_base_arena_done(&arena);
}

/* The result of orma_consumer_port_read(); 1 = there is more. */
static int read_some(struct scene *scene)
{
	struct orma_trace_batch batch;
	struct orma_buf packet = {0};
	int r = orma_consumer_port_read(scene->consumer.port, 1000, &batch);

	if (r < 0)
		return r;
	for (size_t i = 0; i < batch.count; i++) {
		CHECK(batch.slices[i].size <= ORMA_SERVICE_COMPRESSED_SLICE);
		CHECK_INT(orma_base_buf_append(&packet, batch.slices[i].data, batch.slices[i].size),
			  0);
		if (!batch.slices[i].ends_packet)
			continue;
		unpack(scene, packet.data, packet.size);
		packet.size = 0;
	}
	CHECK_INT(packet.size, 0);
	orma_base_buf_done(&packet);
	return batch.has_more;
}

/* Until it is over or has to wait. */
static int read_on(struct scene *scene)
{
	int r;

	while ((r = read_some(scene)) == 1)
		;
	return r;
}

static void finish_blocks(struct scene *scene, size_t count)
{
	fake.finished += count;
	CHECK(fake.finished <= fake.submitted);
	orma_service_compressor_event(scene->world.service, fake.session_id);
}

/* Packets of about 4 KB: one string, whose number is in front of it. */
static void send_large(struct scene *scene, uint32_t first, uint32_t count)
{
	static const uint8_t head[] = {0x86, 0x1f, 0xa2, 0x38, 0x82, 0x1f, 0x0a, 0xff, 0x1e};

	for (uint32_t i = first; i < first + count; i++) {
		uint8_t *page = scene->producer.memory;
		uint32_t word =
			(uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_COMPLETE;

		put_chunk_header(page + 8, &(struct chunk){.chunk_id = i, .writer_id = 1}, 1);
		memcpy(page + 16, head, sizeof(head));
		memset(page + 16 + sizeof(head), 'x', 3967);
		snprintf((char *)page + 16 + sizeof(head), 9, "%08u", i);
		memcpy(page, &word, 4);
		commit_page(&scene->producer, 0, scene->producer.target_buffer);
	}
}

static uint32_t count_large(const struct scene *scene)
{
	uint32_t count = 0;

	for (size_t i = 0; i < scene->packets.count; i++) {
		const struct orma_pb_trace_packet *packet = scene->packets.items[i];

		if (!packet->for_testing)
			continue;
		CHECK_INT(strtoul(packet->for_testing->str.data, NULL, 10), count);
		count++;
	}
	return count;
}

/* --- which codec ------------------------------------------------------------------------------ */

struct choice {
	const char *config;
	uint32_t codecs;
	int codec, level;
	const char *error;
};

static void check_choice(const struct choice *choice)
{
	struct orma_compressor_ops ops = both;
	struct packets plain = {0};
	struct scene s;
	char config[512];
	int r;

	ops.codecs = choice->codecs;
	open_scene_with(&s, choice->codecs ? &ops : NULL);
	fake.is_quick = true;
	snprintf(config, sizeof(config), ONE_BUFFER "%s", choice->config);
	r = enable(&s.consumer, config);
	CHECK_STR(s.consumer.error.message, choice->error ? choice->error : "");
	if (choice->error) {
		CHECK(r < 0);
	} else if (choice->codec) {
		CHECK_INT(read_on(&s), 0);
		CHECK(s.outer > 0);
	} else {
		read_all(&s.consumer, &plain);
		CHECK(plain.count > 0);
		packets_done(&plain);
	}
	CHECK_INT(fake.codec, choice->codec);
	CHECK_INT(fake.level, choice->level);
	close_scene(&s);
}

ORMA_TEST(the_highest_codec_that_is_known_wins_and_none_is_a_refusal)
{
	enum { D = 1 << ORMA_CODEC_DEFLATE, Z = 1 << ORMA_CODEC_ZSTD };
	static const struct choice choices[] = {
		{"", D | Z, 0, 0, NULL},
		{"compression {}", 0, 0, 0, NULL},
		{"compression { deflate {} }", D | Z, ORMA_CODEC_DEFLATE, 0, NULL},
		{"compression_type: COMPRESSION_TYPE_DEFLATE", D, ORMA_CODEC_DEFLATE, 0, NULL},
		{"compression { zstd { level: 7 } deflate {} }", D | Z, ORMA_CODEC_ZSTD, 7, NULL},
		{"compression { zstd { level: -5 } } compression_type: COMPRESSION_TYPE_DEFLATE", Z,
		 ORMA_CODEC_ZSTD, -5, NULL},
		{"compression { zstd {} deflate {} }", D, ORMA_CODEC_DEFLATE, 0, NULL},
		{"compression { zstd {} } compression_type: COMPRESSION_TYPE_DEFLATE", D,
		 ORMA_CODEC_DEFLATE, 0, NULL},
		{"compression { zstd {} }", D, 0, 0,
		 "compression.zstd: this service does not support it"},
		{"compression { deflate {} }", Z, 0, 0,
		 "compression.deflate: this service does not support it"},
		{"compression { zstd {} }", 0, 0, 0,
		 "compression.zstd: this service does not support it"},
		{"compression_type: COMPRESSION_TYPE_DEFLATE", 0, 0, 0,
		 "compression_type: this service does not support it"},
		{"compression_type: 7", D | Z, 0, 0, "compression_type: 7 is not a type"},
		{"compression { zstd { level: 23 } }", D | Z, 0, 0,
		 "compression.zstd.level: 23 is not between -131072 and 22"},
		{"compression { zstd { level: -131073 } }", D | Z, 0, 0,
		 "compression.zstd.level: -131073 is not between -131072 and 22"},
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(choices); i++)
		check_choice(&choices[i]);
}

ORMA_TEST(a_codec_of_the_future_alone_is_refused)
{
	/* compression { 3: {} } */
	static const uint8_t config[] = {0xfa, 0x02, 0x02, 0x1a, 0x00};
	struct scene s;

	open_scene_with(&s, &both);
	CHECK_INT(orma_consumer_port_enable(s.consumer.port, config, sizeof(config), -1,
					    &s.consumer.error),
		  -ENOTSUP);
	CHECK_STR(s.consumer.error.message, "compression: this service does not support it");
	close_scene(&s);
}

ORMA_TEST(ops_of_another_size_are_refused)
{
	struct orma_compressor_ops ops = both;
	struct orma_service_options options = {.struct_size = sizeof(options),
					       .compressor_ops = &ops};
	struct orma_service *service;

	ops.struct_size -= sizeof(ops.close); /* without a required member */
	CHECK_INT(orma_service_new(&options, &service), -EINVAL);
}

/* --- reading ---------------------------------------------------------------------------------- */

ORMA_TEST(a_reader_is_sent_away_until_the_block_is_compressed)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER ZSTD);
	CHECK_INT(fake.opened, 0);
	send_packet(&s.producer, 0, "a");
	send_packet(&s.producer, 1, "b");
	CHECK_INT(read_on(&s), -EAGAIN);
	CHECK_INT(read_on(&s), -EAGAIN);
	CHECK_INT(fake.submitted, 1);
	CHECK_LOG(&s.consumer.log, "");
	finish_blocks(&s, 1);
	CHECK_LOG(&s.consumer.log, "readable");
	CHECK_INT(read_on(&s), 0);
	CHECK_INT(s.outer, 1);
	CHECK_STR(texts_of(&s.packets), "a b");
	/* Compression comes last: the statistics are in it. */
	CHECK_STR(kinds_of(&s.packets), "clocks clocks sync config uuid provenance system started "
					"all_started data data read stats");
	/* Events that nobody waits for. */
	orma_service_compressor_event(s.world.service, fake.session_id);
	orma_service_compressor_event(s.world.service, fake.session_id + 1);
	CHECK_LOG(&s.consumer.log, "");
	close_scene(&s);
}

ORMA_TEST(each_pass_of_reading_is_compressed_by_the_same_stream)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER "compression { deflate {} }");
	fake.is_quick = true;
	send_packet(&s.producer, 0, "a");
	CHECK_INT(read_on(&s), 0);
	send_packet(&s.producer, 1, "b");
	CHECK_INT(read_on(&s), 0);
	CHECK_STR(texts_of(&s.packets), "a b");
	CHECK_INT(s.outer, 2);
	CHECK_INT(fake.opened, 1);
	close_scene(&s);
}

ORMA_TEST(nothing_to_read_makes_no_packet)
{
	struct scene s;

	open_scene(&s, LARGE_BUFFER ZSTD);
	fake.is_quick = true;
	CHECK_INT(read_on(&s), 0);
	CHECK_INT(s.outer, 1);
	CHECK_INT(read_on(&s), 0);
	CHECK_INT(s.outer, 1);
	close_scene(&s);
}

ORMA_TEST(blocks_are_bounded_in_size_and_number_and_come_out_in_order)
{
	struct scene s;

	open_scene(&s, LARGE_BUFFER ZSTD);
	send_large(&s, 0, 1500);
	CHECK_INT(read_on(&s), -EAGAIN);
	CHECK_INT(fake.submitted, ORMA_COMPRESSOR_BLOCKS_MAX);
	/* A slow reader reads no more out of the buffers either. */
	fake.finished = fake.submitted;
	for (int i = 0; i < 100 && fake.taken == 0; i++)
		CHECK_INT(read_some(&s), 1);
	CHECK(fake.submitted <= ORMA_COMPRESSOR_BLOCKS_MAX + 1);
	while (read_on(&s) == -EAGAIN)
		finish_blocks(&s, 1);
	CHECK_INT(count_large(&s), 1500);
	CHECK(s.outer >= 20 && s.outer <= 40);
	CHECK(fake.largest < ORMA_SERVICE_BLOCK_BYTES + 8192);
	CHECK_INT(stats_of(&s.packets)->buffer_stats.count, 1);
	close_scene(&s);
}

ORMA_TEST(many_sequences_do_not_make_small_blocks)
{
	struct scene s;

	open_scene(&s, "buffers { size_kb: 4096 } data_sources { config { name: 'test' } } " ZSTD);
	for (uint32_t i = 0; i < 1900; i++) {
		write_chunk(&s.producer,
			    (struct chunk){.chunk_id = i / 2, .writer_id = (uint16_t)(1 + i % 2)},
			    TEXTS("x"));
		commit_page(&s.producer, 0, s.producer.target_buffer);
	}
	fake.is_quick = true;
	CHECK_INT(read_on(&s), 0);
	CHECK_INT(s.outer, 1);
	close_scene(&s);
}

ORMA_TEST(a_failing_compressor_fails_the_read)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER ZSTD);
	fake.open_error = -EMFILE;
	CHECK_INT(read_some(&s), -EMFILE);
	fake.open_error = 0;
	fake.submit_error = -ENOMEM;
	CHECK_INT(read_some(&s), -ENOMEM);
	fake.submit_error = 0;
	send_packet(&s.producer, 0, "a");
	CHECK_INT(read_on(&s), -EAGAIN);
	fake.take_error = -ENOMEM;
	finish_blocks(&s, 1);
	CHECK_INT(read_on(&s), -ENOMEM);
	/* Later packets are not affected. */
	fake.take_error = 0;
	fake.is_quick = true;
	send_packet(&s.producer, 1, "b");
	CHECK_INT(read_on(&s), 0);
	CHECK_STR(texts_of(&s.packets), "b");
	close_scene(&s);
}

ORMA_TEST(missing_memory_fails_the_read_and_loses_nothing_else)
{
	for (uint64_t nth = 1;; nth++) {
		struct scene s;
		int r;

		open_scene(&s, ONE_BUFFER "compression { deflate {} }");
		fake.is_quick = true;
		send_packet(&s.producer, 0, "a");
		orma_base_alloc_fail_nth(nth);
		struct orma_trace_batch batch;
		r = orma_consumer_port_read(s.consumer.port, 1000, &batch);
		bool has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		CHECK(r == 0 || r == -ENOMEM);
		close_scene(&s);
		if (!has_failed)
			break;
	}
}

ORMA_TEST(a_session_that_ends_meanwhile_closes_its_stream)
{
	struct scene s;
	uint64_t old_id;

	open_scene(&s, ONE_BUFFER ZSTD);
	send_packet(&s.producer, 0, "a");
	CHECK_INT(read_on(&s), -EAGAIN);
	old_id = fake.session_id;
	orma_consumer_port_free_buffers(s.consumer.port);
	CHECK_INT(fake.open_streams, 0);
	fake.finished = fake.submitted;
	orma_service_compressor_event(s.world.service, old_id);
	CHECK_INT(read_some(&s), -ENOENT);
	/* The next one begins anew. */
	fake.taken = fake.finished;
	enable_ok(&s.consumer, ONE_BUFFER ZSTD);
	CHECK_INT(read_on(&s), -EAGAIN);
	consumer_close(&s.consumer);
	CHECK_INT(fake.open_streams, 0);
	orma_service_compressor_event(s.world.service, fake.session_id);
	close_scene(&s);
}

ORMA_TEST(a_detached_session_goes_on_where_it_was)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER ZSTD);
	send_packet(&s.producer, 0, "a");
	CHECK_INT(read_on(&s), -EAGAIN);
	CHECK_INT(orma_consumer_port_detach(s.consumer.port, "key"), 0);
	finish_blocks(&s, 1);
	CHECK_LOG(&s.consumer.log, "");
	CHECK_INT(orma_consumer_port_attach(s.consumer.port, "key"), 0);
	CHECK_INT(read_on(&s), 0);
	CHECK_STR(texts_of(&s.packets), "a");
	close_scene(&s);
}

/* --- files ------------------------------------------------------------------------------------ */

#define INTO_FILE "write_into_file: true file_write_period_ms: 1000 " ZSTD

static const char *written(struct scene *scene)
{
	const uint8_t *at = file.content.data, *end = at + file.content.size;

	packets_done(&scene->packets);
	while (at < end) {
		uint64_t tag, size;

		at = orma_proto_get_varint(at, end, &tag);
		CHECK(at && tag == (ORMA_PB_TRACE_PACKET << 3 | 2));
		at = orma_proto_get_varint(at, end, &size);
		CHECK(at && size <= (uint64_t)(end - at));
		unpack(scene, at, (size_t)size);
		at += size;
	}
	return texts_of(&scene->packets);
}

ORMA_TEST(a_file_gets_its_blocks_when_they_are_compressed)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER INTO_FILE);
	send_packet(&s.producer, 0, "a");
	pass_ms(&s.world, 1000);
	CHECK_INT(file.content.size, 0);
	CHECK(orma_service_next_deadline_ns(s.world.service) > START_NS + s.world.passed_ns);
	send_packet(&s.producer, 1, "b");
	pass_ms(&s.world, 1000);
	finish_blocks(&s, 1);
	CHECK_STR(written(&s), "a");
	pass_ms(&s.world, 1000);
	finish_blocks(&s, 1);
	CHECK_STR(written(&s), "a b");
	CHECK_LOG(&s.consumer.log, "");
	close_scene(&s);
}

ORMA_TEST(a_file_is_closed_when_its_last_block_is_written)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER INTO_FILE);
	send_packet(&s.producer, 0, "a");
	pass_ms(&s.world, 1000);
	/* The pass is over, its block is not; what comes now belongs into the file too. */
	send_packet(&s.producer, 1, "b");
	orma_consumer_port_disable(s.consumer.port);
	CHECK(!file.is_closed);
	finish_blocks(&s, 1);
	CHECK(!file.is_closed);
	file.is_full = true;
	finish_blocks(&s, fake.submitted - fake.finished);
	CHECK(!file.is_closed);
	file.is_full = false;
	orma_service_file_event(s.world.service, file.session_id, 0);
	CHECK_STR(written(&s), "a b");
	CHECK(file.is_closed);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled");
	close_scene(&s);
}

ORMA_TEST(a_failing_compressor_ends_the_session_with_words)
{
	struct scene s;

	open_scene(&s, ONE_BUFFER INTO_FILE);
	send_packet(&s.producer, 0, "a");
	pass_ms(&s.world, 1000);
	fake.take_error = -ENOMEM;
	finish_blocks(&s, 1);
	CHECK(file.is_closed);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled:write_into_file: there is no memory");
	close_scene(&s);
}

ORMA_TEST(the_size_limit_counts_compressed_bytes)
{
	struct scene s;

	open_scene(&s, LARGE_BUFFER INTO_FILE "max_file_size_bytes: 200000 ");
	fake.is_quick = true;
	send_large(&s, 0, 500);
	pass_ms(&s.world, 1000);
	CHECK(file.is_closed);
	CHECK(file.content.size < 200000 && file.content.size > 160000);
	written(&s);
	CHECK(count_large(&s) >= 40);
	close_scene(&s);
}

ORMA_TEST(a_consumer_that_leaves_does_not_cost_the_file_its_end)
{
	struct scene s;

	open_scene(&s, LARGE_BUFFER INTO_FILE);
	send_large(&s, 0, 400);
	consumer_close(&s.consumer);
	CHECK(!file.is_closed);
	while (!file.is_closed) {
		pass_ms(&s.world, 1);
		finish_blocks(&s, fake.submitted - fake.finished);
	}
	written(&s);
	CHECK_INT(count_large(&s), 400);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_INT(fake.open_streams, 0);
	close_scene(&s);
}
