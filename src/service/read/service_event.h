/* SPDX-License-Identifier: Apache-2.0
 * service_event.h - service events that wait to be written into a trace; see service_event.c.
 */
#ifndef ORMA_SERVICE_SERVICE_EVENT_H
#define ORMA_SERVICE_SERVICE_EVENT_H

#include <orma/service.h>

#include "base/buf.h"

struct orma_service_session;

/* A packet's timestamp and its encoded TracingServiceEvent. */
struct orma_service_event {
	uint64_t time_ns;
	uint32_t field_id;
	struct orma_buf data; /* message events; empty = a bool field */
};

struct orma_service_events {
	struct orma_service_event *items;
	size_t count, capacity;
};

/* A change of state of another session. */
struct orma_service_concurrent_event {
	uint64_t time_ns, session_id;
	uint32_t state, data_source_count;
	uid_t uid;
	char *name; /* may be NULL */
};

struct orma_service_concurrent_events {
	struct orma_service_concurrent_event *items;
	size_t count, capacity;
};

void orma_service_event_add(struct orma_service_session *session, uint32_t field_id,
			    bool snapshots_clocks);
int orma_service_event_add_message(struct orma_service_session *session, uint32_t field_id,
				   struct orma_buf *data);
/* Inserts the event where its time belongs. Takes `data` over; NULL or empty = a bool field. */
int orma_service_event_insert(struct orma_service_session *session, uint32_t field_id,
			      uint64_t time_ns, struct orma_buf *data);
void orma_service_events_done(struct orma_service_session *session);

#endif
