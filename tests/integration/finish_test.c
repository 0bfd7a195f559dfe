/* SPDX-License-Identifier: Apache-2.0
 * finish_test.c - SIGTERM: sessions that write into files are flushed, stopped and their files
 * completed before the daemon exits. A file that hangs does not keep it from exiting.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/fd.h"
#include "harness.h"
#include "process.h"
#include "raw_consumer.h"
#include "raw_producer.h"

struct scene {
	struct orma_test_process process;
	struct orma_raw_producer producer;
	struct orma_raw_consumer consumer;
	uint32_t target_buffer, next_chunk_id;
};

static void open_scene(struct scene *scene, int fd, const char *descriptor)
{
	CHECK(orma_test_process_start(&scene->process));
	orma_raw_producer_open(&scene->producer, scene->process.producers, "finish");
	orma_raw_producer_register(&scene->producer, descriptor);
	orma_raw_consumer_open(&scene->consumer, scene->process.consumers);
	orma_raw_consumer_enable(&scene->consumer, fd,
				 "buffers { size_kb: 1024 } data_sources { config { name: "
				 "\"finish\" } } write_into_file: true file_write_period_ms: "
				 "3600000");
	scene->target_buffer =
		orma_raw_producer_await_start(&scene->producer, "finish")->target_buffer;
}

static void close_scene(struct scene *scene)
{
	orma_raw_consumer_close(&scene->consumer);
	orma_raw_producer_close(&scene->producer);
}

static void emit(struct scene *scene, const char *text)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf payload = {0};

	orma_raw_test_packet(&payload, "%s", text);
	struct orma_raw_chunk chunk = {
		.chunk_id = scene->next_chunk_id++,
		.writer_id = 1,
		.fragment_count = 1,
		.payload = {(const char *)payload.data, payload.size},
	};
	orma_raw_producer_write_and_commit(&scene->producer, &chunk, scene->target_buffer);
}

static int open_file(void)
{
	int fd = open(orma_test_tmpdir(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);

	if (fd < 0)
		orma_test_skip("a filesystem with O_TMPFILE");
	return fd;
}

/* The file is a whole trace that ends with these packets. */
static void check_file(int fd, const char *const *texts, size_t count)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf content = {0};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_pb_trace *trace;

	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	CHECK_INT(orma_base_fd_read_all(fd, 1 << 24, &content), 0);
	CHECK_INT(
		orma_proto_decode(&orma_pb_trace_desc, content.data, content.size, &arena, &trace),
		0);
	CHECK_INT(orma_raw_test_packet_count(trace), count);
	for (size_t i = 0; i < count; i++)
		CHECK(orma_raw_trace_has(trace, texts[i]));
}

ORMA_TEST(sigterm_flushes_stops_and_completes_the_files)
{
	static const char *const texts[] = {"before", "flushed", "stopping"};
	struct scene scene = {0};
	ORMA_AUTO(orma_base_fd_closep) int fd = open_file();

	open_scene(&scene, fd, "name: \"finish\" will_notify_on_stop: true");
	emit(&scene, "before");
	orma_raw_producer_sync(&scene.producer);
	orma_test_process_signal(&scene.process, SIGTERM);
	uint64_t flush_id = orma_raw_producer_await_flush(&scene.producer);
	/* No session begins now. */
	struct orma_raw_consumer late;
	orma_raw_consumer_open(&late, scene.process.consumers);
	orma_raw_consumer_enable(&late, -1, "buffers { size_kb: 64 }");
	CHECK_STR(orma_raw_consumer_await_disabled(&late), "the service is shutting down");
	orma_raw_consumer_close(&late);
	emit(&scene, "flushed");
	orma_raw_producer_commit(&scene.producer, "flush_request_id: %llu",
				 (unsigned long long)flush_id);
	orma_raw_producer_await_stop(&scene.producer, "finish");
	emit(&scene, "stopping");
	struct orma_str args = orma_raw_text(
		&scene.producer.client, &orma_pb_notify_data_source_stopped_request_desc,
		"data_source_id: %llu", (unsigned long long)scene.producer.instances[0].id);
	orma_raw_invoke(&scene.producer.client, "NotifyDataSourceStopped", args, -1,
			ORMA_RAW_DROP_REPLY);
	CHECK_STR(orma_raw_consumer_await_disabled(&scene.consumer), "");
	CHECK_INT(orma_test_process_wait(&scene.process), 0);
	check_file(fd, texts, ORMA_ARRAY_SIZE(texts));
	CHECK(access(scene.process.producers, F_OK) < 0);
	CHECK(access(scene.process.consumers, F_OK) < 0);
	close_scene(&scene);
}

ORMA_TEST(a_producer_that_answers_nothing_does_not_keep_the_daemon)
{
	static const char *const texts[] = {"before"};
	struct scene scene = {0};
	ORMA_AUTO(orma_base_fd_closep) int fd = open_file();

	open_scene(&scene, fd, "name: \"finish\" will_notify_on_stop: true");
	emit(&scene, "before");
	orma_raw_producer_sync(&scene.producer);
	CHECK_INT(orma_test_process_stop(&scene.process), 0);
	check_file(fd, texts, ORMA_ARRAY_SIZE(texts));
	close_scene(&scene);
}

ORMA_TEST(a_pipe_that_nobody_reads_does_not_keep_the_daemon)
{
	struct scene scene = {0};
	char text[3900];
	int fds[2];

	CHECK_INT(pipe2(fds, O_CLOEXEC), 0);
	open_scene(&scene, fds[1], "name: \"finish\"");
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int i = 0; i < 60; i++) { /* 240 KB; a pipe takes 64 */
		emit(&scene, text);
		orma_raw_producer_sync(&scene.producer);
	}
	CHECK_INT(orma_test_process_stop(&scene.process), 0);
	close(fds[0]);
	close(fds[1]);
	close_scene(&scene);
}

ORMA_TEST(the_second_signal_ends_at_once)
{
	struct scene scene = {0};
	ORMA_AUTO(orma_base_fd_closep) int fd = open_file();

	/* The daemon leaves the file's thread to the kernel. */
	setenv("TSAN_OPTIONS", "report_thread_leaks=0", 1);
	open_scene(&scene, fd, "name: \"finish\"");
	orma_test_process_signal(&scene.process, SIGTERM);
	/* It is waiting for this flush now. */
	orma_raw_producer_await_flush(&scene.producer);
	CHECK_INT(orma_test_process_stop(&scene.process), 0);
	CHECK(access(scene.process.producers, F_OK) < 0);
	close_scene(&scene);
}

ORMA_TEST(without_files_sigint_ends_at_once_too)
{
	struct orma_test_process process = {0};
	struct orma_raw_consumer consumer;

	CHECK(orma_test_process_start(&process));
	orma_raw_consumer_open(&consumer, process.consumers);
	orma_raw_consumer_enable(&consumer, -1, "buffers { size_kb: 64 }");
	orma_raw_consumer_fence(&consumer);
	orma_test_process_signal(&process, SIGINT);
	CHECK_INT(orma_test_process_wait(&process), 0);
	orma_raw_consumer_close(&consumer);
}
