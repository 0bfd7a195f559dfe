/* SPDX-License-Identifier: Apache-2.0
 * rotate_test.c - max_file_count: which packets come into which file, what each begins with, and
 * files that are not ready, fail, or are not allowed.
 */
#include <fcntl.h>
#include <sys/stat.h>

#include "filter_program.h"
#include "fixture.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_stats.pb.h"

#define FILES_KEPT 256

static struct {
	struct orma_buf files[FILES_KEPT]; /* the newest is files[count - 1] */
	size_t count;
	uint32_t kept;
	char path[256];
	bool is_full, is_closed, has_refused;
	int rotate_error, takes; /* takes > 0: full after so many writes */
	uint64_t session_id;
} disk;

static int file_open(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	CHECK(ctx);
	close(fd);
	disk.session_id = session_id;
	disk.count = 1;
	*ret_file = &disk;
	return 0;
}

static int file_write(void *ctx, void *file, const struct iovec *iov, int iov_count)
{
	CHECK(ctx && file == &disk && !disk.is_closed);
	disk.has_refused = disk.is_full;
	if (disk.is_full)
		return -EAGAIN;
	if (disk.takes > 0 && --disk.takes == 0)
		disk.is_full = true;
	for (int i = 0; i < iov_count; i++)
		if (orma_base_buf_append(&disk.files[disk.count - 1], iov[i].iov_base,
					 iov[i].iov_len) < 0)
			return -ENOMEM;
	return 0;
}

static void file_close(void *ctx, void *file, bool sync)
{
	CHECK(ctx && file == &disk);
	(void)sync;
	disk.is_closed = true;
}

static int file_rotate(void *ctx, void *file, const char *path, uint32_t count)
{
	CHECK(ctx && file == &disk && disk.count < FILES_KEPT);
	CHECK(!disk.has_refused); /* refused data belong into the old file */
	if (disk.rotate_error)
		return disk.rotate_error;
	snprintf(disk.path, sizeof(disk.path), "%s", path);
	disk.kept = count;
	disk.count++;
	return 0;
}

static const struct orma_service_file_ops rotating_ops = {
	.struct_size = sizeof(rotating_ops),
	.open = file_open,
	.write = file_write,
	.close = file_close,
	.rotate = file_rotate,
};

static struct packets outer; /* packets of the file that was read last */

/* "Compresses" a block by keeping it, at once. */
static struct orma_buf kept_blocks[ORMA_COMPRESSOR_BLOCKS_MAX];
static size_t kept_first, kept_count;

static int keep_open(void *ctx, enum orma_codec codec, int level, uint64_t session_id,
		     void **ret_stream)
{
	(void)ctx;
	(void)codec;
	(void)level;
	(void)session_id;
	*ret_stream = kept_blocks;
	return 0;
}

static int keep_submit(void *ctx, void *stream, const void *data, size_t size)
{
	struct orma_buf *block =
		&kept_blocks[(kept_first + kept_count++) % ORMA_COMPRESSOR_BLOCKS_MAX];

	(void)ctx;
	(void)stream;
	block->size = 0;
	return orma_base_buf_append(block, data, size);
}

static int keep_take(void *ctx, void *stream, const void **ret_data, size_t *ret_size)
{
	const struct orma_buf *block = &kept_blocks[kept_first];

	(void)ctx;
	(void)stream;
	if (kept_count == 0)
		return 0;
	kept_first = (kept_first + 1) % ORMA_COMPRESSOR_BLOCKS_MAX;
	kept_count--;
	*ret_data = block->data;
	*ret_size = block->size;
	return 1;
}

static void keep_close(void *ctx, void *stream)
{
	(void)ctx;
	(void)stream;
}

static const struct orma_compressor_ops keeping_ops = {
	.struct_size = sizeof(keeping_ops),
	.codecs = 1u << ORMA_CODEC_ZSTD,
	.open = keep_open,
	.submit = keep_submit,
	.take = keep_take,
	.close = keep_close,
};

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	char path[256];
};

static int try_scene(struct scene *scene, const struct orma_service_file_ops *ops,
		     const char *config)
{
	char text[1024];

	memset(scene, 0, sizeof(*scene));
	memset(&disk, 0, sizeof(disk));
	kept_first = kept_count = 0;
	snprintf(scene->path, sizeof(scene->path), "%s/trace", orma_test_tmpdir());
	snprintf(text, sizeof(text),
		 "buffers { size_kb: 16384 } data_sources { config { name: 'test' } } "
		 "write_into_file: true file_write_period_ms: 1000 output_path: '%s' %s",
		 scene->path, config);
	world_open_full(&scene->world, ops, &keeping_ops);
	producer_open(&scene->world, &scene->producer, "p");
	consumer_open(&scene->world, &scene->consumer);
	CHECK_INT(register_source(&scene->producer,
				  "name: 'test' handles_incremental_state_clear: true"),
		  0);
	return enable(&scene->consumer, text);
}

static void open_scene(struct scene *scene, const char *config)
{
	if (try_scene(scene, &rotating_ops, config) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", scene->consumer.error.message);
	log_clear(&scene->producer.log);
}

static void close_scene(struct scene *scene)
{
	consumer_close(&scene->consumer);
	producer_close(&scene->producer);
	world_close(&scene->world);
	packets_done(&outer);
	for (size_t i = 0; i < FILES_KEPT; i++)
		orma_base_buf_done(&disk.files[i]);
	for (size_t i = 0; i < ORMA_COMPRESSOR_BLOCKS_MAX; i++)
		orma_base_buf_done(&kept_blocks[i]);
	unlink(scene->path);
}

/* Packets of 3974 bytes: one string, whose number is in front of it. */
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

/* Runs the timers that are due and answers flushes. */
static void run_due(struct scene *scene)
{
	struct producer *producer = &scene->producer;

	do {
		if (producer->flush_id)
			answer_flush(producer);
		producer->flush_id = 0;
		pass_ns(&scene->world, 0);
	} while (producer->flush_id);
}

/* As they come from a program: the service has its turns in between. */
static void send_in_turns(struct scene *scene, uint32_t first, uint32_t count)
{
	for (uint32_t i = first; i < first + count; i++) {
		send_large(scene, i, 1);
		run_due(scene);
	}
}

/* Reads a file, compressed packets taken apart; valid until the next one. */
static void read_file(size_t idx, struct packets *packets)
{
	packets_done(&outer);
	memset(packets, 0, sizeof(*packets));
	read_trace_file((const char *)disk.files[idx].data, disk.files[idx].size, &outer);
	for (size_t i = 0; i < outer.count; i++) {
		struct orma_str content = outer.items[i]->zstd_compressed_packets;

		if (content.size)
			read_trace_file(content.data, content.size, packets);
		else
			packets->items[packets->count++] = outer.items[i];
	}
}

static bool begins_with(const char *text, const char *prefix)
{
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

/* Every file can be read by itself, and together they hold the packets 0 to count - 1 once. */
static void check_files(uint32_t count, const char *first_kinds, const char *other_kinds)
{
	uint32_t next = 0;

	for (size_t i = 0; i < disk.count; i++) {
		static struct packets packets;

		read_file(i, &packets);
		/* The clocks may have been read once more. */
		if (!begins_with(kinds_of(&packets), i ? other_kinds : first_kinds) &&
		    !begins_with(kinds_of(&packets) + strlen("clocks "), other_kinds))
			orma_test_fail(__FILE__, __LINE__, "file %zu: %s", i, kinds_of(&packets));
		for (size_t k = 0; k < packets.count; k++) {
			const struct orma_pb_trace_packet *packet = packets.items[k];

			if (packet->for_testing)
				CHECK_INT(strtoul(packet->for_testing->str.data, NULL, 10), next++);
			CHECK_INT(packet->previous_packet_dropped, 0);
		}
		packets_done(&packets);
	}
	CHECK_INT(next, count);
}

#define FIRST "clocks clocks sync config uuid provenance system started all_started"
#define OTHER "clocks sync config uuid provenance system"

ORMA_TEST(a_full_file_is_followed_by_others_that_can_be_read_by_themselves)
{
	struct scene s;

	open_scene(&s, "max_file_size_bytes: 200000 max_file_count: 3");
	send_in_turns(&s, 0, 30);
	CHECK_INT(disk.count, 1);
	send_in_turns(&s, 30, 190);
	CHECK_STR(disk.path, s.path);
	CHECK_INT(disk.kept, 3);
	orma_consumer_port_disable(s.consumer.port);
	CHECK(disk.is_closed);
	CHECK(disk.count >= 5 && disk.count <= 6);
	for (size_t i = 0; i < disk.count; i++)
		CHECK(disk.files[i].size < 200000 &&
		      (i == disk.count - 1 || disk.files[i].size > 145000));
	check_files(220, FIRST, OTHER);
	orma_service_file_event(s.world.service, disk.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled");
	close_scene(&s);
}

ORMA_TEST(what_came_in_at_once_fills_several_files)
{
	struct scene s;

	open_scene(&s, "max_file_size_bytes: 200000 max_file_count: 3");
	send_large(&s, 0, 220);
	pass_ms(&s.world, 1000);
	CHECK(disk.count >= 5);
	orma_consumer_port_disable(s.consumer.port);
	for (size_t i = 0; i < disk.count; i++)
		CHECK(disk.files[i].size < 200000);
	check_files(220, FIRST, OTHER);
	close_scene(&s);
}

ORMA_TEST(every_file_tells_of_other_machines)
{
	struct orma_relay_info info = {.struct_size = sizeof(info), .machine_id = 7};
	struct orma_relay_clock clock = {6, 100};
	struct orma_relay_port *relay;
	struct scene s;

	open_scene(&s, "max_file_size_bytes: 200000 max_file_count: 3");
	CHECK_INT(orma_relay_port_open(s.world.service, &info, &relay), 0);
	CHECK_INT(orma_relay_port_set_system_info(relay, "\x30\x01", 2), 0);
	CHECK_INT(orma_relay_port_sync_clocks(relay, ORMA_RELAY_PING, &clock, 1), 0);
	CHECK_INT(orma_relay_port_sync_clocks(relay, ORMA_RELAY_UPDATE, &clock, 1), 0);
	send_large(&s, 0, 120);
	pass_ms(&s.world, 1000);
	CHECK(disk.count >= 3);
	orma_consumer_port_disable(s.consumer.port);
	check_files(120,
		    "clocks clocks sync config uuid provenance system remote_system started "
		    "all_started remote_clocks data",
		    "clocks sync config uuid provenance system remote_system remote_clocks");
	orma_relay_port_close(relay);
	close_scene(&s);
}

ORMA_TEST(the_file_in_which_a_pass_ends_has_the_stats)
{
	struct packets packets;
	struct scene s;

	open_scene(&s, "max_file_size_bytes: 100000 max_file_count: 3");
	send_in_turns(&s, 0, 30);
	CHECK_INT(disk.count, 2);
	send_in_turns(&s, 30, 1);
	pass_ms(&s.world, 1000);
	read_file(1, &packets);
	CHECK(stats_of(&packets)->buffer_stats.items[0]->chunks_read > 10);
	packets_done(&packets);
	close_scene(&s);
}

ORMA_TEST(a_packet_larger_than_a_file_gets_its_own)
{
	/* 20 fragments of 4000 bytes. */
	static const uint8_t head[] = {0xa2, 0x38, 0xfb, 0xf0, 0x04, 0x0a, 0xf7, 0xf0, 0x04};
	struct scene s;
	uint32_t others = 0;

	open_scene(&s, "max_file_size_bytes: 66000 max_file_count: 3");
	send_large(&s, 0, 3);
	for (uint32_t i = 0; i < 20; i++) {
		struct chunk chunk = {.chunk_id = i, .writer_id = 2};
		uint8_t *page = s.producer.memory;
		uint32_t word =
			(uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_COMPLETE;

		chunk.flags = (uint8_t)((i > 0 ? ORMA_SHM_CONTINUES_FROM_PREVIOUS : 0) |
					(i < 19 ? ORMA_SHM_CONTINUES_IN_NEXT : 0));
		put_chunk_header(page + 8, &chunk, 1);
		page[16] = 0xa0;
		page[17] = 0x1f;
		memset(page + 18, 'y', 4000);
		if (i == 0)
			memcpy(page + 18, head, sizeof(head));
		memcpy(page, &word, 4);
		commit_page(&s.producer, 0, s.producer.target_buffer);
	}
	send_large(&s, 3, 2);
	pass_ms(&s.world, 1000);
	CHECK_INT(disk.count, 3);
	CHECK(disk.files[0].size < 66000 && disk.files[2].size < 66000);
	CHECK(disk.files[1].size > 80000);
	for (size_t i = 0; i < 3; i++) {
		struct packets packets;

		read_file(i, &packets);
		for (size_t k = 0; k < packets.count; k++)
			others += packets.items[k]->for_testing &&
				  packets.items[k]->for_testing->str.data[0] == 'y';
		CHECK_INT(others, i >= 1);
		packets_done(&packets);
	}
	close_scene(&s);
}

ORMA_TEST(a_file_that_is_not_ready_gets_everything_in_order)
{
	for (int takes = 1; takes < 14; takes++) {
		struct scene s;

		open_scene(&s, "max_file_size_bytes: 100000 max_file_count: 100");
		disk.takes = takes;
		send_large(&s, 0, 100);
		pass_ms(&s.world, 1000);
		for (int i = 0; i < 50; i++) {
			disk.takes = 1 + i % 3;
			disk.is_full = false;
			orma_service_file_event(s.world.service, disk.session_id, 0);
		}
		disk.takes = 0;
		disk.is_full = false;
		orma_consumer_port_disable(s.consumer.port);
		pass_ms(&s.world, 10);
		orma_service_file_event(s.world.service, disk.session_id, 0);
		CHECK(disk.is_closed);
		CHECK(disk.count >= 5);
		check_files(100, FIRST, OTHER);
		close_scene(&s);
	}
}

ORMA_TEST(compressed_sessions_rotate_by_compressed_size)
{
	struct scene s;

	open_scene(&s, "max_file_size_bytes: 200000 max_file_count: 3 compression { zstd {} }");
	send_large(&s, 0, 220);
	for (int i = 0; i < 1500 && !disk.is_closed; i++) {
		if (i == 1200)
			orma_consumer_port_disable(s.consumer.port);
		pass_ms(&s.world, 1);
		orma_service_compressor_event(s.world.service, disk.session_id);
	}
	CHECK(disk.is_closed);
	CHECK(disk.count >= 5);
	for (size_t i = 0; i < disk.count; i++)
		CHECK(disk.files[i].size < 200000);
	check_files(220, FIRST, OTHER);
	close_scene(&s);
}

ORMA_TEST(a_rotation_that_fails_ends_the_session_with_words)
{
	struct scene s;

	open_scene(&s, "max_file_size_bytes: 100000 max_file_count: 3");
	send_large(&s, 0, 10);
	pass_ms(&s.world, 1000);
	disk.rotate_error = -EEXIST;
	send_large(&s, 10, 100);
	pass_ms(&s.world, 1000);
	CHECK(disk.is_closed);
	orma_service_file_event(s.world.service, disk.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled:write_into_file: a file of that name exists already");
	close_scene(&s);

	/* Reported later, by the worker. */
	open_scene(&s, "max_file_size_bytes: 100000 max_file_count: 3");
	orma_service_file_event(s.world.service, disk.session_id, -EROFS);
	CHECK(disk.is_closed);
	close_scene(&s);
}

ORMA_TEST(missing_memory_ends_the_session_and_nothing_else)
{
	for (uint64_t nth = 1;; nth++) {
		struct scene s;

		open_scene(&s, "max_file_size_bytes: 100000 max_file_count: 100");
		send_large(&s, 0, 100);
		orma_base_alloc_fail_nth(nth);
		pass_ms(&s.world, 1000);
		bool has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		close_scene(&s);
		if (!has_failed)
			break;
	}
}

ORMA_TEST(configs_that_cannot_rotate_are_refused)
{
	static const struct {
		const char *config, *error;
	} cases[] = {
		{"max_file_count: 3",
		 "max_file_count: needs write_into_file, output_path and max_file_size_bytes"},
		{"max_file_size_bytes: 1000000 max_file_count: 101",
		 "max_file_count: 101 is more than the maximum of 100"},
		{"max_file_size_bytes: 60000 max_file_count: 3",
		 "max_file_size_bytes: 60000 is less than the minimum of "},
	};
	struct scene s;

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(cases); i++) {
		CHECK(try_scene(&s, &rotating_ops, cases[i].config) < 0);
		CHECK(begins_with(s.consumer.error.message, cases[i].error));
		CHECK_INT(access(s.path, F_OK), -1);
		close_scene(&s);
	}
	/* Nobody there who can; no path. */
	CHECK_INT(try_scene(&s, NULL, "max_file_size_bytes: 1000000 max_file_count: 3"), -ENOTSUP);
	CHECK_STR(s.consumer.error.message, "max_file_count: this service does not support it");
	CHECK_INT(enable(&s.consumer, ONE_BUFFER "max_file_size_bytes: 1000000 max_file_count: 3"),
		  -EINVAL);
	close_scene(&s);
}

ORMA_TEST(files_that_would_be_in_the_way_are_seen_at_once)
{
	char name[300];
	struct scene s;
	int fd;

	snprintf(name, sizeof(name), "%s/trace.2", orma_test_tmpdir());
	fd = open(name, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	CHECK(fd >= 0);
	close(fd);
	CHECK_INT(try_scene(&s, &rotating_ops, "max_file_size_bytes: 1000000 max_file_count: 3"),
		  -EEXIST);
	CHECK_STR(s.consumer.error.message,
		  "max_file_count: a file called output_path.2 exists already");
	CHECK_INT(access(s.path, F_OK), -1);
	close_scene(&s);
	CHECK_INT(try_scene(&s, &rotating_ops, "max_file_size_bytes: 1000000 max_file_count: 2"),
		  0);
	close_scene(&s);
	unlink(name);
}

ORMA_TEST(one_file_only_is_kept_anew)
{
	struct scene s;

	open_scene(&s, "max_file_size_bytes: 100000 max_file_count: 1");
	send_in_turns(&s, 0, 30);
	CHECK_INT(disk.count, 2);
	CHECK_INT(disk.kept, 1);
	close_scene(&s);
}

/* --- where a file ends ------------------------------------------------------------------------ */

struct writer {
	uint16_t id;
	uint32_t next_chunk;
};

/* A packet of some bytes, numbered, with sequence_flags. */
static void send_flagged(struct scene *scene, struct writer *writer, uint32_t number, uint8_t flags)
{
	struct chunk chunk = {.chunk_id = writer->next_chunk++, .writer_id = writer->id};
	uint8_t *page = scene->producer.memory, *at = page + 16;
	uint32_t word = (uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_COMPLETE;
	char text[100];
	uint8_t packet[200];
	size_t size;

	memset(text, '.', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[snprintf(text, sizeof(text), "%u:%06u", writer->id, number)] = '.';
	size = make_packet(packet, text);
	packet[size++] = ORMA_PB_TRACE_PACKET_SEQUENCE_FLAGS << 3;
	packet[size++] = flags;
	put_chunk_header(page + 8, &chunk, 1);
	*at++ = (uint8_t)size;
	memcpy(at, packet, size);
	memcpy(page, &word, 4);
	commit_page(&scene->producer, 0, scene->producer.target_buffer);
}

enum { CLEARED = 1, NEEDS = 2 };

/* A writer that begins a new state when it was asked for one; returns whether it did. */
static bool send_as_asked(struct scene *scene, struct writer *writer, uint32_t number,
			  bool *is_asked)
{
	bool was_asked = *is_asked;

	send_flagged(scene, writer, number, was_asked ? CLEARED : NEEDS);
	*is_asked = false;
	return was_asked;
}

/* In each file all packets of a writer follow one that begins a state; numbers count up. */
static void check_states(uint32_t writers, uint32_t *ret_numbers)
{
	memset(ret_numbers, 0, (writers + 1) * sizeof(*ret_numbers));
	for (size_t i = 0; i < disk.count; i++) {
		static struct packets packets;
		bool has_state[16] = {false};

		read_file(i, &packets);
		for (size_t k = 0; k < packets.count; k++) {
			const struct orma_pb_trace_packet *packet = packets.items[k];
			unsigned writer, number;

			if (!packet->for_testing)
				continue;
			CHECK_INT(
				sscanf(packet->for_testing->str.data, "%u:%06u", &writer, &number),
				2);
			CHECK(writer <= writers);
			has_state[writer] |= packet->sequence_flags == CLEARED;
			if (!has_state[writer])
				orma_test_fail(__FILE__, __LINE__, "file %zu: %u:%u has no state",
					       i, writer, number);
			CHECK_INT(number, ret_numbers[writer]++);
		}
		CHECK(disk.files[i].size < 200000);
		packets_done(&packets);
	}
}

static bool take_asked(struct producer *producer)
{
	bool is_asked = strstr(producer->log.text, "clear:") != NULL;

	log_clear(&producer->log);
	return is_asked;
}

static void record_three_writers(const char *config, uint32_t *numbers)
{
	struct writer writers[3] = {{.id = 1}, {.id = 2}, {.id = 3}};
	bool is_asked[3] = {true, true, true};
	uint32_t sent[4] = {0};
	struct scene s;

	open_scene(&s, config);
	for (uint32_t i = 0; i < 9000; i++) {
		size_t w = i % 50 == 0 ? 2 : i % 2;

		/* Each hears of it a while later, the third one seldom has something to say. */
		if (take_asked(&s.producer))
			is_asked[0] = is_asked[1] = is_asked[2] = true;
		(void)send_as_asked(&s, &writers[w], sent[w + 1]++, &is_asked[w]);
		if (i % 7 == 0)
			run_due(&s);
		orma_service_compressor_event(s.world.service, disk.session_id);
	}
	orma_consumer_port_disable(s.consumer.port);
	for (int i = 0; i < 100 && !disk.is_closed; i++) {
		pass_ms(&s.world, 1);
		orma_service_compressor_event(s.world.service, disk.session_id);
	}
	CHECK(disk.is_closed);
	CHECK(disk.count >= 5);
	check_states(3, numbers);
	for (int w = 1; w <= 3; w++)
		CHECK_INT(numbers[w], sent[w]);
	close_scene(&s);
}

ORMA_TEST(each_file_begins_a_state_of_every_sequence)
{
	uint32_t numbers[4];

	record_three_writers("max_file_size_bytes: 200000 max_file_count: 100", numbers);
	record_three_writers("max_file_size_bytes: 200000 max_file_count: 100 "
			     "compression { zstd {} }",
			     numbers);
}

/* Packets that were held have been filtered: a second time would take the rest. */
ORMA_TEST(filtered_files_are_cut_like_others)
{
	struct orma_buf bytes =
		program(WORDS(N(1u, 1u), END, F(10u), F(13u), N(900u, 2u), END, F(1u), END));
	char config[600];
	uint32_t numbers[4];

	snprintf(config, sizeof(config),
		 "max_file_size_bytes: 200000 max_file_count: 100 trace_filter { bytecode_v2: '%s' "
		 "}",
		 program_text(&bytes));
	orma_base_buf_done(&bytes);
	record_three_writers(config, numbers);
}

ORMA_TEST(a_sequence_is_cut_where_its_state_begins_and_others_anywhere)
{
	struct writer writer = {.id = 1};
	struct scene s;
	uint32_t i = 0;

	open_scene(&s, "max_file_size_bytes: 200000 max_file_count: 100");
	send_flagged(&s, &writer, i++, CLEARED);
	/* Nobody answers, so the file goes on. */
	while (disk.files[0].size < 170000) {
		send_flagged(&s, &writer, i++, NEEDS);
		pass_ns(&s.world, 0);
	}
	CHECK_INT(disk.count, 1);
	CHECK(s.producer.flush_id != 0);
	send_flagged(&s, &writer, i++, CLEARED);
	send_flagged(&s, &writer, i++, NEEDS);
	run_due(&s);
	CHECK_INT(disk.count, 2);
	send_flagged(&s, &writer, i++, NEEDS);
	orma_consumer_port_disable(s.consumer.port);
	uint32_t numbers[2];
	check_states(1, numbers);
	CHECK_INT(numbers[1], i);
	close_scene(&s);
}

ORMA_TEST(a_producer_that_does_not_answer_holds_a_file_up_for_a_second)
{
	struct writer writer = {.id = 1};
	struct scene s;
	uint32_t i = 0, numbers[2];

	open_scene(&s, "max_file_size_bytes: 200000 max_file_count: 100");
	send_flagged(&s, &writer, i++, CLEARED);
	while (!s.producer.flush_id) {
		send_flagged(&s, &writer, i++, NEEDS);
		pass_ns(&s.world, 0);
	}
	send_flagged(&s, &writer, i++, CLEARED);
	pass_ms(&s.world, 900);
	CHECK_INT(disk.count, 1);
	pass_ms(&s.world, 200);
	CHECK_INT(disk.count, 2);
	orma_consumer_port_disable(s.consumer.port);
	check_states(1, numbers);
	CHECK_INT(numbers[1], i);
	close_scene(&s);
}

ORMA_TEST(the_end_of_a_session_adds_no_file_for_what_was_held)
{
	struct writer writer = {.id = 1};
	struct scene s;
	uint32_t i = 0, numbers[2];

	open_scene(&s, "max_file_size_bytes: 200000 max_file_count: 100");
	send_flagged(&s, &writer, i++, CLEARED);
	while (!s.producer.flush_id) {
		send_flagged(&s, &writer, i++, NEEDS);
		pass_ns(&s.world, 0);
	}
	send_flagged(&s, &writer, i++, CLEARED);
	send_flagged(&s, &writer, i++, NEEDS);
	orma_consumer_port_disable(s.consumer.port);
	CHECK(disk.is_closed);
	CHECK_INT(disk.count, 1);
	check_states(1, numbers);
	CHECK_INT(numbers[1], i);
	close_scene(&s);
}

ORMA_TEST(the_rest_of_a_packet_that_was_begun_is_waited_for)
{
	struct writer writer = {.id = 1};
	struct chunk first = {.writer_id = 2, .flags = ORMA_SHM_CONTINUES_IN_NEXT};
	struct chunk second = {
		.chunk_id = 1, .writer_id = 2, .flags = ORMA_SHM_CONTINUES_FROM_PREVIOUS};
	struct scene s;
	uint32_t i = 0;

	open_scene(&s, "max_file_size_bytes: 200000 max_file_count: 100");
	while (!s.producer.flush_id) {
		send_flagged(&s, &writer, i++, CLEARED);
		pass_ns(&s.world, 0);
	}
	write_chunk(&s.producer, first, TEXTS("begun"));
	commit_page(&s.producer, 0, s.producer.target_buffer);
	run_due(&s);
	CHECK_INT(disk.count, 1);
	write_chunk(&s.producer, second, TEXTS("ended"));
	commit_page(&s.producer, 0, s.producer.target_buffer);
	run_due(&s);
	CHECK_INT(disk.count, 2);
	close_scene(&s);
}
