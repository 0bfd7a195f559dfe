/* SPDX-License-Identifier: Apache-2.0
 * file_test.c - write_into_file: periods, sizes, full and broken files, files that are not ready.
 */
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>

#include "base/fd.h"
#include "fixture.h"

/* A file in memory that can refuse, fail, and close later. */
struct fake_file {
	struct orma_buf content;
	bool is_full, is_closed, was_synced, closes_later;
	int error, writes, syncs;
	uint64_t session_id;
};

static struct fake_file file;

static int fake_open(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	CHECK(ctx);
	close(fd);
	if (file.error)
		return file.error;
	file.session_id = session_id;
	*ret_file = &file;
	return 0;
}

static int fake_write(void *ctx, void *opened, const struct iovec *iov, int iov_count)
{
	CHECK(ctx && opened == &file && !file.is_closed);
	CHECK(iov_count > 0 && iov_count <= 1024);
	if (file.error)
		return file.error;
	if (file.is_full)
		return -EAGAIN;
	file.writes++;
	for (int i = 0; i < iov_count; i++)
		CHECK_INT(orma_base_buf_append(&file.content, iov[i].iov_base, iov[i].iov_len), 0);
	return 0;
}

static void fake_close(void *ctx, void *opened, bool sync)
{
	CHECK(ctx && opened == &file && !file.is_closed);
	file.is_closed = true;
	file.was_synced = sync;
}

static void fake_sync(void *ctx, void *opened)
{
	CHECK(ctx && opened == &file);
	file.syncs++;
}

static const struct orma_service_file_ops fake_ops = {
	.struct_size = sizeof(fake_ops),
	.open = fake_open,
	.write = fake_write,
	.close = fake_close,
	.sync = fake_sync,
};

struct scene {
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct packets packets;
};

static void open_scene(struct scene *scene, const char *config)
{
	int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);

	memset(scene, 0, sizeof(*scene));
	orma_base_buf_done(&file.content);
	memset(&file, 0, sizeof(file));
	world_open_with(&scene->world, &fake_ops);
	producer_open(&scene->world, &scene->producer, "p");
	consumer_open(&scene->world, &scene->consumer);
	CHECK_INT(register_source(&scene->producer, "name: 'test'"), 0);
	if (enable_into(&scene->consumer, fd, config) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", scene->consumer.error.message);
	close(fd);
	log_clear(&scene->producer.log);
}

static void close_scene(struct scene *scene)
{
	packets_done(&scene->packets);
	if (scene->consumer.port)
		consumer_close(&scene->consumer);
	producer_close(&scene->producer);
	world_close(&scene->world);
	orma_base_buf_done(&file.content);
}

static const char *written(struct scene *scene)
{
	packets_done(&scene->packets);
	read_trace_file((const char *)file.content.data, file.content.size, &scene->packets);
	return texts_of(&scene->packets);
}

#define INTO_FILE ONE_BUFFER "write_into_file: true "

ORMA_TEST(file_is_written_on_the_period_and_at_the_end)
{
	struct scene s;
	struct orma_trace_batch batch;

	open_scene(&s, INTO_FILE "file_write_period_ms: 1000");
	CHECK_INT(orma_consumer_port_read(s.consumer.port, 1, &batch), -EBUSY);
	send_packet(&s.producer, 0, "a");
	CHECK_STR(written(&s), "");
	pass_ms(&s.world, 1000);
	CHECK_STR(written(&s), "a");
	send_packet(&s.producer, 1, "b");
	pass_ms(&s.world, 999);
	CHECK_STR(written(&s), "a");
	orma_consumer_port_disable(s.consumer.port);
	CHECK_STR(written(&s), "a b");
	CHECK_STR(kinds_of(&s.packets),
		  "clocks clocks sync config uuid provenance system started "
		  "all_started data read stats clocks disabled data read stats");
	CHECK(file.is_closed && file.was_synced);
	CHECK_INT(file.syncs, 0);
	/* Only when the bytes are safe is it over. */
	CHECK_LOG(&s.consumer.log, "");
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled");
	close_scene(&s);
}

ORMA_TEST(short_periods_flush_every_5_seconds_and_long_ones_with_each_write)
{
	struct scene s;

	open_scene(&s, INTO_FILE "file_write_period_ms: 1000");
	pass_ms(&s.world, 4999);
	CHECK_LOG(&s.producer.log, "");
	pass_ms(&s.world, 1);
	CHECK_LOG(&s.producer.log, "flush:1 of:1");
	close_scene(&s);

	open_scene(&s, INTO_FILE "file_write_period_ms: 8000");
	send_packet(&s.producer, 0, "a");
	pass_ms(&s.world, 8000);
	CHECK_LOG(&s.producer.log, "flush:1 of:1");
	CHECK_STR(written(&s), "");
	answer_flush(&s.producer);
	CHECK_STR(written(&s), "a");
	close_scene(&s);

	open_scene(&s, INTO_FILE "file_write_period_ms: 8000 flush_period_ms: 3000 "
				 "write_flush_mode: WRITE_FLUSH_DISABLED");
	send_packet(&s.producer, 0, "a");
	pass_ms(&s.world, 8000);
	CHECK_LOG(&s.producer.log, "flush:1 of:1 flush:2 of:1 flush:3 of:1");
	CHECK_STR(written(&s), "a");
	close_scene(&s);

	open_scene(&s, INTO_FILE "file_write_period_ms: 1000 write_flush_mode: WRITE_FLUSH_ENABLED "
				 "fflush_post_write: FFLUSH_ENABLED");
	pass_ms(&s.world, 1000);
	CHECK_LOG(&s.producer.log, "flush:1 of:1");
	answer_flush(&s.producer);
	CHECK_INT(file.syncs, 1);
	close_scene(&s);
}

ORMA_TEST(periods_have_a_floor)
{
	struct scene s;

	open_scene(&s, INTO_FILE "file_write_period_ms: 1");
	pass_ms(&s.world, 99);
	CHECK_INT(file.writes, 0);
	pass_ms(&s.world, 1);
	CHECK_INT(file.writes, 1);
	close_scene(&s);
}

ORMA_TEST(session_ends_before_the_packet_that_would_make_the_file_too_large)
{
	struct scene s;

	open_scene(&s, INTO_FILE "file_write_period_ms: 1000 max_file_size_bytes: 3000 "
				 "builtin_data_sources { disable_system_info: true }");
	for (uint32_t i = 0; i < 100; i++)
		send_packet(&s.producer, i, "0123456789012345678901234567890123456789");
	pass_ms(&s.world, 1000);
	CHECK(file.is_closed);
	CHECK(file.content.size < 3000 && file.content.size > 2900);
	written(&s);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled");
	close_scene(&s);
}

ORMA_TEST(file_that_is_not_ready_when_its_maximum_is_reached_gets_its_last_packets)
{
	struct scene s;

	open_scene(&s, INTO_FILE "file_write_period_ms: 1000 max_file_size_bytes: 3000 "
				 "builtin_data_sources { disable_system_info: true }");
	for (uint32_t i = 0; i < 100; i++)
		send_packet(&s.producer, i, "0123456789012345678901234567890123456789");
	file.is_full = true;
	pass_ms(&s.world, 3000);
	CHECK(!file.is_closed);
	file.is_full = false;
	orma_service_file_event(s.world.service, file.session_id, 0);
	CHECK(file.is_closed && file.was_synced);
	CHECK(file.content.size < 3000 && file.content.size > 2900);
	written(&s);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled");
	close_scene(&s);
}

ORMA_TEST(full_file_keeps_what_it_refused_and_takes_it_later)
{
	struct scene s;

	open_scene(&s, INTO_FILE "file_write_period_ms: 1000");
	send_packet(&s.producer, 0, "a");
	file.is_full = true;
	pass_ms(&s.world, 1000);
	CHECK_INT(file.content.size, 0);
	/* The buffer is written over meanwhile. */
	for (uint32_t i = 1; i < 3000; i++)
		send_packet(&s.producer, i, "0123456789012345678901234567890123456789");
	pass_ms(&s.world, 3000);
	orma_service_file_event(s.world.service, file.session_id, 0);
	CHECK_INT(file.content.size, 0);
	file.is_full = false;
	orma_service_file_event(s.world.service, file.session_id + 1, 0);
	orma_service_file_event(s.world.service, file.session_id, 0);
	CHECK(strncmp(written(&s), "a ", 2) == 0);
	orma_consumer_port_disable(s.consumer.port);
	written(&s);
	CHECK(file.is_closed);
	close_scene(&s);
}

ORMA_TEST(session_that_ends_while_the_file_is_full_ends_when_it_is_written)
{
	struct scene s;

	open_scene(&s, INTO_FILE);
	send_packet(&s.producer, 0, "a");
	file.is_full = true;
	orma_consumer_port_disable(s.consumer.port);
	CHECK(!file.is_closed);
	file.is_full = false;
	orma_service_file_event(s.world.service, file.session_id, 0);
	CHECK_STR(written(&s), "a");
	CHECK(file.is_closed && file.was_synced);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled");
	close_scene(&s);
}

ORMA_TEST(error_of_the_file_ends_the_session_and_reaches_the_consumer)
{
	struct scene s;

	open_scene(&s, INTO_FILE "file_write_period_ms: 1000");
	file.error = -ENOSPC;
	pass_ms(&s.world, 1000);
	CHECK_LOG(&s.producer.log, "stop:1");
	CHECK(file.is_closed && !file.was_synced);
	CHECK_LOG(&s.consumer.log, "");
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled:write_into_file: no space left on the device");
	close_scene(&s);

	/* Reported later, by the worker. */
	open_scene(&s, INTO_FILE);
	orma_service_file_event(s.world.service, file.session_id, -EIO);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_LOG(&s.consumer.log, "disabled:write_into_file: the device reports an error");
	close_scene(&s);

	/* While closing. */
	open_scene(&s, INTO_FILE);
	orma_consumer_port_disable(s.consumer.port);
	orma_service_file_event(s.world.service, file.session_id, -EDQUOT);
	CHECK_LOG(&s.consumer.log, "disabled:write_into_file: the disk quota is used up");
	close_scene(&s);
}

ORMA_TEST(file_that_cannot_be_opened_refuses_the_session_and_leaves_nothing)
{
	struct scene s;
	char path[256], config[512];

	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	snprintf(config, sizeof(config), INTO_FILE "output_path: '%s'", path);
	open_scene(&s, INTO_FILE);
	orma_consumer_port_free_buffers(s.consumer.port);
	file.error = -EMFILE;
	CHECK_INT(enable(&s.consumer, config), -EMFILE);
	CHECK_STR(s.consumer.error.message, "write_into_file: the process has too many open files");
	CHECK_INT(access(path, F_OK), -1);
	close_scene(&s);
}

ORMA_TEST(consumer_that_leaves_does_not_cost_the_file_its_end)
{
	struct scene s;

	open_scene(&s, INTO_FILE);
	for (uint32_t i = 0; i < 100; i++)
		send_packet(&s.producer, i, "x");
	file.is_full = true;
	consumer_close(&s.consumer);
	CHECK(!file.is_closed);
	file.is_full = false;
	orma_service_file_event(s.world.service, file.session_id, 0);
	CHECK(file.is_closed);
	CHECK_INT(strlen(written(&s)), 199);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK(orma_service_next_deadline_ns(s.world.service) == UINT64_MAX);
	close_scene(&s);
}

/* As `perfetto --is_detached` does, which says no only when the file is complete. */
ORMA_TEST(detached_session_is_found_until_its_file_is_complete)
{
	struct scene s;

	open_scene(&s, INTO_FILE);
	send_packet(&s.producer, 0, "a");
	file.is_full = true;
	orma_consumer_port_disable(s.consumer.port);
	CHECK_LOG(&s.producer.log, "stop:1");
	CHECK_INT(orma_consumer_port_detach(s.consumer.port, "key"), 0);
	CHECK_INT(orma_consumer_port_attach(s.consumer.port, "key"), 0);
	CHECK_INT(orma_consumer_port_detach(s.consumer.port, "key"), 0);
	file.is_full = false;
	orma_service_file_event(s.world.service, file.session_id, 0);
	CHECK_STR(written(&s), "a");
	CHECK(file.is_closed);
	/* The last bytes may not be on the disk yet. */
	CHECK_INT(orma_consumer_port_attach(s.consumer.port, "key"), 0);
	CHECK_INT(orma_consumer_port_detach(s.consumer.port, "key"), 0);
	orma_service_file_event(s.world.service, file.session_id, 1);
	CHECK_INT(orma_consumer_port_attach(s.consumer.port, "key"), -ENOENT);
	CHECK_LOG(&s.consumer.log, "");
	CHECK(orma_service_next_deadline_ns(s.world.service) == UINT64_MAX);
	close_scene(&s);
}

ORMA_TEST(large_buffers_are_written_in_bounded_steps)
{
	/* A packet of 3974 bytes that holds one string. */
	static const uint8_t head[] = {0x86, 0x1f, 0xa2, 0x38, 0x82, 0x1f, 0x0a, 0xff, 0x1e};
	struct scene s;
	size_t runs = 0;

	open_scene(&s, "buffers { size_kb: 16384 } data_sources { config { name: 'test' } } "
		       "write_into_file: true");
	for (uint32_t i = 0; i < 5000; i++) {
		uint8_t *page = s.producer.memory;
		uint32_t word =
			(uint32_t)ORMA_SHM_LAYOUT_1 << ORMA_SHM_LAYOUT_SHIFT | ORMA_SHM_COMPLETE;

		put_chunk_header(page + 8, &(struct chunk){.chunk_id = i, .writer_id = 1}, 1);
		memcpy(page + 16, head, sizeof(head));
		memcpy(page, &word, 4);
		commit_page(&s.producer, 0, s.producer.target_buffer);
	}
	orma_consumer_port_disable(s.consumer.port);
	while (!file.is_closed) {
		size_t before = file.content.size;

		CHECK(orma_service_next_deadline_ns(s.world.service) <= START_NS);
		orma_service_run(s.world.service);
		CHECK(file.content.size - before < (5 << 20));
		runs++;
	}
	CHECK(runs >= 3);
	CHECK(file.content.size > 14 << 20);
	close_scene(&s);
}

/* --- the service's own file operations ----------------------------------------------------------
 */

ORMA_TEST(output_path_is_created_readable_and_whole)
{
	struct orma_buf content = {0};
	struct world world;
	struct producer producer;
	struct consumer consumer;
	struct packets packets = {0};
	struct stat info;
	char path[256], config[512];

	snprintf(path, sizeof(path), "%s/trace", orma_test_tmpdir());
	snprintf(config, sizeof(config), INTO_FILE "output_path: '%s'", path);
	world_open(&world);
	producer_open(&world, &producer, "p");
	consumer_open(&world, &consumer);
	CHECK_INT(register_source(&producer, "name: 'test'"), 0);
	enable_ok(&consumer, config);
	for (uint32_t i = 0; i < 1500; i++)
		send_packet(&producer, i, "x");
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&consumer.log, "disabled");
	CHECK_INT(stat(path, &info), 0);
	CHECK_INT(info.st_mode & 0777, 0644);
	CHECK_INT(orma_base_file_read(AT_FDCWD, path, 1 << 20, &content), 0);
	read_trace_file((const char *)content.data, content.size, &packets);
	CHECK_INT(strlen(texts_of(&packets)), 2 * 1500 - 1);
	packets_done(&packets);
	orma_base_buf_done(&content);
	consumer_close(&consumer);
	producer_close(&producer);
	world_close(&world);
}

ORMA_TEST(broken_pipe_ends_the_session_and_not_the_program)
{
	struct world world;
	struct consumer consumer;
	int pipe_fds[2];

	signal(SIGPIPE, SIG_DFL);
	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC), 0);
	world_open(&world);
	consumer_open(&world, &consumer);
	CHECK_INT(enable_into(&consumer, pipe_fds[1], INTO_FILE), 0);
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&consumer.log, "disabled:write_into_file: the reader of the pipe is gone");
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(full_device_ends_the_session)
{
	struct world world;
	struct consumer consumer;
	int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);

	if (fd < 0)
		orma_test_skip("/dev/full");
	world_open(&world);
	consumer_open(&world, &consumer);
	CHECK_INT(enable_into(&consumer, fd, INTO_FILE "file_write_period_ms: 1000"), 0);
	close(fd);
	pass_ms(&world, 1000);
	CHECK_LOG(&consumer.log, "disabled:write_into_file: no space left on the device");
	consumer_close(&consumer);
	world_close(&world);
}

ORMA_TEST(full_pipe_that_nobody_reads_ends_the_session)
{
	struct world world;
	struct consumer consumer;
	static char zeros[65536];
	int pipe_fds[2];

	CHECK_INT(pipe2(pipe_fds, O_CLOEXEC | O_NONBLOCK), 0);
	while (write(pipe_fds[1], zeros, sizeof(zeros)) > 0)
		;
	world_open(&world);
	consumer_open(&world, &consumer);
	CHECK_INT(enable_into(&consumer, pipe_fds[1], INTO_FILE), 0);
	orma_consumer_port_disable(consumer.port);
	CHECK_LOG(&consumer.log, "disabled:write_into_file: the file takes no data");
	close(pipe_fds[0]);
	close(pipe_fds[1]);
	consumer_close(&consumer);
	world_close(&world);
}
