/* SPDX-License-Identifier: Apache-2.0
 * source_instance.c - the states of an instance: a data source of a producer inside a session.
 *
 *   CONFIGURED --start--> STARTING --"started"--> STARTED --stop--> STOPPING --"stopped"--> STOPPED
 *                  \__(will_notify_on_start unset)__^  \__(will_notify_on_stop unset)__________^
 *
 * Making an instance is separate from telling the producer, so enabling a session can fail for lack
 * of memory before any producer has heard of it. A stop reaches STOPPED from every state; no state
 * is left for an earlier one. Rejected: instances owned by the data source (most questions are
 * asked per session).
 */
#include "service/source_instance.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "base/log_message.h"
#include "base/map.h"
#include "service/config_source.h"
#include "service/observe.h"
#include "service/producer/producer.h"
#include "service/producer/producer_memory.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

bool orma_service_instances_are_full(const struct orma_service_session *session,
				     size_t looked_at_count)
{
	if (session->instances.count < ORMA_SERVICE_INSTANCES_PER_SESSION &&
	    looked_at_count < ORMA_SERVICE_MATCHES_AT_ONCE)
		return false;
	orma_base_log(ORMA_LOG_WARNING, "session %llu: too many data sources, some are left out",
		      (unsigned long long)session->id);
	return true;
}

int orma_service_instance_new(struct orma_service_session *session,
			      struct orma_service_source *source,
			      struct orma_service_data_source *data_source,
			      struct orma_service_instance **ret)
{
	struct orma_producer_port *producer = data_source->producer;
	struct orma_service *service = session->service;
	struct orma_service_instance *instance;
	int r;

	if (service->is_locked_down && (producer->is_unverified || producer->uid != service->uid))
		return 0;
	if (source->buffer_idx >= session->buffer_count ||
	    !orma_service_source_matches(session, source, producer))
		return 0;
	r = orma_service_memory_create(producer, session->config);
	if (r == 0)
		r = orma_service_producer_add_grant(producer,
						    &session->buffers[source->buffer_idx]);
	if (r < 0)
		return r;
	instance = orma_base_zalloc(sizeof(*instance));
	if (!instance)
		return -ENOMEM;
	instance->id = service->instances.last_id + 1;
	r = orma_base_map_put(&service->instances.by_id, instance->id, instance);
	if (r < 0) {
		orma_base_free(instance);
		return r;
	}
	service->instances.last_id++;
	instance->session = session;
	instance->producer = producer;
	instance->data_source = data_source;
	instance->source = source;
	instance->state = ORMA_SERVICE_INSTANCE_CONFIGURED;
	orma_base_list_append(&session->instances.list, &instance->session_link);
	orma_base_list_append(&producer->instances, &instance->producer_link);
	orma_base_list_append(&data_source->instances, &instance->source_link);
	session->instances.count++;
	session->instances.state_counts[instance->state]++;
	*ret = instance;
	return 1;
}

void orma_service_instance_free(struct orma_service_instance *instance)
{
	orma_base_list_remove(&instance->session_link);
	orma_base_list_remove(&instance->producer_link);
	orma_base_list_remove(&instance->source_link);
	orma_base_map_remove(&instance->session->service->instances.by_id, instance->id);
	ORMA_ASSERT(instance->session->instances.count > 0);
	ORMA_ASSERT(instance->session->instances.state_counts[instance->state] > 0);
	instance->session->instances.count--;
	instance->session->instances.state_counts[instance->state]--;
	orma_base_free(instance);
}

void orma_service_instance_set_state(struct orma_service_instance *instance,
				     enum orma_service_instance_state state)
{
	ORMA_ASSERT(instance->session->instances.state_counts[instance->state] > 0);
	/* A state is never left for an earlier one; see the picture. */
	ORMA_ASSERT(state > instance->state);
	instance->session->instances.state_counts[instance->state]--;
	instance->session->instances.state_counts[state]++;
	instance->state = state;
	orma_service_observe_instance(instance);
}

void orma_service_instance_setup(struct orma_service_instance *instance)
{
	struct orma_producer_port *port = instance->producer;

	port->service->data_sources.set_up_count++;
	orma_service_memory_announce(port);
	if (port->callbacks.setup_data_source)
		port->callbacks.setup_data_source(port->ctx, instance->id,
						  instance->source->config.data,
						  instance->source->config.size);
	orma_service_observe_instance(instance);
}

void orma_service_instance_start(struct orma_service_instance *instance)
{
	struct orma_producer_port *port = instance->producer;

	orma_service_instance_set_state(instance, instance->data_source->will_notify_on_start
							  ? ORMA_SERVICE_INSTANCE_STARTING
							  : ORMA_SERVICE_INSTANCE_STARTED);
	if (port->callbacks.start_data_source)
		port->callbacks.start_data_source(port->ctx, instance->id,
						  instance->source->config.data,
						  instance->source->config.size);
}

void orma_service_instance_stop(struct orma_service_instance *instance, bool at_once)
{
	struct orma_producer_port *port = instance->producer;
	bool waits = instance->data_source->will_notify_on_stop && !at_once;

	if (instance->state == ORMA_SERVICE_INSTANCE_STOPPED)
		return;
	if (instance->state == ORMA_SERVICE_INSTANCE_STOPPING) {
		if (at_once)
			orma_service_instance_set_state(instance, ORMA_SERVICE_INSTANCE_STOPPED);
		return;
	}
	orma_service_instance_set_state(instance, waits ? ORMA_SERVICE_INSTANCE_STOPPING
							: ORMA_SERVICE_INSTANCE_STOPPED);
	if (port->callbacks.stop_data_source)
		port->callbacks.stop_data_source(port->ctx, instance->id);
}

void orma_service_instances_done(struct orma_service_session *session)
{
	while (!orma_base_list_is_empty(&session->instances.list))
		orma_service_instance_free(ORMA_LIST_ENTRY(
			session->instances.list.next, struct orma_service_instance, session_link));
}
