/* SPDX-License-Identifier: Apache-2.0
 * load_queue.c - a thread for what may wait: it opens files of other processes, on file systems that
 * may hang, and waits for the child that reads them.
 *
 * The thread starts with the first job. Invariants: `mutex` guards all members and the jobs' own;
 * jobs wait in `waiting`, in order; the job that runs is in no list. A job is
 * freed by the thread that drops its last reference.
 *
 * The thread cannot be interrupted while the kernel waits for a file system. An owner that goes
 * away meanwhile leaves the queue to the thread, which frees everything when it comes back. That is
 * why the queue owns its context.
 */
#include "unwind/load_queue.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"
#include "base/macros.h"

#define NICENESS (-10)
#define END_NS   ORMA_NS_PER_SEC
#define REST_NS  (10 * ORMA_NS_PER_SEC)

struct orma_load_queue {
	pthread_mutex_t mutex;
	pthread_cond_t changed;
	const struct orma_load_queue_ops *ops;
	void *ctx;
	struct orma_list waiting;
	uint64_t began_ns; /* the job that runs; 0 = none does */
	int event_fd;
	pthread_t thread;
	bool has_thread, is_ending, has_ended, is_abandoned;
};

static void free_queue(struct orma_load_queue *queue)
{
	queue->ops->end(queue->ctx);
	orma_base_fd_close(queue->event_fd);
	pthread_cond_destroy(&queue->changed);
	pthread_mutex_destroy(&queue->mutex);
	orma_base_free(queue);
}

/* False when the time has passed. The mutex is held. */
static bool wait_until(struct orma_load_queue *queue, uint64_t end_ns)
{
	struct timespec end = {.tv_sec = (time_t)(end_ns / ORMA_NS_PER_SEC),
			       .tv_nsec = (long)(end_ns % ORMA_NS_PER_SEC)};

	return pthread_cond_timedwait(&queue->changed, &queue->mutex, &end) != ETIMEDOUT;
}

/* The mutex is held, and released meanwhile. */
static void unref(struct orma_load_queue *queue, struct orma_load_job *job)
{
	if (--job->refs > 0)
		return;
	pthread_mutex_unlock(&queue->mutex);
	queue->ops->free(job);
	pthread_mutex_lock(&queue->mutex);
}

static void run_first(struct orma_load_queue *queue)
{
	struct orma_load_job *job =
		ORMA_LIST_ENTRY(queue->waiting.next, struct orma_load_job, link);

	orma_base_list_remove(&job->link);
	/* Nobody waits for it any more. */
	if (job->refs > 1) {
		queue->began_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
		pthread_mutex_unlock(&queue->mutex);
		queue->ops->run(queue->ctx, job);
		pthread_mutex_lock(&queue->mutex);
		queue->began_ns = 0;
		job->is_done = true;
		orma_base_fd_wake(queue->event_fd);
		pthread_cond_broadcast(&queue->changed);
	}
	unref(queue, job);
}

static void wait_for_job(struct orma_load_queue *queue, bool *is_rested)
{
	if (*is_rested) {
		pthread_cond_wait(&queue->changed, &queue->mutex);
		return;
	}
	if (wait_until(queue, orma_base_clock_ns(CLOCK_MONOTONIC) + REST_NS))
		return;
	pthread_mutex_unlock(&queue->mutex);
	queue->ops->rest(queue->ctx);
	pthread_mutex_lock(&queue->mutex);
	*is_rested = true;
}

static void *run_thread(void *arg)
{
	struct orma_load_queue *queue = arg;
	bool is_rested = true;

	/* Samples wait for this thread and its child, which work for some milliseconds. On a machine with
	 * more work than CPUs that would be a second. Only some users have the right. */
	(void)setpriority(PRIO_PROCESS, (id_t)syscall(SYS_gettid), NICENESS);
	pthread_mutex_lock(&queue->mutex);
	while (!queue->is_ending) {
		if (orma_base_list_is_empty(&queue->waiting)) {
			wait_for_job(queue, &is_rested);
			continue;
		}
		run_first(queue);
		is_rested = false;
	}
	queue->has_ended = true;
	bool is_abandoned = queue->is_abandoned;
	pthread_cond_broadcast(&queue->changed);
	pthread_mutex_unlock(&queue->mutex);
	if (is_abandoned)
		free_queue(queue);
	return NULL;
}

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
	*ret = queue;
	return 0;
}

void orma_load_queue_free(struct orma_load_queue *queue)
{
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + END_NS;

	pthread_mutex_lock(&queue->mutex);
	queue->is_ending = true;
	pthread_cond_broadcast(&queue->changed);
	while (!orma_base_list_is_empty(&queue->waiting)) {
		struct orma_load_job *job =
			ORMA_LIST_ENTRY(queue->waiting.next, struct orma_load_job, link);
		orma_base_list_remove(&job->link);
		unref(queue, job);
	}
	while (queue->has_thread && !queue->has_ended && wait_until(queue, end_ns))
		;
	queue->is_abandoned = queue->has_thread && !queue->has_ended;
	bool is_abandoned = queue->is_abandoned, has_thread = queue->has_thread;
	pthread_t thread = queue->thread;
	/* The thread frees the queue as soon as it gets the mutex. */
	if (is_abandoned)
		pthread_detach(thread);
	pthread_mutex_unlock(&queue->mutex);
	if (is_abandoned)
		return;
	if (has_thread)
		pthread_join(thread, NULL);
	free_queue(queue);
}

/* Signals are the program's, so the thread has none. Its child inherits that. */
static int start_thread(struct orma_load_queue *queue)
{
	sigset_t all, old;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(&queue->thread, NULL, run_thread, queue);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	queue->has_thread = r == 0;
	return -r;
}

int orma_load_queue_add(struct orma_load_queue *queue, struct orma_load_job *job)
{
	pthread_mutex_lock(&queue->mutex);
	int r = queue->has_thread ? 0 : start_thread(queue);
	job->refs = r == 0 ? 2 : 1;
	if (r == 0) {
		orma_base_list_append(&queue->waiting, &job->link);
		pthread_cond_broadcast(&queue->changed);
	}
	pthread_mutex_unlock(&queue->mutex);
	return r == -EAGAIN ? -ENOMEM : r;
}

bool orma_load_queue_is_done(struct orma_load_queue *queue, struct orma_load_job *job)
{
	pthread_mutex_lock(&queue->mutex);
	bool result = job->is_done;
	pthread_mutex_unlock(&queue->mutex);
	return result;
}

bool orma_load_queue_wait(struct orma_load_queue *queue, struct orma_load_job *job,
			  uint64_t timeout_ns)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC), end_ns = now_ns + timeout_ns;
	bool is_in_time = true;

	pthread_mutex_lock(&queue->mutex);
	if (queue->began_ns > 0)
		end_ns = ORMA_MIN(end_ns, queue->began_ns + timeout_ns);
	while (!job->is_done && is_in_time)
		is_in_time = end_ns > now_ns && wait_until(queue, end_ns);
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
