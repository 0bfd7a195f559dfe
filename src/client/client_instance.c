/* SPDX-License-Identifier: Apache-2.0
 * client_instance.c - starting, flushing and stopping the instances of data sources.
 *
 *   FREE --setup--> SET_UP --start--> STARTED --stop--> STOPPING --complete--> FREE
 *                      |                               (on_stop returned ORMA_POSTPONE)
 *                      +--------------stop------------------------------------^
 *
 * instance_setup.c chooses an instance and sets it up.
 *
 * All transitions and callbacks happen on the loop thread, so callbacks run one at a time. The
 * application may complete a postponed start, stop or flush on any thread: that only sets a mark under the
 * mutex, and the loop thread carries it out. An instance accepts packets from before on_start until its
 * stop is complete, so both callbacks may write packets.
 *
 * A session may ask for something that the process does not have: an unknown name, a ninth instance. It
 * is then told that the data source has started and stopped, because otherwise it would wait. Rejected:
 * an error to the service, for which the protocol has no message.
 */
#include "client/client_instance.h"

#include <errno.h>

#include "base/assert.h"
#include "base/log_message.h"
#include "client/client_flush.h"
#include "client/client_source.h"
#include "client/engine.h"
#include "client/thread.h"

/* A completion number packs a unique number, the index of the instance, and what it completes. */
enum completion_kind { COMPLETION_STOP, COMPLETION_FLUSH, COMPLETION_START };
#define COMPLETION_KIND_MASK 3u
#define COMPLETION_IDX_SHIFT 2
#define COMPLETION_SEQ_SHIFT 5

static_assert(ORMA_INSTANCES_MAX == 1 << (COMPLETION_SEQ_SHIFT - COMPLETION_IDX_SHIFT),
	      "a completion number has room for the index of an instance");

static uint32_t bit_of(const struct orma_client_instance *instance)
{
	return UINT32_C(1) << orma_client_instance_idx(instance);
}

static uint64_t completion_number(uint64_t seq, const struct orma_client_instance *instance,
				  enum completion_kind kind)
{
	return seq << COMPLETION_SEQ_SHIFT |
	       orma_client_instance_idx(instance) << COMPLETION_IDX_SHIFT | (unsigned)kind;
}

/* For a start and a stop. */
static uint64_t own_completion(const struct orma_client_instance *instance,
			       enum completion_kind kind)
{
	return completion_number(atomic_load_explicit(&instance->generation, memory_order_relaxed),
				 instance, kind);
}

/* The stamp 0 forbids writing. Any other new stamp makes every slot look at the instance again. */
static void set_stamp(const struct orma_client_instance *instance, uint64_t stamp)
{
	atomic_store_explicit(&instance->source->stamps[orma_client_instance_idx(instance)], stamp,
			      memory_order_release);
}

struct orma_client_instance *orma_client_instance_find(const struct orma_client_link *link,
						       uint64_t service_id)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		for (uint32_t idx = 0; source && idx < ORMA_INSTANCES_MAX; idx++) {
			struct orma_client_instance *instance = &source->instances[idx];

			if (instance->state != ORMA_CLIENT_INSTANCE_FREE && !instance->is_startup &&
			    instance->link == link && instance->service_id == service_id)
				return instance;
		}
	}
	return NULL;
}

struct orma_instance orma_client_instance_describe(const struct orma_client_instance *instance)
{
	return (struct orma_instance){
		.struct_size = sizeof(struct orma_instance),
		.source = instance->source,
		.idx = orma_client_instance_idx(instance),
		.instance_ctx = instance->ctx,
	};
}

void orma_client_instance_log(const struct orma_client_instance *instance, const char *state)
{
	orma_base_log(ORMA_LOG_DEBUG, "data source %s: instance %u %s",
		      instance->source->options.name, (unsigned)orma_client_instance_idx(instance),
		      state);
}

/* --- starting --------------------------------------------------------------------------------- */

static void set_start_complete(struct orma_client_instance *instance)
{
	pthread_mutex_lock(&orma_client.mutex);
	instance->is_start_complete = true;
	pthread_mutex_unlock(&orma_client.mutex);
}

static void call_on_start(struct orma_client_instance *instance, struct orma_str config)
{
	const struct orma_data_source_options *options = &instance->source->options;
	struct orma_instance info = orma_client_instance_describe(instance);

	info.config = config.data;
	info.config_size = config.size;
	info.completion = own_completion(instance, COMPLETION_START);
	if (options->on_start_postponable) {
		if (options->on_start_postponable(options->ctx, &info) == ORMA_POSTPONE)
			return;
	} else if (options->on_start) {
		options->on_start(options->ctx, &info);
	}
	set_start_complete(instance);
}

void orma_client_instance_begin(struct orma_client_instance *instance, struct orma_str config)
{
	ORMA_ASSERT(instance->state == ORMA_CLIENT_INSTANCE_SET_UP);
	atomic_store_explicit(&instance->dropped, 0, memory_order_relaxed);
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_STARTED;
	instance->memory = instance->link->memory;
	set_stamp(instance, orma_client_stamp_locked());
	pthread_mutex_unlock(&orma_client.mutex);
	atomic_fetch_or_explicit(&instance->source->started, bit_of(instance),
				 memory_order_relaxed);
	call_on_start(instance, config);
	orma_client_instance_log(
		instance, instance->is_startup ? "started, before there is a session" : "started");
}

/* Tells the service that an instance has started, when it has. */
static void answer_start(struct orma_client_instance *instance)
{
	bool is_complete;

	pthread_mutex_lock(&orma_client.mutex);
	is_complete = instance->is_start_complete;
	pthread_mutex_unlock(&orma_client.mutex);
	if (!is_complete || !instance->waits_for_start)
		return;
	instance->waits_for_start = false;
	if (instance->link && instance->link->endpoint)
		orma_client_endpoint_source_started(instance->link->endpoint, instance->service_id);
}

void orma_client_instance_start(struct orma_client_link *link, uint64_t instance_id,
				const void *config, size_t size)
{
	struct orma_client_instance *instance = orma_client_instance_find(link, instance_id);

	if (!instance) {
		orma_client_endpoint_source_started(link->endpoint, instance_id);
		return;
	}
	if (instance->state == ORMA_CLIENT_INSTANCE_SET_UP)
		orma_client_instance_begin(instance, (struct orma_str){config, size});
	instance->waits_for_start = true;
	answer_start(instance);
}

/* --- stopping --------------------------------------------------------------------------------- */

static void tell_stopped(const struct orma_client_instance *instance, struct orma_client_link *link,
			 uint64_t service_id)
{
	/* The packets of on_stop have to arrive first. */
	orma_client_link_commit(link);
	if (!instance->source->options.no_stop_notice)
		orma_client_endpoint_source_stopped(link->endpoint, service_id);
	orma_client_link_update(link, instance->source);
}

static void destroy(struct orma_client_instance *instance)
{
	const struct orma_data_source_options *options = &instance->source->options;
	struct orma_client_link *link = instance->link;
	struct orma_instance info = orma_client_instance_describe(instance);
	uint64_t service_id = instance->service_id;

	ORMA_ASSERT(instance->state != ORMA_CLIENT_INSTANCE_FREE);
	atomic_fetch_and_explicit(&instance->source->started, ~bit_of(instance),
				  memory_order_relaxed);
	set_stamp(instance, 0);
	orma_client_threads_reclaim(instance->source, info.idx);
	pthread_mutex_lock(&orma_client.mutex);
	orma_client_flushes_forget_locked(instance);
	instance->memory = NULL;
	pthread_mutex_unlock(&orma_client.mutex);
	pthread_mutex_lock(&instance->lock);
	instance->has_ctx = false;
	pthread_mutex_unlock(&instance->lock);
	if (options->on_destroy)
		options->on_destroy(options->ctx, &info);
	instance->link = NULL;
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_FREE;
	pthread_mutex_unlock(&orma_client.mutex);
	orma_base_buf_done(&instance->startup_config);
	orma_client_instance_log(instance, "stopped");
	if (link && link->endpoint && !instance->is_startup)
		tell_stopped(instance, link, service_id);
}

/* True: the stop is complete. False: the application has postponed it. */
static bool call_on_stop(struct orma_client_instance *instance)
{
	const struct orma_data_source_options *options = &instance->source->options;
	struct orma_instance info = orma_client_instance_describe(instance);
	enum orma_completion completion = ORMA_COMPLETE;
	bool is_complete;

	ORMA_ASSERT(instance->state == ORMA_CLIENT_INSTANCE_STARTED);
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_STOPPING;
	pthread_mutex_unlock(&orma_client.mutex);
	info.completion = own_completion(instance, COMPLETION_STOP);
	if (options->on_stop)
		completion = options->on_stop(options->ctx, &info);
	pthread_mutex_lock(&orma_client.mutex);
	is_complete = completion == ORMA_COMPLETE || instance->is_stop_complete;
	pthread_mutex_unlock(&orma_client.mutex);
	return is_complete;
}

static void stop(struct orma_client_instance *instance)
{
	if (instance->state == ORMA_CLIENT_INSTANCE_SET_UP ||
	    (instance->state == ORMA_CLIENT_INSTANCE_STARTED && call_on_stop(instance)))
		destroy(instance);
}

void orma_client_instance_stop(struct orma_client_link *link, uint64_t instance_id)
{
	struct orma_client_instance *instance = orma_client_instance_find(link, instance_id);

	if (instance)
		stop(instance);
	else
		orma_client_endpoint_source_stopped(link->endpoint, instance_id);
}

void orma_client_instances_stop_link(struct orma_client_link *link)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		for (uint32_t idx = 0; source && idx < ORMA_INSTANCES_MAX; idx++) {
			struct orma_client_instance *instance = &source->instances[idx];

			if (instance->link != link)
				continue;
			pthread_mutex_lock(&orma_client.mutex);
			instance->memory = NULL;
			pthread_mutex_unlock(&orma_client.mutex);
			instance->link = NULL;
			stop(instance);
		}
	}
}

void orma_client_instances_stop_early(struct orma_client_link *link)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		for (uint32_t idx = 0; source && idx < ORMA_INSTANCES_MAX; idx++) {
			struct orma_client_instance *instance = &source->instances[idx];

			if (instance->link != link || !instance->is_startup ||
			    instance->state == ORMA_CLIENT_INSTANCE_FREE)
				continue;
			orma_shm_arbiter_bind(link->memory->arbiter, instance->reservation, 0);
			stop(instance);
		}
	}
	orma_client_link_commit(link);
}

void orma_client_instances_end_source(struct orma_data_source *source)
{
	for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++) {
		struct orma_client_instance *instance = &source->instances[idx];

		if (instance->state == ORMA_CLIENT_INSTANCE_STARTED)
			call_on_stop(instance);
		if (instance->state != ORMA_CLIENT_INSTANCE_FREE)
			destroy(instance);
	}
}

/* --- flushing --------------------------------------------------------------------------------- */

/* Slots begin their incremental state anew: at once, or in their next chunk. */
static void clear_slots(struct orma_client_instance *instance, bool at_once)
{
	uint64_t stamp;

	instance->is_clear_lazy = !at_once;
	pthread_mutex_lock(&orma_client.mutex);
	stamp = orma_client_stamp_locked();
	if (at_once)
		atomic_store_explicit(&instance->clear_at_once_stamp, stamp, memory_order_relaxed);
	set_stamp(instance, stamp);
	pthread_mutex_unlock(&orma_client.mutex);
}

static void flush_instance(struct orma_client_instance *instance, struct orma_client_flush *flush,
			   uint64_t flags)
{
	const struct orma_data_source_options *options = &instance->source->options;
	struct orma_instance info = orma_client_instance_describe(instance);

	if (options->on_flush) {
		info.flush_flags = flags;
		info.completion = completion_number(flush->seq, instance, COMPLETION_FLUSH);
		/* Before the callback, because another thread may complete the flush while it runs. */
		orma_client_flush_postpone(flush, instance);
		if (options->on_flush(options->ctx, &info) == ORMA_COMPLETE)
			orma_client_flush_complete(flush, instance);
	}
	/* Packets after the flush must be readable without the packets before it. */
	if (instance->is_clear_lazy)
		clear_slots(instance, true);
	orma_client_self_flush(instance->source, info.idx);
}

void orma_client_instances_flush(struct orma_client_link *link, uint64_t request_id,
				 const uint64_t *instance_ids, size_t count, uint64_t flags)
{
	struct orma_client_flush *flush = orma_client_flush_add(&link->flushes, request_id);

	/* Without memory there is no answer, and the service continues after its timeout. */
	if (!flush)
		return;
	for (size_t i = 0; i < count; i++) {
		struct orma_client_instance *instance =
			orma_client_instance_find(link, instance_ids[i]);

		if (instance && instance->state != ORMA_CLIENT_INSTANCE_SET_UP)
			flush_instance(instance, flush, flags);
	}
	flush->is_running = false;
	orma_client_link_commit(link);
}

void orma_client_instances_clear(struct orma_client_link *link, const uint64_t *instance_ids,
				 size_t count)
{
	for (size_t i = 0; i < count; i++) {
		struct orma_client_instance *instance =
			orma_client_instance_find(link, instance_ids[i]);
		const struct orma_data_source_options *options;
		struct orma_instance info;

		if (!instance || instance->state == ORMA_CLIENT_INSTANCE_SET_UP)
			continue;
		options = &instance->source->options;
		info = orma_client_instance_describe(instance);
		clear_slots(instance, !instance->source->extra.clears_by_chunk);
		if (options->on_clear_incremental_state)
			options->on_clear_incremental_state(options->ctx, &info);
	}
}

/* --- completing ------------------------------------------------------------------------------- */

/* Marks the start or the stop of an instance as complete. Returns false for an old number. */
static bool complete_own_locked(struct orma_client_instance *instance, uint64_t seq,
				enum completion_kind kind)
{
	if (atomic_load_explicit(&instance->generation, memory_order_relaxed) != seq ||
	    instance->state != (kind == COMPLETION_STOP ? ORMA_CLIENT_INSTANCE_STOPPING
							: ORMA_CLIENT_INSTANCE_STARTED))
		return false;
	if (kind == COMPLETION_STOP)
		instance->is_stop_complete = true;
	else
		instance->is_start_complete = true;
	return true;
}

void orma_data_source_complete(struct orma_data_source *source, uint64_t completion)
{
	uint64_t seq = completion >> COMPLETION_SEQ_SHIFT;
	uint32_t idx = completion >> COMPLETION_IDX_SHIFT & (ORMA_INSTANCES_MAX - 1);
	unsigned kind = completion & COMPLETION_KIND_MASK;
	bool is_known;

	if (!source || kind > COMPLETION_START || !orma_client_lock())
		return;
	is_known = kind == COMPLETION_FLUSH
			   ? orma_client_flush_complete_locked(seq, &source->instances[idx])
			   : complete_own_locked(&source->instances[idx], seq,
						 (enum completion_kind)kind);
	orma_client.has_completions |= is_known;
	pthread_mutex_unlock(&orma_client.mutex);
	if (is_known)
		orma_base_loop_wake(orma_client.loop);
}

static bool is_stop_completed(const struct orma_client_instance *instance)
{
	bool is_completed;

	pthread_mutex_lock(&orma_client.mutex);
	is_completed =
		instance->state == ORMA_CLIENT_INSTANCE_STOPPING && instance->is_stop_complete;
	pthread_mutex_unlock(&orma_client.mutex);
	return is_completed;
}

void orma_client_instances_complete(void)
{
	bool has_completions;

	pthread_mutex_lock(&orma_client.mutex);
	has_completions = orma_client.has_completions;
	orma_client.has_completions = false;
	pthread_mutex_unlock(&orma_client.mutex);
	if (!has_completions)
		return;
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		for (uint32_t idx = 0; source && idx < ORMA_INSTANCES_MAX; idx++) {
			answer_start(&source->instances[idx]);
			if (is_stop_completed(&source->instances[idx]))
				destroy(&source->instances[idx]);
		}
	}
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_commit(&orma_client.links[i]);
}

/* --- the application's context ---------------------------------------------------------------- */

bool orma_data_source_lock_instance(struct orma_data_source *source, uint32_t idx, void **ret_ctx)
{
	struct orma_client_instance *instance;

	if (!source || idx >= ORMA_INSTANCES_MAX || !ret_ctx)
		return false;
	instance = &source->instances[idx];
	pthread_mutex_lock(&instance->lock);
	if (instance->has_ctx) {
		*ret_ctx = instance->ctx;
		return true;
	}
	pthread_mutex_unlock(&instance->lock);
	return false;
}

void orma_data_source_unlock_instance(struct orma_data_source *source, uint32_t idx)
{
	if (source && idx < ORMA_INSTANCES_MAX)
		pthread_mutex_unlock(&source->instances[idx].lock);
}
