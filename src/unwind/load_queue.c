/* SPDX-License-Identifier: Apache-2.0
 * load_queue.c - threads for jobs that may block: they open files of other processes, on file systems that may hang, and wait for
 * the child that reads the files.
 *
 * The first job starts a thread. Invariants: `mutex` guards all members of the queue and of its jobs. Jobs wait in `waiting`, in
 * order. A job that a thread is working on is in no list. The thread that drops the last reference frees the job.
 *
 * A thread cannot be interrupted while the kernel waits for a file system. If a thread hangs while it opens a file, another thread
 * becomes the current one, and runs the jobs of other places. The jobs of the place that hangs stay in the list, because they would
 * hang as well. Only the current thread uses the context. If the hung call returns later, its thread puts the job in front of the
 * others, and is idle until it is needed again. There are at most WORKERS_MAX threads. When all of them hang, no job runs until one of
 * the calls returns.
 *
 * An idle thread does not end before the queue, because a child that it has started ends with it.
 *
 * If a thread hangs when the owner frees the queue, the threads own the queue from then on, and the last of them frees
 * everything. That is why the queue owns its context.
 */
#include "unwind/load_queue.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"
#include "base/raise_priority.h"

/* How long the end waits for open(), which may hang, and for run(), which was stopped. */
#define OPEN_END_NS ORMA_NS_PER_SEC
#define RUN_END_NS  (5 * ORMA_NS_PER_SEC)
#define REST_NS     (10 * ORMA_NS_PER_SEC)
#define HANG_NS     (2 * ORMA_NS_PER_SEC)
#define WORKERS_MAX 4u

struct worker {
	struct orma_load_queue *queue;
	pthread_t thread;
	struct orma_load_job *opening; /* the job whose file it opens; NULL = none */
	bool has_ended;
};

struct orma_load_queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const struct orma_load_queue_ops *ops;
	void *ctx; /* used by the current worker alone */
	struct orma_list waiting;
	struct worker workers[WORKERS_MAX];
	size_t worker_count;
	struct worker *current; /* takes the jobs; NULL before the first job */
	uint64_t began_ns;      /* when the current worker's job began; 0 = it has none */
	int event_fd;
	bool is_rested, is_ending, is_abandoned;
};

static void free_queue(struct orma_load_queue *queue)
{
	queue->ops->end(queue->ctx);
	orma_base_fd_close(queue->event_fd);
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->mutex);
	orma_base_free(queue);
}

/* False if the time has passed. The mutex is held. */
static bool wait_until(struct orma_load_queue *queue, uint64_t end_ns)
{
	struct timespec end = {.tv_sec = (time_t)(end_ns / ORMA_NS_PER_SEC),
			       .tv_nsec = (long)(end_ns % ORMA_NS_PER_SEC)};

	return pthread_cond_timedwait(&queue->changed, &queue->mutex, &end) != ETIMEDOUT;
}

/* The mutex is held, but released while the job is freed. */
static void unref(struct orma_load_queue *queue, struct orma_load_job *job)
{
	if (--job->refs > 0)
		return;
	pthread_mutex_unlock(&queue->mutex);
	queue->ops->free(job);
	pthread_mutex_lock(&queue->mutex);
}

/* --- places that hang ------------------------------------------------------------------------- */

/* True if a worker other than `except` is opening this job, or one of the same place. */
static bool is_blocked(const struct orma_load_queue *queue, const struct orma_load_job *job,
		       const struct worker *except)
{
	for (size_t i = 0; i < queue->worker_count; i++) {
		const struct worker *worker = &queue->workers[i];
		if (worker != except && worker->opening &&
		    (worker->opening == job ||
		     (job->place != 0 && worker->opening->place == job->place)))
			return true;
	}
	return false;
}

/* Returns the first job that does not wait for a worker other than `except`; NULL = there is none. */
static struct orma_load_job *find_ready(const struct orma_load_queue *queue,
					const struct worker *except)
{
	struct orma_load_job *job;

	ORMA_LIST_FOR_EACH (job, &queue->waiting, link)
		if (job->is_open || !is_blocked(queue, job, except))
			return job;
	return NULL;
}

/* --- threads ---------------------------------------------------------------------------------- */

/* Opens the file of a job, on the current worker. False if another worker has become the current one in the
 * meantime. */
static bool open_job(struct worker *worker, struct orma_load_job *job)
{
	struct orma_load_queue *queue = worker->queue;

	worker->opening = job;
	pthread_mutex_unlock(&queue->mutex);
	queue->ops->open(job);
	pthread_mutex_lock(&queue->mutex);
	worker->opening = NULL;
	job->is_open = true;
	return queue->current == worker;
}

static void run_job(struct worker *worker, struct orma_load_job *job)
{
	struct orma_load_queue *queue = worker->queue;

	orma_base_list_remove(&job->link);
	/* The caller has dropped its reference, so no one waits for the job. */
	if (job->refs == 1) {
		unref(queue, job);
		return;
	}
	queue->began_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	bool is_current = job->is_open || open_job(worker, job);
	if (queue->is_ending) {
		unref(queue, job);
	} else if (!is_current) {
		orma_base_list_insert_before(queue->waiting.next, &job->link);
		pthread_cond_broadcast(&queue->changed);
	} else {
		pthread_mutex_unlock(&queue->mutex);
		queue->ops->run(queue->ctx, job);
		pthread_mutex_lock(&queue->mutex);
		queue->began_ns = 0;
		job->is_done = true;
		orma_base_fd_wake(queue->event_fd);
		pthread_cond_broadcast(&queue->changed);
		unref(queue, job);
	}
}

static void wait_for_job(struct orma_load_queue *queue)
{
	if (queue->is_rested) {
		pthread_cond_wait(&queue->changed, &queue->mutex);
		return;
	}
	if (wait_until(queue, orma_base_clock_ns(CLOCK_MONOTONIC) + REST_NS))
		return;
	pthread_mutex_unlock(&queue->mutex);
	queue->ops->rest(queue->ctx);
	pthread_mutex_lock(&queue->mutex);
	queue->is_rested = true;
}

static bool have_all_ended(const struct orma_load_queue *queue)
{
	bool result = true;

	for (size_t i = 0; i < queue->worker_count; i++)
		result = result && queue->workers[i].has_ended;
	return result;
}

static void *run_worker(void *arg)
{
	struct worker *worker = arg;
	struct orma_load_queue *queue = worker->queue;

	/* Samples wait for this thread and its child, which need some milliseconds of CPU time. On a machine
	 * with more work than CPUs, that would take a second. */
	orma_base_raise_priority();
	pthread_mutex_lock(&queue->mutex);
	while (!queue->is_ending) {
		struct orma_load_job *job = find_ready(queue, worker);
		if (queue->current != worker) {
			pthread_cond_wait(&queue->changed, &queue->mutex);
		} else if (!job) {
			wait_for_job(queue);
		} else {
			run_job(worker, job);
			queue->is_rested = false;
		}
	}
	worker->has_ended = true;
	bool is_last = queue->is_abandoned && have_all_ended(queue);
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
	if (is_last)
		free_queue(queue);
	return NULL;
}

/* The thread blocks all signals, because their handlers belong to the program. Its child inherits that. */
static int start_worker(struct orma_load_queue *queue, struct worker **ret)
{
	struct worker *worker = &queue->workers[queue->worker_count];
	sigset_t all, old;

	worker->queue = queue;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&worker->thread, NULL, run_worker, worker);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (r != 0)
		return -r;
	queue->worker_count++;
	*ret = worker;
	return 0;
}

static uint64_t hang_ns(const struct orma_load_queue *queue)
{
	return queue->ops->hang_ns > 0 ? queue->ops->hang_ns : HANG_NS;
}

/* If the current worker hangs, and a job could run, makes another worker the current one. */
static void replace_hung(struct orma_load_queue *queue, uint64_t now_ns)
{
	struct worker *old = queue->current, *fresh = NULL;

	if (!old || !old->opening || now_ns < queue->began_ns + hang_ns(queue) ||
	    !find_ready(queue, NULL))
		return;
	for (size_t i = 0; i < queue->worker_count && !fresh; i++)
		if (queue->workers[i].opening == NULL)
			fresh = &queue->workers[i];
	if (!fresh && (queue->worker_count == WORKERS_MAX || start_worker(queue, &fresh) < 0))
		return;
	queue->current = fresh;
	queue->began_ns = 0;
	pthread_cond_broadcast(&queue->changed);
}

/* --- interface -------------------------------------------------------------------------------- */

int orma_load_queue_new(const struct orma_load_queue_ops *ops, void *ctx,
			struct orma_load_queue **ret)
{
	struct orma_load_queue *queue = orma_base_zalloc(sizeof(*queue));
	pthread_condattr_t attributes;

	if (!queue)
		return -ENOMEM;
	queue->event_fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	if (queue->event_fd < 0) {
		int r = -errno;
		orma_base_free(queue);
		return r;
	}
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&queue->changed, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&queue->mutex, NULL);
	orma_base_list_init(&queue->waiting);
	queue->ops = ops;
	queue->ctx = ctx;
	queue->is_rested = true;
	*ret = queue;
	return 0;
}

/* Returns how long the end waits for its workers at most; 0 = all of them have ended, or hang. */
static uint64_t end_limit_ns(const struct orma_load_queue *queue)
{
	uint64_t limit_ns = 0;

	for (size_t i = 0; i < queue->worker_count; i++) {
		const struct worker *worker = &queue->workers[i];
		if (!worker->has_ended && !worker->opening)
			limit_ns = RUN_END_NS;
		else if (!worker->has_ended && worker == queue->current)
			limit_ns = ORMA_MAX(limit_ns, OPEN_END_NS);
	}
	return limit_ns;
}

void orma_load_queue_free(struct orma_load_queue *queue)
{
	uint64_t begin_ns = orma_base_clock_ns(CLOCK_MONOTONIC), limit_ns;

	queue->ops->stop(queue->ctx);
	pthread_mutex_lock(&queue->mutex);
	queue->is_ending = true;
	pthread_cond_broadcast(&queue->changed);
	while (!orma_base_list_is_empty(&queue->waiting)) {
		struct orma_load_job *job =
			ORMA_LIST_ENTRY(queue->waiting.next, struct orma_load_job, link);
		orma_base_list_remove(&job->link);
		unref(queue, job);
	}
	do
		limit_ns = end_limit_ns(queue);
	while (limit_ns > 0 && wait_until(queue, begin_ns + limit_ns));
	for (size_t i = 0; i < queue->worker_count; i++) {
		/* A thread that has ended does not need the mutex any more. */
		if (queue->workers[i].has_ended)
			pthread_join(queue->workers[i].thread, NULL);
		else
			pthread_detach(queue->workers[i].thread);
	}
	/* If a thread is left, the last one may free the queue as soon as the mutex is released. */
	bool is_abandoned = queue->is_abandoned = !have_all_ended(queue);
	pthread_mutex_unlock(&queue->mutex);
	if (!is_abandoned)
		free_queue(queue);
}

int orma_load_queue_add(struct orma_load_queue *queue, struct orma_load_job *job)
{
	pthread_mutex_lock(&queue->mutex);
	int r = queue->current ? 0 : start_worker(queue, &queue->current);
	job->refs = r == 0 ? 2 : 1;
	if (r == 0) {
		orma_base_list_append(&queue->waiting, &job->link);
		replace_hung(queue, orma_base_clock_ns(CLOCK_MONOTONIC));
		pthread_cond_broadcast(&queue->changed);
	}
	pthread_mutex_unlock(&queue->mutex);
	return r == -EAGAIN ? -ENOMEM : r;
}

bool orma_load_queue_is_done(struct orma_load_queue *queue, struct orma_load_job *job)
{
	pthread_mutex_lock(&queue->mutex);
	bool result = job->is_done;
	if (!result)
		replace_hung(queue, orma_base_clock_ns(CLOCK_MONOTONIC));
	pthread_mutex_unlock(&queue->mutex);
	return result;
}

/* Returns when a wait has to check again whether the current worker hangs. */
static uint64_t next_look_ns(const struct orma_load_queue *queue, uint64_t now_ns)
{
	uint64_t hung_ns = queue->began_ns + hang_ns(queue);

	return queue->current->opening && hung_ns > now_ns ? hung_ns : UINT64_MAX;
}

bool orma_load_queue_wait(struct orma_load_queue *queue, struct orma_load_job *job,
			  uint64_t timeout_ns)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC), end_ns = now_ns + timeout_ns;

	pthread_mutex_lock(&queue->mutex);
	replace_hung(queue, now_ns);
	if (queue->began_ns > 0)
		end_ns = ORMA_MIN(end_ns, queue->began_ns + timeout_ns);
	while (!job->is_done && now_ns < end_ns) {
		bool hangs =
			queue->current->opening == job && next_look_ns(queue, now_ns) == UINT64_MAX;
		if (hangs || is_blocked(queue, job, queue->current))
			break;
		(void)wait_until(queue, ORMA_MIN(end_ns, next_look_ns(queue, now_ns)));
		now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
		replace_hung(queue, now_ns);
	}
	bool result = job->is_done;
	pthread_mutex_unlock(&queue->mutex);
	return result;
}

void orma_load_queue_unref(struct orma_load_queue *queue, struct orma_load_job *job)
{
	pthread_mutex_lock(&queue->mutex);
	unref(queue, job);
	pthread_mutex_unlock(&queue->mutex);
}

int orma_load_queue_event_fd(const struct orma_load_queue *queue)
{
	return queue->event_fd;
}
