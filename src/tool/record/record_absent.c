/* SPDX-License-Identifier: Apache-2.0
 * record_absent.c - warns of data sources that a recording asked for and no producer had.
 *
 * The service waits silently for a data source that no producer offers, because one may still
 * connect. So the recorder asks at the beginning which ones are offered, and reports at once what
 * is missing, before an hour is spent on it. Programs' own events (track_event) differ, because
 * programs come and go: the recorder reports at the end when the trace has none of them.
 */
#include <errno.h>
#include <orma/session.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/macros.h"
#include "probes/ftrace/tracefs.h"
#include "proto/codec.h"
#include "schema/gen/data_source_config.pb.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/trace_config.pb.h"
#include "tool/control/offered_sources.h"
#include "tool/record/record.h"
#include "tool/record/record_app.h"
#include "tool/record/record_categories.h"
#include "tool/record/record_groups.h"
#include "tool/tool.h"

static bool is_recorded(const struct orma_tool_summary *summary, struct orma_str name)
{
	for (size_t i = 0; i < summary->source_count; i++)
		if (orma_base_str_is(name, summary->sources[i].name) ||
		    strcmp(summary->sources[i].name, ORMA_TOOL_SOURCE_OTHER) == 0)
			return true;
	return false;
}

#define TRACK_EVENT "track_event"
#define FTRACE      "linux.ftrace"

#define LISTED_MAX 8

/* Names for orma_tool_closest(): the data sources that are offered, and the groups. */
#define MEANT_MAX 64

/* "a, b, c", or "nothing". */
static const char *list_offered(const struct orma_pb_tracing_service_state *state,
				struct orma_arena *arena, struct orma_buf *ret)
{
	const char *names[LISTED_MAX + 1];
	size_t count = orma_tool_list_offered(state, arena, names, LISTED_MAX + 1);
	int r = 0;

	for (size_t i = 0; i < count && r == 0; i++)
		r = orma_base_buf_printf(ret, "%s%s", i ? ", " : "",
					 i == LISTED_MAX ? "..." : names[i]);
	return r < 0 ? NULL : count ? orma_base_buf_cstr(ret) : "nothing";
}

/* Returns the name that was probably meant, or NULL. */
static const char *find_meant(const char *name, const struct orma_pb_tracing_service_state *state,
			      struct orma_arena *arena)
{
	const char *names[MEANT_MAX];
	size_t count = 0;

	for (; count < orma_record_group_count; count++)
		names[count] = orma_record_groups[count].name;
	count += orma_tool_list_offered(state, arena, names + count, MEANT_MAX - count);
	return orma_tool_closest(name, names, count);
}

/* Returns 0, or why this process cannot record events of the kernel. */
static int check_tracefs(struct orma_error *reterr)
{
	struct orma_tracefs fs = {.fd = -1};
	int r = orma_tracefs_open(getenv("ORMA_TRACEFS"), (struct orma_str){0}, &fs, reterr);

	orma_tracefs_close(&fs);
	return r;
}

void orma_record_leave_out_ftrace(const struct orma_record_options *options)
{
	struct orma_error error;
	int r = options->ftrace_words ? check_tracefs(&error) : 0;

	if (r == 0)
		return;
	if (geteuid() != 0 && options->root_command)
		orma_tool_warn("left out: %s, which only root may record; `%s` does",
			       options->ftrace_words, options->root_command);
	else
		orma_tool_warn("left out: %s, because %s", options->ftrace_words, error.message);
	r = orma_record_config_drop_source(options->config, FTRACE);
	if (r < 0)
		orma_tool_warn("%s", strerror(-r));
}

/* The facts that are known when a recording begins. */
struct beginning {
	const struct orma_record_options *options;
	const struct orma_pb_tracing_service_state *state;
	bool needs_program; /* only events of programs are recorded, and no program is about to start */
};

/* Explains words that are usual elsewhere: `perf record -e sched:sched_switch,block:*`, `strace ls`.
 * Returns false when the word is something else. */
static bool explain(const char *word, const char *meant)
{
	const char *colon = strchr(word, ':');

	if (strchr(word, ','))
		orma_tool_warn(
			"no producer offers the data source \"%s\"; several are separated by "
			"spaces",
			word);
	else if (colon)
		orma_tool_warn(
			"no producer offers the data source \"%s\"; an event of the kernel is "
			"written %.*s/%s",
			word, (int)(colon - word), word, colon + 1);
	else if (!meant && orma_record_app_exists(word))
		orma_tool_warn("no producer offers the data source \"%s\"; a program to record "
			       "follows --, as in `record -- %s`",
			       word, word);
	else
		return false;
	return true;
}

static void warn_of_missing(const struct beginning *beginning, const char *name)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf list = {0};
	ORMA_AUTO(orma_base_arena_done) struct orma_arena arena = {0};
	const char *words = beginning->options->ftrace_words;

	if (strcmp(name, FTRACE) == 0) {
		orma_tool_warn("left out: %s, because no producer offers " FTRACE
			       "; `sudo %s probes` does",
			       words ? words : "events of the kernel", orma_tool_path());
		return;
	}
	if (strcmp(name, TRACK_EVENT) == 0) {
		if (beginning->needs_program)
			orma_tool_warn("no program that uses the library is connected yet; those "
				       "that start from now on are recorded");
		return;
	}
	const char *meant = find_meant(name, beginning->state, &arena);
	const char *offered = list_offered(beginning->state, &arena, &list);
	if (explain(name, meant))
		return;
	if (meant)
		orma_tool_warn("no producer offers the data source \"%s\"; did you mean \"%s\"?",
			       name, meant);
	else
		orma_tool_warn("no producer offers the data source \"%s\" yet; offered are: %s",
			       name, offered ? offered : "?");
}

/* Programs are connected, but may have emitted nothing. */
static void warn_of_silence(const struct orma_pb_track_event_config *config,
			    struct orma_record_categories *categories, bool has_events,
			    bool is_embedded)
{
	char hint[256] = "";

	if (orma_record_warn_of_categories(categories, config, has_events) || has_events)
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

/* A config may have a data source several times. */
static bool is_new_name(const struct orma_pb_trace_config *config, size_t at)
{
	const struct orma_pb_data_source_config *source = config->data_sources.items[at]->config;

	for (size_t i = 0; i < at && source; i++)
		if (config->data_sources.items[i]->config &&
		    orma_base_str_is_equal(config->data_sources.items[i]->config->name,
					   source->name))
			return false;
	return source;
}

static void warn_of_all_missing(const struct beginning *beginning,
				const struct orma_pb_trace_config *config)
{
	ORMA_AUTO(orma_base_buf_done) struct orma_buf name = {0};

	for (size_t i = 0; i < config->data_sources.count; i++)
		if (is_new_name(config, i) && copy_name(config, i, &name) &&
		    !orma_tool_is_offered(beginning->state,
					  config->data_sources.items[i]->config->name))
			warn_of_missing(beginning, orma_base_buf_cstr(&name));
	if (!beginning->options->config->has_sources)
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

/* A recording of a few milliseconds may be over before the service answers the query. The
 * recorder still says what was missing, because nothing else explains the empty trace. */
static bool has_failed(struct orma_session *session)
{
	return orma_session_is_stopped(session) && orma_session_wait_stopped(session, 0, NULL) < 0;
}

void orma_record_warn_of_missing(struct orma_session *session,
				 const struct orma_record_options *options)
{
	struct hints hints = {0};

	/* A service that has refused the config reports that before it answers the query. */
	if (load_hints(session, options->config, &hints) && !has_failed(session)) {
		struct beginning beginning = {
			.options = options,
			.state = hints.state,
			.needs_program =
				hints.config->data_sources.count == 1 && !options->app_argv,
		};
		warn_of_all_missing(&beginning, hints.config);
	}
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
			       const struct orma_tool_summary *summary,
			       struct orma_record_categories *categories, bool is_embedded)
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
		if (orma_tool_is_offered(state, source->name) || categories->has_seen)
			warn_of_silence(source->track_event_config, categories, has_packets,
					is_embedded);
		else if (!has_packets)
			warn_of_absent(is_embedded);
	}
	orma_base_buf_done(&name);
}

void orma_record_warn_of_absent(struct orma_session *session,
				const struct orma_record_config *config,
				const struct orma_tool_summary *summary,
				struct orma_record_categories *categories, bool is_embedded)
{
	struct hints hints = {0};

	if (load_hints(session, config, &hints)) {
		orma_record_categories_add(categories, hints.state);
		warn_of_all_absent(hints.config, hints.state, summary, categories, is_embedded);
	}
	free_hints(&hints);
}
