/* SPDX-License-Identifier: Apache-2.0
 * instance.c - what sessions make of data sources: set up, started, flushed, stopped.
 *
 *   FREE --setup--> SET_UP --start--> STARTED --stop--> STOPPING --complete--> FREE
 *                      |                                   (on_stop said ORMA_POSTPONE)
 *                      +--------------stop------------------------------------^
 *
 * All transitions and callbacks happen on the loop thread, so callbacks run one at a time.
 * Applications may complete a postponed stop or flush from any thread: that only sets a mark under
 * the mutex, and the loop thread carries it out. An instance can be emitted to from before on_start
 * until its stop is complete, so both callbacks may write packets.
 *
 * A session that asks for more than the process can give (no free instance, unknown name) is told
 * that the data source has started and stopped, because otherwise it would wait. Rejected: an error
 * to the service, for which the protocol has no message.
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/log_message.h"
#include "client/client.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"

/* Completion numbers: unique number, instance, what it completes. */
#define COMPLETION_IS_FLUSH  1u
#define COMPLETION_IDX_SHIFT 1
#define COMPLETION_SEQ_SHIFT 4

static uint64_t completion_number(uint64_t seq, uint32_t idx, unsigned kind)
{
	return seq << COMPLETION_SEQ_SHIFT | idx << COMPLETION_IDX_SHIFT | kind;
}

struct place {
	struct orma_data_source *source;
	uint32_t idx;
};

static struct orma_client_instance *at(struct place place)
{
	return &place.source->instances[place.idx];
}

static uint32_t bit_of(struct place place)
{
	return UINT32_C(1) << place.idx;
}

static bool find_instance(const struct orma_client_link *link, uint64_t service_id,
			  struct place *ret)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		for (uint32_t idx = 0; source && idx < ORMA_INSTANCES_MAX; idx++) {
			const struct orma_client_instance *instance = &source->instances[idx];

			if (instance->state != ORMA_CLIENT_INSTANCE_FREE && !instance->is_startup &&
			    instance->link == link && instance->service_id == service_id) {
				*ret = (struct place){source, idx};
				return true;
			}
		}
	}
	return false;
}

static bool find_free_instance(struct orma_str name, struct place *ret)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		if (!source || !orma_base_str_is(name, source->options.name))
			continue;
		for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++) {
			if (source->instances[idx].state == ORMA_CLIENT_INSTANCE_FREE) {
				*ret = (struct place){source, idx};
				return true;
			}
		}
	}
	return false;
}

static struct orma_instance describe(struct place place)
{
	return (struct orma_instance){
		.struct_size = sizeof(struct orma_instance),
		.source = place.source,
		.idx = place.idx,
		.instance_ctx = at(place)->ctx,
	};
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
			/* Buffers have 16 bits; 0 is none. */
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
		/* An end of the process is nothing that a config may ask for: both mean waiting. */
		if (configured == POLICY(STALL_THEN_ABORT) || configured == POLICY(STALL_THEN_DROP))
			return ORMA_SHM_STALL;
	}
	return options->policy == ORMA_EXHAUSTED_STALL ? ORMA_SHM_STALL : ORMA_SHM_DROP;
}

static void set_up(struct place place, struct orma_client_link *link, const struct wanted *wanted,
		   struct orma_str config)
{
	struct orma_client_instance *instance = at(place);
	struct orma_instance info;

	instance->link = link;
	instance->ctx = NULL;
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_SET_UP;
	instance->is_stop_complete = false;
	instance->target_buffer = wanted->target_buffer;
	instance->policy = choose_policy(&place.source->options, wanted->policy);
	/* Nobody empties the memory before there is a session. */
	if (instance->is_startup)
		instance->policy = ORMA_SHM_DROP;
	atomic_store_explicit(&instance->generation, orma_client_stamp_locked(),
			      memory_order_relaxed);
	pthread_mutex_unlock(&orma_client.mutex);
	info = describe(place);
	info.config = config.data;
	info.config_size = config.size;
	if (place.source->options.on_setup)
		place.source->options.on_setup(place.source->options.ctx, &info, &instance->ctx);
	pthread_mutex_lock(&instance->lock);
	instance->has_ctx = true;
	pthread_mutex_unlock(&instance->lock);
}

static void log_state(struct place place, const char *state)
{
	orma_base_log(ORMA_LOG_DEBUG, "data source %s: instance %u %s", place.source->options.name,
		      (unsigned)place.idx, state);
}

/* An instance that began before there was a session, and may go on as the one that is wanted. */
static bool find_early_instance(const struct orma_client_link *link, struct orma_str name,
				struct orma_str config, struct place *ret)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		if (!source || !orma_base_str_is(name, source->options.name))
			continue;
		for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++) {
			const struct orma_client_instance *instance = &source->instances[idx];
			struct orma_str early = {(const char *)instance->startup_config.data,
						 instance->startup_config.size};

			if (instance->state == ORMA_CLIENT_INSTANCE_STARTED &&
			    instance->is_startup && instance->link == link &&
			    orma_client_may_adopt(source, early, config)) {
				*ret = (struct place){source, idx};
				return true;
			}
		}
	}
	return false;
}

static void adopt(struct place place, uint64_t instance_id, uint32_t target_buffer)
{
	struct orma_client_instance *instance = at(place);

	instance->is_startup = false;
	instance->service_id = instance_id;
	orma_base_buf_done(&instance->startup_config);
	pthread_mutex_lock(&orma_client.mutex);
	instance->target_buffer = target_buffer;
	pthread_mutex_unlock(&orma_client.mutex);
	orma_shm_arbiter_bind(instance->link->memory->arbiter, instance->reservation,
			      (uint16_t)target_buffer);
	orma_client_link_commit(instance->link);
	log_state(place, "belongs to a session now");
}

void orma_client_setup_source(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	struct orma_client_link *link = ctx;
	struct orma_str bytes = {config, size};
	struct wanted wanted;
	struct place place;

	if (orma_client.is_leaving || find_instance(link, instance_id, &place) ||
	    parse_config(config, size, &wanted) < 0)
		return;
	if (find_early_instance(link, wanted.name, bytes, &place)) {
		adopt(place, instance_id, wanted.target_buffer);
	} else if (find_free_instance(wanted.name, &place)) {
		at(place)->service_id = instance_id;
		at(place)->is_startup = false;
		set_up(place, link, &wanted, bytes);
		log_state(place, "set up");
	}
}

static void start(struct place place, struct orma_str config)
{
	struct orma_client_instance *instance = at(place);
	struct orma_instance info;

	atomic_store_explicit(&instance->dropped, 0, memory_order_relaxed);
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_STARTED;
	instance->memory = instance->link->memory;
	atomic_store_explicit(&place.source->stamps[place.idx], orma_client_stamp_locked(),
			      memory_order_release);
	pthread_mutex_unlock(&orma_client.mutex);
	atomic_fetch_or_explicit(&place.source->started, bit_of(place), memory_order_relaxed);
	info = describe(place);
	info.config = config.data;
	info.config_size = config.size;
	if (place.source->options.on_start)
		place.source->options.on_start(place.source->options.ctx, &info);
	log_state(place, instance->is_startup ? "started, before there is a session" : "started");
}

int orma_client_start_early(struct orma_client_link *link, const void *config, size_t size)
{
	struct orma_str bytes = {config, size};
	struct orma_client_instance *instance;
	struct wanted wanted;
	struct place place;
	int r;

	r = parse_config(config, size, &wanted);
	if (r < 0)
		return r;
	if (!find_free_instance(wanted.name, &place))
		return 0;
	instance = at(place);
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
	set_up(place, link, &wanted, bytes);
	start(place, bytes);
	return 1;
}

void orma_client_start_source(void *ctx, uint64_t instance_id, const void *config, size_t size)
{
	struct orma_client_link *link = ctx;
	struct place place;

	if (find_instance(link, instance_id, &place) &&
	    at(place)->state == ORMA_CLIENT_INSTANCE_SET_UP)
		start(place, (struct orma_str){config, size});
	link->endpoint->ops->source_started(link->endpoint, instance_id);
}

/* --- stopping --------------------------------------------------------------------------------- */

static void forget_in_flushes(struct place place)
{
	struct orma_client_flush *flush;

	for (size_t i = 0; i < orma_client.link_count; i++)
		ORMA_LIST_FOR_EACH (flush, &orma_client.links[i].flushes, item)
			flush->waiting[place.source->idx] &= (uint8_t)~bit_of(place);
}

static void destroy(struct place place)
{
	struct orma_client_instance *instance = at(place);
	struct orma_client_link *link = instance->link;
	struct orma_instance info = describe(place);
	uint64_t service_id = instance->service_id;

	atomic_fetch_and_explicit(&place.source->started, ~bit_of(place), memory_order_relaxed);
	atomic_store_explicit(&place.source->stamps[place.idx], 0, memory_order_release);
	orma_client_threads_reclaim(place.source, place.idx);
	pthread_mutex_lock(&orma_client.mutex);
	forget_in_flushes(place);
	instance->memory = NULL;
	pthread_mutex_unlock(&orma_client.mutex);
	pthread_mutex_lock(&instance->lock);
	instance->has_ctx = false;
	pthread_mutex_unlock(&instance->lock);
	if (place.source->options.on_destroy)
		place.source->options.on_destroy(place.source->options.ctx, &info);
	instance->link = NULL;
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_FREE;
	pthread_mutex_unlock(&orma_client.mutex);
	orma_base_buf_done(&instance->startup_config);
	log_state(place, "stopped");
	if (link && link->endpoint && !instance->is_startup) {
		/* What on_stop wrote has to arrive before the service is told. */
		orma_client_link_commit(link);
		if (!place.source->options.no_stop_notice)
			link->endpoint->ops->source_stopped(link->endpoint, service_id);
		orma_client_link_update(link, place.source);
	}
}

/* True when nothing is left to wait for. */
static bool call_on_stop(struct place place)
{
	struct orma_client_instance *instance = at(place);
	struct orma_instance info = describe(place);
	enum orma_completion completion = ORMA_COMPLETE;
	bool is_complete;

	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_STOPPING;
	pthread_mutex_unlock(&orma_client.mutex);
	info.completion = completion_number(
		atomic_load_explicit(&instance->generation, memory_order_relaxed), place.idx, 0);
	if (place.source->options.on_stop)
		completion = place.source->options.on_stop(place.source->options.ctx, &info);
	pthread_mutex_lock(&orma_client.mutex);
	is_complete = completion == ORMA_COMPLETE || instance->is_stop_complete;
	pthread_mutex_unlock(&orma_client.mutex);
	return is_complete;
}

static void stop(struct place place)
{
	enum orma_client_instance_state state = at(place)->state;

	if (state == ORMA_CLIENT_INSTANCE_SET_UP ||
	    (state == ORMA_CLIENT_INSTANCE_STARTED && call_on_stop(place)))
		destroy(place);
}

void orma_client_stop_source(void *ctx, uint64_t instance_id)
{
	struct orma_client_link *link = ctx;
	struct place place;

	if (find_instance(link, instance_id, &place))
		stop(place);
	else
		link->endpoint->ops->source_stopped(link->endpoint, instance_id);
}

void orma_client_stop_link(struct orma_client_link *link)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		for (uint32_t idx = 0; source && idx < ORMA_INSTANCES_MAX; idx++) {
			struct place place = {source, idx};

			if (at(place)->link != link)
				continue;
			pthread_mutex_lock(&orma_client.mutex);
			at(place)->memory = NULL;
			pthread_mutex_unlock(&orma_client.mutex);
			at(place)->link = NULL;
			stop(place);
		}
	}
}

void orma_client_stop_early(struct orma_client_link *link)
{
	for (size_t i = 0; i < ORMA_DATA_SOURCES_MAX; i++) {
		struct orma_data_source *source = orma_client_source_at(i);

		for (uint32_t idx = 0; source && idx < ORMA_INSTANCES_MAX; idx++) {
			struct place place = {source, idx};

			if (at(place)->link != link || !at(place)->is_startup ||
			    at(place)->state == ORMA_CLIENT_INSTANCE_FREE)
				continue;
			orma_shm_arbiter_bind(link->memory->arbiter, at(place)->reservation, 0);
			stop(place);
		}
	}
	orma_client_link_commit(link);
}

void orma_client_end_source(struct orma_data_source *source)
{
	for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++) {
		struct place place = {source, idx};

		if (at(place)->state == ORMA_CLIENT_INSTANCE_STARTED)
			call_on_stop(place);
		if (at(place)->state != ORMA_CLIENT_INSTANCE_FREE)
			destroy(place);
	}
}

/* --- flushing --------------------------------------------------------------------------------- */

/* Has slots begin their incremental state anew: at once, or at their next chunk. */
static void clear_slots(struct place place, bool at_once)
{
	uint64_t stamp;

	at(place)->is_clear_lazy = !at_once;
	pthread_mutex_lock(&orma_client.mutex);
	stamp = orma_client_stamp_locked();
	if (at_once)
		atomic_store_explicit(&at(place)->clear_at_once_stamp, stamp, memory_order_relaxed);
	atomic_store_explicit(&place.source->stamps[place.idx], stamp, memory_order_release);
	pthread_mutex_unlock(&orma_client.mutex);
}

static void flush_instance(struct place place, struct orma_client_flush *flush, uint64_t flags)
{
	struct orma_instance info = describe(place);
	const struct orma_data_source_options *options = &place.source->options;

	if (options->on_flush) {
		info.flush_flags = flags;
		info.completion = completion_number(flush->seq, place.idx, COMPLETION_IS_FLUSH);
		pthread_mutex_lock(&orma_client.mutex);
		flush->waiting[place.source->idx] |= (uint8_t)bit_of(place);
		pthread_mutex_unlock(&orma_client.mutex);
		if (options->on_flush(options->ctx, &info) == ORMA_COMPLETE) {
			pthread_mutex_lock(&orma_client.mutex);
			flush->waiting[place.source->idx] &= (uint8_t)~bit_of(place);
			pthread_mutex_unlock(&orma_client.mutex);
		}
	}
	/* What is emitted from here on is readable without what the flush hands over. */
	if (at(place)->is_clear_lazy)
		clear_slots(place, true);
	orma_client_self_flush(place.source, place.idx);
}

/* A service that asks on and on without waiting loses the oldest answers. */
static struct orma_client_flush *add_flush(struct orma_client_link *link, uint64_t request_id)
{
	struct orma_client_flush *flush = orma_base_zalloc(sizeof(*flush)), *oldest = NULL, *one;
	size_t count = 0;

	if (!flush)
		return NULL;
	flush->request_id = request_id;
	flush->is_running = true;
	pthread_mutex_lock(&orma_client.mutex);
	ORMA_LIST_FOR_EACH (one, &link->flushes, item)
		count++;
	if (count >= ORMA_CLIENT_FLUSHES_MAX) {
		oldest = ORMA_LIST_ENTRY(link->flushes.next, struct orma_client_flush, item);
		orma_base_list_remove(&oldest->item);
	}
	flush->seq = orma_client_stamp_locked();
	orma_base_list_append(&link->flushes, &flush->item);
	pthread_mutex_unlock(&orma_client.mutex);
	orma_base_free(oldest);
	return flush;
}

void orma_client_flush(void *ctx, uint64_t request_id, const uint64_t *instance_ids, size_t count,
		       uint64_t flags)
{
	struct orma_client_link *link = ctx;
	struct orma_client_flush *flush = add_flush(link, request_id);
	struct place place;

	/* Without memory the service goes on after its timeout. */
	if (!flush)
		return;
	for (size_t i = 0; i < count; i++)
		if (find_instance(link, instance_ids[i], &place) &&
		    at(place)->state != ORMA_CLIENT_INSTANCE_SET_UP)
			flush_instance(place, flush, flags);
	flush->is_running = false;
	orma_client_link_commit(link);
}

void orma_client_clear_state(void *ctx, const uint64_t *instance_ids, size_t count)
{
	struct place place;

	for (size_t i = 0; i < count; i++) {
		const struct orma_data_source_options *options;
		struct orma_instance info;

		if (!find_instance(ctx, instance_ids[i], &place) ||
		    at(place)->state == ORMA_CLIENT_INSTANCE_SET_UP)
			continue;
		options = &place.source->options;
		info = describe(place);
		clear_slots(place, !place.source->extra.clears_by_chunk);
		if (options->on_clear_incremental_state)
			options->on_clear_incremental_state(options->ctx, &info);
	}
}

/* --- completing ------------------------------------------------------------------------------- */

static bool note_stop(struct orma_data_source *source, uint64_t seq, uint32_t idx)
{
	struct orma_client_instance *instance = &source->instances[idx];

	if (instance->state != ORMA_CLIENT_INSTANCE_STOPPING ||
	    atomic_load_explicit(&instance->generation, memory_order_relaxed) != seq)
		return false;
	instance->is_stop_complete = true;
	return true;
}

static bool note_flush(const struct orma_data_source *source, uint64_t seq, uint32_t idx)
{
	struct orma_client_flush *flush;

	for (size_t i = 0; i < orma_client.link_count; i++) {
		ORMA_LIST_FOR_EACH (flush, &orma_client.links[i].flushes, item) {
			if (flush->seq != seq)
				continue;
			flush->waiting[source->idx] &= (uint8_t) ~(UINT32_C(1) << idx);
			return true;
		}
	}
	return false;
}

void orma_data_source_complete(struct orma_data_source *source, uint64_t completion)
{
	uint64_t seq = completion >> COMPLETION_SEQ_SHIFT;
	uint32_t idx = completion >> COMPLETION_IDX_SHIFT & (ORMA_INSTANCES_MAX - 1);
	bool is_known;

	if (!source || !orma_client_lock())
		return;
	is_known = completion & COMPLETION_IS_FLUSH ? note_flush(source, seq, idx)
						    : note_stop(source, seq, idx);
	orma_client.has_completions |= is_known;
	pthread_mutex_unlock(&orma_client.mutex);
	if (is_known)
		orma_base_loop_wake(orma_client.loop);
}

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

void orma_client_complete_all(void)
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
			struct place place = {source, idx};
			bool is_complete;

			pthread_mutex_lock(&orma_client.mutex);
			is_complete = at(place)->state == ORMA_CLIENT_INSTANCE_STOPPING &&
				      at(place)->is_stop_complete;
			pthread_mutex_unlock(&orma_client.mutex);
			if (is_complete)
				destroy(place);
		}
	}
	for (size_t i = 0; i < orma_client.link_count; i++)
		orma_client_link_commit(&orma_client.links[i]);
}
