/* SPDX-License-Identifier: Apache-2.0
 * instance_setup.c - chooses the instance that a config gets, and sets it up.
 *
 * A config names a data source. Its session takes over an instance that startup tracing has begun with
 * an equal config, or sets up a free one. Startup tracing sets one up without a session: its writers
 * are for a reservation (shm/arbiter.h), which is bound to the session's buffer when a session takes
 * the instance over.
 */
#include "base/assert.h"
#include "client/client_instance.h"
#include "client/client_source.h"
#include "client/engine.h"
#include "client/startup_match.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"

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
	instance->waits_for_start = false;
	pthread_mutex_lock(&orma_client.mutex);
	instance->state = ORMA_CLIENT_INSTANCE_SET_UP;
	instance->is_stop_complete = instance->is_start_complete = false;
	instance->target_buffer = wanted->target_buffer;
	instance->policy = choose_policy(options, wanted->policy);
	instance->stall_timeout_ms = options->stall_timeout_ms;
	/* A writer must not wait: the memory is not emptied before there is a session. */
	if (instance->is_startup)
		instance->policy = ORMA_SHM_DROP;
	atomic_store_explicit(&instance->generation, orma_client_stamp_locked(),
			      memory_order_relaxed);
	pthread_mutex_unlock(&orma_client.mutex);
	info = orma_client_instance_describe(instance);
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
	orma_client_instance_log(instance, "belongs to a session now");
}

void orma_client_instance_setup(struct orma_client_link *link, uint64_t instance_id,
				const void *config, size_t size)
{
	struct orma_str bytes = {config, size};
	struct orma_client_instance *instance;
	struct wanted wanted;

	if (orma_client.is_shutting_down || orma_client_instance_find(link, instance_id) ||
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
	orma_client_instance_log(instance, "set up");
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
	orma_client_instance_begin(instance, bytes);
	return 1;
}
