/* SPDX-License-Identifier: Apache-2.0
 * loss.c - what a thread lost of which category, until it can say so; slices of tracks of their
 * own.
 *
 * Counts lie in the sequence's state. As soon as there is room, each becomes an instant "events
 * lost" of the category "orma.loss" on the thread's track: category, events, and over which time.
 * The last place counts what the others have no room for.
 *
 * Slices on a track that is no thread's may begin on one thread and end on another. Nothing is kept
 * of them as long as nothing is lost. From the first lost begin on, a track has a place in a small
 * table: a stack of bits, one per slice that began since, which says whose ends are to be left
 * out; when the stack is empty the place is free. The table is the process's, under a mutex, and
 * asked for only while a counter says that there is something in it. Rejected: such a stack in
 * each track (tracks may be constants, made on the spot, and of any number).
 */
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

#define STACK_BITS 64

struct async {
	uint64_t uuid, stack; /* the innermost is the lowest bit: its begin is in the trace */
	uint32_t idx, depth;  /* depth 0 = a free place */
};

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static struct async asyncs[ORMA_TRACK_ASYNC_MAX]; /* mutex */
/* Places in use; written under the mutex, read anywhere, relaxed: a thread that begins or ends a
 * slice after another one lost its begin has been told so by the application. */
static _Atomic uint32_t async_count;

static struct async *find_locked(uint32_t idx, uint64_t uuid, bool can_add)
{
	struct async *free_one = NULL;

	for (uint32_t i = 0; i < ORMA_TRACK_ASYNC_MAX; i++) {
		if (asyncs[i].depth == 0)
			free_one = &asyncs[i];
		else if (asyncs[i].uuid == uuid && asyncs[i].idx == idx)
			return &asyncs[i];
	}
	if (!can_add || !free_one)
		return NULL;
	*free_one = (struct async){.uuid = uuid, .idx = idx};
	atomic_fetch_add_explicit(&async_count, 1, memory_order_relaxed);
	return free_one;
}

bool orma_track_has_asyncs(void)
{
	return atomic_load_explicit(&async_count, memory_order_relaxed) > 0;
}

void orma_track_async_push(uint32_t idx, uint64_t uuid, bool is_written)
{
	struct async *async;

	if (is_written && !orma_track_has_asyncs())
		return;
	pthread_mutex_lock(&mutex);
	async = find_locked(idx, uuid, !is_written);
	if (async && async->depth < STACK_BITS) {
		async->stack = async->stack << 1 | is_written;
		async->depth++;
	}
	pthread_mutex_unlock(&mutex);
}

bool orma_track_async_pop(uint32_t idx, uint64_t uuid)
{
	bool is_written = true;
	struct async *async;

	if (!orma_track_has_asyncs())
		return true;
	pthread_mutex_lock(&mutex);
	async = find_locked(idx, uuid, false);
	if (async) {
		is_written = async->stack & 1;
		async->stack >>= 1;
		if (--async->depth == 0)
			atomic_fetch_sub_explicit(&async_count, 1, memory_order_relaxed);
	}
	pthread_mutex_unlock(&mutex);
	return is_written;
}

void orma_track_async_forget(uint32_t idx)
{
	pthread_mutex_lock(&mutex);
	for (uint32_t i = 0; i < ORMA_TRACK_ASYNC_MAX; i++) {
		if (asyncs[i].depth > 0 && asyncs[i].idx == idx) {
			asyncs[i].depth = 0;
			atomic_fetch_sub_explicit(&async_count, 1, memory_order_relaxed);
		}
	}
	pthread_mutex_unlock(&mutex);
}

void orma_track_asyncs_forked(void)
{
	/* Whoever held it does not exist here; its instances neither. */
	pthread_mutex_init(&mutex, NULL);
	memset(asyncs, 0, sizeof(asyncs));
	atomic_store_explicit(&async_count, 0, memory_order_relaxed);
}
