/* SPDX-License-Identifier: Apache-2.0
 * status_command.c - prints the state of a running daemon: its producers, their data sources, and
 * the sessions.
 */
#include "tool/control/status_command.h"

#include <errno.h>
#include <inttypes.h>
#include <orma/session.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/clock_ns.h"
#include "proto/codec.h"
#include "schema/gen/data_source_descriptor.pb.h"
#include "schema/gen/service_state.pb.h"
#include "schema/gen/track_event_descriptor.pb.h"
#include "tool/control/status_json.h"
#include "tool/print.h"
#include "tool/tool.h"

/* A daemon that hangs must not hang this command for long. */
#define ANSWER_MS 3000u

/* printf's %.*s for a str. */
#define STR_ARGS(str) (int)(str).size, (str).data

static const struct orma_pb_tracing_service_state_producer *
find_producer(const struct orma_pb_tracing_service_state *state, int32_t id)
{
	for (size_t i = 0; i < state->producers.count; i++)
		if (state->producers.items[i]->id == id)
			return state->producers.items[i];
	return NULL;
}

/* The tables show machines only when there is more than one. */
static bool has_other_machines(const struct orma_pb_tracing_service_state *state)
{
	for (size_t i = 0; i < state->producers.count; i++)
		if (state->producers.items[i]->machine_id)
			return true;
	return false;
}

static void print_machine(const struct orma_pb_tracing_service_state_producer *producer)
{
	char id[16];

	if (!producer || producer->machine_id == 0)
		orma_tool_print(stdout, "%-20s ", "(host)");
	else if (producer->machine_name.size)
		orma_tool_print(stdout, "%-20.*s ", STR_ARGS(producer->machine_name));
	else if (snprintf(id, sizeof(id), "0x%x", producer->machine_id) > 0)
		orma_tool_print(stdout, "%-20s ", id);
}

static void print_producers(const struct orma_pb_tracing_service_state *state)
{
	bool has_machines = has_other_machines(state);

	puts("\nPRODUCER PROCESSES CONNECTED:\n");
	orma_tool_print_line(
		stdout,
		"ID     PID      UID      FLAGS  %sNAME                                       SDK",
		has_machines ? "MACHINE              " : "");
	orma_tool_print_line(
		stdout,
		"==     ===      ===      =====  %s====                                       ===",
		has_machines ? "=======              " : "");
	for (size_t i = 0; i < state->producers.count; i++) {
		const struct orma_pb_tracing_service_state_producer *producer =
			state->producers.items[i];
		orma_tool_print(stdout, "%-6d %-8d %-8d %-6s ", producer->id, producer->pid,
				producer->uid, producer->frozen ? "F" : "");
		if (has_machines)
			print_machine(producer);
		orma_tool_print_line(stdout, "%-42.*s %.*s", STR_ARGS(producer->name),
				     STR_ARGS(producer->sdk_version));
	}
}

static void print_categories(const struct orma_pb_track_event_descriptor *descriptor, bool is_long)
{
	enum { SHORT_MAX = 40 };
	size_t printed = 0;
	for (size_t i = 0; descriptor && i < descriptor->available_categories.count; i++) {
		struct orma_str name = descriptor->available_categories.items[i]->name;
		if (!is_long && printed + name.size > SHORT_MAX) {
			orma_tool_print(stdout, "... (use --long to expand)");
			return;
		}
		orma_tool_print(stdout, "%s%.*s", i ? "," : "", STR_ARGS(name));
		printed += name.size + (i > 0);
	}
}

static void print_data_sources(const struct orma_pb_tracing_service_state *state, bool is_long)
{
	bool has_machines = has_other_machines(state);

	puts("\n\nDATA SOURCES REGISTERED:\n");
	orma_tool_print_line(
		stdout,
		"NAME                                     PRODUCER                     %sDETAILS",
		has_machines ? "MACHINE              " : "");
	orma_tool_print_line(
		stdout,
		"===                                      ========                     %s========",
		has_machines ? "=======              " : "");
	for (size_t i = 0; i < state->data_sources.count; i++) {
		const struct orma_pb_tracing_service_state_data_source *source =
			state->data_sources.items[i];
		const struct orma_pb_tracing_service_state_producer *producer =
			find_producer(state, source->producer_id);
		char owner[64] = "";
		if (producer)
			snprintf(owner, sizeof(owner), "%.*s (%d)", STR_ARGS(producer->name),
				 producer->id);
		if (!source->ds_descriptor)
			continue;
		orma_tool_print(stdout, "%-40.*s %-*s", STR_ARGS(source->ds_descriptor->name),
				has_machines || source->ds_descriptor->track_event_descriptor ? 29
											      : 0,
				owner);
		if (has_machines)
			print_machine(producer);
		print_categories(source->ds_descriptor->track_event_descriptor, is_long);
		puts("");
	}
}

static void print_sessions(const struct orma_pb_tracing_service_state *state)
{
	if (!state->supports_tracing_sessions)
		return;
	puts("\n\nTRACING SESSIONS:\n\n"
	     "ID      UID     STATE      BUF (#) KB   DUR (s)   #DS  STARTED  NAME\n"
	     "===     ===     =====      ==========   =======   ===  =======  ====");
	for (size_t i = 0; i < state->tracing_sessions.count; i++) {
		const struct orma_pb_tracing_service_state_tracing_session *session =
			state->tracing_sessions.items[i];
		uint64_t total_kb = 0;
		for (size_t b = 0; b < session->buffer_size_kb.count; b++)
			total_kb += session->buffer_size_kb.items[b];
		time_t start = (time_t)((uint64_t)session->start_realtime_ns / ORMA_NS_PER_SEC);
		struct tm tm;
		char started[16] = "";
		if (gmtime_r(&start, &tm))
			strftime(started, sizeof(started), "%H:%M:%S", &tm);
		orma_tool_print_line(
			stdout, "%-7" PRIu64 " %-7d %-10.*s (%zu) %-8" PRIu64 " %-9u %-4u %s %.*s",
			session->id, session->consumer_uid, STR_ARGS(session->state),
			session->buffer_size_kb.count, total_kb, session->duration_ms / 1000,
			session->num_data_sources, started, STR_ARGS(session->unique_session_name));
	}
	if ((int32_t)state->tracing_sessions.count != state->num_sessions && getuid() != 0)
		puts("\nSessions of other users are not listed; root sees them all.");
}

static int print_state(const void *data, size_t size, bool is_long)
{
	struct orma_arena arena = {0};
	struct orma_pb_tracing_service_state *state;
	int r = orma_proto_decode(&orma_pb_tracing_service_state_desc, data, size, &arena, &state);
	if (r == 0) {
		orma_tool_print_line(stdout, "Service: %.*s",
				     STR_ARGS(state->tracing_service_version));
		orma_tool_print_line(stdout, "Tracing sessions: %d (started: %d)",
				     state->num_sessions, state->num_sessions_started);
		puts("");
		print_producers(state);
		print_data_sources(state, is_long);
		print_sessions(state);
	}
	orma_base_arena_done(&arena);
	return r;
}

static int print_answer(enum orma_query_form form, const void *data, size_t size)
{
	switch (form) {
	case ORMA_QUERY_RAW:
		(void)orma_tool_write_raw(stdout, data, size); /* main() reports a failure */
		return 0;
	case ORMA_QUERY_JSON:
		return orma_status_print_json(data, size);
	default:
		return print_state(data, size, form == ORMA_QUERY_LONG);
	}
}

static int tell_no_session(int r, const struct orma_error *error)
{
	const char *words = error->message[0] ? error->message : strerror(-r);

	if (r == -EACCES)
		return orma_tool_fail("%s, or run this as root", words);
	if (r == -ETIMEDOUT)
		return orma_tool_fail("%s within %u s: the daemon is stopped, or overloaded; "
				      "`orma doctor` says what to do",
				      words, ANSWER_MS / 1000);
	return orma_tool_fail("%s", words);
}

static int tell_no_answer(int r)
{
	switch (r) {
	case -ENOTSUP:
		return orma_tool_fail("the daemon is from before 2020 and cannot tell its state");
	case -ETIMEDOUT:
		return orma_tool_fail("the daemon did not tell its state within %u s: it is "
				      "stopped, or overloaded",
				      ANSWER_MS / 1000);
	case -ECONNRESET:
		return orma_tool_fail("the daemon ended before it told its state");
	default:
		return orma_tool_fail("cannot read the daemon's state: %s", strerror(-r));
	}
}

int orma_tool_print_query(enum orma_query_form form)
{
	struct orma_session_options options = {.struct_size = sizeof(options),
					       .timeout_ms = ANSWER_MS};
	struct orma_session *session;
	struct orma_error error = {0};
	void *data = NULL;
	size_t size;
	int r = orma_session_new(&options, &session, &error);

	if (r)
		return tell_no_session(r, &error);
	r = orma_session_query_state(session, false, &data, &size);
	if (r == 0)
		r = print_answer(form, data, size);
	orma_config_free(data);
	orma_session_free(session);
	return r ? tell_no_answer(r) : ORMA_EXIT_OK;
}

enum { OPTION_LONG = ORMA_OPTION_FIRST_OWN, OPTION_RAW, OPTION_JSON };

static const struct orma_tool_option option_table[] = {
	{OPTION_LONG, "long", NULL, "Show all categories of each program.", NULL},
	{OPTION_JSON, "json", NULL, "Print the state as JSON on one line, for scripts.", NULL},
	{OPTION_RAW, "raw", NULL,
	 "Print the answer as a serialized TracingServiceState message, for scripts.", NULL},
	{0},
};

static int take_option(void *ctx, int option, char *value)
{
	enum orma_query_form *form = ctx;

	(void)value;
	if (*form != ORMA_QUERY_SHORT)
		return orma_tool_usage_error("--long, --json and --raw exclude each other");
	*form = option == OPTION_RAW    ? ORMA_QUERY_RAW
		: option == OPTION_JSON ? ORMA_QUERY_JSON
					: ORMA_QUERY_LONG;
	return -1;
}

static int run(int argc, char **argv)
{
	enum orma_query_form form = ORMA_QUERY_SHORT;
	int status = orma_tool_read_options(&orma_status_command, argc, argv, take_option, &form);

	if (status >= 0)
		return status;
	if (optind != argc)
		return orma_tool_usage_error("\"%s\" is not an option", argv[optind]);
	return orma_tool_print_query(form);
}

const struct orma_tool_command orma_status_command = {
	.name = "status",
	.summary = "show the daemon's producers, data sources and sessions",
	.usage = "[--long | --json | --raw]",
	.about = "Shows the producers, data sources and sessions of the running daemon, or without "
		 "a daemon, of this user's recorder.",
	.options = option_table,
	.run = run,
};
