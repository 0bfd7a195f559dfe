/* SPDX-License-Identifier: Apache-2.0
 * load_queue_test.c - jobs that hang, and those behind them.
 */
#include "unwind/load_queue.h"

#include <fcntl.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "base/macros.h"
#include "harness.h"

enum { HANGING_MAX = 4 }; /* the most threads that a queue has */

#define LONG_NS (60 * ORMA_NS_PER_SEC)
#define HANG_NS (50 * ORMA_NS_PER_MS)

struct job {
	struct orma_load_job base; /* first */
	sem_t *gate;               /* NULL = it opens at once */
	bool runs_until_stopped;
	unsigned turn; /* the number of jobs that were done before it */
};

static struct orma_load_queue *queue;
static sem_t gates[HANGING_MAX];
static int event_fd;
static unsigned done_count; /* the context, which only one thread may use */
static atomic_uint open_count, freed_count;
static sem_t stop_gate;
static atomic_bool has_ended;

static void open_job(struct orma_load_job *base)
{
	struct job *job = ORMA_CONTAINER_OF(base, struct job, base);

	atomic_fetch_add(&open_count, 1);
	if (job->gate)
		while (sem_wait(job->gate) < 0)
			;
}

static void run_job(void *ctx, struct orma_load_job *base)
{
	struct job *job = ORMA_CONTAINER_OF(base, struct job, base);
	unsigned *count = ctx;

	job->turn = (*count)++;
	if (job->runs_until_stopped)
		while (sem_wait(&stop_gate) < 0)
			;
}

static void free_job(struct orma_load_job *base)
{
	orma_base_free(ORMA_CONTAINER_OF(base, struct job, base));
	atomic_fetch_add(&freed_count, 1);
}

static void nothing(void *ctx)
{
	(void)ctx;
}

static void stop(void *ctx)
{
	(void)ctx;
	CHECK_INT(sem_post(&stop_gate), 0);
}

static void note_end(void *ctx)
{
	(void)ctx;
	atomic_store(&has_ended, true);
}

static const struct orma_load_queue_ops ops = {
	.open = open_job,
	.run = run_job,
	.free = free_job,
	.rest = nothing,
	.stop = stop,
	.end = note_end,
	.hang_ns = HANG_NS,
};

static void begin(void)
{
	CHECK_INT(sem_init(&stop_gate, 0, 0), 0);
	for (size_t i = 0; i < HANGING_MAX; i++)
		CHECK_INT(sem_init(&gates[i], 0, 0), 0);
	CHECK_INT(orma_load_queue_new(&ops, &done_count, &queue), 0);
	event_fd = orma_load_queue_event_fd(queue);
}

static struct job *add(uint64_t place, sem_t *gate)
{
	struct job *job = orma_base_zalloc(sizeof(*job));

	CHECK(job != NULL);
	job->base.place = place;
	job->gate = gate;
	CHECK_INT(orma_load_queue_add(queue, &job->base), 0);
	return job;
}

static bool wait_for(struct job *job, uint64_t timeout_ns)
{
	return orma_load_queue_wait(queue, &job->base, timeout_ns);
}

static bool is_done(struct job *job)
{
	return orma_load_queue_is_done(queue, &job->base);
}

/* A busy machine may make any job look as if it hung for a moment. */
static void await(struct job *job)
{
	while (!wait_for(job, LONG_NS))
		usleep(1000);
}

/* A thread that has outlived the queue closes its descriptor after the context has ended. */
static void await_end(void)
{
	while (fcntl(event_fd, F_GETFD) >= 0)
		usleep(1000);
	CHECK(atomic_load(&has_ended));
}

static void drop(struct job *job)
{
	orma_load_queue_unref(queue, &job->base);
}

/* Adds a job that hangs, and waits until its thread has begun to open it. */
static struct job *add_hanging(uint64_t place, size_t gate)
{
	unsigned count = atomic_load(&open_count);
	struct job *job = add(place, &gates[gate]);

	while (atomic_load(&open_count) == count) {
		(void)is_done(job);
		usleep(1000);
	}
	return job;
}

ORMA_TEST(jobs_of_other_places_do_not_wait_for_one_that_hangs)
{
	begin();
	struct job *hung = add_hanging(1, 0), *same = add(1, NULL), *other = add(2, NULL),
		   *unknown = add(0, NULL);
	await(other);
	await(unknown);
	/* Nobody waits for these two. */
	CHECK(!wait_for(hung, LONG_NS));
	CHECK(!wait_for(same, LONG_NS));
	CHECK_INT(atomic_load(&open_count), 3);
	/* They are done when the place answers, after all. */
	CHECK_INT(sem_post(&gates[0]), 0);
	await(hung);
	await(same);
	CHECK_INT(hung->turn, 2);
	CHECK_INT(same->turn, 3);
	drop(hung), drop(same), drop(other), drop(unknown);
	orma_load_queue_free(queue);
	CHECK(atomic_load(&has_ended));
	CHECK_INT(atomic_load(&freed_count), 4);
}

ORMA_TEST(a_job_alone_that_hangs_is_left)
{
	begin();
	struct job *hung = add_hanging(1, 0);
	CHECK(!wait_for(hung, LONG_NS));
	drop(hung);
	struct job *next = add(2, NULL);
	await(next);
	drop(next);
	CHECK_INT(sem_post(&gates[0]), 0);
	orma_load_queue_free(queue);
	await_end();
}

ORMA_TEST(jobs_wait_while_as_many_places_hang_as_there_may_be_threads)
{
	struct job *hung[HANGING_MAX];

	begin();
	for (size_t i = 0; i < HANGING_MAX; i++)
		hung[i] = add_hanging(i + 1, i);
	struct job *other = add(9, NULL);
	CHECK(!wait_for(other, 2 * HANG_NS));
	/* One that answers is enough, also the next time: its thread does the jobs of others. */
	CHECK_INT(sem_post(&gates[1]), 0);
	await(other);
	struct job *again = add_hanging(20, 1), *last = add(21, NULL);
	CHECK(!wait_for(last, 2 * HANG_NS));
	for (size_t i = 0; i < HANGING_MAX; i++)
		CHECK_INT(sem_post(&gates[i]), 0);
	await(last);
	await(again);
	for (size_t i = 0; i < HANGING_MAX; i++)
		drop(hung[i]);
	drop(other), drop(again), drop(last);
	orma_load_queue_free(queue);
	await_end();
}

ORMA_TEST(a_job_that_runs_is_stopped_at_the_end)
{
	begin();
	struct job *job = orma_base_zalloc(sizeof(*job));
	CHECK(job != NULL);
	job->runs_until_stopped = true;
	CHECK_INT(orma_load_queue_add(queue, &job->base), 0);
	CHECK(!wait_for(job, HANG_NS));
	drop(job);
	orma_load_queue_free(queue);
	CHECK(atomic_load(&has_ended));
	CHECK_INT(atomic_load(&freed_count), 1);
}

ORMA_TEST(a_queue_whose_threads_hang_is_freed_by_the_last_of_them)
{
	begin();
	struct job *first = add_hanging(1, 0), *second = add_hanging(2, 1);
	drop(first), drop(second);
	orma_load_queue_free(queue);
	CHECK(!atomic_load(&has_ended));
	CHECK_INT(sem_post(&gates[1]), 0);
	while (atomic_load(&freed_count) < 1)
		usleep(1000);
	CHECK(!atomic_load(&has_ended));
	CHECK_INT(sem_post(&gates[0]), 0);
	await_end();
	CHECK_INT(atomic_load(&freed_count), 2);
}
