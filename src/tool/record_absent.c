/* SPDX-License-Identifier: Apache-2.0
 * record_absent.c - tells of data sources that a recording asked for and nobody had.
 *
 * The service waits in silence for a data source that no producer offers: it may still come. So at the end of a recording, a
 * source counts as absent when the trace has nothing of it and no producer offers it now. A trace with packets of a kind that
 * the summary does not know is given the benefit of the doubt.
 */
#include <orma/session.h>
#include <string.h>

#include "base/arena.h"
#include "proto/codec.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "tool/record.h"
#include "tool/tool.h"

static bool is_recorded(const struct orma_tool_summary *summary, struct orma_str name)
{
	for (size_t i = 0; i < summary->source_count; i++)
		if (orma_base_str_is(name, summary->sources[i].name) ||
		    strcmp(summary->sources[i].name, ORMA_TOOL_SOURCE_OTHER) == 0)
			return true;
	return false;
}

static bool is_offered(const struct orma_pb_tracing_service_state *state, struct orma_str name)
{
	for (size_t i = 0; i < state->data_sources.count; i++) {
		const struct orma_pb_data_source_descriptor *descriptor =
			state->data_sources.items[i]->ds_descriptor;
		if (descriptor && orma_base_str_is_equal(descriptor->name, name))
			return true;
	}
	return false;
}

static void warn_of_absent(const struct orma_pb_trace_config *config,
			   const struct orma_pb_tracing_service_state *state,
			   const struct orma_tool_summary *summary)
{
	for (size_t i = 0; i < config->data_sources.count; i++) {
		const struct orma_pb_data_source_config *source =
			config->data_sources.items[i]->config;
		if (!source || is_recorded(summary, source->name) ||
		    is_offered(state, source->name))
			continue;
		struct orma_buf name = {0};
		if (orma_base_buf_append(&name, source->name.data, source->name.size) == 0 &&
		    orma_base_buf_cstr(&name))
			orma_tool_warn(
				"nobody offered the data source \"%s\"; `orma query` lists what "
				"a daemon has",
				orma_base_buf_cstr(&name));
		orma_base_buf_done(&name);
	}
}

void orma_record_warn_of_absent(struct orma_session *session,
				const struct orma_record_config *config,
				const struct orma_tool_summary *summary)
{
	struct orma_arena arena = {0};
	struct orma_pb_tracing_service_state *state;
	struct orma_pb_trace_config *decoded;
	void *data = NULL;
	size_t size;
	/* A hint only: a service that does not tell is no failure of the recording. */
	if (orma_session_query_state(session, false, &data, &size) == 0 &&
	    orma_proto_decode(&orma_pb_tracing_service_state_desc, data, size, &arena, &state) ==
		    0 &&
	    orma_proto_decode(&orma_pb_trace_config_desc, config->bytes.data, config->bytes.size,
			      &arena, &decoded) == 0)
		warn_of_absent(decoded, state, summary);
	orma_config_free(data);
	orma_base_arena_done(&arena);
}
