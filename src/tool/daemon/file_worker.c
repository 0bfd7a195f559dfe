/* SPDX-License-Identifier: Apache-2.0
 * file_worker.c - a thread per output file, fed by a bounded queue of blocks.
 *
 * The service's thread copies what it wants written into a block and appends it to the file's
 * queue; the file's thread takes blocks in order and writes each to the end. Events go back through
 * a list that the service's thread empties after a wake of its loop. Invariant: queued_bytes <=
 * QUEUE_BYTES_MAX plus one block; a refused write (-EAGAIN) sets wants_event, and exactly one event
 * follows it; after a failure none follows but the end. Whatever may wait for a file system happens
 * on the file's thread: creating a file of output_path, asking a descriptor where it stands (its
 * position is locked while another process is in a write), and every close(). Rejected: one thread
 * for all files (a hanging disk would hang them all), io_uring (not on every kernel this runs on,
 * and often forbidden in containers), and pinning the trace buffer's own memory during the write (a
 * slow disk would then stop the ring from being overwritten).
 */
#include "tool/daemon/file_worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/list.h"
#include "tool/daemon/file_rotate.h"
#include "tool/daemon/output_folder.h"
#include "tool/trace/file_write.h"
#include "tool/trace/trace_file.h"

#define QUEUE_BYTES_MAX  (8u << 20)
#define RUNNING_STALL_MS 300000 /* without a byte taken, while the session runs */
#define CLOSING_STALL_MS 10000  /* once it has ended */
#define HURRIED_STALL_MS 1000   /* once the daemon ends */
/* Written blocks are used again while their file is open: the allocator would give memory of this
 * size back to the kernel each time, and clearing it anew costs as much as the copy into it. */
#define SPARE_BLOCKS_MAX 4u
#define BLOCK_GRAIN      (64u << 10)
#define FREE_STALL_SEC   5     /* how long the end waits for files that do not get on */
#define SOURCE_WAIT_MS   10    /* how often to look whether the source has been written */
#define SOURCE_STALL_MS  10000 /* and how long without a byte */

/* Where the trace begins in a file, as its thread finds out; shared with the copies of the file. */
struct origin {
	unsigned users; /* this and the rest under worker->mutex */
	bool is_known;
	off_t offset; /* negative: it cannot be read again */
};

struct block {
	struct orma_list link;
	size_t size, capacity;
	/* Instead of data: what another file has from its origin on; -1 = none. */
	int source_fd;
	struct origin *source_origin;
	uint64_t source_bytes;
	/* Not 0: instead of data a path; go on in a new file, and keep so many. */
	uint32_t rotated_count;
	uint8_t data[];
};

struct file;

struct event {
	struct orma_list link;
	uint64_t session_id;
	int status;
	struct file *finished; /* the end event: this file's thread is about to return */
};

struct file {
	struct orma_file_worker *worker;
	struct orma_list link; /* worker->files or worker->finished; the service's thread only */
	pthread_t thread;
	uint64_t session_id;
	/* The file's thread; others under worker->mutex, as long as neither is_closing nor rotations
	 * is set. */
	int fd;
	struct origin *origin;
	/* To be created, with so many others; NULL = it came as a descriptor. */
	char *path;
	uint32_t count;
	const struct orma_output_folder *output_folder; /* what the path is below; NULL = nothing */
	/* Where it was created, for all that concerns its name; the file's thread. */
	int folder_fd; /* AT_FDCWD, or to be closed with the file */
	const char *name;
	struct orma_file_rotation rotation; /* the file's thread */
	int wakeup_fd; /* tells that thread that is_closing or the worker's is_hurried has changed
			*/
	/* Under worker->mutex: */
	pthread_cond_t has_work;
	struct orma_list blocks, spares;
	size_t queued_bytes, spare_count;
	unsigned rotations; /* in `blocks`, or under way */
	bool wants_event, is_closing, must_sync, wants_sync, has_failed, has_blocks;
	int error; /* why, once has_failed */
	/* Events are part of their file so that reporting never fails for want of memory. */
	struct event room, end;
};

struct orma_file_worker {
	struct orma_loop *loop; /* NULL = nobody is left to be told; changes under mutex */
	pthread_cond_t has_progress;
	pthread_mutex_t mutex;
	struct orma_list events; /* under mutex */
	bool is_hurried;         /* under mutex */
	uint64_t progress;       /* under mutex: grows with whatever a file's thread completes */
	struct orma_list files;
	const struct orma_output_folder *output_folder; /* NULL = none */
	int stall_ms;
};

static void note_progress_locked(struct orma_file_worker *worker)
{
	worker->progress++;
	pthread_cond_signal(&worker->has_progress);
}

static void post_locked(struct file *file, struct event *event, int status)
{
	event->session_id = file->session_id;
	event->status = status;
	orma_base_list_remove(&event->link);
	orma_base_list_append(&file->worker->events, &event->link);
	if (file->worker->loop)
		orma_base_loop_wake(file->worker->loop);
}

/* A pipe that nobody reads for a while, such as a pager's, is waited for while its session runs; the
 * service then keeps what its buffers hold. It keeps neither the session nor the daemon from
 * ending, and not its place for good. */
static int patience_ms(void *ctx)
{
	struct file *file = ctx;
	pthread_mutex_lock(&file->worker->mutex);
	int result = file->worker->is_hurried ? HURRIED_STALL_MS
		     : file->is_closing       ? CLOSING_STALL_MS
					      : file->worker->stall_ms;
	pthread_mutex_unlock(&file->worker->mutex);
	return result;
}

static void unref_origin_locked(struct origin *origin)
{
	if (origin && --origin->users == 0)
		orma_base_free(origin);
}

static void drop_block_locked(struct file *file, struct block *block)
{
	unref_origin_locked(ORMA_TAKE(block->source_origin));
	file->queued_bytes -= block->size;
	note_progress_locked(file->worker);
	if (file->spare_count < SPARE_BLOCKS_MAX) {
		file->spare_count++;
		orma_base_list_append(&file->spares, &block->link);
	} else {
		orma_base_free(block);
	}
}

/* The session is gone, and with it the interest in its file. */
static bool is_given_up(struct file *file)
{
	pthread_mutex_lock(&file->worker->mutex);
	bool result = file->is_closing && !file->must_sync;
	pthread_mutex_unlock(&file->worker->mutex);
	return result;
}

/* Waits for what the source's own thread has still to write. */
static int wait_for_source(struct file *file, unsigned *waited_ms)
{
	if (*waited_ms >= SOURCE_STALL_MS || patience_ms(file) == HURRIED_STALL_MS)
		return -ETIMEDOUT;
	*waited_ms += SOURCE_WAIT_MS;
	(void)poll(NULL, 0, SOURCE_WAIT_MS);
	return 0;
}

/* Its thread may not have looked yet. */
static int find_origin(struct file *file, const struct block *block, off_t *ret_offset)
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
		int result = wait_for_source(file, &waited_ms);
		if (result)
			return result;
	}
}

static int copy_source(struct file *file, const struct block *block)
{
	struct orma_file_writer writer = {file->fd, file->wakeup_fd, patience_ms, file};
	uint8_t *piece = orma_base_alloc(BLOCK_GRAIN);
	uint64_t done = 0;
	unsigned waited_ms = 0;
	off_t begin = 0;
	int result = piece ? find_origin(file, block, &begin) : -ENOMEM;
	while (done < block->source_bytes && result == 0) {
		if (is_given_up(file))
			break;
		ssize_t got = pread(block->source_fd, piece,
				    ORMA_MIN(block->source_bytes - done, (uint64_t)BLOCK_GRAIN),
				    begin + (off_t)done);
		if (got > 0) {
			size_t written = 0;
			result = orma_file_write(&writer, piece, (size_t)got, &written);
			done += (uint64_t)got;
			waited_ms = 0;
		} else if (got == 0) {
			result = wait_for_source(file, &waited_ms);
		} else if (errno != EINTR) {
			result = -errno;
		}
	}
	orma_base_free(piece);
	return result;
}

/* A pipe or a character device cannot be synced; that is no failure. */
static int sync_file(const struct file *file)
{
	return fdatasync(file->fd) && errno != EINVAL && errno != EROFS ? -errno : 0;
}

static int rotate_file(struct file *file, const struct block *block)
{
	int new_fd, old_fd = file->fd, result = sync_file(file);
	/* A file keeps the folder and the name that it was created with. */
	const char *name = file->name ? file->name : (const char *)block->data;
	if (result == 0)
		result = orma_file_rotate(&file->rotation, file->folder_fd, name,
					  block->rotated_count, old_fd, &new_fd);
	if (result)
		return result;
	pthread_mutex_lock(&file->worker->mutex);
	file->fd = new_fd;
	file->origin->offset = 0;
	file->rotations--;
	pthread_mutex_unlock(&file->worker->mutex);
	orma_base_fd_close(old_fd);
	return 0;
}

/* When the disk is full the file ends behind a whole packet, so that it can be read. */
static int write_data(struct file *file, const struct block *block)
{
	struct orma_file_writer writer = {file->fd, file->wakeup_fd, patience_ms, file};
	size_t written = 0;
	int result = orma_file_write(&writer, block->data, block->size, &written);
	if (result)
		orma_file_cut_tail(file->fd,
				   written - orma_tool_trace_whole_bytes(block->data, written));
	return result;
}

/* Does what one block says, without the lock. */
static int write_block(struct file *file, const struct block *block)
{
	if (block->rotated_count)
		return rotate_file(file, block);
	return block->source_fd < 0 ? write_data(file, block) : copy_source(file, block);
}

static void take_result_locked(struct file *file, int result)
{
	/* Nothing follows a failure: room that is made by dropping blocks would take its place. */
	if (file->has_failed)
		return;
	if (result) {
		file->has_failed = true;
		file->error = result;
		post_locked(file, &file->room, result);
	} else if (file->wants_event && file->queued_bytes <= QUEUE_BYTES_MAX / 2) {
		file->wants_event = false;
		post_locked(file, &file->room, ORMA_FILE_READY);
	}
}

/* Makes durable what was written so far, when asked to and when nothing else is to be done. */
static bool sync_if_wanted_locked(struct file *file)
{
	if (!file->wants_sync || file->has_failed)
		return false;
	file->wants_sync = false;
	pthread_mutex_unlock(&file->worker->mutex);
	int result = sync_file(file);
	pthread_mutex_lock(&file->worker->mutex);
	take_result_locked(file, result);
	return true;
}

/* NULL: the file is to be closed, and nothing is left to write. */
static struct block *wait_for_block_locked(struct file *file)
{
	while (orma_base_list_is_empty(&file->blocks)) {
		if (file->is_closing)
			return NULL;
		if (!sync_if_wanted_locked(file))
			pthread_cond_wait(&file->has_work, &file->worker->mutex);
	}
	return ORMA_LIST_ENTRY(file->blocks.next, struct block, link);
}

static int create_named(struct file *file, int *ret_fd)
{
	int result = 0;
	file->name = file->path;
	if (file->output_folder)
		result = orma_output_folder_enter(file->output_folder, file->path, &file->folder_fd,
						  &file->name);
	/* In a folder for several users the files of an earlier recording may be another user's. */
	const char *series = file->output_folder ? NULL : file->path;
	return result ? result
		      : orma_file_create(&file->rotation, file->folder_fd, file->name, file->count,
					 series, ret_fd);
}

/* Asks, or creates; what is given up meanwhile has nobody to tell. */
static void begin_file(struct file *file)
{
	struct orma_file_worker *worker = file->worker;
	int fd = file->fd, result = 0;
	off_t begin = 0;
	if (file->path)
		result = create_named(file, &fd);
	else
		result = orma_base_fd_check_output(fd);
	if (result == 0 && !file->path)
		begin = lseek(fd, 0, fcntl(fd, F_GETFL) & O_APPEND ? SEEK_END : SEEK_CUR);
	pthread_mutex_lock(&worker->mutex);
	note_progress_locked(worker);
	file->fd = fd;
	file->origin->offset = begin;
	file->origin->is_known = true;
	if (result)
		take_result_locked(file, result);
	else if (file->path && !file->is_closing)
		post_locked(file, &file->room, ORMA_FILE_CREATED);
	pthread_mutex_unlock(&worker->mutex);
}

/* A file that was created and has nothing in it, because nobody wanted it after all or because
 * nothing could be written: it tells nothing, and would be in the way of the next recording. */
static void remove_if_unused(const struct file *file, bool was_given_up)
{
	struct stat info;

	if (was_given_up && file->path && file->fd >= 0 && fstat(file->fd, &info) == 0 &&
	    info.st_size == 0)
		orma_file_remove(file->folder_fd, file->name, file->fd);
}

static void *run_file(void *arg)
{
	struct file *file = arg;
	struct orma_file_worker *worker = file->worker;

	/* By the thread itself: from outside it would be a file of /proc to write, which the
	 * daemon's filter refuses. */
	pthread_setname_np(pthread_self(), "orma-file");
	begin_file(file);
	pthread_mutex_lock(&worker->mutex);
	for (;;) {
		struct block *block = wait_for_block_locked(file);
		if (!block)
			break;
		bool is_useless = file->has_failed;
		orma_base_list_remove(&block->link);
		pthread_mutex_unlock(&worker->mutex);
		int result = 0;
		if (!is_useless)
			result = write_block(file, block);
		block->source_fd = orma_base_fd_close(block->source_fd);
		pthread_mutex_lock(&worker->mutex);
		drop_block_locked(file, block);
		take_result_locked(file, result);
	}
	bool must_sync = file->must_sync && !file->has_failed;
	bool was_given_up = file->has_failed || (!file->must_sync && !file->has_blocks);
	pthread_mutex_unlock(&worker->mutex);
	int result = must_sync ? sync_file(file) : 0;
	remove_if_unused(file, was_given_up);
	file->fd = orma_base_fd_close(file->fd);
	file->folder_fd = orma_base_fd_close(file->folder_fd);
	pthread_mutex_lock(&worker->mutex);
	file->end.finished = file;
	note_progress_locked(worker);
	post_locked(file, &file->end, result ? result : ORMA_FILE_CLOSED);
	pthread_mutex_unlock(&worker->mutex);
	return NULL;
}

static int start_thread(struct file *file)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int result = pthread_create(&file->thread, NULL, run_file, file);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -result;
}

void orma_file_worker_close_fd(void *ctx, int fd, uid_t owner)
{
	struct orma_file_worker *worker = ctx;
	orma_base_fd_close_foreign(orma_base_loop_closer(worker->loop), fd, owner);
}

/* Without the descriptor of the file itself. */
static void free_memory(struct file *file)
{
	orma_base_list_remove(&file->link);
	pthread_cond_destroy(&file->has_work);
	orma_file_rotation_done(&file->rotation);
	orma_base_fd_close(file->wakeup_fd);
	orma_base_free(file->path);
	orma_base_free(file);
}

static int new_file(struct orma_file_worker *worker, uint64_t session_id, struct file **ret)
{
	struct file *file = orma_base_zalloc(sizeof(*file));
	struct origin *origin = orma_base_zalloc(sizeof(*origin));
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

/* One whose thread did not begin. */
static void discard(struct file *file)
{
	if (!file)
		return;
	orma_base_free(file->origin);
	free_memory(file);
}

static int open_file(void *ctx, int fd, uint64_t session_id, void **ret_file)
{
	struct file *file = NULL;
	int result = new_file(ctx, session_id, &file);
	if (file)
		file->fd = fd;
	if (result == 0)
		result = start_thread(file);
	if (result) {
		discard(file);
		orma_file_worker_close_fd(ctx, fd, (uid_t)-1);
		return result;
	}
	*ret_file = file;
	return 0;
}

static int begin_creation(struct orma_file_worker *worker,
			  const struct orma_output_folder *output_folder,
			  const struct orma_file_request *request, void **ret_file)
{
	struct file *file = NULL;
	int result = new_file(worker, request->session_id, &file);
	if (result == 0) {
		file->count = request->count;
		file->output_folder = output_folder;
		file->path = orma_base_strdup(request->path);
		result = file->path ? start_thread(file) : -ENOMEM;
	}
	if (result) {
		discard(file);
		return result;
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
	int result =
		orma_output_folder_check(worker->output_folder, request->path, &below.path, reterr);
	return result ? result : begin_creation(worker, worker->output_folder, &below, ret_file);
}

static struct block *take_spare(struct file *file)
{
	struct block *block = NULL;

	pthread_mutex_lock(&file->worker->mutex);
	if (file->spare_count) {
		block = ORMA_LIST_ENTRY(file->spares.next, struct block, link);
		orma_base_list_remove(&block->link);
		file->spare_count--;
	}
	pthread_mutex_unlock(&file->worker->mutex);
	return block;
}

static struct block *get_block(struct file *file, size_t size)
{
	struct block *block = take_spare(file);
	size_t capacity = (size + BLOCK_GRAIN - 1) / BLOCK_GRAIN * BLOCK_GRAIN;

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

static struct block *copy_to_block(struct file *file, const struct iovec *iov, int iov_count)
{
	size_t size = 0;
	for (int i = 0; i < iov_count; i++)
		size += iov[i].iov_len;
	struct block *block = get_block(file, size);
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
	struct file *file = file_arg;
	int result = 0;

	pthread_mutex_lock(&worker->mutex);
	if (file->has_failed) {
		result = file->error;
	} else if (file->queued_bytes >= QUEUE_BYTES_MAX) {
		file->wants_event = true;
		result = -EAGAIN;
	}
	pthread_mutex_unlock(&worker->mutex);
	if (result)
		return result;
	struct block *block = copy_to_block(file, iov, iov_count);
	if (!block)
		return -ENOMEM;
	pthread_mutex_lock(&worker->mutex);
	file->queued_bytes += block->size;
	file->has_blocks = true;
	orma_base_list_append(&file->blocks, &block->link);
	pthread_cond_signal(&file->has_work);
	pthread_mutex_unlock(&worker->mutex);
	return 0;
}

/* Which file `size` counts the bytes of is to be known. */
static int dup_source_locked(const struct file *source)
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

/* The source is open, so its thread leaves its descriptor alone. */
static int queue_copy(void *ctx, void *file_arg, void *source_arg, uint64_t size)
{
	struct orma_file_worker *worker = ctx;
	struct file *file = file_arg;
	const struct file *source = source_arg;

	/* The block first: nothing may fail once there is a descriptor, which closing can take long.
	 */
	struct block *block = get_block(file, 1);
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
	struct file *file = file_arg;
	struct block *block = get_block(file, strlen(path) + 1);
	if (!block)
		return -ENOMEM;
	block->size = 0;
	block->rotated_count = count;
	memcpy(block->data, path, strlen(path) + 1);
	pthread_mutex_lock(&worker->mutex);
	file->rotations++;
	orma_base_list_append(&file->blocks, &block->link);
	pthread_cond_signal(&file->has_work);
	pthread_mutex_unlock(&worker->mutex);
	return 0;
}

static void queue_close(void *ctx, void *file_arg, bool sync)
{
	struct orma_file_worker *worker = ctx;
	struct file *file = file_arg;
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
	struct file *file = file_arg;
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

static void free_file(struct file *file)
{
	struct block *block, *next;
	pthread_join(file->thread, NULL);
	ORMA_LIST_FOR_EACH_SAFE (block, next, &file->spares, link)
		orma_base_free(block);
	/* Other files' threads may be putting events into the list that these are in. */
	pthread_mutex_lock(&file->worker->mutex);
	orma_base_list_remove(&file->room.link);
	orma_base_list_remove(&file->end.link);
	unref_origin_locked(file->origin);
	pthread_mutex_unlock(&file->worker->mutex);
	free_memory(file);
}

bool orma_file_worker_dispatch(struct orma_file_worker *worker, orma_file_event_fn *fn, void *ctx)
{
	bool had_any = false;
	for (;;) {
		pthread_mutex_lock(&worker->mutex);
		struct event copy = {0};
		bool is_empty = orma_base_list_is_empty(&worker->events);
		if (!is_empty) {
			struct event *event =
				ORMA_LIST_ENTRY(worker->events.next, struct event, link);
			orma_base_list_remove(&event->link);
			copy = *event;
		}
		pthread_mutex_unlock(&worker->mutex);
		if (is_empty)
			return had_any;
		had_any = true;
		if (copy.finished)
			free_file(copy.finished);
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
	struct file *file;

	pthread_mutex_lock(&worker->mutex);
	worker->is_hurried = true;
	ORMA_LIST_FOR_EACH (file, &worker->files, link)
		(void)eventfd_write(file->wakeup_fd, 1);
	pthread_mutex_unlock(&worker->mutex);
}

/* False: none of the files has got on for a while. */
static bool await_end(struct file *file)
{
	struct orma_file_worker *worker = file->worker;
	uint64_t progress;
	struct timespec end;
	int result = 0;

	pthread_mutex_lock(&worker->mutex);
	while (!file->end.finished && result == 0) {
		progress = worker->progress;
		clock_gettime(CLOCK_MONOTONIC, &end);
		end.tv_sec += FREE_STALL_SEC;
		while (progress == worker->progress && result == 0)
			result =
				pthread_cond_timedwait(&worker->has_progress, &worker->mutex, &end);
	}
	bool has_ended = file->end.finished;
	pthread_mutex_unlock(&worker->mutex);
	return has_ended;
}

/* Whoever hangs may come back when all else is gone, so what it uses stays. */
static void abandon(struct orma_file_worker *worker)
{
	struct file *file;

	pthread_mutex_lock(&worker->mutex);
	worker->loop = NULL;
	pthread_mutex_unlock(&worker->mutex);
	ORMA_LIST_FOR_EACH (file, &worker->files, link)
		pthread_detach(file->thread);
}

void orma_file_worker_free(struct orma_file_worker *worker)
{
	struct file *file, *next;
	if (!worker)
		return;
	/* All of them first, so that stuck ones are waited for together. */
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
		free_file(file);
	}
	pthread_mutex_destroy(&worker->mutex);
	pthread_cond_destroy(&worker->has_progress);
	orma_base_free(worker);
}
