/* SPDX-License-Identifier: Apache-2.0
 * file_worker.h - output files of write_into_file sessions. A thread per file writes them, so that
 * a disk, pipe or network file system that hangs delays neither the service nor another session's
 * file.
 */
#ifndef ORMA_TOOL_FILE_WORKER_H
#define ORMA_TOOL_FILE_WORKER_H

#include <orma/service.h>

#include "base/loop.h"

struct orma_file_worker;

/* Wakes `loop` when orma_file_worker_dispatch() has something to report. */
int orma_file_worker_new(struct orma_loop *loop, struct orma_file_worker **ret);
/* Sets the folder below which files of output_path are created for users other than root and the
 * daemon's own; borrowed for the worker's life. Without it such files are refused. */
struct orma_output_folder;
void orma_file_worker_set_output_folder(struct orma_file_worker *worker,
					const struct orma_output_folder *folder);
/* Sets how long a file may take no data while its session runs; the default is five minutes. Call
 * it before any file is opened. */
void orma_file_worker_set_stall_ms(struct orma_file_worker *worker, int stall_ms);
/* From now on, a file that takes no data for a second fails. */
void orma_file_worker_hurry(struct orma_file_worker *worker);
/* Returns a number that grows with each step that a file's thread completes. */
uint64_t orma_file_worker_progress(struct orma_file_worker *worker);
/* Returns true when no file is open or being closed. */
bool orma_file_worker_is_idle(const struct orma_file_worker *worker);
/* Writes what is queued, closes all files, and joins their threads; pending events are dropped.
 * When no file makes progress for some seconds, threads that hang are abandoned, with all memory
 * that they use. */
void orma_file_worker_free(struct orma_file_worker *worker);
/* The operations for orma_service_options; their ctx is the worker. The loop's closer closes the
 * descriptors. */
extern const struct orma_service_file_ops orma_file_worker_ops;
void orma_file_worker_close_fd(void *worker, int fd, uid_t owner);
/* Calls `fn` for each event since the last call, with a status as for orma_service_file_event().
 * Returns true when there was one. */
typedef void orma_file_event_fn(void *ctx, uint64_t session_id, int status);
bool orma_file_worker_dispatch(struct orma_file_worker *worker, orma_file_event_fn *fn, void *ctx);

#endif
