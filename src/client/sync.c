/* SPDX-License-Identifier: Apache-2.0
 * sync.c - orma_sync(): waiting until the services have seen everything that was sent.
 *
 * Each service that is connected answers a fence. The fence is on the heap, because the thread that
 * waits for it may give up first; then the loop thread frees it. When a connection ends without an
 * answer, the next connection is asked again. Rejected: a fence per registration (hundreds of round
 * trips for nothing).
 */
#include "client/sync.h"

#include <errno.h>
#include <poll.h>

#include "base/alloc.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "client/engine.h"
#include "client/work.h"

enum sync_state { SYNC_UNSENT = 0, SYNC_SENT, SYNC_ANSWERED };

/* Done when at least one service has answered, and every connected service has. */
struct sync {
	struct orma_client_work work;
	struct orma_list item;                 /* in orma_client.syncs */
	uint8_t states[ORMA_CLIENT_LINKS_MAX]; /* the loop thread's */
	bool is_done, is_abandoned;            /* mutex */
};

static void sync_finish(struct sync *sync)
{
	bool is_abandoned;

	orma_base_list_remove(&sync->item);
	pthread_mutex_lock(&orma_client.mutex);
	sync->is_done = true;
	is_abandoned = sync->is_abandoned;
	pthread_cond_broadcast(&orma_client.changed);
	pthread_mutex_unlock(&orma_client.mutex);
	if (is_abandoned)
		orma_base_free(sync);
}

static bool sync_is_abandoned(const struct sync *sync)
{
	bool is_abandoned;

	pthread_mutex_lock(&orma_client.mutex);
	is_abandoned = sync->is_abandoned;
	pthread_mutex_unlock(&orma_client.mutex);
	return is_abandoned;
}

bool orma_client_sync_send(struct orma_client_link *link)
{
	if (orma_client_endpoint_sync(link->endpoint) < 0)
		return false;
	link->syncs_outstanding++;
	return true;
}

static void sync_advance(struct sync *sync)
{
	bool has_answer = false, is_waiting = false;

	for (size_t i = 0; i < orma_client.link_count; i++) {
		struct orma_client_link *link = &orma_client.links[i];

		if (link->is_up && sync->states[i] == SYNC_UNSENT && orma_client_sync_send(link))
			sync->states[i] = SYNC_SENT;
		has_answer |= sync->states[i] == SYNC_ANSWERED;
		is_waiting |= link->is_up && sync->states[i] != SYNC_ANSWERED;
	}
	if ((has_answer && !is_waiting) || sync_is_abandoned(sync))
		sync_finish(sync);
}

static void syncs_advance(void)
{
	struct sync *sync, *next;

	ORMA_LIST_FOR_EACH_SAFE (sync, next, &orma_client.syncs, item)
		sync_advance(sync);
}

static void sync_begin(struct orma_client_work *work)
{
	struct sync *sync = ORMA_CONTAINER_OF(work, struct sync, work);

	orma_base_list_append(&orma_client.syncs, &sync->item);
	syncs_advance();
}

void orma_client_syncs_link_up(void)
{
	syncs_advance();
}

void orma_client_syncs_link_down(struct orma_client_link *link)
{
	struct sync *sync;

	link->syncs_outstanding = 0;
	ORMA_LIST_FOR_EACH (sync, &orma_client.syncs, item)
		if (sync->states[link - orma_client.links] == SYNC_SENT)
			sync->states[link - orma_client.links] = SYNC_UNSENT;
	syncs_advance();
}

void orma_client_syncs_link_answered(struct orma_client_link *link)
{
	struct sync *sync;

	if (link->syncs_outstanding > 0)
		link->syncs_outstanding--;
	/* Answers come in the order of the fences. */
	ORMA_LIST_FOR_EACH (sync, &orma_client.syncs, item) {
		if (sync->states[link - orma_client.links] != SYNC_SENT)
			continue;
		sync->states[link - orma_client.links] = SYNC_ANSWERED;
		sync_advance(sync);
		return;
	}
}

static int wait_driving(const struct sync *sync, uint64_t deadline_ns)
{
	struct pollfd poll_fd = {.fd = orma_poll_fd(), .events = POLLIN};

	/* This thread sets the flag, inside of orma_dispatch(). */
	while (orma_dispatch() == 0 && !sync->is_done) {
		uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);

		if (now_ns >= deadline_ns)
			return -ETIMEDOUT;
		poll(&poll_fd, 1,
		     (int)(ORMA_MIN(deadline_ns - now_ns, ORMA_NS_PER_SEC) / ORMA_NS_PER_MS) + 1);
	}
	return 0;
}

static int wait_for_sync(const struct sync *sync, uint64_t deadline_ns)
{
	const struct timespec deadline = {.tv_sec = (time_t)(deadline_ns / ORMA_NS_PER_SEC),
					  .tv_nsec = (long)(deadline_ns % ORMA_NS_PER_SEC)};
	int r = 0;

	if (orma_client.options.caller_drives)
		return wait_driving(sync, deadline_ns);
	pthread_mutex_lock(&orma_client.mutex);
	while (!sync->is_done && r == 0)
		r = -pthread_cond_timedwait(&orma_client.changed, &orma_client.mutex, &deadline);
	r = sync->is_done ? 0 : r;
	pthread_mutex_unlock(&orma_client.mutex);
	return r;
}

int orma_sync(uint32_t timeout_ms)
{
	ORMA_NO_CANCEL();
	uint64_t deadline_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + timeout_ms * ORMA_NS_PER_MS;
	struct sync *sync;
	bool is_done;
	int r;

	sync = orma_base_zalloc(sizeof(*sync));
	if (!sync)
		return -ENOMEM;
	sync->work.fn = sync_begin;
	r = orma_client_post(&sync->work);
	if (r < 0) {
		orma_base_free(sync);
		return r;
	}
	r = wait_for_sync(sync, deadline_ns);
	pthread_mutex_lock(&orma_client.mutex);
	is_done = sync->is_done;
	sync->is_abandoned = !is_done;
	pthread_mutex_unlock(&orma_client.mutex);
	if (is_done)
		orma_base_free(sync);
	return is_done ? 0 : r;
}

void orma_client_syncs_end(void)
{
	struct sync *sync, *next;

	ORMA_LIST_FOR_EACH_SAFE (sync, next, &orma_client.syncs, item)
		sync_finish(sync);
}
