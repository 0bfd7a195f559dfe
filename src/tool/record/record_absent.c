/* SPDX-License-Identifier: Apache-2.0
 * record_absent.c - warns of data sources that a recording asked for and no producer had.
 *
 * The service waits silently for a data source that no producer offers, because one may still
 * connect. So the recorder asks at the beginning which ones are offered, and reports at once what
 * is missing, before an hour is spent on it. Programs' own events (track_event) differ, because
 * programs come and go: the recorder reports at the end when the trace has none of them.
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
#include "tool/record/record.h"
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

/* The data sources of orma's and of Perfetto's probes. */
static const char *const known_sources[] = {
	TRACK_EVENT, "linux.process_stats", "linux.sys_stats",      "linux.system_info",
	FTRACE,      "linux.perf",          "linux.inode_file_map",
};

/* Returns the name that was probably meant, or NULL. */
static const char *find_meant(const char *name)
{
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(known_sources); i++)
		if (strcmp(name, known_sources[i]) == 0)
			return NULL;
	return orma_tool_closest(name, known_sources, ORMA_ARRAY_SIZE(known_sources));
}

#define LISTED_MAX 8

static bool is_first_of_name(const struct orma_pb_tracing_service_state *state, size_t at)
{
	const struct orma_pb_data_source_descriptor *descriptor =
		state->data_sources.items[at]->ds_descriptor;

	for (size_t i = 0; descriptor && i < at; i++)
		if (state->data_sources.items[i]->ds_descriptor &&
		    orma_base_str_is_equal(state->data_sources.items[i]->ds_descriptor->name,
					   descriptor->name))
			return false;
	return descriptor;
}

/* "a, b, c", or "nothing". */
static const char *list_offered(const struct orma_pb_tracing_service_state *state,
				struct orma_buf *ret)
{
	size_t listed = 0;

	ret->size = 0;
	for (size_t i = 0; i < state->data_sources.count && listed <= LISTED_MAX; i++) {
		if (!is_first_of_name(state, i))
			continue;
		struct orma_str name = state->data_sources.items[i]->ds_descriptor->name;
		if (orma_base_buf_append_str(ret, listed ? ", " : ""))
			return NULL;
		if (listed++ == LISTED_MAX)
			name = ORMA_STR("...");
		if (orma_base_buf_append(ret, name.data, name.size))
			return NULL;
	}
	return listed ? orma_base_buf_cstr(ret) : "nothing";
}

/* `needs_program`: only events of programs are recorded, and no program is about to be started. */
static void warn_of_missing(const char *name, bool needs_program,
			    const struct orma_pb_tracing_service_state *state)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf list = {0};
	const char *meant = find_meant(name), *offered = list_offered(state, &list);

	if (meant)
		orma_tool_warn("\"%s\" is not a data source of this system; did you mean \"%s\"?",
			       name, meant);
	else if (strcmp(name, FTRACE) == 0)
		orma_tool_warn("nobody offers \"" FTRACE
			       "\", where ftrace events come from; start Perfetto's "
			       "traced_probes, as root, and it joins in");
	else if (strcmp(name, TRACK_EVENT) != 0)
		orma_tool_warn("nobody offers the data source \"%s\" yet; offered are: %s", name,
			       offered ? offered : "?");
	else if (needs_program)
		orma_tool_warn("no program that uses the library is connected yet; those that "
			       "start from now on are recorded");
}

/* Programs are connected, but may have emitted nothing. */
static void warn_of_silence(const struct orma_pb_track_event_config *config,
			    const struct orma_pb_tracing_service_state *state, bool has_events,
			    bool is_embedded)
{
	char hint[256] = "";

	if (orma_record_warn_of_categories(config, state, has_events) || has_events)
		return;
	if (!is_embedded)
		snprintf(hint, sizeof(hint), "; `%s status --long` lists the categories",
			 orma_tool_path());
	orma_tool_warn("no events of programs (track_event): none was emitted that the config "
		       "enables%s",
		       hint);
}

/* Copies the name of the i-th source, with a NUL at its end. */
static bool copy_name(const struct orma_pb_trace_config *config, size_t i, struct orma_buf *ret)
{
	const struct orma_pb_data_source_config *source = config->data_sources.items[i]->config;

	ret->size = 0;
	return source && orma_base_buf_append(ret, source->name.data, source->name.size) == 0 &&
	       orma_base_buf_cstr(ret);
}

static void warn_of_all_missing(const struct orma_pb_trace_config *config,
				const struct orma_pb_tracing_service_state *state,
				bool starts_program)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf name = {0};
	bool needs_program = config->data_sources.count == 1 && !starts_program;

	for (size_t i = 0; i < config->data_sources.count; i++)
		if (copy_name(config, i, &name) &&
		    !is_offered(state, config->data_sources.items[i]->config->name))
			warn_of_missing(orma_base_buf_cstr(&name), needs_program, state);
	if (config->data_sources.count == 0)
		orma_tool_warn("the config names no data source: there is nothing to record");
}

/* The state of the service and the decoded config, as far as both are known. */
struct hints {
	void *data; /* the encoded state, into which `state` points */
	struct orma_arena arena;
	struct orma_pb_tracing_service_state *state;
	struct orma_pb_trace_config *config;
};

/* Returns true when both are known. They are only for hints, so the recording does not fail when a
 * service does not report its state. */
static bool load_hints(struct orma_session *session, const struct orma_record_config *config,
		       struct hints *hints)
{
	size_t size;

	return orma_session_query_state(session, false, &hints->data, &size) == 0 &&
	       orma_proto_decode(&orma_pb_tracing_service_state_desc, hints->data, size,
				 &hints->arena, &hints->state) == 0 &&
	       orma_proto_decode(&orma_pb_trace_config_desc, config->bytes.data, config->bytes.size,
				 &hints->arena, &hints->config) == 0;
}

static void free_hints(struct hints *hints)
{
	orma_config_free(hints->data);
	orma_base_arena_done(&hints->arena);
}

void orma_record_warn_of_missing(struct orma_session *session,
				 const struct orma_record_config *config, bool starts_program)
{
	struct hints hints = {0};

	/* A service that has refused the config reports that before it answers the query. */
	if (load_hints(session, config, &hints) && !orma_session_is_stopped(session))
		warn_of_all_missing(hints.config, hints.state, starts_program);
	free_hints(&hints);
}

static void warn_of_absent(bool is_embedded)
{
	orma_tool_warn("no events of programs (track_event): none that uses the library was "
		       "connected at the end%s",
		       is_embedded && geteuid() == 0
			       ? "; those of other users may not connect to root's recorder"
			       : "");
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
		if (!orma_base_str_is(source->name, TRACK_EVENT))
			continue;
		if (is_offered(state, source->name))
			warn_of_silence(source->track_event_config, state, has_packets,
					is_embedded);
		else if (!has_packets)
			warn_of_absent(is_embedded);
	}
	orma_base_buf_done(&name);
}

void orma_record_warn_of_absent(struct orma_session *session,
				const struct orma_record_config *config,
				const struct orma_tool_summary *summary, bool is_embedded)
{
	struct hints hints = {0};

	if (load_hints(session, config, &hints))
		warn_of_all_absent(hints.config, hints.state, summary, is_embedded);
	free_hints(&hints);
}
