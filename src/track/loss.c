/* SPDX-License-Identifier: Apache-2.0
 * loss.c - what a thread lost of which category, until it can say so; slices of tracks of their
 * own.
 *
 * Counts lie in the sequence's state. As soon as there is room, each becomes an instant "events
 * lost" of the category "orma.loss" on the thread's track: category, events, and over which time.
 * The last place counts what the others have no room for.
 *
 * Slices on a track that is no thread's may begin on one thread and end on another. Nothing is kept
 * of them as long as nothing is lost. From its first lost begin on, a track has a nesting (nesting.h)
 * in a table. The nesting counts the slices that began since, and goes when all of them have ended.
 * The table is the process's, under a mutex, and looked into only while a counter says that there is
 * something in it. Rejected: a nesting in each track (tracks may be constants, made on the spot, and
 * of any number).
 */
#include "base/alloc.h"
#include "base/map.h"
#include "schema/gen/track_event.pb.h"
#include "track/event.h"

#define OTHERS "(others)"

/* --- counts ----------------------------------------------------------------------------------- */

void orma_track_loss_add(struct orma_track_sequence *sequence, const struct orma_category *category,
			 uint64_t now_ns)
{
	uint32_t name = orma_track_name_intern(category->name);
	struct orma_track_loss *loss = sequence->losses;
	uint32_t idx = 0;

	while (idx + 1 < ORMA_TRACK_LOSSES_MAX && loss[idx].events > 0 && loss[idx].name != name)
		idx++;
	if (loss[idx].events == 0)
		loss[idx].begin_ns = now_ns;
	loss[idx].name = idx + 1 < ORMA_TRACK_LOSSES_MAX ? name : 0;
	loss[idx].events++;
}

static bool write_loss(struct orma_packet *slot, const struct orma_track_loss *loss,
		       uint64_t now_ns)
{
	static const struct orma_category category = {.name = "orma.loss",
						      .id = ORMA_TRACK_CATEGORIES_MAX};
	static struct orma_call_site site = {.name = "events lost", .type = ORMA_EVENT_INSTANT};
	const struct orma_item items[] = {
		orma_item_text("category", true),
		orma_item_text(loss->name ? orma_track_name_get(loss->name)->text : OTHERS, true),
		orma_item_text("events", true),
		orma_item_uint(loss->events, false),
		orma_item_text("during_ns", true),
		orma_item_uint(now_ns > loss->begin_ns ? now_ns - loss->begin_ns : 0, false),
	};
	const struct orma_track_event event = {.site = &site,
					       .category = &category,
					       .type = ORMA_EVENT_INSTANT,
					       .now_ns = now_ns,
					       .items = items,
					       .count = ORMA_ARRAY_SIZE(items)};
	bool ignored;

	return orma_track_write(slot, &event, &ignored);
}

bool orma_track_losses_write(struct orma_packet *slot, uint64_t now_ns)
{
	struct orma_track_sequence *sequence = slot->state;

	for (uint32_t i = 0; i < ORMA_TRACK_LOSSES_MAX; i++) {
		struct orma_track_loss *loss = &sequence->losses[i];

		if (loss->events == 0)
			continue;
		if (!write_loss(slot, loss, now_ns))
			return false;
		*loss = (struct orma_track_loss){0};
	}
	return true;
}

/* --- slices of tracks of their own ------------------------------------------------------------ */

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
/* Mutex; by uuid: struct orma_track_nesting. */
static struct orma_map asyncs[ORMA_INSTANCES_MAX];
/* How many there are; written under the mutex, read anywhere, relaxed: a thread that begins or ends
 * a slice after another one lost its begin has been told so by the application. */
static _Atomic uint32_t async_count;

/* NULL: there is no memory, or there are too many. */
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
	atomic_fetch_sub_explicit(&async_count, 1, memory_order_relaxed);
	orma_track_nesting_done(async);
	orma_base_free(async);
}

bool orma_track_has_asyncs(void)
{
	return atomic_load_explicit(&async_count, memory_order_relaxed) > 0;
}

bool orma_track_async_may_begin(uint32_t idx, uint64_t uuid)
{
	const struct orma_track_nesting *async;
	bool may_begin;

	if (!orma_track_has_asyncs())
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

	if (is_written && !orma_track_has_asyncs())
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

	if (!orma_track_has_asyncs())
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

void orma_track_asyncs_forked(void)
{
	/* Whoever held it does not exist here; its instances neither. */
	pthread_mutex_init(&mutex, NULL);
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		orma_client_fork_leave(asyncs[i].slots);
		asyncs[i] = (struct orma_map){0};
	}
	atomic_store_explicit(&async_count, 0, memory_order_relaxed);
}
