/* SPDX-License-Identifier: Apache-2.0
 * service_event.c - events of the service that wait to be written into a session's trace.
 *
 * An event is kept as a time and a field id, with its encoded message if it has one. Most kinds
 * keep only their newest event; the frequent ones (flushes) keep a fixed number. Rejected: encoding
 * a packet when the event happens (most are never read).
 */
#include "service/read/service_event.h"

#include <errno.h>
#include <string.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/buf.h"
#include "schema/gen/service_event.pb.h"
#include "service/read/clock_snapshot.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/session_state.h"

static void remove_event(struct orma_service_session *session, size_t idx)
{
	ORMA_ASSERT(idx < session->events.count);
	orma_base_buf_done(&session->events.items[idx].data);
	memmove(&session->events.items[idx], &session->events.items[idx + 1],
		(session->events.count - idx - 1) * sizeof(session->events.items[0]));
	session->events.count--;
}

static int reserve_event(struct orma_service_session *session)
{
	size_t capacity = session->events.capacity ? 2 * session->events.capacity : 8;
	struct orma_service_event *events;

	if (session->events.count < session->events.capacity)
		return 0;
	events = orma_base_realloc_array(session->events.items, capacity, sizeof(*events));
	if (!events)
		return -ENOMEM;
	session->events.items = events;
	session->events.capacity = capacity;
	return 0;
}

/* Appends an event, and drops the oldest of its kind when there are too many. */
static struct orma_service_event *push_event(struct orma_service_session *session,
					     uint32_t field_id)
{
	bool is_frequent = field_id == ORMA_PB_TRACING_SERVICE_EVENT_FLUSH_STARTED ||
			   field_id == ORMA_PB_TRACING_SERVICE_EVENT_ALL_DATA_SOURCES_FLUSHED;
	size_t max = is_frequent ? ORMA_SERVICE_EVENT_TIMES_KEPT : 1, count = 0, oldest = 0;

	for (size_t i = session->events.count; i-- > 0;) {
		if (session->events.items[i].field_id != field_id)
			continue;
		oldest = i;
		count++;
	}
	if (count >= max)
		remove_event(session, oldest);
	if (reserve_event(session) < 0)
		return NULL;
	session->events.items[session->events.count] = (struct orma_service_event){
		.time_ns = orma_service_boot_ns(session->service), .field_id = field_id};
	return &session->events.items[session->events.count++];
}

void orma_service_event_add(struct orma_service_session *session, uint32_t field_id,
			    bool snapshots_clocks)
{
	/* Take the snapshot first: readers need it to convert the event's timestamp. */
	if (snapshots_clocks)
		orma_service_clocks_snapshot(session);
	(void)push_event(session, field_id);
}

int orma_service_event_add_message(struct orma_service_session *session, uint32_t field_id,
				   struct orma_buf *data)
{
	struct orma_service_event *event = push_event(session, field_id);

	if (!event)
		return -ENOMEM;
	event->data = *data;
	*data = (struct orma_buf){0};
	return 0;
}

int orma_service_event_insert(struct orma_service_session *session, uint32_t field_id,
			      uint64_t time_ns, struct orma_buf *data)
{
	struct orma_service_event *event;
	size_t at;

	if (reserve_event(session) < 0)
		return -ENOMEM;
	for (at = session->events.count; at > 0; at--) {
		if (session->events.items[at - 1].time_ns <= time_ns)
			break;
		session->events.items[at] = session->events.items[at - 1];
	}
	event = &session->events.items[at];
	*event = (struct orma_service_event){.time_ns = time_ns, .field_id = field_id};
	if (data) {
		event->data = *data;
		*data = (struct orma_buf){0};
	}
	session->events.count++;
	return 0;
}

void orma_service_events_done(struct orma_service_session *session)
{
	for (size_t i = 0; i < session->events.count; i++)
		orma_base_buf_done(&session->events.items[i].data);
	for (size_t i = 0; i < session->concurrent.count; i++)
		orma_base_free(session->concurrent.items[i].name);
	orma_base_free(session->events.items);
	orma_base_free(session->concurrent.items);
}
