/* SPDX-License-Identifier: Apache-2.0
 * concurrent_sessions.c - other tracing sessions of the service while this one recorded: a track of states each.
 */
#include <errno.h>
#include <stdio.h>

#include "schema/gen/concurrent_session_event.pb.h"
#include "trace/importer.h"

/* A clone has the name of what was cloned, and begins in this state. */
static int64_t make_name(struct orma_tables *tables,
			 const struct orma_pb_concurrent_session_event *event)
{
	const int is_clone =
		event->state == ORMA_PB_CONCURRENT_SESSION_EVENT_STATE_STATE_CLONED_READ_ONLY;
	ORMA_AUTO(orma_base_buf_done) struct orma_buf text = {0};
	int r;
	if (event->session_name.size > 0)
		r = orma_base_buf_append(&text, event->session_name.data, event->session_name.size);
	else
		r = orma_base_buf_printf(&text, "Session %llu",
					 (unsigned long long)event->session_id);
	if (r == 0 && is_clone)
		r = orma_base_buf_append_str(&text, " (clone)");
	if (r < 0)
		tables->error = r;
	return orma_tables_string(tables, (struct orma_str){(char *)text.data, text.size});
}

static int add_args(struct orma_importer *importer, int64_t state,
		    const struct orma_pb_concurrent_session_event *event)
{
	struct orma_arg_list *list = orma_row_args_get(&importer->state_args, state);
	if (!list)
		return -ENOMEM;
	orma_arg_list_add_int(list, "consumer_uid", event->consumer_uid);
	orma_arg_list_add_int(list, "num_data_sources", event->num_data_sources);
	return list->error;
}

static int take(struct orma_importer *importer, uint32_t machine_idx, int64_t ts,
		const struct orma_pb_concurrent_session_event *event)
{
	static const char *const names[] = {NULL,
					    "DISABLED",
					    "CONFIGURED",
					    "STARTED",
					    "DISABLING_WAITING_STOP_ACKS",
					    "CLONED_READ_ONLY"};
	struct orma_tables *tables = importer->tables;
	int64_t state;
	if (event->state <= 0 || (size_t)event->state >= sizeof(names) / sizeof(*names)) {
		orma_stats_add(&importer->system.stats, machine_idx,
			       ORMA_STAT_concurrent_session_event_unknown_state, 0, 1);
		return 0;
	}
	struct orma_track_key key = {
		.type = "concurrent_tracing_sessions",
		.event_type = "state",
		.machine_idx = machine_idx,
		.dimension_count = 1,
		.dimensions = {{"session_id", ORMA_ARG_INT, (int64_t)event->session_id}}};
	int64_t track = orma_tracks_get(&importer->tracks, &key, make_name(tables, event),
					ORMA_CELL_NULL, NULL);
	if (track < 0)
		return (int)track;
	int r = orma_states_set(&importer->states, ts, track, ORMA_CELL_NULL,
				orma_tables_string(tables, orma_base_str(names[event->state])),
				&state);
	if (r == 0)
		r = add_args(importer, state, event);
	/* The session has ended, so the state ends at once. */
	if (r == 0 && event->state == ORMA_PB_CONCURRENT_SESSION_EVENT_STATE_STATE_DISABLED)
		r = orma_states_set(&importer->states, ts, track, ORMA_CELL_NULL, ORMA_CELL_NULL,
				    &state);
	return r;
}

int orma_importer_concurrent_session(struct orma_importer *importer,
				     const struct orma_ordered_event *event)
{
	struct orma_pb_concurrent_session_event *session;
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	struct orma_str content = event->packet->content;
	int r = orma_pb_concurrent_session_event_decode(content.data, content.size, &arena,
							&session);
	if (r < 0)
		return r == -EBADMSG ? 0 : r;
	return take(importer, event->machine_idx, event->ns, session);
}
