/* SPDX-License-Identifier: Apache-2.0
 * view_worker.c - the engine of SQL belongs to one thread at a time, so there is one worker and no pool.
 *
 * A job is in `waiting`, or is `running`, or is in `finished`, from where the loop's thread takes it. All three are guarded
 * by the mutex, which is never held over a function of the job.
 *
 * A query of the user's may take a minute, and the page has to draw meanwhile. So a job with SQL pauses now and then, and the
 * waiting jobs without SQL run during the pause, on the same thread. Rejected: a second thread, because queries and answers share
 * strings, the arguments that were read last, and columns that are made on demand, and all of these would need locks.
 *
 * A request to stop a query is lost when the query has not begun yet, because each query begins by forgetting such requests,
 * and a job may make several. So a job that has to end is interrupted again every 50 ms until it has.
 */
#include "view/view_worker.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/fd.h"

#define TICK_NS (50 * ORMA_NS_PER_MS)

struct orma_view_worker {
	struct orma_loop *loop;
	void (*interrupt)(void *ctx);
	void *ctx;
	pthread_t thread;
	struct orma_watch watch; /* an eventfd, which says that something has finished */
	struct orma_timer timer; /* armed while jobs are there, except if memory ran out */
	pthread_mutex_t mutex;
	pthread_cond_t has_job;
	struct orma_list waiting, finished;
	struct orma_view_job *running; /* NULL = none */
	bool is_ending;
};

static struct orma_view_job *first(struct orma_list *list)
{
	return orma_base_list_is_empty(list)
		       ? NULL
		       : ORMA_LIST_ENTRY(list->next, struct orma_view_job, link);
}

static void set_cancelled(struct orma_view_job *job)
{
	atomic_store_explicit(&job->is_cancelled, true, memory_order_relaxed);
}

/* --- the worker's thread ---------------------------------------------------------------------- */

/* Makes a job that waits the one that runs. The mutex is held. */
static void begin_job(struct orma_view_worker *worker, struct orma_view_job *job)
{
	orma_base_list_remove(&job->link);
	job->start_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	job->has_run = true;
	worker->running = job;
}

/* Runs a job that was begun. `outer` is the one that gives way to it; NULL = none. */
static void run_job(struct orma_view_worker *worker, struct orma_view_job *job,
		    struct orma_view_job *outer)
{
	job->run(job);
	pthread_mutex_lock(&worker->mutex);
	worker->running = outer;
	orma_base_list_append(&worker->finished, &job->link);
	pthread_mutex_unlock(&worker->mutex);
	orma_base_fd_wake(worker->watch.fd);
}

/* Begins the first job without SQL that waits. NULL = there is none. */
static struct orma_view_job *take_job_without_sql(struct orma_view_worker *worker)
{
	struct orma_view_job *job, *ret = NULL;
	pthread_mutex_lock(&worker->mutex);
	ORMA_LIST_FOR_EACH (job, &worker->waiting, link)
		if (job->is_without_sql) {
			ret = job;
			break;
		}
	if (ret)
		begin_job(worker, ret);
	pthread_mutex_unlock(&worker->mutex);
	return ret;
}

void orma_view_worker_give_way(struct orma_view_worker *worker)
{
	/* Only this thread changes `running`. */
	struct orma_view_job *outer = worker->running, *job;
	while ((job = take_job_without_sql(worker)))
		run_job(worker, job, outer);
}

/* Waits for a job. NULL = the thread has to end. */
static struct orma_view_job *take_job(struct orma_view_worker *worker)
{
	pthread_mutex_lock(&worker->mutex);
	while (!worker->is_ending && orma_base_list_is_empty(&worker->waiting))
		pthread_cond_wait(&worker->has_job, &worker->mutex);
	struct orma_view_job *job = worker->is_ending ? NULL : first(&worker->waiting);
	if (job)
		begin_job(worker, job);
	pthread_mutex_unlock(&worker->mutex);
	return job;
}

static void *work(void *ctx)
{
	struct orma_view_worker *worker = ctx;
	struct orma_view_job *job;
	pthread_setname_np(pthread_self(), "orma-view");
	while ((job = take_job(worker)))
		run_job(worker, job, NULL);
	return NULL;
}

/* --- the loop's thread ------------------------------------------------------------------------ */

static void finish_jobs(struct orma_view_worker *worker)
{
	for (;;) {
		pthread_mutex_lock(&worker->mutex);
		struct orma_view_job *job = first(&worker->finished);
		if (job)
			orma_base_list_remove(&job->link);
		pthread_mutex_unlock(&worker->mutex);
		if (!job)
			return;
		job->done(job);
	}
}

static void on_finished(struct orma_watch *watch, unsigned ready)
{
	uint64_t count;
	(void)ready;
	/* The counter only says that there is something. */
	if (read(watch->fd, &count, sizeof(count)) == sizeof(count))
		finish_jobs(ORMA_CONTAINER_OF(watch, struct orma_view_worker, watch));
}

/* Interrupts the job that runs if it has to end. Returns false when there are no jobs. */
static bool look_at_job(struct orma_view_worker *worker)
{
	bool must_end = false;
	pthread_mutex_lock(&worker->mutex);
	struct orma_view_job *job = worker->running;
	if (job && job->limit_ns > 0 &&
	    orma_base_clock_ns(CLOCK_MONOTONIC) - job->start_ns > job->limit_ns)
		set_cancelled(job);
	/* An interruption would also end the query that gave way to a job without SQL. */
	must_end = job && !job->is_without_sql && orma_view_job_is_cancelled(job);
	bool has_jobs = job || !orma_base_list_is_empty(&worker->waiting);
	pthread_mutex_unlock(&worker->mutex);
	if (must_end)
		worker->interrupt(worker->ctx);
	return has_jobs;
}

static void tick(struct orma_timer *timer)
{
	struct orma_view_worker *worker = ORMA_CONTAINER_OF(timer, struct orma_view_worker, timer);
	if (look_at_job(worker))
		orma_base_loop_arm_in(worker->loop, timer, TICK_NS, tick);
}

void orma_view_worker_add(struct orma_view_worker *worker, struct orma_view_job *job)
{
	pthread_mutex_lock(&worker->mutex);
	orma_base_list_append(&worker->waiting, &job->link);
	pthread_cond_signal(&worker->has_job);
	pthread_mutex_unlock(&worker->mutex);
	if (!worker->timer.is_armed)
		orma_base_loop_arm_in(worker->loop, &worker->timer, TICK_NS, tick);
}

void orma_view_worker_cancel(struct orma_view_worker *worker, struct orma_view_job *job)
{
	set_cancelled(job);
	pthread_mutex_lock(&worker->mutex);
	bool is_waiting = !job->has_run;
	if (is_waiting) {
		orma_base_list_remove(&job->link);
		orma_base_list_append(&worker->finished, &job->link);
	}
	pthread_mutex_unlock(&worker->mutex);
	if (is_waiting)
		orma_base_fd_wake(worker->watch.fd);
	else
		look_at_job(worker);
}

/* The program's signals are for its main thread. */
static int start_thread(struct orma_view_worker *worker)
{
	sigset_t all, before;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	int r = -pthread_create(&worker->thread, NULL, work, worker);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return r;
}

int orma_view_worker_new(struct orma_loop *loop, void (*interrupt)(void *ctx), void *ctx,
			 struct orma_view_worker **ret)
{
	struct orma_view_worker *worker = orma_base_zalloc(sizeof(*worker));
	if (!worker)
		return -ENOMEM;
	worker->loop = loop;
	worker->interrupt = interrupt;
	worker->ctx = ctx;
	orma_base_list_init(&worker->waiting);
	orma_base_list_init(&worker->finished);
	pthread_mutex_init(&worker->mutex, NULL);
	pthread_cond_init(&worker->has_job, NULL);
	int fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	int r = fd < 0 ? -errno : 0;
	if (r == 0)
		r = orma_base_loop_watch(loop, &worker->watch, fd, ORMA_LOOP_READ, on_finished);
	if (r == 0)
		r = start_thread(worker);
	if (r == 0) {
		*ret = worker;
		return 0;
	}
	orma_base_watch_remove(&worker->watch);
	orma_base_fd_close(fd);
	orma_base_free(worker);
	return r;
}

/* Waits for the job that runs. It may miss an interruption, as the preface says. */
static void join(struct orma_view_worker *worker)
{
	struct timespec until;
	do {
		look_at_job(worker);
		uint64_t ns = orma_base_clock_ns(CLOCK_REALTIME) + TICK_NS;
		until = (struct timespec){.tv_sec = (time_t)(ns / ORMA_NS_PER_SEC),
					  .tv_nsec = (long)(ns % ORMA_NS_PER_SEC)};
	} while (pthread_timedjoin_np(worker->thread, NULL, &until) == ETIMEDOUT);
}

void orma_view_worker_free(struct orma_view_worker *worker)
{
	struct orma_view_job *job;
	if (!worker)
		return;
	pthread_mutex_lock(&worker->mutex);
	worker->is_ending = true;
	if (worker->running)
		set_cancelled(worker->running);
	while ((job = first(&worker->waiting))) {
		set_cancelled(job);
		orma_base_list_remove(&job->link);
		orma_base_list_append(&worker->finished, &job->link);
	}
	pthread_cond_signal(&worker->has_job);
	pthread_mutex_unlock(&worker->mutex);
	join(worker);
	finish_jobs(worker);
	int fd = worker->watch.fd;
	orma_base_watch_remove(&worker->watch);
	orma_base_timer_disarm(&worker->timer);
	orma_base_fd_close(fd);
	pthread_cond_destroy(&worker->has_job);
	pthread_mutex_destroy(&worker->mutex);
	orma_base_free(worker);
}
