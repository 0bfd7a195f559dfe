/* SPDX-License-Identifier: Apache-2.0
 * ftrace_enable.c - switches the events of a session on and off.
 *
 * INVARIANT: an event's enable file is 1 exactly while the sink of some session of the buffer wants it. So joining enables
 * what nobody wanted before, and leaving disables what nobody wants any more; nothing counts users.
 */
#include <errno.h>

#include "base/error_message.h"
#include "probes/ftrace/ftrace_session.h"

/* Events of this group belong to the tracer and have no enable file. */
static bool has_enable_file(const struct orma_ftrace_event *event)
{
	return strcmp(event->group, "ftrace") != 0;
}

static bool is_wanted_by_others(const struct orma_ftrace_session *session, uint16_t id)
{
	const struct orma_ftrace_session *other;

	ORMA_LIST_FOR_EACH (other, &session->buffer->sessions, link)
		if (other != session && other->sink && orma_ftrace_sink_wants(other->sink, id))
			return true;
	return false;
}

static int switch_event(struct orma_ftrace_buffer *buffer, const struct orma_ftrace_event *event,
			bool is_on)
{
	char file[ORMA_TRACEFS_FILE_BYTES];

	orma_tracefs_event_file(file, orma_base_str(event->group), orma_base_str(event->name),
				"enable");
	return orma_tracefs_journal_set(&buffer->journal, file,
					is_on ? ORMA_STR("1") : ORMA_STR("0"));
}

void orma_ftrace_session_add_event(struct orma_ftrace_session *session,
				   const struct orma_ftrace_event *event)
{
	struct orma_ftrace_buffer *buffer = session->buffer;
	int r = 0;

	if (orma_ftrace_sink_wants(session->sink, event->id))
		return;
	bool must_enable = has_enable_file(event) && !is_wanted_by_others(session, event->id);
	if (must_enable)
		r = switch_event(buffer, event, true);
	if (r == 0)
		r = orma_base_buf_append(&session->event_ids, &event->id, sizeof(event->id));
	if (r == 0)
		r = orma_ftrace_sink_want(session->sink, event);
	if (r == 0)
		return;
	if (must_enable)
		(void)switch_event(buffer, event, false);
	orma_ftrace_report_failed(&session->report, orma_base_str(event->group),
				  orma_base_str(event->name), orma_base_error_words(r));
}

void orma_ftrace_session_drop_events(struct orma_ftrace_session *session)
{
	size_t count = session->event_ids.size / sizeof(uint16_t);

	for (size_t i = 0; i < count; i++) {
		uint16_t id;

		memcpy(&id, session->event_ids.data + i * sizeof(id), sizeof(id));
		const struct orma_ftrace_event *event =
			orma_ftrace_events_by_id(session->buffer->events, id);
		if (event && has_enable_file(event) && !is_wanted_by_others(session, id))
			(void)switch_event(session->buffer, event, false);
	}
}
