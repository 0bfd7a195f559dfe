/* SPDX-License-Identifier: Apache-2.0
 * work.c - the queue of work for the loop thread: a list under the mutex, and a wake of the loop.
 */
#include "client/work.h"

#include <errno.h>

#include "base/cancel.h"
#include "client/engine.h"

int orma_client_post(struct orma_client_work *work)
{
	if (!orma_client_lock())
		return -ENOTCONN;
	pthread_mutex_unlock(&orma_client.mutex);
	/* The loop thread would notice the work seconds later. */
	if (!orma_base_loop_can_wake(orma_client.loop) || !orma_client_lock())
		return -ENOTCONN;
	orma_base_list_append(&orma_client.work, &work->item);
	pthread_mutex_unlock(&orma_client.mutex);
	orma_base_loop_wake(orma_client.loop);
	return 0;
}

struct orma_client_work *orma_client_work_take(void)
{
	struct orma_client_work *work = NULL;

	pthread_mutex_lock(&orma_client.mutex);
	if (!orma_base_list_is_empty(&orma_client.work)) {
		work = ORMA_LIST_ENTRY(orma_client.work.next, struct orma_client_work, item);
		orma_base_list_remove(&work->item);
	}
	pthread_mutex_unlock(&orma_client.mutex);
	return work;
}

struct waited_work {
	struct orma_client_work work;
	void (*fn)(void *ctx);
	void *ctx;
	bool is_done; /* mutex */
};

static void run_waited(struct orma_client_work *work)
{
	struct waited_work *waited = ORMA_CONTAINER_OF(work, struct waited_work, work);

	waited->fn(waited->ctx);
	pthread_mutex_lock(&orma_client.mutex);
	waited->is_done = true;
	pthread_cond_broadcast(&orma_client.changed);
	pthread_mutex_unlock(&orma_client.mutex);
}

int orma_client_post_and_wait(void (*fn)(void *ctx), void *ctx)
{
	ORMA_NO_CANCEL();
	struct waited_work waited = {.work.fn = run_waited, .fn = fn, .ctx = ctx};
	int r;

	if (!orma_client_lock())
		return -ENOTCONN;
	pthread_mutex_unlock(&orma_client.mutex);
	if (orma_client.options.caller_drives || orma_client_is_loop_thread()) {
		fn(ctx);
		return 0;
	}
	r = orma_client_post(&waited.work);
	if (r < 0)
		return r;
	pthread_mutex_lock(&orma_client.mutex);
	while (!waited.is_done)
		pthread_cond_wait(&orma_client.changed, &orma_client.mutex);
	pthread_mutex_unlock(&orma_client.mutex);
	return 0;
}
