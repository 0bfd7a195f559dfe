/* SPDX-License-Identifier: Apache-2.0
 * file_worker.c - output files with a thread each, fed through bounded queues of blocks.
 *
 * The service's thread copies the data into a block and appends it to the file's queue; the file's
 * thread (file_thread.c) takes it from there. Events go back through a list that the service's
 * thread empties after a wake of its loop.
 *
 * Invariants: queued_bytes <= ORMA_FILE_QUEUE_BYTES_MAX plus one block; a refused write (-EAGAIN)
 * sets wants_event, and exactly one event follows it; after a failure only the end event follows.
 * Rejected: one thread for all files (a hanging disk would block all of them), io_uring (not on
 * every kernel that orma runs on, and often forbidden in containers), and pinning the trace
 * buffer's memory during the write (a slow disk would then keep the ring from being overwritten).
 */
#include "tool/daemon/file_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <string.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/list.h"
#include "base/macros.h"
#include "tool/daemon/file_thread.h"
#include "tool/daemon/output_folder.h"

#define RUNNING_STALL_MS 300000 /* how long a file may take no data while its session runs */
#define FREE_STALL_SEC   5      /* how long orma_file_worker_free() waits for some progress */

void orma_file_worker_close_fd(void *ctx, int fd, uid_t owner)
{
	struct orma_file_worker *worker = ctx;
	orma_base_fd_close_foreign(orma_base_loop_closer(worker->loop), fd, owner);
}

static int open_file(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	struct orma_file_thread *file = NULL;
	int r = orma_file_thread_new(ctx, session_id, &file);
	if (file)
		file->fd = fd;
	if (r == 0)
		r = orma_file_thread_start(file);
	if (r) {
		orma_file_thread_discard(file);
		orma_file_worker_close_fd(ctx, fd, (uid_t)-1);
		return r;
	}
	*ret_file = file;
	return 0;
}

static int begin_creation(struct orma_file_worker *worker,
			  const struct orma_output_folder *output_folder,
			  const struct orma_file_request *request, void **ret_file)
{
	struct orma_file_thread *file = NULL;
	int r = orma_file_thread_new(worker, request->session_id, &file);
	if (r == 0) {
		file->count = request->count;
		file->output_folder = output_folder;
		file->path = orma_base_strdup(request->path);
		r = file->path ? orma_file_thread_start(file) : -ENOMEM;
	}
	if (r) {
		orma_file_thread_discard(file);
		return r;
	}
	*ret_file = file;
	return 0;
}

static int create_file(void *ctx, const char *path, uint32_t count, uint64_t session_id,
		       void **ret_file)
{
	struct orma_file_request request = {.path = path, .count = count, .session_id = session_id};
	return begin_creation(ctx, NULL, &request, ret_file);
}

static int create_file_for_other(void *ctx, const struct orma_file_request *request,
				 void **ret_file, struct orma_error *reterr)
{
	struct orma_file_worker *worker = ctx;
	struct orma_file_request below = *request;
	if (!worker->output_folder)
		return -EACCES;
	int r = orma_output_folder_check(worker->output_folder, request->path, &below.path, reterr);
	return r ? r : begin_creation(worker, worker->output_folder, &below, ret_file);
}

static struct orma_file_block *take_spare(struct orma_file_thread *file)
{
	struct orma_file_block *block = NULL;

	pthread_mutex_lock(&file->worker->mutex);
	if (file->spare_count) {
		block = ORMA_LIST_ENTRY(file->spares.next, struct orma_file_block, link);
		orma_base_list_remove(&block->link);
		file->spare_count--;
	}
	pthread_mutex_unlock(&file->worker->mutex);
	return block;
}

static struct orma_file_block *get_block(struct orma_file_thread *file, size_t size)
{
	struct orma_file_block *block = take_spare(file);
	size_t capacity =
		(size + ORMA_FILE_BLOCK_GRAIN - 1) / ORMA_FILE_BLOCK_GRAIN * ORMA_FILE_BLOCK_GRAIN;

	if (block && block->capacity >= size) {
		block->rotated_count = 0;
		block->source_origin = NULL;
		return block;
	}
	orma_base_free(block);
	block = orma_base_alloc(sizeof(*block) + capacity);
	if (!block)
		return NULL;
	orma_base_list_init(&block->link);
	block->capacity = capacity;
	block->source_fd = -1;
	block->source_origin = NULL;
	block->rotated_count = 0;
	return block;
}

static struct orma_file_block *copy_to_block(struct orma_file_thread *file, const struct iovec *iov,
					     int iov_count)
{
	size_t size = 0;
	for (int i = 0; i < iov_count; i++)
		size += iov[i].iov_len;
	struct orma_file_block *block = get_block(file, size);
	if (!block)
		return NULL;
	block->size = size;
	uint8_t *at = block->data;
	for (int i = 0; i < iov_count; i++) {
		memcpy(at, iov[i].iov_base, iov[i].iov_len);
		at += iov[i].iov_len;
	}
	return block;
}

static int queue_write(void *ctx, void *file_arg, const struct iovec *iov, int iov_count)
{
	struct orma_file_worker *worker = ctx;
	struct orma_file_thread *file = file_arg;
	int r = 0;

	pthread_mutex_lock(&worker->mutex);
	if (file->has_failed) {
		r = file->error;
	} else if (file->queued_bytes >= ORMA_FILE_QUEUE_BYTES_MAX) {
		file->wants_event = true;
		r = -EAGAIN;
	}
	pthread_mutex_unlock(&worker->mutex);
	if (r)
		return r;
	struct orma_file_block *block = copy_to_block(file, iov, iov_count);
	if (!block)
		return -ENOMEM;
	pthread_mutex_lock(&worker->mutex);
	ORMA_ASSERT(!file->is_closing);
	ORMA_ASSERT(file->queued_bytes < ORMA_FILE_QUEUE_BYTES_MAX);
	file->queued_bytes += block->size;
	file->has_blocks = true;
	orma_base_list_append(&file->blocks, &block->link);
	pthread_cond_signal(&file->has_work);
	pthread_mutex_unlock(&worker->mutex);
	return 0;
}

/* Duplicates the descriptor of the file that a copy reads. Returns -EBUSY before the file is
 * created and during a rotation, when it is not known which file that is, and -ESPIPE when the file
 * cannot be read. */
static int dup_source_locked(const struct orma_file_thread *source)
{
	if (source->rotations || source->fd < 0)
		return -EBUSY;
	if (source->origin->is_known && source->origin->offset < 0)
		return -ESPIPE;
	if ((fcntl(source->fd, F_GETFL) & O_ACCMODE) == O_WRONLY)
		return -ESPIPE;
	int fd = fcntl(source->fd, F_DUPFD_CLOEXEC, 0);
	return fd < 0 ? -errno : fd;
}

/* The descriptor stays valid, because the source is not being closed. */
static int queue_copy(void *ctx, void *file_arg, void *source_arg, uint64_t size)
{
	struct orma_file_worker *worker = ctx;
	struct orma_file_thread *file = file_arg;
	const struct orma_file_thread *source = source_arg;

	/* Allocate the block first: nothing may fail once there is a descriptor, because closing it
	 * may block. */
	struct orma_file_block *block = get_block(file, 1);
	if (!block)
		return -ENOMEM;
	block->size = 0;
	block->source_bytes = size;
	pthread_mutex_lock(&worker->mutex);
	int fd = dup_source_locked(source);
	if (fd < 0) {
		pthread_mutex_unlock(&worker->mutex);
		orma_base_free(block);
		return fd;
	}
	block->source_fd = fd;
	block->source_origin = source->origin;
	source->origin->users++;
	file->has_blocks = true;
	orma_base_list_append(&file->blocks, &block->link);
	pthread_cond_signal(&file->has_work);
	pthread_mutex_unlock(&worker->mutex);
	return 0;
}

static int queue_rotation(void *ctx, void *file_arg, const char *path, uint32_t count)
{
	struct orma_file_worker *worker = ctx;
	struct orma_file_thread *file = file_arg;
	struct orma_file_block *block = get_block(file, strlen(path) + 1);
	if (!block)
		return -ENOMEM;
	block->size = 0;
	block->rotated_count = count;
	memcpy(block->data, path, strlen(path) + 1);
	pthread_mutex_lock(&worker->mutex);
	ORMA_ASSERT(!file->is_closing);
	file->rotations++;
	orma_base_list_append(&file->blocks, &block->link);
	pthread_cond_signal(&file->has_work);
	pthread_mutex_unlock(&worker->mutex);
	return 0;
}

static void queue_close(void *ctx, void *file_arg, bool sync)
{
	struct orma_file_worker *worker = ctx;
	struct orma_file_thread *file = file_arg;
	pthread_mutex_lock(&worker->mutex);
	file->is_closing = true;
	file->must_sync = sync;
	pthread_cond_signal(&file->has_work);
	(void)eventfd_write(file->wakeup_fd, 1);
	pthread_mutex_unlock(&worker->mutex);
}

static void queue_sync(void *ctx, void *file_arg)
{
	struct orma_file_worker *worker = ctx;
	struct orma_file_thread *file = file_arg;
	pthread_mutex_lock(&worker->mutex);
	file->wants_sync = true;
	pthread_cond_signal(&file->has_work);
	pthread_mutex_unlock(&worker->mutex);
}

const struct orma_service_file_ops orma_file_worker_ops = {
	.struct_size = sizeof(orma_file_worker_ops),
	.open = open_file,
	.write = queue_write,
	.close = queue_close,
	.sync = queue_sync,
	.copy = queue_copy,
	.rotate = queue_rotation,
	.create = create_file,
	.create_for_other = create_file_for_other,
};

bool orma_file_worker_dispatch(struct orma_file_worker *worker, orma_file_event_fn *fn, void *ctx)
{
	bool had_any = false;
	for (;;) {
		pthread_mutex_lock(&worker->mutex);
		struct orma_file_event copy = {0};
		bool is_empty = orma_base_list_is_empty(&worker->events);
		if (!is_empty) {
			struct orma_file_event *event =
				ORMA_LIST_ENTRY(worker->events.next, struct orma_file_event, link);
			orma_base_list_remove(&event->link);
			copy = *event;
		}
		pthread_mutex_unlock(&worker->mutex);
		if (is_empty)
			return had_any;
		had_any = true;
		if (copy.finished)
			orma_file_thread_join(copy.finished);
		fn(ctx, copy.session_id, copy.status);
	}
}

int orma_file_worker_new(struct orma_loop *loop, struct orma_file_worker **ret)
{
	struct orma_file_worker *worker = orma_base_zalloc(sizeof(*worker));
	pthread_condattr_t attributes;
	if (!worker)
		return -ENOMEM;
	worker->loop = loop;
	worker->stall_ms = RUNNING_STALL_MS;
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&worker->has_progress, &attributes);
	pthread_condattr_destroy(&attributes);
	orma_base_list_init(&worker->events);
	orma_base_list_init(&worker->files);
	*ret = worker;
	return 0;
}

void orma_file_worker_set_stall_ms(struct orma_file_worker *worker, int stall_ms)
{
	worker->stall_ms = stall_ms;
}

void orma_file_worker_set_output_folder(struct orma_file_worker *worker,
					const struct orma_output_folder *folder)
{
	worker->output_folder = folder;
}

uint64_t orma_file_worker_progress(struct orma_file_worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	uint64_t progress = worker->progress;
	pthread_mutex_unlock(&worker->mutex);
	return progress;
}

bool orma_file_worker_is_idle(const struct orma_file_worker *worker)
{
	return orma_base_list_is_empty(&worker->files);
}

void orma_file_worker_hurry(struct orma_file_worker *worker)
{
	struct orma_file_thread *file;

	pthread_mutex_lock(&worker->mutex);
	worker->is_hurried = true;
	ORMA_LIST_FOR_EACH (file, &worker->files, link)
		(void)eventfd_write(file->wakeup_fd, 1);
	pthread_mutex_unlock(&worker->mutex);
}

/* Waits for the end of a file's thread. Returns false when no file has made progress for
 * FREE_STALL_SEC. */
static bool await_end(struct orma_file_thread *file)
{
	struct orma_file_worker *worker = file->worker;
	uint64_t progress;
	struct timespec end;
	int r = 0;

	pthread_mutex_lock(&worker->mutex);
	while (!file->end.finished && r == 0) {
		progress = worker->progress;
		clock_gettime(CLOCK_MONOTONIC, &end);
		end.tv_sec += FREE_STALL_SEC;
		while (progress == worker->progress && r == 0)
			r = pthread_cond_timedwait(&worker->has_progress, &worker->mutex, &end);
	}
	bool has_ended = file->end.finished;
	pthread_mutex_unlock(&worker->mutex);
	return has_ended;
}

/* Abandons threads that hang. They may continue at any time, so the memory that they use is not
 * freed. */
static void abandon(struct orma_file_worker *worker)
{
	struct orma_file_thread *file;

	pthread_mutex_lock(&worker->mutex);
	worker->loop = NULL;
	pthread_mutex_unlock(&worker->mutex);
	ORMA_LIST_FOR_EACH (file, &worker->files, link)
		pthread_detach(file->thread);
}

void orma_file_worker_free(struct orma_file_worker *worker)
{
	struct orma_file_thread *file, *next;
	if (!worker)
		return;
	/* Closes all files before it waits, so that the waits for stuck ones overlap. */
	orma_file_worker_hurry(worker);
	ORMA_LIST_FOR_EACH (file, &worker->files, link) {
		pthread_mutex_lock(&worker->mutex);
		bool must_sync = file->must_sync;
		pthread_mutex_unlock(&worker->mutex);
		queue_close(worker, file, must_sync);
	}
	ORMA_LIST_FOR_EACH_SAFE (file, next, &worker->files, link) {
		if (!await_end(file)) {
			abandon(worker);
			return;
		}
		orma_file_thread_join(file);
	}
	pthread_mutex_destroy(&worker->mutex);
	pthread_cond_destroy(&worker->has_progress);
	orma_base_free(worker);
}
