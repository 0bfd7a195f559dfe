/* SPDX-License-Identifier: Apache-2.0
 * read_ahead.c - a ring of batches between the thread that merges and the one that imports.
 *
 * Invariant: batches [taken, filled) are the importer's, the others are the filler's; `filled` is at most BATCHES ahead. The mutex
 * guards the numbers and not the batches. A batch is some hundred microseconds of work, so that the mutex costs nothing.
 * A thread that fails stops the other: the filler with its last result, the importer with `is_stopped`.
 */
#include "trace/read_ahead.h"

#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>

#include "base/macros.h"

enum { BATCHES = 4 };

struct ring {
	orma_batch_fill_fn *fill;
	void *ctx;
	struct orma_event_batch batches[BATCHES];
	pthread_mutex_t mutex;
	pthread_cond_t has_changed;
	/* Guarded by the mutex. */
	size_t filled, taken;
	int result; /* the last one of `fill`: 1 while there is more */
	bool is_stopped;
};

static void *fill_batches(void *arg)
{
	struct ring *ring = arg;
	int r = 1;
	/* Set by the thread itself: a name that is set from outside may come after its end. */
	pthread_setname_np(pthread_self(), "orma-merge");
	pthread_mutex_lock(&ring->mutex);
	while (r > 0 && !ring->is_stopped) {
		if (ring->filled - ring->taken == BATCHES) {
			pthread_cond_wait(&ring->has_changed, &ring->mutex);
			continue;
		}
		struct orma_event_batch *batch = &ring->batches[ring->filled % BATCHES];
		/* The thread that has less to do reads the events. */
		batch->leaves_reading = ring->filled - ring->taken < BATCHES / 2;
		pthread_mutex_unlock(&ring->mutex);
		orma_event_batch_clear(batch);
		r = ring->fill(ring->ctx, batch);
		pthread_mutex_lock(&ring->mutex);
		ring->result = r;
		ring->filled += r >= 0;
		pthread_cond_signal(&ring->has_changed);
	}
	pthread_mutex_unlock(&ring->mutex);
	return NULL;
}

static int take_batches(struct ring *ring, struct orma_batch_reader *reader)
{
	int r = 0;
	pthread_mutex_lock(&ring->mutex);
	for (;;) {
		if (ring->taken == ring->filled) {
			if (ring->result <= 0)
				break;
			pthread_cond_wait(&ring->has_changed, &ring->mutex);
			continue;
		}
		const struct orma_event_batch *batch = &ring->batches[ring->taken % BATCHES];
		pthread_mutex_unlock(&ring->mutex);
		r = orma_batch_reader_take(reader, batch);
		pthread_mutex_lock(&ring->mutex);
		ring->taken++;
		ring->is_stopped = r < 0;
		pthread_cond_signal(&ring->has_changed);
		if (r < 0)
			break;
	}
	r = r < 0 ? r : ring->result;
	pthread_mutex_unlock(&ring->mutex);
	return r;
}

/* Signals are for the threads of the program. 0 or a negative errno value. */
static int start_thread(struct ring *ring, pthread_t *ret)
{
	sigset_t all, old;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	int r = pthread_create(ret, NULL, fill_batches, ring);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
	return -r;
}

static int run_alone(struct ring *ring, struct orma_batch_reader *reader)
{
	struct orma_event_batch *batch = &ring->batches[0];
	int r, filled;
	do {
		orma_event_batch_clear(batch);
		filled = ring->fill(ring->ctx, batch);
		r = filled < 0 ? filled : orma_batch_reader_take(reader, batch);
	} while (r == 0 && filled > 0);
	return r;
}

static int run_two(struct ring *ring, struct orma_batch_reader *reader)
{
	pthread_t thread;
	if (start_thread(ring, &thread) < 0)
		return run_alone(ring, reader);
	int r = take_batches(ring, reader);
	pthread_join(thread, NULL);
	return r;
}

int orma_read_ahead(orma_batch_fill_fn *fill, void *ctx, struct orma_batch_reader *reader,
		    bool has_thread)
{
	struct ring ring = {.fill = fill, .ctx = ctx, .result = 1};
	int r = 0;
	pthread_mutex_init(&ring.mutex, NULL);
	pthread_cond_init(&ring.has_changed, NULL);
	for (int i = 0; i < (has_thread ? BATCHES : 1) && r == 0; i++)
		r = orma_event_batch_init(&ring.batches[i]);
	if (r == 0)
		r = has_thread ? run_two(&ring, reader) : run_alone(&ring, reader);
	for (int i = 0; i < BATCHES; i++)
		orma_event_batch_done(&ring.batches[i]);
	pthread_cond_destroy(&ring.has_changed);
	pthread_mutex_destroy(&ring.mutex);
	return r;
}

bool orma_read_ahead_has_cpus(void)
{
	cpu_set_t cpus;
	return sched_getaffinity(0, sizeof(cpus), &cpus) == 0 && CPU_COUNT(&cpus) > 1;
}
