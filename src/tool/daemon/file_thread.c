/* SPDX-License-Identifier: Apache-2.0
 * file_thread.c - the thread of an output file: creates or takes over the file, writes blocks,
 * rotates, and closes.
 *
 * Everything that may wait for a file system happens here: creating a file of output_path, asking a
 * descriptor for its position (which is locked while another process is in a write), and every
 * close(). The thread takes blocks in order and writes each to the end. A failure is reported once;
 * after it, blocks are dropped, and only the end event follows.
 */
#include "tool/daemon/file_thread.h"

#include <errno.h>
#include <fcntl.h>
#include <orma/service.h>
#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/trace/file_write.h"
#include "tool/trace/trace_file.h"

#define CLOSING_STALL_MS 10000 /* how long a file may take nothing once its session has ended */
#define HURRIED_STALL_MS 1000  /* the same once the daemon ends */
/* Written blocks are reused while their file is open. Otherwise the allocator would return memory
 * of this size to the kernel each time, and the kernel's clearing of new memory costs as much as
 * the copy into it. */
#define SPARE_BLOCKS_MAX 4u
#define SOURCE_WAIT_MS   10    /* how often to look whether the source has been written */
#define SOURCE_STALL_MS  10000 /* how long to wait for its next byte */

static void note_progress_locked(struct orma_file_worker *worker)
{
	worker->progress++;
	pthread_cond_signal(&worker->has_progress);
}

static void post_locked(struct orma_file_thread *file, struct orma_file_event *event, int status)
{
	ORMA_ASSERT(event == &file->room || event == &file->end);
	event->session_id = file->session_id;
	event->status = status;
	orma_base_list_remove(&event->link);
	orma_base_list_append(&file->worker->events, &event->link);
	if (file->worker->loop)
		orma_base_loop_wake(file->worker->loop);
}

/* While its session runs, a file such as a pipe into a pager may take no data for minutes.
 * Meanwhile the data stays in the service's buffers. The limit is shorter once the session or the
 * daemon ends, so that the file delays neither for long. */
static int patience_ms(void *ctx)
{
	struct orma_file_thread *file = ctx;
	pthread_mutex_lock(&file->worker->mutex);
	int r = file->worker->is_hurried ? HURRIED_STALL_MS
		: file->is_closing       ? CLOSING_STALL_MS
					 : file->worker->stall_ms;
	pthread_mutex_unlock(&file->worker->mutex);
	return r;
}

static void unref_origin_locked(struct orma_file_origin *origin)
{
	if (origin && --origin->users == 0)
		orma_base_free(origin);
}

static void drop_block_locked(struct orma_file_thread *file, struct orma_file_block *block)
{
	unref_origin_locked(ORMA_TAKE(block->source_origin));
	ORMA_ASSERT(file->queued_bytes >= block->size);
	file->queued_bytes -= block->size;
	note_progress_locked(file->worker);
	if (file->spare_count < SPARE_BLOCKS_MAX) {
		file->spare_count++;
		orma_base_list_append(&file->spares, &block->link);
	} else {
		orma_base_free(block);
	}
}

/* Returns true when the session was freed, so that the rest of the file is not needed. */
static bool is_given_up(struct orma_file_thread *file)
{
	pthread_mutex_lock(&file->worker->mutex);
	bool r = file->is_closing && !file->must_sync;
	pthread_mutex_unlock(&file->worker->mutex);
	return r;
}

/* Waits a while for data that the source's own thread has not written yet. */
static int wait_for_source(struct orma_file_thread *file, unsigned *waited_ms)
{
	if (*waited_ms >= SOURCE_STALL_MS || patience_ms(file) == HURRIED_STALL_MS)
		return -ETIMEDOUT;
	*waited_ms += SOURCE_WAIT_MS;
	(void)poll(NULL, 0, SOURCE_WAIT_MS);
	return 0;
}

/* Waits until the thread of the source has found its origin. */
static int find_origin(struct orma_file_thread *file, const struct orma_file_block *block,
		       off_t *ret_offset)
{
	unsigned waited_ms = 0;
	for (;;) {
		pthread_mutex_lock(&file->worker->mutex);
		bool is_known = block->source_origin->is_known;
		off_t offset = block->source_origin->offset;
		pthread_mutex_unlock(&file->worker->mutex);
		*ret_offset = offset;
		if (is_known)
			return offset < 0 ? -ESPIPE : 0;
		int r = wait_for_source(file, &waited_ms);
		if (r)
			return r;
	}
}

static int copy_source(struct orma_file_thread *file, const struct orma_file_block *block)
{
	struct orma_file_writer writer = {file->fd, file->wakeup_fd, patience_ms, file};
	uint8_t *piece = orma_base_alloc(ORMA_FILE_BLOCK_GRAIN);
	uint64_t done = 0;
	unsigned waited_ms = 0;
	off_t begin = 0;
	int r = piece ? find_origin(file, block, &begin) : -ENOMEM;
	while (done < block->source_bytes && r == 0) {
		if (is_given_up(file))
			break;
		ssize_t got = pread(block->source_fd, piece,
				    (size_t)ORMA_MIN(block->source_bytes - done,
						     (uint64_t)ORMA_FILE_BLOCK_GRAIN),
				    begin + (off_t)done);
		if (got > 0) {
			size_t written = 0;
			r = orma_file_write(&writer, piece, (size_t)got, &written);
			done += (uint64_t)got;
			waited_ms = 0;
		} else if (got == 0) {
			r = wait_for_source(file, &waited_ms);
		} else if (errno != EINTR) {
			r = -errno;
		}
	}
	orma_base_free(piece);
	return r;
}

/* A pipe or a character device cannot be synced. That is not a failure. */
static int sync_file(const struct orma_file_thread *file)
{
	return fdatasync(file->fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

static int rotate_file(struct orma_file_thread *file, const struct orma_file_block *block)
{
	int new_fd, old_fd = file->fd, r = sync_file(file);
	/* A file keeps the folder and the name that it was created with. */
	const char *name = file->name ? file->name : (const char *)block->data;
	if (r == 0)
		r = orma_file_rotate(&file->rotation, file->folder_fd, name, block->rotated_count,
				     old_fd, &new_fd);
	if (r)
		return r;
	pthread_mutex_lock(&file->worker->mutex);
	file->fd = new_fd;
	file->origin->offset = 0;
	ORMA_ASSERT(file->rotations > 0);
	file->rotations--;
	pthread_mutex_unlock(&file->worker->mutex);
	orma_base_fd_close(old_fd);
	return 0;
}

/* When the disk is full, cuts the file behind its last whole packet, so that it can be read. */
static int write_data(struct orma_file_thread *file, const struct orma_file_block *block)
{
	struct orma_file_writer writer = {file->fd, file->wakeup_fd, patience_ms, file};
	size_t written = 0;
	int r = orma_file_write(&writer, block->data, block->size, &written);
	if (r)
		orma_file_cut_tail(file->fd,
				   written - orma_tool_trace_whole_bytes(block->data, written));
	return r;
}

/* Does the work of one block, without the lock. */
static int write_block(struct orma_file_thread *file, const struct orma_file_block *block)
{
	if (block->rotated_count)
		return rotate_file(file, block);
	return block->source_fd < 0 ? write_data(file, block) : copy_source(file, block);
}

static void take_result_locked(struct orma_file_thread *file, int r)
{
	/* Blocks that are dropped after a failure make room, but READY must not follow the
	 * failure. */
	if (file->has_failed)
		return;
	if (r) {
		file->has_failed = true;
		file->error = r;
		post_locked(file, &file->room, r);
	} else if (file->wants_event && file->queued_bytes <= ORMA_FILE_QUEUE_BYTES_MAX / 2) {
		file->wants_event = false;
		post_locked(file, &file->room, ORMA_FILE_READY);
	}
}

/* Makes the file durable if that was requested. Called only when no block waits. */
static bool sync_if_wanted_locked(struct orma_file_thread *file)
{
	if (!file->wants_sync || file->has_failed)
		return false;
	file->wants_sync = false;
	pthread_mutex_unlock(&file->worker->mutex);
	int r = sync_file(file);
	pthread_mutex_lock(&file->worker->mutex);
	take_result_locked(file, r);
	return true;
}

/* Returns NULL when the file is to be closed and no block is left. */
static struct orma_file_block *wait_for_block_locked(struct orma_file_thread *file)
{
	while (orma_base_list_is_empty(&file->blocks)) {
		if (file->is_closing)
			return NULL;
		if (!sync_if_wanted_locked(file))
			pthread_cond_wait(&file->has_work, &file->worker->mutex);
	}
	return ORMA_LIST_ENTRY(file->blocks.next, struct orma_file_block, link);
}

static int create_named(struct orma_file_thread *file, int *ret_fd)
{
	int r = 0;
	file->name = file->path;
	if (file->output_folder)
		r = orma_output_folder_enter(file->output_folder, file->path, &file->folder_fd,
					     &file->name);
	/* In a folder that several users share, files of an earlier recording may belong to another
	 * user. */
	const char *series = file->output_folder ? NULL : file->path;
	return r ? r
		 : orma_file_create(&file->rotation, file->folder_fd, file->name, file->count,
				    series, ret_fd);
}

/* Creates the file, or checks the descriptor and finds its origin. A file that was closed meanwhile
 * reports no creation. */
static void begin_file(struct orma_file_thread *file)
{
	struct orma_file_worker *worker = file->worker;
	int fd = file->fd, r = 0;
	off_t begin = 0;
	if (file->path)
		r = create_named(file, &fd);
	else
		r = orma_base_fd_check_output(fd);
	if (r == 0 && !file->path)
		begin = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
	pthread_mutex_lock(&worker->mutex);
	note_progress_locked(worker);
	file->fd = fd;
	file->origin->offset = begin;
	file->origin->is_known = true;
	if (r)
		take_result_locked(file, r);
	else if (file->path && !file->is_closing)
		post_locked(file, &file->room, ORMA_FILE_CREATED);
	pthread_mutex_unlock(&worker->mutex);
}

/* Removes a file that was created and stayed empty, because its session was given up or nothing
 * could be written. An empty file would be in the way of the next recording. */
static void remove_if_unused(const struct orma_file_thread *file, bool was_given_up)
{
	struct stat info;

	if (was_given_up && file->path && file->fd >= 0 && fstat(file->fd, &info) == 0 &&
	    info.st_size == 0)
		orma_file_remove(file->folder_fd, file->name, file->fd);
}

static void *run_file(void *arg)
{
	struct orma_file_thread *file = arg;
	struct orma_file_worker *worker = file->worker;

	/* Naming the thread from another one writes a file of /proc, which the system call filter
	 * refuses. */
	pthread_setname_np(pthread_self(), "orma-file");
	begin_file(file);
	pthread_mutex_lock(&worker->mutex);
	for (;;) {
		struct orma_file_block *block = wait_for_block_locked(file);
		if (!block)
			break;
		bool is_useless = file->has_failed;
		orma_base_list_remove(&block->link);
		pthread_mutex_unlock(&worker->mutex);
		int r = 0;
		if (!is_useless)
			r = write_block(file, block);
		block->source_fd = orma_base_fd_close(block->source_fd);
		pthread_mutex_lock(&worker->mutex);
		drop_block_locked(file, block);
		take_result_locked(file, r);
	}
	bool must_sync = file->must_sync && !file->has_failed;
	bool was_given_up = file->has_failed || (!file->must_sync && !file->has_blocks);
	pthread_mutex_unlock(&worker->mutex);
	int r = must_sync ? sync_file(file) : 0;
	remove_if_unused(file, was_given_up);
	file->fd = orma_base_fd_close(file->fd);
	file->folder_fd = orma_base_fd_close(file->folder_fd);
	pthread_mutex_lock(&worker->mutex);
	file->end.finished = file;
	note_progress_locked(worker);
	post_locked(file, &file->end, r ? r : ORMA_FILE_CLOSED);
	pthread_mutex_unlock(&worker->mutex);
	return NULL;
}

int orma_file_thread_start(struct orma_file_thread *file)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&file->thread, NULL, run_file, file);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

/* Frees everything but the file's own descriptor. */
static void free_memory(struct orma_file_thread *file)
{
	orma_base_list_remove(&file->link);
	pthread_cond_destroy(&file->has_work);
	orma_file_rotation_done(&file->rotation);
	orma_base_fd_close(file->wakeup_fd);
	orma_base_free(file->path);
	orma_base_free(file);
}

int orma_file_thread_new(struct orma_file_worker *worker, uint64_t session_id,
			 struct orma_file_thread **ret)
{
	struct orma_file_thread *file = orma_base_zalloc(sizeof(*file));
	struct orma_file_origin *origin = orma_base_zalloc(sizeof(*origin));
	if (!file || !origin) {
		orma_base_free(file);
		orma_base_free(origin);
		return -ENOMEM;
	}
	origin->users = 1;
	file->worker = worker;
	file->fd = -1;
	file->folder_fd = AT_FDCWD;
	file->origin = origin;
	file->session_id = session_id;
	pthread_cond_init(&file->has_work, NULL);
	orma_base_list_init(&file->blocks);
	orma_base_list_init(&file->spares);
	orma_base_list_init(&file->room.link);
	orma_base_list_init(&file->end.link);
	orma_base_list_append(&worker->files, &file->link);
	file->wakeup_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	*ret = file;
	return file->wakeup_fd < 0 ? -errno : 0;
}

void orma_file_thread_discard(struct orma_file_thread *file)
{
	if (!file)
		return;
	orma_base_free(file->origin);
	free_memory(file);
}

void orma_file_thread_join(struct orma_file_thread *file)
{
	struct orma_file_block *block, *next;
	pthread_join(file->thread, NULL);
	ORMA_LIST_FOR_EACH_SAFE (block, next, &file->spares, link)
		orma_base_free(block);
	/* The list of events that these two may be in is shared with the threads of other files. */
	pthread_mutex_lock(&file->worker->mutex);
	orma_base_list_remove(&file->room.link);
	orma_base_list_remove(&file->end.link);
	unref_origin_locked(file->origin);
	pthread_mutex_unlock(&file->worker->mutex);
	free_memory(file);
}
