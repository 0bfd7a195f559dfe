/* SPDX-License-Identifier: Apache-2.0
 * status_json.c - the state of a daemon as JSON.
 *
 *   {"service":"orma 0.2.0","session_count":1,"started_count":1,
 *    "producers":[{"id":1,"pid":70,"uid":0,"name":"app","sdk":"","machine":0,"machine_name":"",
 *                  "frozen":false}],
 *    "data_sources":[{"name":"track_event","producer":1,"categories":["gfx"]}],
 *    "sessions":[{"id":1,"uid":0,"state":"STARTED","name":"","duration_ms":10000,
 *                 "data_sources":1,"started_ns":1700000000000000000,"buffers_kb":[32768,8192]}]}
 *
 * Members are added in later versions and never renamed. Only root sees the sessions of other users;
 * session_count has all of them.
 */
#include "tool/control/status_json.h"

#include <inttypes.h>

#include "base/arena.h"
#include "base/json_writer.h"
#include "proto/codec.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/track_event_descriptor.pb.h"
#include "tool/print.h"

static int append_producer(const struct orma_pb_tracing_service_state_producer *producer,
			   struct orma_buf *json)
{
	int r = orma_json_begin_element(json);

	if (r == 0)
		r = orma_json_append_number(json, "id", (uint32_t)producer->id);
	if (r == 0)
		r = orma_json_append_number(json, "pid", (uint32_t)producer->pid);
	if (r == 0)
		r = orma_json_append_number(json, "uid", (uint32_t)producer->uid);
	if (r == 0)
		r = orma_json_append_text(json, "name", producer->name);
	if (r == 0)
		r = orma_json_append_text(json, "sdk", producer->sdk_version);
	if (r == 0)
		r = orma_json_append_number(json, "machine", producer->machine_id);
	if (r == 0)
		r = orma_json_append_text(json, "machine_name", producer->machine_name);
	if (r == 0)
		r = orma_base_buf_append_str(json, producer->frozen ? ",\"frozen\":true"
								    : ",\"frozen\":false");
	return r ? r : orma_base_buf_append_str(json, "}");
}

static int append_categories(const struct orma_pb_track_event_descriptor *descriptor,
			     struct orma_buf *json)
{
	int r = orma_json_append_key(json, "categories");

	if (r == 0)
		r = orma_base_buf_append_str(json, "[");
	for (size_t i = 0; i < descriptor->available_categories.count && r == 0; i++) {
		if (i > 0)
			r = orma_base_buf_append_str(json, ",");
		if (r == 0)
			r = orma_json_append_string(
				json, descriptor->available_categories.items[i]->name);
	}
	return r ? r : orma_base_buf_append_str(json, "]");
}

static int append_data_source(const struct orma_pb_tracing_service_state_data_source *source,
			      struct orma_buf *json)
{
	const struct orma_pb_data_source_descriptor *descriptor = source->ds_descriptor;

	if (!descriptor)
		return 0;
	int r = orma_json_begin_element(json);
	if (r == 0)
		r = orma_json_append_text(json, "name", descriptor->name);
	if (r == 0)
		r = orma_json_append_number(json, "producer", (uint32_t)source->producer_id);
	if (r == 0 && descriptor->track_event_descriptor)
		r = append_categories(descriptor->track_event_descriptor, json);
	return r ? r : orma_base_buf_append_str(json, "}");
}

static int append_session(const struct orma_pb_tracing_service_state_tracing_session *session,
			  struct orma_buf *json)
{
	int r = orma_json_begin_element(json);

	if (r == 0)
		r = orma_json_append_number(json, "id", session->id);
	if (r == 0)
		r = orma_json_append_number(json, "uid", (uint32_t)session->consumer_uid);
	if (r == 0)
		r = orma_json_append_text(json, "state", session->state);
	if (r == 0)
		r = orma_json_append_text(json, "name", session->unique_session_name);
	if (r == 0)
		r = orma_json_append_number(json, "duration_ms", session->duration_ms);
	if (r == 0)
		r = orma_json_append_number(json, "data_sources", session->num_data_sources);
	if (r == 0)
		r = orma_json_append_number(json, "started_ns",
					    (uint64_t)session->start_realtime_ns);
	if (r == 0)
		r = orma_base_buf_append_str(json, ",\"buffers_kb\":[");
	for (size_t i = 0; i < session->buffer_size_kb.count && r == 0; i++)
		r = orma_base_buf_printf(json, "%s%" PRIu32, i ? "," : "",
					 session->buffer_size_kb.items[i]);
	return r ? r : orma_base_buf_append_str(json, "]}");
}

static int append_state(const struct orma_pb_tracing_service_state *state, struct orma_buf *json)
{
	int r = orma_json_begin_element(json);

	if (r == 0)
		r = orma_json_append_text(json, "service", state->tracing_service_version);
	if (r == 0)
		r = orma_json_append_number(json, "session_count", (uint32_t)state->num_sessions);
	if (r == 0)
		r = orma_json_append_number(json, "started_count",
					    (uint32_t)state->num_sessions_started);
	if (r == 0)
		r = orma_base_buf_append_str(json, ",\"producers\":[");
	for (size_t i = 0; i < state->producers.count && r == 0; i++)
		r = append_producer(state->producers.items[i], json);
	if (r == 0)
		r = orma_base_buf_append_str(json, "],\"data_sources\":[");
	for (size_t i = 0; i < state->data_sources.count && r == 0; i++)
		r = append_data_source(state->data_sources.items[i], json);
	if (r == 0)
		r = orma_base_buf_append_str(json, "],\"sessions\":[");
	for (size_t i = 0; i < state->tracing_sessions.count && r == 0; i++)
		r = append_session(state->tracing_sessions.items[i], json);
	return r ? r : orma_base_buf_append_str(json, "]}\n");
}

int orma_status_print_json(const void *data, size_t size)
{
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	ORMA_AUTO(orma_base_buf_done) struct orma_buf json = {0};
	struct orma_pb_tracing_service_state *state;
	int r = orma_proto_decode(&orma_pb_tracing_service_state_desc, data, size, &arena, &state);

	if (r == 0)
		r = append_state(state, &json);
	if (r == 0)
		(void)orma_tool_write_raw(stdout, json.data,
					  json.size); /* main() reports a failure */
	return r;
}
