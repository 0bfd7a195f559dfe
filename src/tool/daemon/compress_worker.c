/* SPDX-License-Identifier: Apache-2.0
 * compress_worker.c - compresses each stream of blocks on a thread of its own.
 *
 *   submit --> todo --> (the thread) --> done --> take --> spares --> submit ...
 *
 * A block owns its input and its output, and moves through the lists of its stream in order. The
 * service submits at most ORMA_COMPRESSOR_BLOCKS_MAX blocks before it takes one back, which bounds
 * the queue. An event means that `done` is not empty. At most one event per stream is pending,
 * because the service takes blocks until none is left. When a stream is closed, its thread drops
 * the queue, finishes the current block and ends. The next dispatch joins it.
 *
 * Rejected: one thread for all streams (the consumer chooses the level, and level 22 takes seconds
 * per block), and a pool (the kernel already shares the processor fairly among fifteen threads).
 */
#include "tool/daemon/compress_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "codec/compression.h"

/* Larger blocks are freed instead of being reused. */
#define SPARE_BYTES_MAX ((size_t)1 << 20)

struct block {
	struct orma_list link;
	struct orma_buf input, output;
	int result;
};

struct stream {
	struct orma_compress_worker *worker;
	struct orma_list link; /* worker->streams; the service's thread only */
	pthread_t thread;
	uint64_t session_id;
	struct orma_tool_compressor *compressor; /* the stream's thread only */
	struct block *taken;                     /* the service's thread only */
	/* The following are guarded by worker->mutex. */
	pthread_cond_t has_work;
	struct orma_list todo, done, spares;
	struct orma_list event; /* in worker->events, or alone */
	bool is_closing, has_ended;
};

struct orma_compress_worker {
	struct orma_loop *loop;
	pthread_mutex_t mutex;
	struct orma_list events; /* under mutex: struct stream */
	struct orma_list streams;
};

static void free_block(struct block *block)
{
	if (!block)
		return;
	orma_base_buf_done(&block->input);
	orma_base_buf_done(&block->output);
	orma_base_free(block);
}

static void free_blocks(struct orma_list *list)
{
	struct block *block, *next;

	ORMA_LIST_FOR_EACH_SAFE (block, next, list, link)
		free_block(block);
	orma_base_list_init(list);
}

static struct block *take_first(struct orma_list *list)
{
	struct block *block;

	if (orma_base_list_is_empty(list))
		return NULL;
	block = ORMA_LIST_ENTRY(list->next, struct block, link);
	orma_base_list_remove(&block->link);
	return block;
}

/* --- the thread ------------------------------------------------------------------------------- */

static void post_locked(struct stream *stream)
{
	ORMA_ASSERT(stream->has_ended || !orma_base_list_is_empty(&stream->done));
	orma_base_list_remove(&stream->event);
	orma_base_list_append(&stream->worker->events, &stream->event);
	orma_base_loop_wake(stream->worker->loop);
}

static void *run_stream(void *arg)
{
	struct stream *stream = arg;
	struct orma_compress_worker *worker = stream->worker;
	struct block *block;

	/* Set by the thread itself; see file_thread.c. */
	pthread_setname_np(pthread_self(), "orma-compress");
	pthread_mutex_lock(&worker->mutex);
	while (!stream->is_closing) {
		block = take_first(&stream->todo);
		if (!block) {
			pthread_cond_wait(&stream->has_work, &worker->mutex);
			continue;
		}
		pthread_mutex_unlock(&worker->mutex);
		ORMA_ASSERT(orma_base_list_is_empty(&block->link));
		block->result = orma_tool_compress(stream->compressor, block->input.data,
						   block->input.size, &block->output);
		pthread_mutex_lock(&worker->mutex);
		orma_base_list_append(&stream->done, &block->link);
		if (!stream->is_closing)
			post_locked(stream);
	}
	stream->has_ended = true;
	post_locked(stream);
	pthread_mutex_unlock(&worker->mutex);
	return NULL;
}

static int start_thread(struct stream *stream)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&stream->thread, NULL, run_stream, stream);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

/* --- the service's side ----------------------------------------------------------------------- */

/* Frees a stream whose thread has ended or never started. */
static void free_stream(struct stream *stream)
{
	free_blocks(&stream->todo);
	free_blocks(&stream->done);
	free_blocks(&stream->spares);
	free_block(stream->taken);
	orma_base_list_remove(&stream->link);
	/* The mutex guards the list of events, whose other streams belong to other threads. */
	pthread_mutex_lock(&stream->worker->mutex);
	orma_base_list_remove(&stream->event);
	pthread_mutex_unlock(&stream->worker->mutex);
	pthread_cond_destroy(&stream->has_work);
	orma_tool_compressor_free(stream->compressor);
	orma_base_free(stream);
}

static int open_stream(void *ctx, enum orma_codec codec, int level, uint64_t session_id,
		       void **ret_stream)
{
	struct orma_compress_worker *worker = ctx;
	struct stream *stream = orma_base_zalloc(sizeof(*stream));

	if (!stream)
		return -ENOMEM;
	stream->worker = worker;
	stream->session_id = session_id;
	orma_base_list_init(&stream->todo);
	orma_base_list_init(&stream->done);
	orma_base_list_init(&stream->spares);
	orma_base_list_init(&stream->event);
	orma_base_list_init(&stream->link);
	pthread_cond_init(&stream->has_work, NULL);
	int r = orma_tool_compressor_new(codec, level, &stream->compressor);
	if (r == 0)
		r = start_thread(stream);
	if (r) {
		free_stream(stream);
		return r;
	}
	orma_base_list_append(&worker->streams, &stream->link);
	*ret_stream = stream;
	return 0;
}

static int submit_block(void *ctx, void *stream_arg, const void *data, size_t size)
{
	struct orma_compress_worker *worker = ctx;
	struct stream *stream = stream_arg;

	pthread_mutex_lock(&worker->mutex);
	struct block *block = take_first(&stream->spares);
	pthread_mutex_unlock(&worker->mutex);
	if (!block)
		block = orma_base_zalloc(sizeof(*block));
	if (!block)
		return -ENOMEM;
	orma_base_list_init(&block->link);
	block->input.size = 0;
	int r = orma_base_buf_append(&block->input, data, size);
	if (r) {
		free_block(block);
		return r;
	}
	pthread_mutex_lock(&worker->mutex);
	orma_base_list_append(&stream->todo, &block->link);
	pthread_cond_signal(&stream->has_work);
	pthread_mutex_unlock(&worker->mutex);
	return 0;
}

static void put_back(struct stream *stream, struct block *block)
{
	if (!block)
		return;
	if (block->input.capacity > SPARE_BYTES_MAX) {
		free_block(block);
		return;
	}
	pthread_mutex_lock(&stream->worker->mutex);
	orma_base_list_append(&stream->spares, &block->link);
	pthread_mutex_unlock(&stream->worker->mutex);
}

static int take_block(void *ctx, void *stream_arg, const void **ret_data, size_t *ret_size)
{
	struct orma_compress_worker *worker = ctx;
	struct stream *stream = stream_arg;

	put_back(stream, ORMA_TAKE(stream->taken));
	pthread_mutex_lock(&worker->mutex);
	struct block *block = take_first(&stream->done);
	pthread_mutex_unlock(&worker->mutex);
	if (!block)
		return 0;
	stream->taken = block;
	if (block->result)
		return block->result;
	*ret_data = block->output.data;
	*ret_size = block->output.size;
	return 1;
}

static void close_stream(void *ctx, void *stream_arg)
{
	struct orma_compress_worker *worker = ctx;
	struct stream *stream = stream_arg;

	pthread_mutex_lock(&worker->mutex);
	stream->is_closing = true;
	pthread_cond_signal(&stream->has_work);
	pthread_mutex_unlock(&worker->mutex);
}

struct orma_compressor_ops orma_compress_worker_ops(void)
{
	return (struct orma_compressor_ops){
		.struct_size = sizeof(struct orma_compressor_ops),
		.codecs = orma_tool_codecs(),
		.open = open_stream,
		.submit = submit_block,
		.take = take_block,
		.close = close_stream,
	};
}

static void join(struct stream *stream)
{
	pthread_join(stream->thread, NULL);
	ORMA_ASSERT(stream->is_closing && stream->has_ended);
	free_stream(stream);
}

bool orma_compress_worker_dispatch(struct orma_compress_worker *worker, orma_compress_event_fn *fn,
				   void *ctx)
{
	bool had_any = false;

	for (;;) {
		struct stream *stream = NULL;
		bool has_ended = false, is_closing = false;

		pthread_mutex_lock(&worker->mutex);
		if (!orma_base_list_is_empty(&worker->events)) {
			stream = ORMA_LIST_ENTRY(worker->events.next, struct stream, event);
			orma_base_list_remove(&stream->event);
			has_ended = stream->has_ended;
			is_closing = stream->is_closing;
		}
		pthread_mutex_unlock(&worker->mutex);
		if (!stream)
			return had_any;
		had_any = true;
		if (has_ended)
			join(stream);
		else if (!is_closing)
			fn(ctx, stream->session_id);
	}
}

int orma_compress_worker_new(struct orma_loop *loop, struct orma_compress_worker **ret)
{
	struct orma_compress_worker *worker = orma_base_zalloc(sizeof(*worker));

	if (!worker)
		return -ENOMEM;
	worker->loop = loop;
	pthread_mutex_init(&worker->mutex, NULL);
	orma_base_list_init(&worker->events);
	orma_base_list_init(&worker->streams);
	*ret = worker;
	return 0;
}

void orma_compress_worker_free(struct orma_compress_worker *worker)
{
	struct stream *stream, *next;

	if (!worker)
		return;
	ORMA_LIST_FOR_EACH (stream, &worker->streams, link)
		close_stream(worker, stream);
	ORMA_LIST_FOR_EACH_SAFE (stream, next, &worker->streams, link)
		join(stream);
	ORMA_ASSERT(orma_base_list_is_empty(&worker->streams));
	ORMA_ASSERT(orma_base_list_is_empty(&worker->events));
	pthread_mutex_destroy(&worker->mutex);
	orma_base_free(worker);
}
