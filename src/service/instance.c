/* SPDX-License-Identifier: Apache-2.0
 * instance.c - a data source of a producer inside a session: made, set up, started, stopped, gone.
 *
 *   CONFIGURED --start--> STARTING --"started"--> STARTED --stop--> STOPPING --"stopped"--> STOPPED
 *                  \__(will_notify_on_start unset)__^  \__(will_notify_on_stop unset)__________^
 *
 * Making an instance is apart from telling the producer, so that enabling a session can fail for
 * lack of memory before anybody has heard of it. Rejected: instances owned by the data source (most
 * questions are asked per session).
 */
#include <errno.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/log_message.h"
#include "service/state.h"

bool orma_service_instances_are_full(const struct orma_service_session *session,
				     size_t looked_at_count)
{
	if (session->instance_count < ORMA_SERVICE_INSTANCES_PER_SESSION &&
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
	instance->id = service->last_instance_id + 1;
	r = orma_base_map_put(&service->instances_by_id, instance->id, instance);
	if (r < 0) {
		orma_base_free(instance);
		return r;
	}
	service->last_instance_id++;
	instance->session = session;
	instance->producer = producer;
	instance->data_source = data_source;
	instance->source = source;
	instance->state = ORMA_SERVICE_INSTANCE_CONFIGURED;
	orma_base_list_append(&session->instances, &instance->session_link);
	orma_base_list_append(&producer->instances, &instance->producer_link);
	orma_base_list_append(&data_source->instances, &instance->source_link);
	session->instance_count++;
	session->state_counts[instance->state]++;
	*ret = instance;
	return 1;
}

void orma_service_instance_free(struct orma_service_instance *instance)
{
	orma_base_list_remove(&instance->session_link);
	orma_base_list_remove(&instance->producer_link);
	orma_base_list_remove(&instance->source_link);
	orma_base_map_remove(&instance->session->service->instances_by_id, instance->id);
	instance->session->instance_count--;
	instance->session->state_counts[instance->state]--;
	orma_base_free(instance);
}

void orma_service_instance_set_state(struct orma_service_instance *instance,
				     enum orma_service_instance_state state)
{
	instance->session->state_counts[instance->state]--;
	instance->session->state_counts[state]++;
	instance->state = state;
	orma_service_observe_instance(instance);
}

void orma_service_instance_setup(struct orma_service_instance *instance)
{
	struct orma_producer_port *port = instance->producer;

	port->service->data_sources_seen++;
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

static void join_session(struct orma_service_session *session,
			 struct orma_service_data_source *data_source)
{
	struct orma_str name = orma_base_str(data_source->name->text);

	for (size_t i = 0; i < session->source_count; i++) {
		struct orma_service_instance *instance;
		int r;

		if (!orma_base_str_is(name, session->sources[i].name))
			continue;
		if (orma_service_instances_are_full(session, 0))
			return;
		r = orma_service_instance_new(session, &session->sources[i], data_source,
					      &instance);
		if (r < 0)
			orma_base_log(ORMA_LOG_WARNING,
				      "session %llu: data source \"%s\" cannot join: %s",
				      (unsigned long long)session->id, session->sources[i].name,
				      orma_base_error_words(r));
		if (r <= 0)
			continue;
		orma_service_instance_setup(instance);
		if (session->state == ORMA_SERVICE_SESSION_STARTED)
			orma_service_instance_start(instance);
	}
}

void orma_service_data_source_join(struct orma_service_data_source *data_source)
{
	struct orma_service_session *session;

	ORMA_LIST_FOR_EACH (session, &data_source->producer->service->sessions, link) {
		if (session->state == ORMA_SERVICE_SESSION_CONFIGURED ||
		    session->state == ORMA_SERVICE_SESSION_STARTED)
			join_session(session, data_source);
	}
}

void orma_service_data_source_leave(struct orma_service_data_source *data_source,
				    bool is_producer_gone)
{
	struct orma_producer_port *port = data_source->producer;
	struct orma_service_session *session, *next_session;
	struct orma_service_instance *instance, *next;

	ORMA_LIST_FOR_EACH_SAFE (instance, next, &data_source->instances, source_link) {
		orma_service_instance_stop(instance, is_producer_gone);
		orma_service_instance_stop(instance, true);
		orma_service_instance_free(instance);
	}
	/* Some session may have waited for just this one. */
	ORMA_LIST_FOR_EACH_SAFE (session, next_session, &port->service->sessions, link) {
		if (session->state == ORMA_SERVICE_SESSION_STARTED)
			orma_service_session_check_started(session);
		else if (session->state == ORMA_SERVICE_SESSION_STOPPING)
			orma_service_session_check_stopped(session);
	}
}
