/* SPDX-License-Identifier: Apache-2.0
 * session_state.c - a session as an object: an empty one, its state, its error.
 *
 * A change of state is recorded in every session that asked for enable_concurrent_session_events.
 * Nothing here makes a session do anything; session_life.c does.
 */
#include "service/session_state.h"

#include <errno.h>
#include <stdio.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/list.h"
#include "schema/gen/concurrent_session_event.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "service/consumer_port.h"
#include "service/read/service_event.h"
#include "service/service_core.h"
#include "service/service_limits.h"

const char *orma_service_session_state_name(const struct orma_service_session *session)
{
	switch (session->state) {
	case ORMA_SERVICE_SESSION_OPENING: /* reported with a name that existing clients know */
	case ORMA_SERVICE_SESSION_CONFIGURED:
		return "CONFIGURED";
	case ORMA_SERVICE_SESSION_STARTED:
		return "STARTED";
	case ORMA_SERVICE_SESSION_STOPPING:
		return "STOP_WAIT";
	case ORMA_SERVICE_SESSION_CLONED:
		return "CLONED_READ_ONLY";
	case ORMA_SERVICE_SESSION_DISABLED:
		break;
	}
	return "DISABLED";
}

static uint32_t concurrent_state(enum orma_service_session_state state)
{
	switch (state) {
	case ORMA_SERVICE_SESSION_OPENING:
	case ORMA_SERVICE_SESSION_CONFIGURED:
		return ORMA_PB_CONCURRENT_SESSION_EVENT_STATE_STATE_CONFIGURED;
	case ORMA_SERVICE_SESSION_STARTED:
		return ORMA_PB_CONCURRENT_SESSION_EVENT_STATE_STATE_STARTED;
	case ORMA_SERVICE_SESSION_STOPPING:
		return ORMA_PB_CONCURRENT_SESSION_EVENT_STATE_STATE_DISABLING_WAITING_STOP_ACKS;
	case ORMA_SERVICE_SESSION_CLONED:
		return ORMA_PB_CONCURRENT_SESSION_EVENT_STATE_STATE_CLONED_READ_ONLY;
	case ORMA_SERVICE_SESSION_DISABLED:
		break;
	}
	return ORMA_PB_CONCURRENT_SESSION_EVENT_STATE_STATE_DISABLED;
}

static void record_change(struct orma_service_session *listener,
			  const struct orma_service_session *session)
{
	struct orma_service_concurrent_event *event;

	if (listener->concurrent.count >= ORMA_SERVICE_CONCURRENT_EVENTS_KEPT)
		return;
	if (listener->concurrent.count == listener->concurrent.capacity) {
		size_t capacity =
			listener->concurrent.capacity ? 2 * listener->concurrent.capacity : 16;

		event = orma_base_realloc_array(listener->concurrent.items, capacity,
						sizeof(*event));
		if (!event)
			return;
		listener->concurrent.items = event;
		listener->concurrent.capacity = capacity;
	}
	event = &listener->concurrent.items[listener->concurrent.count++];
	*event = (struct orma_service_concurrent_event){
		.time_ns = orma_service_boot_ns(session->service),
		.session_id = session->id,
		.state = concurrent_state(session->state),
		.data_source_count = (uint32_t)session->instances.count,
		.uid = session->uid,
		.name = session->name[0] ? orma_base_strdup(session->name) : NULL,
	};
}

void orma_service_session_set_state(struct orma_service_session *session,
				    enum orma_service_session_state state)
{
	struct orma_service_session *listener;

	if (session->state == state)
		return;
	ORMA_ASSERT(session->state != ORMA_SERVICE_SESSION_CLONED ||
		    state == ORMA_SERVICE_SESSION_DISABLED);
	ORMA_ASSERT(state != ORMA_SERVICE_SESSION_STARTED ||
		    session->state == ORMA_SERVICE_SESSION_CONFIGURED);
	session->state = state;
	ORMA_LIST_FOR_EACH (listener, &session->service->sessions.list, link) {
		const struct orma_pb_trace_config_builtin_data_source *builtin =
			listener->config->builtin_data_sources;

		if (listener != session && builtin && builtin->enable_concurrent_session_events &&
		    listener->state != ORMA_SERVICE_SESSION_OPENING &&
		    listener->state != ORMA_SERVICE_SESSION_DISABLED &&
		    listener->state != ORMA_SERVICE_SESSION_CLONED)
			record_change(listener, session);
	}
}

struct orma_service_session *orma_service_session_by_id(const struct orma_service *service,
							uint64_t id)
{
	struct orma_service_session *session;

	ORMA_LIST_FOR_EACH (session, &service->sessions.list, link)
		if (session->id == id)
			return session;
	return NULL;
}

int orma_service_session_new(struct orma_consumer_port *port, struct orma_service_session **ret)
{
	struct orma_service_session *session = orma_base_zalloc(sizeof(*session));

	if (!session)
		return -ENOMEM;
	session->service = port->service;
	session->uid = port->uid;
	session->pid = port->pid;
	session->has_rights = port->has_rights;
	session->state = ORMA_SERVICE_SESSION_DISABLED;
	session->sequences.last_id = ORMA_SERVICE_SEQUENCE_ID;
	session->sequences.by_key.seed = session->service->name_seed;
	session->read.emits_sync_marker = true;
	session->read.emits_stats = true;
	orma_base_list_init(&session->link);
	orma_base_list_init(&session->instances.list);
	orma_base_list_init(&session->flush.list);
	orma_base_list_init(&session->triggers.pending);
	*ret = session;
	return 0;
}

void orma_service_session_set_error(struct orma_service_session *session, const char *error)
{
	if (error && session->error[0] == '\0')
		snprintf(session->error, sizeof(session->error), "%.*s",
			 (int)sizeof(session->error) - 1, error);
}

bool orma_service_session_has_ended(const struct orma_service_session *session)
{
	return session->state == ORMA_SERVICE_SESSION_DISABLED ||
	       session->state == ORMA_SERVICE_SESSION_CLONED;
}
