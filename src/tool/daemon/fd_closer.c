/* SPDX-License-Identifier: Apache-2.0
 * fd_closer.c - closes descriptors on a few threads, which exist only while there are any to close.
 *
 *   the service's thread --queue--> thread: close(), which may hang --> next descriptor, or exit
 *
 * Each user has at most one thread, so a descriptor that hangs in close() delays only other
 * descriptors of the same user. A thread takes the oldest descriptor whose owner has no thread.
 *
 * Invariant: each descriptor that is not closed yet is either in `queue` or in `in_hand`, and
 * counts against its owner. Their number is `handed` minus `closed`. The queue is bounded, because
 * the service stops receiving from an owner with too many descriptors (ipc/connection.c). After
 * that at most one more message arrives on each of the owner's connections.
 *
 * Rejected: one thread (one user would delay all others), a thread for each descriptor (no bound),
 * and refusing descriptors that have arrived (the kernel would close them on the thread that must
 * not block).
 */
#include "tool/daemon/fd_closer.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/clock_ns.h"
#include "base/list.h"
#include "base/macros.h"

#define FREE_WAIT_SEC 1

struct item {
	struct orma_list link;
	int fd;
	uid_t owner;
};

struct closer {
	struct orma_fd_closer base;
	uint64_t handed, seen_closed; /* used only by the thread that uses the closer */
	pthread_mutex_t mutex;
	pthread_cond_t has_closed;
	/* The following are guarded by mutex. */
	uint64_t closed;
	struct orma_list queue;   /* struct item */
	struct orma_list in_hand; /* struct item: one per thread that is closing */
	unsigned threads;
	bool is_abandoned; /* the last thread frees it */
};

static struct closer *of(struct orma_fd_closer *base)
{
	return ORMA_CONTAINER_OF(base, struct closer, base);
}

static void destroy(struct closer *closer)
{
	ORMA_ASSERT(closer->threads == 0 && orma_base_list_is_empty(&closer->in_hand));
	pthread_mutex_destroy(&closer->mutex);
	pthread_cond_destroy(&closer->has_closed);
	orma_base_free(closer);
}

static bool is_in_hand_locked(const struct closer *closer, uid_t owner)
{
	const struct item *item;

	ORMA_LIST_FOR_EACH (item, &closer->in_hand, link)
		if (item->owner == owner)
			return true;
	return false;
}

static struct item *take_locked(struct closer *closer)
{
	struct item *item;

	ORMA_ASSERT(closer->threads > 0 && closer->threads <= ORMA_FD_CLOSER_THREADS_MAX);
	ORMA_LIST_FOR_EACH (item, &closer->queue, link) {
		if (is_in_hand_locked(closer, item->owner))
			continue;
		orma_base_list_remove(&item->link);
		orma_base_list_append(&closer->in_hand, &item->link);
		return item;
	}
	return NULL;
}

static void *run(void *arg)
{
	struct closer *closer = arg;
	struct item *item;

	pthread_setname_np(pthread_self(), "orma-closer");
	pthread_mutex_lock(&closer->mutex);
	while ((item = take_locked(closer))) {
		pthread_mutex_unlock(&closer->mutex);
		close(item->fd);
		pthread_mutex_lock(&closer->mutex);
		orma_base_list_remove(&item->link);
		orma_base_free(item);
		closer->closed++;
		pthread_cond_signal(&closer->has_closed);
	}
	closer->threads--;
	bool must_free = closer->is_abandoned && closer->threads == 0;
	pthread_cond_signal(&closer->has_closed);
	pthread_mutex_unlock(&closer->mutex);
	if (must_free)
		destroy(closer);
	return NULL;
}

/* If no thread can be started, the next one that starts or finishes closes the waiting
 * descriptors. */
static void start_thread_locked(struct closer *closer)
{
	pthread_attr_t attributes;
	pthread_t thread;
	sigset_t all, old;

	if (closer->threads == ORMA_FD_CLOSER_THREADS_MAX)
		return;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	pthread_attr_init(&attributes);
	pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
	if (pthread_create(&thread, &attributes, run, closer) == 0)
		closer->threads++;
	pthread_attr_destroy(&attributes);
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

static void hand_over(struct orma_fd_closer *base, int fd, uid_t owner)
{
	struct closer *closer = of(base);
	struct item *item = orma_base_alloc(sizeof(*item));

	/* When there is no memory, blocking is better than leaking the descriptor. */
	if (!item) {
		close(fd);
		return;
	}
	*item = (struct item){.fd = fd, .owner = owner};
	orma_base_list_init(&item->link);
	closer->handed++;
	pthread_mutex_lock(&closer->mutex);
	orma_base_list_append(&closer->queue, &item->link);
	if (!is_in_hand_locked(closer, owner))
		start_thread_locked(closer);
	pthread_mutex_unlock(&closer->mutex);
}

bool orma_fd_closer_is_idle(struct orma_fd_closer *base)
{
	struct closer *closer = of(base);

	/* This is nearly always true, and then the mutex is not needed. */
	if (closer->handed == closer->seen_closed)
		return true;
	pthread_mutex_lock(&closer->mutex);
	ORMA_ASSERT(closer->closed <= closer->handed && closer->seen_closed <= closer->closed);
	closer->seen_closed = closer->closed;
	pthread_mutex_unlock(&closer->mutex);
	return closer->handed == closer->seen_closed;
}

static size_t count_locked(const struct orma_list *list, uid_t owner)
{
	const struct item *item;
	size_t count = 0;

	ORMA_LIST_FOR_EACH (item, list, link)
		count += item->owner == owner;
	return count;
}

static bool is_full(struct orma_fd_closer *base, uid_t owner)
{
	struct closer *closer = of(base);

	if (orma_fd_closer_is_idle(base) ||
	    closer->handed - closer->seen_closed < ORMA_FD_CLOSER_PER_OWNER_MAX)
		return false;
	pthread_mutex_lock(&closer->mutex);
	size_t count = count_locked(&closer->queue, owner) + count_locked(&closer->in_hand, owner);
	pthread_mutex_unlock(&closer->mutex);
	return count >= ORMA_FD_CLOSER_PER_OWNER_MAX;
}

int orma_fd_closer_new(struct orma_fd_closer **ret)
{
	struct closer *closer = orma_base_zalloc(sizeof(*closer));
	pthread_condattr_t attributes;

	if (!closer)
		return -ENOMEM;
	closer->base = (struct orma_fd_closer){.close = hand_over, .is_full = is_full};
	pthread_mutex_init(&closer->mutex, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&closer->has_closed, &attributes);
	pthread_condattr_destroy(&attributes);
	orma_base_list_init(&closer->queue);
	orma_base_list_init(&closer->in_hand);
	*ret = &closer->base;
	return 0;
}

void orma_fd_closer_free(struct orma_fd_closer *base)
{
	struct timespec end;

	if (!base)
		return;
	struct closer *closer = of(base);
	clock_gettime(CLOCK_MONOTONIC, &end);
	end.tv_sec += FREE_WAIT_SEC;
	pthread_mutex_lock(&closer->mutex);
	int r = 0;
	while (closer->threads && r == 0)
		r = pthread_cond_timedwait(&closer->has_closed, &closer->mutex, &end);
	closer->is_abandoned = true;
	bool must_free = closer->threads == 0;
	pthread_mutex_unlock(&closer->mutex);
	if (must_free)
		destroy(closer);
}
