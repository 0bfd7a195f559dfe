/* SPDX-License-Identifier: Apache-2.0
 * file_thread.h - one output file with its thread and its queue, shared by file_worker.c (the
 * service's thread) and file_thread.c (the file's thread).
 */
#ifndef ORMA_TOOL_FILE_THREAD_H
#define ORMA_TOOL_FILE_THREAD_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/list.h"
#include "base/loop.h"
#include "tool/daemon/file_rotate.h"
#include "tool/daemon/output_folder.h"

#define ORMA_FILE_QUEUE_BYTES_MAX (8u << 20)
#define ORMA_FILE_BLOCK_GRAIN     (64u << 10)

/* Where the trace begins in a file. The file's thread finds out; copies of the file share the
 * result. */
struct orma_file_origin {
	unsigned users; /* all members are guarded by worker->mutex */
	bool is_known;
	off_t offset; /* negative: the file cannot be read again */
};

/* A piece of work for a file's thread: data, a copy of another file, or a rotation. */
struct orma_file_block {
	struct orma_list link;
	size_t size, capacity;
	/* Not -1: write the content of this file, from its origin on, instead of data. */
	int source_fd;
	struct orma_file_origin *source_origin;
	uint64_t source_bytes;
	/* Not 0: the data is a path. The thread continues in a new file and keeps this many
	 * files. */
	uint32_t rotated_count;
	uint8_t data[];
};

struct orma_file_thread;

struct orma_file_event {
	struct orma_list link;
	uint64_t session_id;
	int status;
	struct orma_file_thread *finished; /* not NULL: this file's thread is about to return */
};

struct orma_file_thread {
	struct orma_file_worker *worker;
	struct orma_list link; /* worker->files; the service's thread only */
	pthread_t thread;
	uint64_t session_id;
	/* Written by the file's thread. The service's thread may read it under worker->mutex while
	 * neither is_closing nor `rotations` is set. */
	int fd;
	struct orma_file_origin *origin;
	/* The path of a file that the thread creates, and that rotates over `count` files; NULL =
	 * the file came as a descriptor. */
	char *path;
	uint32_t count;
	const struct orma_output_folder *output_folder; /* contains the path; NULL = none */
	/* The folder and name under which the file was created. Used by the file's thread only. */
	int folder_fd; /* AT_FDCWD, or owned */
	const char *name;
	struct orma_file_rotation rotation; /* the file's thread only */
	int wakeup_fd; /* an eventfd: is_closing, or is_hurried of the worker, has changed */
	/* The following are guarded by worker->mutex. */
	pthread_cond_t has_work;
	struct orma_list blocks, spares;
	size_t queued_bytes; /* size of `blocks` and of the block being written */
	size_t spare_count;
	unsigned rotations; /* rotations in `blocks`, or in progress */
	bool wants_event, is_closing, must_sync, wants_sync, has_failed, has_blocks;
	int error; /* the cause, once has_failed is set */
	/* Events are part of their file, so that reporting never fails for lack of memory. */
	struct orma_file_event room, end;
};

struct orma_file_worker {
	struct orma_loop *loop; /* NULL = events are not read any more; guarded by mutex */
	pthread_cond_t has_progress;
	pthread_mutex_t mutex;
	struct orma_list events; /* guarded by mutex */
	bool is_hurried;         /* guarded by mutex */
	uint64_t progress;       /* guarded by mutex: grows with each completed step of a file */
	struct orma_list files;
	const struct orma_output_folder *output_folder; /* NULL = none */
	int stall_ms;
};

/* Makes a file without a descriptor and without a running thread. 0 or -errno; on failure *ret may
 * be set, for orma_file_thread_discard(). */
int orma_file_thread_new(struct orma_file_worker *worker, uint64_t session_id,
			 struct orma_file_thread **ret);
/* From now on the thread owns `fd`. 0 or -errno. */
int orma_file_thread_start(struct orma_file_thread *file);
/* Frees a file whose thread was not started; NULL is allowed. Leaves its descriptor open. */
void orma_file_thread_discard(struct orma_file_thread *file);
/* Waits for the end of the thread, and frees the file. */
void orma_file_thread_join(struct orma_file_thread *file);

#endif
