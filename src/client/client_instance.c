/* SPDX-License-Identifier: Apache-2.0
 * client_instance.c - setting up, starting, flushing and stopping the instances of data sources.
 *
 *   FREE --setup--> SET_UP --start--> STARTED --stop--> STOPPING --complete--> FREE
 *                      |                               (on_stop returned ORMA_POSTPONE)
 *                      +--------------stop------------------------------------^
 *
 * All transitions and callbacks happen on the loop thread, so callbacks run one at a time. The
 * application may complete a postponed stop or flush on any thread: that only sets a mark under the
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
#include "client/startup_match.h"
#include "client/thread.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"

/* A completion number packs a unique number, the index of the instance, and whether it is for a flush. */
#define COMPLETION_IS_FLUSH  1u
#define COMPLETION_IDX_SHIFT 1
#define COMPLETION_SEQ_SHIFT 4

static_assert(ORMA_INSTANCES_MAX == 1 << (COMPLETION_SEQ_SHIFT - COMPLETION_IDX_SHIFT),
	      "a completion number has room for the index of an instance");

static uint32_t bit_of(const struct orma_client_instance *instance)
{
	return UINT32_C(1) << orma_client_instance_idx(instance);
}

static uint64_t completion_number(uint64_t seq, const struct orma_client_instance *instance,
				  unsigned kind)
{
	return seq << COMPLETION_SEQ_SHIFT |
	       orma_client_instance_idx(instance) << COMPLETION_IDX_SHIFT | kind;
}

/* The stamp 0 forbids writing. Any other new stamp makes every slot look at the instance again. */
static void set_stamp(const struct orma_client_instance *instance, uint64_t stamp)
{
	atomic_store_explicit(&instance->source->stamps[orma_client_instance_idx(instance)], stamp,
			      memory_order_release);
}

/* NULL = none. */
static struct orma_client_instance *find_instance(const struct orma_client_link *link,
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

static struct orma_client_instance *find_free_instance(struct orma_str name)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		if (!source || !orma_base_str_is(name, source->options.name))
			continue;
		for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
			if (source->instances[idx].state == ORMA_CLIENT_INSTANCE_FREE)
				return &source->instances[idx];
	}
	return NULL;
}

/* The description that callbacks get. */
static struct orma_instance describe(const struct orma_client_instance *instance)
{
	return (struct orma_instance){
		.struct_size = sizeof(struct orma_instance),
		.source = instance->source,
		.idx = orma_client_instance_idx(instance),
		.instance_ctx = instance->ctx,
	};
}

static void log_state(const struct orma_client_instance *instance, const char *state)
{
	orma_base_log(ORMA_LOG_DEBUG, "data source %s: instance %u %s",
		      instance->source->options.name, (unsigned)orma_client_instance_idx(instance),
		      state);
}

/* --- setting up ------------------------------------------------------------------------------- */

struct wanted {
	struct orma_str name;
	uint32_t target_buffer;
	uint64_t policy; /* DataSourceConfig.BufferExhaustedPolicy */
};

static int parse_config(const void *config_untrusted, size_t size, struct wanted *ret)
{
	struct orma_proto_reader reader;
	struct orma_proto_field field;
	int r;

	*ret = (struct wanted){0};
	orma_proto_reader_init(&reader, config_untrusted, size);
	while ((r = orma_proto_reader_next(&reader, &field)) == 1) {
		if (field.id == ORMA_PB_DATA_SOURCE_CONFIG_NAME && field.type == ORMA_PROTO_BYTES)
			ret->name = field.bytes;
		else if (field.id == ORMA_PB_DATA_SOURCE_CONFIG_TARGET_BUFFER)
			/* Ids of buffers have 16 bits; 0 is no buffer. */
			ret->target_buffer = field.value > UINT16_MAX ? 0 : (uint32_t)field.value;
		else if (field.id == ORMA_PB_DATA_SOURCE_CONFIG_BUFFER_EXHAUSTED_POLICY)
			ret->policy = field.value;
	}
	return r;
}

#define POLICY(name) ORMA_PB_DATA_SOURCE_CONFIG_BUFFER_EXHAUSTED_POLICY_BUFFER_EXHAUSTED_##name

static enum orma_shm_policy choose_policy(const struct orma_data_source_options *options,
					  uint64_t configured)
{
	if (options->allow_policy_in_config) {
		if (configured == POLICY(DROP))
			return ORMA_SHM_DROP;
		/* A config must not be able to end the process, so neither policy aborts. */
		if (configured == POLICY(STALL_THEN_ABORT) || configured == POLICY(STALL_THEN_DROP))
			return ORMA_SHM_STALL;
	}
	return options->policy == ORMA_EXHAUSTED_STALL ? ORMA_SHM_STALL : ORMA_SHM_DROP;
}

static void set_up(struct orma_client_instance *instance, struct orma_client_link *link,
		   const struct wanted *wanted, struct orma_str config)
{
	const struct orma_data_source_options *options = &instance->source->options;
	struct orma_instance info;

	ORMA_ASSERT(instance->state == ORMA_CLIENT_INSTANCE_FREE && !instance->has_ctx);
	instance->link = link;
	instance->ctx = NULL;
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_SET_UP;
	instance->is_stop_complete = false;
	instance->target_buffer = wanted->target_buffer;
	instance->policy = choose_policy(options, wanted->policy);
	/* A writer must not wait: the memory is not emptied before there is a session. */
	if (instance->is_startup)
		instance->policy = ORMA_SHM_DROP;
	atomic_store_explicit(&instance->generation, orma_client_stamp_locked(),
			      memory_order_relaxed);
	pthread_mutex_unlock(&orma_client.mutex);
	info = describe(instance);
	info.config = config.data;
	info.config_size = config.size;
	if (options->on_setup)
		options->on_setup(options->ctx, &info, &instance->ctx);
	pthread_mutex_lock(&instance->lock);
	instance->has_ctx = true;
	pthread_mutex_unlock(&instance->lock);
}

static bool is_startup_match(const struct orma_client_instance *instance,
			     const struct orma_client_link *link, struct orma_str config)
{
	struct orma_str startup = {(const char *)instance->startup_config.data,
				   instance->startup_config.size};

	return instance->state == ORMA_CLIENT_INSTANCE_STARTED && instance->is_startup &&
	       instance->link == link &&
	       orma_client_startup_matches(instance->source, startup, config);
}

/* Finds an instance of startup tracing that the session may take over. NULL: none matches. */
static struct orma_client_instance *find_startup_match(const struct orma_client_link *link,
						       struct orma_str name, struct orma_str config)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		if (!source || !orma_base_str_is(name, source->options.name))
			continue;
		for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
			if (is_startup_match(&source->instances[idx], link, config))
				return &source->instances[idx];
	}
	return NULL;
}

/* The session takes the instance over. Packets that were written for the reservation go to the session's
 * buffer. */
static void hand_to_session(struct orma_client_instance *instance, uint64_t instance_id,
			    uint32_t target_buffer)
{
	instance->is_startup = false;
	instance->service_id = instance_id;
	orma_base_buf_done(&instance->startup_config);
	pthread_mutex_lock(&orma_client.mutex);
	instance->target_buffer = target_buffer;
	pthread_mutex_unlock(&orma_client.mutex);
	orma_shm_arbiter_bind(instance->link->memory->arbiter, instance->reservation,
			      (uint16_t)target_buffer);
	orma_client_link_commit(instance->link);
	log_state(instance, "belongs to a session now");
}

void orma_client_instance_setup(struct orma_client_link *link, uint64_t instance_id,
				const void *config, size_t size)
{
	struct orma_str bytes = {config, size};
	struct orma_client_instance *instance;
	struct wanted wanted;

	if (orma_client.is_shutting_down || find_instance(link, instance_id) ||
	    parse_config(config, size, &wanted) < 0)
		return;
	instance = find_startup_match(link, wanted.name, bytes);
	if (instance) {
		hand_to_session(instance, instance_id, wanted.target_buffer);
		return;
	}
	instance = find_free_instance(wanted.name);
	if (!instance)
		return;
	instance->service_id = instance_id;
	instance->is_startup = false;
	set_up(instance, link, &wanted, bytes);
	log_state(instance, "set up");
}

/* --- starting --------------------------------------------------------------------------------- */

static void start(struct orma_client_instance *instance, struct orma_str config)
{
	const struct orma_data_source_options *options = &instance->source->options;
	struct orma_instance info;

	ORMA_ASSERT(instance->state == ORMA_CLIENT_INSTANCE_SET_UP);
	atomic_store_explicit(&instance->dropped, 0, memory_order_relaxed);
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_STARTED;
	instance->memory = instance->link->memory;
	set_stamp(instance, orma_client_stamp_locked());
	pthread_mutex_unlock(&orma_client.mutex);
	atomic_fetch_or_explicit(&instance->source->started, bit_of(instance),
				 memory_order_relaxed);
	info = describe(instance);
	info.config = config.data;
	info.config_size = config.size;
	if (options->on_start)
		options->on_start(options->ctx, &info);
	log_state(instance,
		  instance->is_startup ? "started, before there is a session" : "started");
}

void orma_client_instance_start(struct orma_client_link *link, uint64_t instance_id,
				const void *config, size_t size)
{
	struct orma_client_instance *instance = find_instance(link, instance_id);

	if (instance && instance->state == ORMA_CLIENT_INSTANCE_SET_UP)
		start(instance, (struct orma_str){config, size});
	orma_client_endpoint_source_started(link->endpoint, instance_id);
}

int orma_client_instance_start_early(struct orma_client_link *link, const void *config, size_t size)
{
	struct orma_str bytes = {config, size};
	struct orma_client_instance *instance;
	struct wanted wanted;
	int r = parse_config(config, size, &wanted);

	if (r < 0)
		return r;
	instance = find_free_instance(wanted.name);
	if (!instance)
		return 0;
	instance->startup_config = (struct orma_buf){0};
	r = orma_base_buf_append(&instance->startup_config, config, size);
	if (r < 0)
		return r;
	instance->reservation = orma_shm_arbiter_reserve(link->memory->arbiter);
	if (instance->reservation == 0) {
		orma_base_buf_done(&instance->startup_config);
		return 0;
	}
	instance->is_startup = true;
	wanted.target_buffer = instance->reservation;
	set_up(instance, link, &wanted, bytes);
	start(instance, bytes);
	return 1;
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
	struct orma_instance info = describe(instance);
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
	log_state(instance, "stopped");
	if (link && link->endpoint && !instance->is_startup)
		tell_stopped(instance, link, service_id);
}

/* True: the stop is complete. False: the application has postponed it. */
static bool call_on_stop(struct orma_client_instance *instance)
{
	const struct orma_data_source_options *options = &instance->source->options;
	struct orma_instance info = describe(instance);
	enum orma_completion completion = ORMA_COMPLETE;
	bool is_complete;

	ORMA_ASSERT(instance->state == ORMA_CLIENT_INSTANCE_STARTED);
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_STOPPING;
	pthread_mutex_unlock(&orma_client.mutex);
	info.completion = completion_number(
		atomic_load_explicit(&instance->generation, memory_order_relaxed), instance, 0);
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
	struct orma_client_instance *instance = find_instance(link, instance_id);

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
	struct orma_instance info = describe(instance);

	if (options->on_flush) {
		info.flush_flags = flags;
		info.completion = completion_number(flush->seq, instance, COMPLETION_IS_FLUSH);
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
		struct orma_client_instance *instance = find_instance(link, instance_ids[i]);

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
		struct orma_client_instance *instance = find_instance(link, instance_ids[i]);
		const struct orma_data_source_options *options;
		struct orma_instance info;

		if (!instance || instance->state == ORMA_CLIENT_INSTANCE_SET_UP)
			continue;
		options = &instance->source->options;
		info = describe(instance);
		clear_slots(instance, !instance->source->extra.clears_by_chunk);
		if (options->on_clear_incremental_state)
			options->on_clear_incremental_state(options->ctx, &info);
	}
}

/* --- completing ------------------------------------------------------------------------------- */

static bool complete_stop_locked(struct orma_client_instance *instance, uint64_t seq)
{
	if (instance->state != ORMA_CLIENT_INSTANCE_STOPPING ||
	    atomic_load_explicit(&instance->generation, memory_order_relaxed) != seq)
		return false;
	instance->is_stop_complete = true;
	return true;
}

void orma_data_source_complete(struct orma_data_source *source, uint64_t completion)
{
	uint64_t seq = completion >> COMPLETION_SEQ_SHIFT;
	uint32_t idx = completion >> COMPLETION_IDX_SHIFT & (ORMA_INSTANCES_MAX - 1);
	bool is_known;

	if (!source || !orma_client_lock())
		return;
	is_known = completion & COMPLETION_IS_FLUSH
			   ? orma_client_flush_complete_locked(seq, &source->instances[idx])
			   : complete_stop_locked(&source->instances[idx], seq);
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

		for (uint32_t idx = 0; source && idx < ORMA_INSTANCES_MAX; idx++)
			if (is_stop_completed(&source->instances[idx]))
				destroy(&source->instances[idx]);
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
