/* SPDX-License-Identifier: Apache-2.0
 * compress_worker_test.c - threads that compress blocks: order, events, and streams that are closed
 * before their blocks are compressed.
 */
#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/loop.h"
#include "codec/compression.h"
#include "harness.h"
#include "tool/daemon/compress_worker.h"

struct scene {
	struct orma_loop *loop;
	struct orma_compress_worker *worker;
	struct orma_compressor_ops ops;
	enum orma_codec codec;
	unsigned events[10]; /* by session */
};

static void take_event(void *ctx, uint64_t session_id)
{
	struct scene *scene = ctx;

	CHECK(session_id < 10);
	scene->events[session_id]++;
}

static void on_wake(void *ctx)
{
	struct scene *scene = ctx;

	orma_compress_worker_dispatch(scene->worker, take_event, scene);
}

static void open_scene(struct scene *scene)
{
	memset(scene, 0, sizeof(*scene));
	if (orma_tool_codecs() == 0)
		orma_test_skip("built without codecs");
	scene->codec =
		orma_tool_codecs() >> ORMA_CODEC_ZSTD & 1 ? ORMA_CODEC_ZSTD : ORMA_CODEC_DEFLATE;
	CHECK_INT(orma_base_loop_new(&scene->loop), 0);
	CHECK_INT(orma_compress_worker_new(scene->loop, &scene->worker), 0);
	orma_base_loop_set_wake_handler(scene->loop, on_wake, scene);
	scene->ops = orma_compress_worker_ops();
	CHECK_INT(scene->ops.codecs, orma_tool_codecs());
}

static void close_scene(struct scene *scene)
{
	orma_compress_worker_free(scene->worker);
	orma_base_loop_free(scene->loop);
}

static void *open_stream(struct scene *scene, uint64_t session_id)
{
	void *stream;

	CHECK_INT(scene->ops.open(scene->worker, scene->codec, 0, session_id, &stream), 0);
	return stream;
}

/* Waits for the next block and checks that it decompresses to `text`. */
static void check_next(struct scene *scene, void *stream, const char *text)
{
	struct orma_buf back = {0};
	const void *data;
	size_t size;
	int r;

	while ((r = scene->ops.take(scene->worker, stream, &data, &size)) == 0)
		CHECK(orma_base_loop_turn(scene->loop, -1) >= 0);
	CHECK_INT(r, 1);
	CHECK_INT(orma_tool_decompress(scene->codec, data, size, 1000, &back), 0);
	CHECK_INT(back.size, strlen(text));
	CHECK(memcmp(back.data, text, back.size) == 0);
	orma_base_buf_done(&back);
}

ORMA_TEST(blocks_come_back_in_order_with_an_event)
{
	struct scene s;
	char text[32];

	open_scene(&s);
	void *stream = open_stream(&s, 7);
	for (int round = 0; round < 50; round++) {
		for (int i = 0; i < ORMA_COMPRESSOR_BLOCKS_MAX; i++) {
			snprintf(text, sizeof(text), "%d.%d", round, i);
			CHECK_INT(s.ops.submit(s.worker, stream, text, strlen(text)), 0);
		}
		for (int i = 0; i < ORMA_COMPRESSOR_BLOCKS_MAX; i++) {
			snprintf(text, sizeof(text), "%d.%d", round, i);
			check_next(&s, stream, text);
		}
	}
	CHECK(s.events[7] > 0);
	s.ops.close(s.worker, stream);
	close_scene(&s);
}

ORMA_TEST(streams_do_not_mix)
{
	struct scene s;
	void *streams[3];

	open_scene(&s);
	for (uint64_t i = 0; i < 3; i++)
		streams[i] = open_stream(&s, i);
	for (uint64_t i = 0; i < 3; i++) {
		CHECK_INT(s.ops.submit(s.worker, streams[i], &"abc"[i], 1), 0);
		CHECK_INT(s.ops.submit(s.worker, streams[i], &"def"[i], 1), 0);
	}
	check_next(&s, streams[2], "c");
	check_next(&s, streams[0], "a");
	check_next(&s, streams[1], "b");
	check_next(&s, streams[1], "e");
	check_next(&s, streams[0], "d");
	check_next(&s, streams[2], "f");
	for (int i = 0; i < 3; i++)
		s.ops.close(s.worker, streams[i]);
	close_scene(&s);
}

ORMA_TEST(a_closed_stream_goes_away_by_itself_and_says_nothing)
{
	struct scene s;
	uint8_t *data = orma_base_zalloc(4 << 20);

	open_scene(&s);
	CHECK(data);
	for (uint64_t i = 0; i < 5; i++) {
		void *stream = open_stream(&s, i);

		for (int k = 0; k < ORMA_COMPRESSOR_BLOCKS_MAX; k++)
			CHECK_INT(s.ops.submit(s.worker, stream, data, 4 << 20), 0);
		s.ops.close(s.worker, stream);
		CHECK(orma_base_loop_turn(s.loop, 0) >= 0);
		CHECK_INT(s.events[i], 0);
	}
	/* Free the worker while streams are open or closed, with blocks at every stage. */
	void *stream = open_stream(&s, 9);
	CHECK_INT(s.ops.submit(s.worker, stream, "a", 1), 0);
	check_next(&s, stream, "a");
	CHECK_INT(s.ops.submit(s.worker, stream, data, 4 << 20), 0);
	close_scene(&s);
	orma_base_free(data);
}

ORMA_TEST(missing_memory_is_an_error_of_the_call)
{
	struct scene s;
	void *stream;

	open_scene(&s);
	for (uint64_t nth = 1;; nth++) {
		orma_base_alloc_fail_nth(nth);
		int r = s.ops.open(s.worker, s.codec, 0, 1, &stream);
		bool has_failed = orma_base_alloc_has_failed();
		orma_base_alloc_fail_nth(0);
		CHECK(has_failed ? r == -ENOMEM : r == 0);
		if (!has_failed)
			break;
	}
	for (uint64_t nth = 1; nth < 3; nth++) {
		orma_base_alloc_fail_nth(nth);
		CHECK_INT(s.ops.submit(s.worker, stream, "abc", 3), -ENOMEM);
		orma_base_alloc_fail_nth(0);
	}
	CHECK_INT(s.ops.submit(s.worker, stream, "abc", 3), 0);
	check_next(&s, stream, "abc");
	CHECK_INT(s.ops.open(s.worker, (enum orma_codec)3, 0, 1, &stream), -ENOTSUP);
	close_scene(&s);
}
