/* SPDX-License-Identifier: Apache-2.0
 * view_worker.h - one thread that does what takes long or uses SQL: jobs in the order in which they came. A job
 * that gives way lets short ones run before its end.
 */
#ifndef ORMA_VIEW_VIEW_WORKER_H
#define ORMA_VIEW_VIEW_WORKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/list.h"
#include "base/loop.h"

struct orma_view_worker;

/* Embedded in whatever the job is about. All functions but `run` are called on the loop's thread. */
struct orma_view_job {
	void (*run)(struct orma_view_job *job); /* on the worker's thread */
	/* Ends the job, on the loop's thread and once, also when it did not run; frees it. */
	void (*done)(struct orma_view_job *job);
	uint64_t limit_ns; /* the time it may run, after which it is cancelled; 0 = no limit */
	/* It uses no SQL, so that it may run within a job that gives way. It ends by `is_cancelled`, never by `interrupt`. */
	bool is_without_sql;
	/* Set by the loop's thread; `run` may read it, relaxed, because it guards no data. */
	atomic_bool is_cancelled;
	/* The worker's, guarded by its mutex. */
	struct orma_list link;
	uint64_t start_ns;
	bool has_run;
};

/* `interrupt` makes a job that runs end soon. It is called on the loop's thread, and again until the job has ended. */
int orma_view_worker_new(struct orma_loop *loop, void (*interrupt)(void *ctx), void *ctx,
			 struct orma_view_worker **ret);
/* Cancels all jobs, waits for the thread, and calls `done` of each job. */
void orma_view_worker_free(struct orma_view_worker *worker);
/* The job becomes the worker's until it is done. */
void orma_view_worker_add(struct orma_view_worker *worker, struct orma_view_job *job);
/* Nobody needs the job any more. It is done soon, or later if it runs. */
void orma_view_worker_cancel(struct orma_view_worker *worker, struct orma_view_job *job);

/*
 * Called on the worker's thread by the `run` of a job with SQL: runs the jobs without SQL that wait, and returns. All data stay
 * with one thread, but `run` must hold nothing that they change.
 */
void orma_view_worker_give_way(struct orma_view_worker *worker);

static inline bool orma_view_job_is_cancelled(const struct orma_view_job *job)
{
	return atomic_load_explicit(&job->is_cancelled, memory_order_relaxed);
}

#endif
