/* SPDX-License-Identifier: Apache-2.0
 * load_queue.h - a thread that does jobs which may wait, such as opening a file, one after the other. When one hangs, another
 * thread does those of other places.
 *
 * Threads: all functions are thread-safe.
 */
#ifndef ORMA_UNWIND_LOAD_QUEUE_H
#define ORMA_UNWIND_LOAD_QUEUE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"

struct orma_load_queue;

/* The first member of a job's struct. */
struct orma_load_job {
	struct orma_list link;
	unsigned refs; /* the caller has one, and the queue until the job is done */
	uint64_t
		place; /* jobs of the same place hang together, such as those of a file system; 0 = a place of its own */
	bool is_open, is_done;
};

struct orma_load_queue_ops {
	void (*open)(
		struct orma_load_job *job); /* on a thread; may wait for ever; uses the job alone */
	void (*run)(void *ctx, struct orma_load_job *job); /* afterwards, on the only such thread */
	void (*free)(struct orma_load_job *job);           /* any thread, when nobody needs it */
	void (*rest)(void *ctx); /* on the thread: there was no job for a while */
	void (*end)(void *ctx);  /* frees the context; no job runs any more */
	uint64_t
		hang_ns; /* how long an open may take before other places do not wait for it; 0 = two seconds */
};

/* 0, -ENOMEM or another -errno. `ctx` is the queue's from then on. */
int orma_load_queue_new(const struct orma_load_queue_ops *ops, void *ctx,
			struct orma_load_queue **ret);
/* Waits a second for the job that runs. If it takes longer, the thread frees the context later. */
void orma_load_queue_free(struct orma_load_queue *queue);
/* Takes a zeroed job, of which the caller has a reference. 0, or -errno when there can be no thread;
 * then the job is the caller's alone. */
int orma_load_queue_add(struct orma_load_queue *queue, struct orma_load_job *job);
bool orma_load_queue_is_done(struct orma_load_queue *queue, struct orma_load_job *job);
/* Waits until the job is done. False: it was not done in time, its place hangs, or the job that runs has taken as long
 * as that already, and nobody should wait for it. */
bool orma_load_queue_wait(struct orma_load_queue *queue, struct orma_load_job *job,
			  uint64_t timeout_ns);
/* Drops the caller's reference. A job that has not begun will not. */
void orma_load_queue_unref(struct orma_load_queue *queue, struct orma_load_job *job);
/* An eventfd that becomes readable when a job is done. */
int orma_load_queue_event_fd(const struct orma_load_queue *queue);

#endif
