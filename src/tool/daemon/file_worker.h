/* SPDX-License-Identifier: Apache-2.0
 * file_worker.h - output files of write_into_file sessions, written by a thread per file so that no
 * disk, pipe or network file system that hangs can hold up the service or another session's file.
 */
#ifndef ORMA_TOOL_FILE_WORKER_H
#define ORMA_TOOL_FILE_WORKER_H

#include <orma/service.h>

#include "base/loop.h"

struct orma_file_worker;

/* `loop` is woken when orma_file_worker_dispatch() has something to report. */
int orma_file_worker_new(struct orma_loop *loop, struct orma_file_worker **ret);
/* Where files of output_path are created for users other than root and the daemon's own; borrowed
 * for the worker's life. Without it, nowhere. */
struct orma_output_folder;
void orma_file_worker_set_output_folder(struct orma_file_worker *worker,
					const struct orma_output_folder *folder);
/* How long a file may take nothing while its session runs, instead of five minutes; before any file is
 * opened. */
void orma_file_worker_set_stall_ms(struct orma_file_worker *worker, int stall_ms);
/* From now on a file that takes nothing for a second has failed. */
void orma_file_worker_hurry(struct orma_file_worker *worker);
/* Grows with whatever a file's thread has completed. */
uint64_t orma_file_worker_progress(struct orma_file_worker *worker);
/* No file is open, and none is being closed. */
bool orma_file_worker_is_idle(const struct orma_file_worker *worker);
/* Writes what is queued, closes all files, joins all threads; what they still had to report is
 * forgotten. When none of them gets on for some seconds, those that hang are left to themselves,
 * with all that they use. */
void orma_file_worker_free(struct orma_file_worker *worker);
/* For orma_service_options; their ctx is the worker. Descriptors go to the loop's closer. */
extern const struct orma_service_file_ops orma_file_worker_ops;
void orma_file_worker_close_fd(void *worker, int fd, uid_t owner);
/* Reports what has happened since: status as in orma_service_file_event(). True when there was
 * anything. */
typedef void orma_file_event_fn(void *ctx, uint64_t session_id, int status);
bool orma_file_worker_dispatch(struct orma_file_worker *worker, orma_file_event_fn *fn, void *ctx);

#endif
