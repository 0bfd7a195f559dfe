/* SPDX-License-Identifier: Apache-2.0
 * record_absent.c - tells of data sources that a recording asked for and nobody had.
 *
 * The service waits in silence for a data source that no producer offers: it may still come. So at
 * the end of a recording, a source counts as absent when the trace has nothing of it and no
 * producer offers it now. A trace with packets of a kind that the summary does not know is given
 * the benefit of the doubt. Track events that nobody emitted though programs are there are told of,
 * too. Only what looks like a misspelt name of a source that everybody has is told at the
 * beginning, before an hour is spent on it.
 */
#include <orma/session.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/macros.h"
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

#define TRACK_EVENT "track_event"
#define FTRACE      "linux.ftrace"

/* Of orma and of Perfetto's probes. */
static const char *const known_sources[] = {
	TRACK_EVENT, "linux.process_stats", "linux.sys_stats",      "linux.system_info",
	FTRACE,      "linux.perf",          "linux.inode_file_map",
};

static void warn_of_misspelt(const char *name)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(known_sources); i++)
		if (strcmp(name, known_sources[i]) == 0)
			return;
	const char *closest =
		orma_tool_closest(name, known_sources, ORMA_ARRAY_SIZE(known_sources));
	if (closest)
		orma_tool_warn("\"%s\" is no data source of this system; did you mean \"%s\"?",
			       name, closest);
}

static void warn_of_absent(const char *name, bool is_embedded)
{
	if (strcmp(name, TRACK_EVENT) == 0)
		orma_tool_warn(
			"no events of programs (track_event): none that uses the library was "
			"connected at the end%s",
			is_embedded && geteuid() == 0
				? "; those of other users may not connect to root's recorder"
				: "");
	else if (strcmp(name, FTRACE) == 0)
		orma_tool_warn("nobody offered \"" FTRACE
			       "\": it comes from Perfetto's traced_probes, beside `orma traced`");
	else if (is_embedded)
		orma_tool_warn("nobody offered the data source \"%s\"", name);
	else
		orma_tool_warn("nobody offered the data source \"%s\"; `%s query` lists what the "
			       "daemon has",
			       name, orma_tool_path());
}

/* Programs are there, and may have said nothing. */
static void warn_of_silence(const struct orma_pb_track_event_config *config,
			    const struct orma_pb_tracing_service_state *state, bool has_events,
			    bool is_embedded)
{
	char hint[256] = "";

	if (orma_record_warn_of_categories(config, state, has_events) || has_events)
		return;
	if (!is_embedded)
		snprintf(hint, sizeof(hint), "; `%s query --long` lists the categories",
			 orma_tool_path());
	orma_tool_warn("no events of programs (track_event): none was emitted that the config "
		       "enables%s",
		       hint);
}

/* The name of the i-th source, with a NUL behind it. */
static bool copy_name(const struct orma_pb_trace_config *config, size_t i, struct orma_buf *ret)
{
	const struct orma_pb_data_source_config *source = config->data_sources.items[i]->config;

	ret->size = 0;
	return source && orma_base_buf_append(ret, source->name.data, source->name.size) == 0 &&
	       orma_base_buf_cstr(ret);
}

void orma_record_warn_of_misspelt(const struct orma_record_config *config)
{
	struct orma_arena arena = {0};
	struct orma_buf name = {0};
	struct orma_pb_trace_config *decoded;

	if (orma_proto_decode(&orma_pb_trace_config_desc, config->bytes.data, config->bytes.size,
			      &arena, &decoded) == 0) {
		for (size_t i = 0; i < decoded->data_sources.count; i++)
			if (copy_name(decoded, i, &name))
				warn_of_misspelt(orma_base_buf_cstr(&name));
		if (decoded->data_sources.count == 0)
			orma_tool_warn(
				"the config names no data source: there is nothing to record");
	}
	orma_base_buf_done(&name);
	orma_base_arena_done(&arena);
}

static void warn_of_all_absent(const struct orma_pb_trace_config *config,
			       const struct orma_pb_tracing_service_state *state,
			       const struct orma_tool_summary *summary, bool is_embedded)
{
	struct orma_buf name = {0};

	for (size_t i = 0; i < config->data_sources.count; i++) {
		if (!copy_name(config, i, &name))
			continue;
		const struct orma_pb_data_source_config *source =
			config->data_sources.items[i]->config;
		bool has_packets = is_recorded(summary, source->name);
		if (!is_offered(state, source->name)) {
			if (!has_packets)
				warn_of_absent(orma_base_buf_cstr(&name), is_embedded);
		} else if (orma_base_str_is(source->name, TRACK_EVENT)) {
			warn_of_silence(source->track_event_config, state, has_packets,
					is_embedded);
		}
	}
	orma_base_buf_done(&name);
}

void orma_record_warn_of_absent(struct orma_session *session,
				const struct orma_record_config *config,
				const struct orma_tool_summary *summary, bool is_embedded)
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
		warn_of_all_absent(decoded, state, summary, is_embedded);
	orma_config_free(data);
	orma_base_arena_done(&arena);
}
