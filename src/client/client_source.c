/* SPDX-License-Identifier: Apache-2.0
 * client_source.c - the table of data sources: registering, changing, withdrawing.
 *
 * The table has a fixed number of places, so that a thread's slots are found by an index. The
 * application's threads put sources and new descriptors in; the loop thread takes a descriptor over
 * before it announces it, so that nothing is sent under the mutex. A source is withdrawn by one piece of
 * work on the loop thread, which the application waits for. Its handle stays valid: a thread that still
 * uses it finds no started instance. When the same name is registered again, the handle is used again, so
 * there are at most as many handles as names. ORMA_CLIENT_RETIRED_MAX limits them as well.
 *
 * The library declares for every source that it acknowledges start and stop, and that it clears incremental
 * state on demand, because it does so with or without callbacks. no_flush stays unset: even without
 * on_flush, a flush commits what is pending.
 */
#include "client/client_source.h"

#include <errno.h>
#include <string.h>
#include <time.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/buf.h"
#include "base/cancel.h"
#include "base/clock_ns.h"
#include "base/options.h"
#include "client/engine.h"
#include "client/revival.h"
#include "client/thread.h"
#include "client/work.h"
#include "proto/writer.h"
#include "schema/gen/data_source_descriptor.pb.h"

/* The number of sources made so far, and the id of the newest one. */
static _Atomic uint64_t source_count;

static void descriptor_free(struct orma_buf *descriptor)
{
	if (!descriptor)
		return;
	orma_base_buf_done(descriptor);
	orma_base_free(descriptor);
}

static int descriptor_new(const struct orma_data_source *source, const void *fields, size_t size,
			  struct orma_buf **ret)
{
	bool notifies_on_stop = !source->options.no_stop_notice;
	struct orma_proto_heap_writer heap;
	struct orma_buf *descriptor;
	int r;

	if (size > ORMA_CLIENT_DESCRIPTOR_MAX ||
	    strlen(source->options.name) > ORMA_CLIENT_DESCRIPTOR_MAX - size)
		return -EMSGSIZE;
	descriptor = orma_base_zalloc(sizeof(*descriptor));
	if (!descriptor)
		return -ENOMEM;
	orma_proto_heap_writer_init(&heap, descriptor);
	orma_proto_write_string(&heap.writer, ORMA_PB_DATA_SOURCE_DESCRIPTOR_NAME,
				source->options.name);
	/* A service changes the descriptor only of a source that has an id. */
	orma_proto_write_varint(&heap.writer, ORMA_PB_DATA_SOURCE_DESCRIPTOR_ID, source->id);
	orma_proto_write_bool(&heap.writer, ORMA_PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_STOP,
			      notifies_on_stop);
	orma_proto_write_bool(&heap.writer, ORMA_PB_DATA_SOURCE_DESCRIPTOR_WILL_NOTIFY_ON_START,
			      true);
	orma_proto_write_bool(&heap.writer,
			      ORMA_PB_DATA_SOURCE_DESCRIPTOR_HANDLES_INCREMENTAL_STATE_CLEAR, true);
	orma_proto_write_raw(&heap.writer, fields, size);
	r = orma_proto_heap_writer_finish(&heap);
	if (r < 0) {
		descriptor_free(descriptor);
		return r;
	}
	*ret = descriptor;
	return 0;
}

/* Ends everything but the handle. */
static void source_end(struct orma_data_source *source)
{
	if (source->extra.freed)
		source->extra.freed(source->options.ctx);
	source->extra.freed = NULL;
	descriptor_free(ORMA_TAKE(source->descriptor));
	descriptor_free(ORMA_TAKE(source->next_descriptor));
}

static void source_free(struct orma_data_source *source)
{
	size_t user_count;

	if (!source)
		return;
	source_end(source);
	pthread_mutex_lock(&orma_client.mutex);
	user_count = source->user_count;
	pthread_mutex_unlock(&orma_client.mutex);
	/* A thread that exits is still in the callback that frees its state. The source has to outlive that
	 * callback, so it is never freed. */
	if (user_count > 0)
		return;
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++)
		pthread_mutex_destroy(&source->instances[i].lock);
	orma_base_free((char *)source->options.name);
	orma_base_free(source);
}

/* True: the application has set a new descriptor. *ret is the previous one, or NULL. */
static bool take_next_descriptor(struct orma_data_source *source, struct orma_buf **ret)
{
	bool has_next;

	pthread_mutex_lock(&orma_client.mutex);
	has_next = source->next_descriptor;
	if (has_next) {
		*ret = source->descriptor;
		source->descriptor = source->next_descriptor;
		/* A fork may happen here: one of the two members must have the newest descriptor. */
		atomic_signal_fence(memory_order_seq_cst);
		source->next_descriptor = NULL;
	}
	pthread_mutex_unlock(&orma_client.mutex);
	return has_next;
}

void orma_client_source_reset(struct orma_data_source *source)
{
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		struct orma_client_instance *instance = &source->instances[i];

		instance->state = ORMA_CLIENT_INSTANCE_FREE;
		instance->is_startup = instance->has_ctx = false;
		pthread_mutex_init(&instance->lock, NULL);
		instance->memory = NULL;
		instance->link = NULL;
		atomic_store_explicit(&source->stamps[i], 0, memory_order_relaxed);
	}
	atomic_store_explicit(&source->started, 0, memory_order_relaxed);
	source->user_count = 0;
	if (!source->next_descriptor)
		source->next_descriptor = source->descriptor;
	source->descriptor = NULL;
}

void orma_client_sources_free_retired(size_t kept_count)
{
	struct orma_data_source **at = &orma_client.retired, *first;

	pthread_mutex_lock(&orma_client.mutex);
	for (size_t i = 0; i < kept_count && *at; i++)
		at = &(*at)->next_retired;
	first = ORMA_TAKE(*at);
	pthread_mutex_unlock(&orma_client.mutex);
	while (first) {
		struct orma_data_source *source = first;

		first = source->next_retired;
		source_free(source);
	}
}

void orma_client_sources_update(void)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);
		struct orma_buf *old;

		if (!source || !take_next_descriptor(source, &old))
			continue;
		descriptor_free(old);
		for (size_t j = 0; j < orma_client.link_count; j++)
			orma_client.links[j].outdated |= UINT32_C(1) << i;
	}
	for (size_t j = 0; j < orma_client.link_count; j++)
		orma_client_link_announce(&orma_client.links[j]);
}

/* The retired source of the same name, whose handle threads may have kept. NULL = none. */
static struct orma_data_source *take_retired_locked(const struct orma_data_source *again)
{
	const char *name = again->options.name;
	struct orma_data_source *source;

	for (struct orma_data_source **at = &orma_client.retired; *at; at = &(*at)->next_retired) {
		if ((*at)->is_left_behind || (*at)->extra.is_hot != again->extra.is_hot ||
		    strcmp((*at)->options.name, name) != 0)
			continue;
		source = *at;
		*at = source->next_retired;
		return source;
	}
	return NULL;
}

/*
 * Registers the source under the handle that its name had before, if there is one. The caller frees
 * *ret_rest: the new struct, whose content has moved, or NULL.
 */
static struct orma_data_source *come_back_locked(struct orma_data_source *source,
						 struct orma_data_source **ret_rest)
{
	struct orma_data_source *old = take_retired_locked(source);
	const char *name;

	*ret_rest = NULL;
	if (!old)
		return source;
	name = old->options.name;
	old->options = source->options;
	old->options.name = name;
	old->extra = source->extra;
	old->id = source->id;
	old->next_descriptor = ORMA_TAKE(source->next_descriptor);
	source->extra.freed = NULL;
	*ret_rest = source;
	return old;
}

/* On failure the source is still the caller's. */
static int insert_locked(struct orma_data_source **source_inout, struct orma_data_source **ret_rest)
{
	struct orma_data_source *source = *source_inout;
	bool is_hot = source->extra.is_hot;
	size_t place = ORMA_DATA_SOURCES_MAX;

	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		const struct orma_data_source *other = orma_client_source_at(i);

		if (other && strcmp(other->options.name, source->options.name) == 0)
			return -EEXIST;
		if (!other &&
		    (is_hot ? i == ORMA_CLIENT_HOT_PLACE
			    : place == ORMA_DATA_SOURCES_MAX || place == ORMA_CLIENT_HOT_PLACE))
			place = i;
	}
	if (place == ORMA_DATA_SOURCES_MAX)
		return -ENOSPC;
	*source_inout = source = come_back_locked(source, ret_rest);
	ORMA_ASSERT(!orma_client_source_at(place) && source->extra.is_hot == is_hot &&
		    (!is_hot || place == ORMA_CLIENT_HOT_PLACE));
	atomic_store_explicit(&source->idx, (uint32_t)place, memory_order_relaxed);
	atomic_store_explicit(&orma_client.sources[place], source, memory_order_release);
	orma_client.has_new_descriptors = true;
	return 0;
}

static int source_make(const struct orma_data_source_options *options,
		       const struct orma_client_source_extra *extra, struct orma_data_source **ret)
{
	struct orma_data_source *source = orma_base_zalloc(sizeof(*source));
	int r;

	if (!source)
		return -ENOMEM;
	source->id = 1 + atomic_fetch_add_explicit(&source_count, 1, memory_order_relaxed);
	source->options = *options;
	source->options.descriptor = NULL;
	source->options.descriptor_size = 0;
	source->options.name = orma_base_strdup(options->name);
	if (extra)
		source->extra = *extra;
	source->stamps = source->extra.is_hot ? orma_client_hot_stamps : source->own_stamps;
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++) {
		source->instances[i].source = source;
		pthread_mutex_init(&source->instances[i].lock, NULL);
	}
	r = source->options.name
		    ? descriptor_new(source, options->descriptor, options->descriptor_size,
				     &source->next_descriptor)
		    : -ENOMEM;
	if (r < 0) {
		source_free(source);
		return r;
	}
	*ret = source;
	return 0;
}

int orma_client_source_new(const struct orma_data_source_options *options,
			   const struct orma_client_source_extra *extra,
			   struct orma_data_source **ret)
{
	struct orma_data_source_options whole = {0};
	struct orma_data_source *source, *rest = NULL;
	int r;

	if (!ret || orma_base_options_copy(&whole, sizeof(whole), options) < 0 || !whole.name ||
	    !*whole.name || (!whole.descriptor && whole.descriptor_size > 0))
		return -EINVAL;
	r = source_make(&whole, extra, &source);
	if (r < 0)
		return r;
	if (!orma_client_lock()) {
		source_free(source);
		return -ENOTCONN;
	}
	r = insert_locked(&source, &rest);
	/* A failed registration does not call freed(): another source of that name may have the same context. */
	if (r < 0)
		source->extra.freed = NULL;
	/* Under the mutex, so that the handle is set before the first callback can run. */
	if (r == 0)
		*ret = source;
	pthread_mutex_unlock(&orma_client.mutex);
	source_free(r < 0 ? source : rest);
	if (r == 0)
		orma_base_loop_wake(orma_client.loop);
	return r;
}

int orma_data_source_register(const struct orma_data_source_options *options,
			      struct orma_data_source **ret)
{
	return orma_client_source_new(options, NULL, ret);
}

int orma_data_source_update(struct orma_data_source *source, const void *descriptor, size_t size)
{
	struct orma_buf *next, *old;
	int r;

	if (!source || (!descriptor && size > 0))
		return -EINVAL;
	r = descriptor_new(source, descriptor, size, &next);
	if (r < 0)
		return r;
	if (!orma_client_lock()) {
		descriptor_free(next);
		return -ENOTCONN;
	}
	if (orma_client_source_at(orma_client_source_idx(source)) != source) {
		pthread_mutex_unlock(&orma_client.mutex);
		descriptor_free(next);
		return -EINVAL;
	}
	old = source->next_descriptor;
	source->next_descriptor = next;
	orma_client.has_new_descriptors = true;
	pthread_mutex_unlock(&orma_client.mutex);
	descriptor_free(old);
	orma_base_loop_wake(orma_client.loop);
	return 0;
}

struct withdrawal {
	struct orma_data_source *source;
	bool was_registered;
};

static void withdraw(void *ctx)
{
	struct withdrawal *withdrawal = ctx;
	struct orma_data_source *source = withdrawal->source;

	/* False if it was unregistered before; then another source may have its place. */
	withdrawal->was_registered =
		orma_client_source_at(orma_client_source_idx(source)) == source;
	if (!withdrawal->was_registered)
		return;
	orma_client_instances_end_source(source);
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_withdraw(&orma_client.links[i], source);
	pthread_mutex_lock(&orma_client.mutex);
	atomic_store_explicit(&orma_client.sources[orma_client_source_idx(source)], NULL,
			      memory_order_release);
	pthread_mutex_unlock(&orma_client.mutex);
}

struct reclaiming {
	struct orma_data_source *source;
	size_t open_count, user_count;
};

static void reclaim(void *ctx)
{
	struct reclaiming *reclaiming = ctx;

	reclaiming->open_count = 0;
	for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
		reclaiming->open_count += orma_client_threads_reclaim(reclaiming->source, idx);
	pthread_mutex_lock(&orma_client.mutex);
	reclaiming->user_count = reclaiming->source->user_count;
	pthread_mutex_unlock(&orma_client.mutex);
}

static void pause_for_a_turn(void)
{
	const struct timespec pause = {.tv_nsec = (long)ORMA_NS_PER_MS};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
}

void orma_client_sources_free(void)
{
	for (size_t i = 0; i < ORMA_INSTANCES_MAX; i++)
		atomic_store_explicit(&orma_client_hot_stamps[i], 0, memory_order_relaxed);
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		/* Out of the table before it is freed: a fork may happen at any moment. */
		atomic_store_explicit(&orma_client.sources[i], NULL, memory_order_release);
		source_free(source);
	}
}

static size_t all_users(void)
{
	size_t count = 0;

	pthread_mutex_lock(&orma_client.mutex);
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++)
		if (orma_client_source_at(i))
			count += orma_client_source_at(i)->user_count;
	pthread_mutex_unlock(&orma_client.mutex);
	return count;
}

void orma_client_sources_wait_users(void)
{
	for (int turn = 0; turn < ORMA_CLIENT_LINGER_MS && all_users() > 0; turn++)
		pause_for_a_turn();
}

/* Waits until no thread is inside a packet of the source, and no exiting thread is inside one of its
 * callbacks. False: some did not end in time. The loop thread keeps running meanwhile. */
static bool wait_for_threads(struct orma_data_source *source)
{
	ORMA_NO_CANCEL();
	struct reclaiming reclaiming = {.source = source};

	for (int turn = 0; turn < ORMA_CLIENT_LINGER_MS; turn++) {
		if (orma_client_post_and_wait(reclaim, &reclaiming) < 0)
			return false;
		if (reclaiming.open_count == 0 && reclaiming.user_count == 0)
			return true;
		pause_for_a_turn();
	}
	return false;
}

void orma_data_source_unregister(struct orma_data_source *source)
{
	struct withdrawal withdrawal = {.source = source};

	if (!source || orma_client_post_and_wait(withdraw, &withdrawal) < 0 ||
	    !withdrawal.was_registered)
		return;
	source->is_left_behind = !wait_for_threads(source);
	source_end(source);
	pthread_mutex_lock(&orma_client.mutex);
	source->next_retired = orma_client.retired;
	orma_client.retired = source;
	pthread_mutex_unlock(&orma_client.mutex);
	orma_client_sources_free_retired(ORMA_CLIENT_RETIRED_MAX);
}

uint32_t orma_data_source_started(const struct orma_data_source *source)
{
	uint32_t started;

	if (ORMA_UNLIKELY(!source))
		return 0;
	started = atomic_load_explicit(&source->started, memory_order_relaxed);
	if (ORMA_LIKELY(started != 0))
		return started;
	if (ORMA_UNLIKELY(orma_client_is_silent_child()))
		orma_client_revive();
	return 0;
}

uint64_t orma_data_source_dropped(const struct orma_data_source *source, uint32_t idx)
{
	if (!source || idx >= ORMA_INSTANCES_MAX)
		return 0;
	return atomic_load_explicit(&source->instances[idx].dropped, memory_order_relaxed);
}
