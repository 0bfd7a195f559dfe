/* SPDX-License-Identifier: Apache-2.0
 * async_slices.c - slices on tracks that are not a thread's.
 *
 * Such a slice may begin on one thread and end on another. As long as nothing is lost, nothing is
 * kept about these slices. From its first lost begin on, a track has a nesting (nesting.h) in a
 * table. The nesting counts the slices that began since then, and is freed when all of them have
 * ended. The table belongs to the process and is guarded by a mutex. Threads look into it only
 * while a counter says that there is something in it.
 *
 * Rejected: a nesting in each track (tracks may be constants, made on the spot, and of any number).
 */
#include "track/async_slices.h"

#include <orma/data_source.h>
#include <pthread.h>
#include <stdatomic.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/map.h"
#include "client/revival.h"
#include "track/nesting.h"

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* The uuid of a track -> struct orma_track_nesting. Guarded by the mutex. */
static struct orma_map asyncs[ORMA_INSTANCES_MAX];
/* How many nestings there are. Written under the mutex, read relaxed by any thread: when a slice
 * begins or ends after another thread lost a begin on its track, the application has ordered the
 * two. */
static _Atomic uint32_t async_count;

bool orma_track_has_async_slices(void)
{
	return atomic_load_explicit(&async_count, memory_order_relaxed) > 0;
}

/* NULL: no memory, or there are too many. */
static struct orma_track_nesting *add_locked(uint32_t idx, uint64_t uuid)
{
	struct orma_track_nesting *async;

	if (atomic_load_explicit(&async_count, memory_order_relaxed) >= ORMA_TRACK_ASYNC_MAX)
		return NULL;
	async = orma_base_zalloc(sizeof(*async));
	if (!async)
		return NULL;
	if (orma_base_map_put(&asyncs[idx], uuid, async) < 0) {
		orma_base_free(async);
		return NULL;
	}
	atomic_fetch_add_explicit(&async_count, 1, memory_order_relaxed);
	return async;
}

static void free_async(struct orma_track_nesting *async)
{
	ORMA_ASSERT(orma_track_has_async_slices());
	atomic_fetch_sub_explicit(&async_count, 1, memory_order_relaxed);
	orma_track_nesting_done(async);
	orma_base_free(async);
}

bool orma_track_async_may_begin(uint32_t idx, uint64_t uuid)
{
	const struct orma_track_nesting *async;
	bool may_begin;

	if (!orma_track_has_async_slices())
		return true;
	pthread_mutex_lock(&mutex);
	async = orma_base_map_get(&asyncs[idx], uuid);
	may_begin = !async || orma_track_nesting_may_begin(async);
	pthread_mutex_unlock(&mutex);
	return may_begin;
}

void orma_track_async_begin(uint32_t idx, uint64_t uuid, bool is_written)
{
	struct orma_track_nesting *async;

	if (is_written && !orma_track_has_async_slices())
		return;
	pthread_mutex_lock(&mutex);
	async = orma_base_map_get(&asyncs[idx], uuid);
	if (!async && !is_written)
		async = add_locked(idx, uuid);
	if (async && is_written)
		orma_track_nesting_begin(async);
	else if (async)
		orma_track_nesting_begin_lost(async);
	pthread_mutex_unlock(&mutex);
}

bool orma_track_async_end(uint32_t idx, uint64_t uuid)
{
	bool is_written = true;
	struct orma_track_nesting *async;

	if (!orma_track_has_async_slices())
		return true;
	pthread_mutex_lock(&mutex);
	async = orma_base_map_get(&asyncs[idx], uuid);
	if (async)
		is_written = orma_track_nesting_end(async);
	if (async && async->depth == 0)
		free_async(orma_base_map_remove(&asyncs[idx], uuid));
	pthread_mutex_unlock(&mutex);
	return is_written;
}

void orma_track_async_forget(uint32_t idx)
{
	struct orma_map_slot *slot;
	size_t at = 0;

	pthread_mutex_lock(&mutex);
	while ((slot = orma_base_map_next(&asyncs[idx], &at)))
		free_async(slot->value);
	orma_base_map_done(&asyncs[idx]);
	pthread_mutex_unlock(&mutex);
}

void orma_track_async_slices_forked(void)
{
	/* The thread that may have held the mutex does not exist here. Neither do the instances. */
	pthread_mutex_init(&mutex, NULL);
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		orma_client_keep_reachable(asyncs[i].slots);
		asyncs[i] = (struct orma_map){0};
	}
	atomic_store_explicit(&async_count, 0, memory_order_relaxed);
}
