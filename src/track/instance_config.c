/* SPDX-License-Identifier: Apache-2.0
 * instance_config.c - the config of each instance.
 *
 * Configs are kept decoded while their instance exists, so that a category that comes later, or
 * that an event names, is judged by the same rule (category_rule.c). An instance without a config,
 * or with a damaged one, behaves as with an empty one. When there is no memory for a config, the
 * instance enables nothing.
 */
#include "track/instance_config.h"

#include <pthread.h>

#include "base/assert.h"
#include "proto/codec.h"
#include "proto/reader.h"
#include "schema/gen/data_source_config.pb.h"
#include "track/category_rule.h"
#include "track/event_clock.h"

/* Clocks of a sequence: deltas; absolute times in the unit of the config. */
#define CLOCK_INCREMENTAL 64
#define CLOCK_SCALED      65

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

struct orma_track_instance orma_track_instances[ORMA_INSTANCES_MAX];

static const struct orma_pb_track_event_config *decode(const void *config_untrusted, size_t size,
						       struct orma_arena *arena)
{
	struct orma_pb_track_event_config *config = NULL;
	struct orma_proto_field field;

	if (orma_proto_reader_find(config_untrusted, size,
				   ORMA_PB_DATA_SOURCE_CONFIG_TRACK_EVENT_CONFIG, &field) == 1 &&
	    field.type == ORMA_PROTO_BYTES &&
	    orma_proto_decode_copy(&orma_pb_track_event_config_desc, field.bytes.data,
				   field.bytes.size, arena, &config) == 0)
		return config;
	return orma_pb_track_event_config_new(arena);
}

static void apply(struct orma_track_instance *instance,
		  const struct orma_pb_track_event_config *config)
{
	uint64_t unit_ns =
		config->timestamp_unit_multiplier > 0 ? config->timestamp_unit_multiplier : 1;
	bool is_incremental = !config->disable_incremental_timestamps;
	uint32_t clock_id = is_incremental ? CLOCK_INCREMENTAL
			    : unit_ns > 1  ? CLOCK_SCALED
					   : orma_track_clock_id();

	/* Relaxed: threads that emit see these values with the instance's stamp, which is set
	 * later. */
	atomic_store_explicit(&instance->unit_ns, unit_ns, memory_order_relaxed);
	atomic_store_explicit(&instance->clock_id, clock_id, memory_order_relaxed);
	atomic_store_explicit(&instance->is_incremental, is_incremental, memory_order_relaxed);
	atomic_store_explicit(&instance->filters_arguments, config->filter_debug_annotations,
			      memory_order_relaxed);
	atomic_store_explicit(&instance->filters_names, config->filter_dynamic_event_names,
			      memory_order_relaxed);
	atomic_store_explicit(&instance->samples_time, config->enable_thread_time_sampling,
			      memory_order_relaxed);
	atomic_store_explicit(&instance->time_step_ns, config->thread_time_subsampling_ns,
			      memory_order_relaxed);
}

/* Frees the config that `config` replaces. */
static void replace(uint32_t idx, struct orma_arena arena,
		    const struct orma_pb_track_event_config *config)
{
	struct orma_track_instance *instance = &orma_track_instances[idx];
	struct orma_arena old;

	pthread_mutex_lock(&mutex);
	old = instance->arena;
	instance->arena = arena;
	instance->config = config;
	pthread_mutex_unlock(&mutex);
	orma_base_arena_done(&old);
}

void orma_track_configure(uint32_t idx, const void *config_untrusted, size_t size)
{
	static const struct orma_pb_track_event_config none;
	struct orma_arena arena = {0};
	const struct orma_pb_track_event_config *config = decode(config_untrusted, size, &arena);

	ORMA_ASSERT(idx < ORMA_INSTANCES_MAX);
	apply(&orma_track_instances[idx], config ? config : &none);
	replace(idx, arena, config);
}

void orma_track_unconfigure(uint32_t idx)
{
	ORMA_ASSERT(idx < ORMA_INSTANCES_MAX);
	replace(idx, (struct orma_arena){0}, NULL);
}

void orma_track_instance_set_started(uint32_t idx, bool is_started)
{
	ORMA_ASSERT(idx < ORMA_INSTANCES_MAX);
	pthread_mutex_lock(&mutex);
	orma_track_instances[idx].is_started = is_started;
	pthread_mutex_unlock(&mutex);
}

bool orma_track_instance_wants(uint32_t idx, struct orma_str name, const char *tags)
{
	const struct orma_track_instance *instance = &orma_track_instances[idx];
	bool is_wanted;

	pthread_mutex_lock(&mutex);
	is_wanted = instance->is_started && instance->config &&
		    orma_track_category_matches(instance->config, name, tags);
	pthread_mutex_unlock(&mutex);
	return is_wanted;
}

void orma_track_instances_forked(void)
{
	/* The thread that may have held the mutex does not exist here. */
	pthread_mutex_init(&mutex, NULL);
	for (uint32_t idx = 0; idx < ORMA_INSTANCES_MAX; idx++)
		orma_track_instances[idx].is_started = false;
}
