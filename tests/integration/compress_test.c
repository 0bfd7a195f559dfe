/* SPDX-License-Identifier: Apache-2.0
 * compress_test.c - compressed sessions of the real daemon, with the real codecs. The packets
 * are the same as without compression, through ReadBuffers and through a file, and a session
 * that is hard to compress does not slow the bystander down.
 */
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "bystander.h"
#include "codec/compression.h"
#include "harness.h"
#include "raw_session.h"
#include "schema/gen/test_event.pb.h"
#include "schema/gen/trace_packet.pb.h"
#include "tool/trace/trace_file.h"

#define PACKETS 3000

/* The texts of test packets, in order. */
struct texts {
	struct orma_buf all;
	size_t count, stats, others;
};

static int take_packet(void *ctx, const void *data, size_t size)
{
	struct orma_arena arena = {0};
	struct orma_pb_trace_packet *packet;
	struct texts *texts = ctx;

	CHECK_INT(orma_proto_decode(&orma_pb_trace_packet_desc, data, size, &arena, &packet), 0);
	CHECK(!packet->compressed_packets.size && !packet->zstd_compressed_packets.size);
	if (packet->for_testing) {
		CHECK_INT(orma_base_buf_append(&texts->all, packet->for_testing->str.data,
					       packet->for_testing->str.size),
			  0);
		texts->count++;
	}
	texts->stats += packet->trace_stats != NULL;
	texts->others += !packet->for_testing;
	orma_base_arena_done(&arena);
	return 0;
}

static void read_trace(int fd, struct texts *texts)
{
	struct orma_error error = {0};

	*texts = (struct texts){0};
	CHECK_INT(lseek(fd, 0, SEEK_SET), 0);
	if (orma_tool_trace_read(fd, take_packet, texts, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
}

/* Half of the bytes of each packet are random. */
static void emit_all(struct orma_raw_session *session)
{
	static uint32_t state = 1;
	char text[601] = {0};

	for (int i = 0; i < PACKETS; i++) {
		memset(text, 'x', 600);
		for (int k = 0; k < 300; k++) {
			state = state * 1664525 + 1013904223;
			text[k] = (char)('a' + (state >> 24) % 26);
		}
		snprintf(text, sizeof(text), "%08d", i);
		text[8] = ' ';
		orma_raw_session_emit(session, text);
	}
}

static void check_texts(const struct texts *texts)
{
	CHECK_INT(texts->count, PACKETS);
	for (size_t i = 0; i < PACKETS; i++)
		CHECK_INT(strtoul((const char *)texts->all.data + 600 * i, NULL, 10), i);
	CHECK(texts->stats >= 1 && texts->others >= 6);
}

static int new_file(void)
{
	int fd = memfd_create("trace", MFD_CLOEXEC);

	CHECK(fd >= 0);
	return fd;
}

static void need(enum orma_codec codec)
{
	if (!(orma_tool_codecs() >> codec & 1))
		orma_test_skip("orma was built without the codec");
}

static void check_reading(enum orma_codec codec, const char *config)
{
	struct orma_stage stage;
	struct orma_raw_session session;
	struct orma_pb_trace *trace;
	struct orma_buf content = {0};
	struct texts texts;
	int fd = new_file();

	need(codec);
	orma_stage_open(&stage);
	orma_raw_session_open(&session, &stage.daemon, "packed", "", config);
	for (int i = 0; i < 500; i++)
		orma_raw_session_emit(&session, "first");
	orma_raw_session_flush(&session);
	trace = orma_raw_consumer_read(&session.consumer);
	CHECK(trace->packet.count >= 1);
	for (size_t i = 0; i < trace->packet.count; i++) {
		const struct orma_pb_trace_packet *packet = trace->packet.items[i];

		CHECK(codec == ORMA_CODEC_ZSTD ? packet->zstd_compressed_packets.size > 0
					       : packet->compressed_packets.size > 0);
		CHECK(!packet->for_testing && !packet->trusted_packet_sequence_id);
	}
	content.size = 0;
	CHECK_INT(orma_proto_encode(trace, &content), 0);
	CHECK_INT(orma_base_fd_write_all(fd, content.data, content.size), 0);
	read_trace(fd, &texts);
	CHECK_INT(texts.count, 500);
	CHECK(texts.stats >= 1 && texts.others >= 6);
	CHECK(content.size < texts.all.size + 5000);
	orma_bystander_check(&stage.bystander);
	orma_base_buf_done(&texts.all);
	orma_base_buf_done(&content);
	close(fd);
	orma_raw_session_close(&session);
	orma_stage_close(&stage);
}

ORMA_TEST(deflated_packets_are_read_back)
{
	check_reading(ORMA_CODEC_DEFLATE, "compression_type: COMPRESSION_TYPE_DEFLATE");
}

ORMA_TEST(packets_compressed_by_zstd_are_read_back)
{
	check_reading(ORMA_CODEC_ZSTD, "compression { zstd { level: 1 } deflate {} }");
}

static void check_file(enum orma_codec codec, const char *config)
{
	struct orma_stage stage;
	struct orma_raw_session session = {0};
	struct texts texts;
	struct stat st;
	int fd = new_file();

	need(codec);
	orma_stage_open(&stage);
	orma_raw_producer_open(&session.producer, stage.daemon.producers, "packed");
	orma_raw_producer_register(&session.producer, "name: \"packed\"");
	orma_raw_consumer_open(&session.consumer, stage.daemon.consumers);
	orma_raw_consumer_enable(&session.consumer, fd,
				 "buffers { size_kb: 8192 } data_sources { config { name: "
				 "\"packed\" } } write_into_file: true file_write_period_ms: 100 "
				 "%s",
				 config);
	session.target_buffer =
		orma_raw_producer_await_start(&session.producer, "packed")->target_buffer;
	emit_all(&session);
	orma_bystander_check(&stage.bystander);
	CHECK(orma_raw_call(&session.consumer.client, "DisableTracing", ORMA_STR(""))->success);
	const struct orma_pb_get_async_command_response *command;
	do {
		command = orma_raw_producer_command(&session.producer);
		if (command->flush)
			orma_raw_producer_commit(&session.producer, "flush_request_id: %llu",
						 (unsigned long long)command->flush->request_id);
	} while (!command->stop_data_source);
	CHECK_STR(orma_raw_consumer_await_disabled(&session.consumer), "");
	CHECK_INT(fstat(fd, &st), 0);
	CHECK(st.st_size > 0 && st.st_size < (off_t)400 * PACKETS);
	read_trace(fd, &texts);
	check_texts(&texts);
	orma_base_buf_done(&texts.all);
	close(fd);
	orma_raw_consumer_close(&session.consumer);
	orma_raw_producer_close(&session.producer);
	orma_stage_close(&stage);
}

ORMA_TEST(files_can_be_deflated)
{
	check_file(ORMA_CODEC_DEFLATE, "compression { deflate {} }");
}

ORMA_TEST(files_can_be_compressed_by_zstd)
{
	check_file(ORMA_CODEC_ZSTD, "compression { zstd {} }");
}

ORMA_TEST(a_consumer_that_leaves_while_its_packets_are_compressed_hurts_nobody)
{
	struct orma_stage stage;
	struct orma_raw_session session;

	need(ORMA_CODEC_ZSTD);
	orma_stage_open(&stage);
	for (int i = 0; i < 5; i++) {
		orma_raw_session_open(&session, &stage.daemon, "packed", "",
				      "compression { zstd { level: 22 } }");
		emit_all(&session);
		(void)orma_raw_invoke(&session.consumer.client, "ReadBuffers", ORMA_STR(""), -1, 0);
		if (i % 2)
			orma_bystander_check(&stage.bystander);
		orma_raw_session_close(&session);
	}
	orma_bystander_check(&stage.bystander);
	orma_stage_close(&stage);
}
