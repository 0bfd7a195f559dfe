/* SPDX-License-Identifier: Apache-2.0
 * load_queue.h - runs jobs that may block, such as opening a file, one after the other on a thread. If a job hangs, another
 * thread runs the jobs of other places.
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
	unsigned refs; /* the caller has one, and the queue has one until the job is done */
	/* Jobs of one place hang together, for example all of a file system. 0 = a place of its own. */
	uint64_t place;
	bool is_open, is_done;
};

struct orma_load_queue_ops {
	/* Runs first. It may block for ever, and uses nothing but the job. */
	void (*open)(struct orma_load_job *job);
	/* Runs afterwards, never on two threads at the same time. */
	void (*run)(void *ctx, struct orma_load_job *job);
	/* Runs on any thread, when the last reference is dropped. */
	void (*free)(struct orma_load_job *job);
	/* Runs after a time without jobs. */
	void (*rest)(void *ctx);
	/* Runs when the queue is to end. Makes run() return soon, which may be running on another thread. */
	void (*stop)(void *ctx);
	/* Frees the context, after the last job. */
	void (*end)(void *ctx);
	/* After this time in open(), jobs of other places do not wait for it. 0 = two seconds. */
	uint64_t hang_ns;
};

/* The queue owns `ctx` from now on, unless the call fails. 0, -ENOMEM or another -errno. */
int orma_load_queue_new(const struct orma_load_queue_ops *ops, void *ctx,
			struct orma_load_queue **ret);
/* Stops the job that runs, and waits until it has ended. If open() takes longer than a second, or run() five, the thread
 * frees the context later. */
void orma_load_queue_free(struct orma_load_queue *queue);
/* Adds a zeroed job. The caller has a reference. 0, or -errno if no thread can be started; then the queue has
 * no reference. */
int orma_load_queue_add(struct orma_load_queue *queue, struct orma_load_job *job);
bool orma_load_queue_is_done(struct orma_load_queue *queue, struct orma_load_job *job);
/* Waits until the job is done. False if it was not done in time, if its place hangs, or if the job before it
 * has already taken as long as `timeout_ns`. */
bool orma_load_queue_wait(struct orma_load_queue *queue, struct orma_load_job *job,
			  uint64_t timeout_ns);
/* Drops the caller's reference. A job that has not begun will not begin. */
void orma_load_queue_unref(struct orma_load_queue *queue, struct orma_load_job *job);
/* Returns an eventfd that becomes readable when a job is done. Borrowed. */
int orma_load_queue_event_fd(const struct orma_load_queue *queue);

#endif
