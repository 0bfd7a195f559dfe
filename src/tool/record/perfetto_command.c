/* SPDX-License-Identifier: Apache-2.0
 * perfetto_command.c - the command line of Perfetto's recorder, for scripts that call `perfetto`.
 *
 * Options and exit codes are the same, with two exceptions: a session that the service refuses ends
 * with 1 (upstream: 0), and --help with 0 (upstream: 1). Options that exist only for Android are
 * refused by name.
 */
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/log_message.h"
#include "base/str.h"
#include "tool/control/status_command.h"
#include "tool/control/trigger_command.h"
#include "tool/print.h"
#include "tool/record/perfetto_command.h"
#include "tool/record/perfetto_sources.h"
#include "tool/record/record_options.h"
#include "tool/tool.h"

#define EXIT_ATTACH_FAILED 2
/* The id that selects the session with the highest bugreport_score. */
#define HIGHEST_SCORE  UINT64_MAX
#define BUGREPORT_PATH "/tmp/bugreport.pftrace"
#define TEST_CONFIG    ":test"

enum {
	OPTION_TXT_LOSSY = ORMA_OPTION_OTHERS,
	OPTION_NOTIFY_FD,
	OPTION_ATTRIBUTE,
	OPTION_QUERY,
	OPTION_LONG,
	OPTION_QUERY_RAW,
	OPTION_DETACH,
	OPTION_ATTACH,
	OPTION_STOP,
	OPTION_IS_DETACHED,
	OPTION_CLONE,
	OPTION_CLONE_BY_NAME,
	OPTION_CLONE_FOR_BUGREPORT,
	OPTION_NOTE,
	OPTION_ANDROID,       /* needs an Android system: refused */
	OPTION_ANDROID_VALUE, /* says something to an Android system: skipped */
	OPTION_BUGREPORT,
	OPTION_RESET_GUARDRAILS,
	OPTION_IGNORED,
};

static const struct orma_tool_option option_table[] = {
	{'c', "config", "FILE",
	 "Record by the TraceConfig in FILE, which is binary without --txt; - is standard input.",
	 ORMA_COMPLETE_FILE},
	{ORMA_OPTION_TXT, "txt", NULL, "The config is text.", NULL},
	{OPTION_TXT_LOSSY, "txt-lossy", NULL, "The config is text, and unknown fields are skipped.",
	 NULL},
	{'o', "out", "FILE", "Write the trace to FILE; - is standard output.", ORMA_COMPLETE_FILE},
	{ORMA_OPTION_NO_CLOBBER, "no-clobber", NULL, "Fail if the file exists.", NULL},
	{'d', "background", NULL,
	 "Go on in the background once the file is open, and print the process id.", NULL},
	{'D', "background-wait", NULL,
	 "The same, but return when all data sources have started, or after 30 seconds.", NULL},
	{OPTION_NOTIFY_FD, "notify-fd", "FD",
	 "Write a byte to the descriptor FD when all data sources have started: 0, or 1 on "
	 "failure, 2 on a timeout.",
	 NULL},
	{OPTION_ATTRIBUTE, "add-attribute", "KEY[=VALUE]", "Put an attribute into the trace.",
	 NULL},
	{OPTION_QUERY, "query", NULL, "Show the daemon's state.", NULL},
	{OPTION_LONG, "long", NULL, "With --query: all categories of each program.", NULL},
	{OPTION_QUERY_RAW, "query-raw", NULL, "The same as a serialized message.", NULL},
	{OPTION_DETACH, "detach", "KEY",
	 "Leave the session running under KEY, and return. The config must have write_into_file.",
	 NULL},
	{OPTION_ATTACH, "attach", "KEY",
	 "Take over the session that runs under KEY, and wait for its end.", NULL},
	{OPTION_STOP, "stop", NULL, "With --attach: end the session.", NULL},
	{OPTION_IS_DETACHED, "is_detached", "KEY",
	 "Exit with 0 if a session runs under KEY, and with 2 if none does.", NULL},
	{OPTION_CLONE, "clone", "ID",
	 "Write a snapshot of the running session ID, as --query shows it. The session goes on.",
	 NULL},
	{OPTION_CLONE_BY_NAME, "clone-by-name", "NAME",
	 "The same, by the session's unique_session_name.", NULL},
	{OPTION_CLONE_FOR_BUGREPORT, "clone-for-bugreport", NULL,
	 "With --clone: do not apply the session's trace_filter.", NULL},
	{'t', "time", "TIME", "Without a config: record for TIME. Default: 10s.", NULL},
	{'b', "buffer", "SIZE", "Without a config: size of the buffer. Default: 32mb.", NULL},
	{'s', "size", "SIZE",
	 "Without a config: write the file while recording, and stop when it has that SIZE.", NULL},
	{OPTION_NOTE, "add-note", "KEY[=VALUE]", "The earlier name of --add-attribute.", NULL},
	{OPTION_BUGREPORT, "save-for-bugreport", NULL,
	 "Write a snapshot of the session with the highest bugreport_score, without its "
	 "trace_filter. Default of --out: /tmp/bugreport.pftrace.",
	 NULL},
	{OPTION_IGNORED, "no-guardrails", NULL, "Accepted without effect.", NULL},
	{OPTION_RESET_GUARDRAILS, "reset-guardrails", NULL, "Exit without effect.", NULL},
	{'a', "app", "NAME", "For Android: skipped with a warning.", NULL},
	{OPTION_ANDROID_VALUE, "alert-id", "ID", "For Android: skipped with a warning.", NULL},
	{OPTION_ANDROID_VALUE, "config-id", "ID", "For Android: skipped with a warning.", NULL},
	{OPTION_ANDROID_VALUE, "config-uid", "UID", "For Android: skipped with a warning.", NULL},
	{OPTION_ANDROID_VALUE, "subscription-id", "ID", "For Android: skipped with a warning.",
	 NULL},
	{OPTION_ANDROID, "upload", NULL, "For Android: refused.", NULL},
	{OPTION_ANDROID, "dropbox", "TAG", "For Android: refused.", NULL},
	{OPTION_ANDROID, "save-all-for-bugreport", NULL, "For Android: refused.", NULL},
	ORMA_TOOL_VERSION_OPTION,
	{0},
};

#define ATTRIBUTES_MAX 64

struct command_line {
	struct orma_record_line base;
	const char *attributes[ATTRIBUTES_MAX];
	const char *is_detached_key;
	bool queries, queries_raw, is_long;
	bool has_light_option;
	bool is_text, is_lossy_text;
};

/* Returns -1 to go on, else the exit status. */
static int take_fd(struct command_line *line, const char *value)
{
	uint64_t fd;
	if (orma_base_parse_u64(value, 10, &fd) || fd > INT32_MAX)
		return orma_tool_fail("\"%s\" is not a file descriptor", value);
	line->base.options.ready_fd = (int)fd;
	return -1;
}

static int take_attribute(struct command_line *line, const char *value)
{
	if (*value == '\0' || *value == '=')
		return orma_tool_fail("--add-attribute: the key is empty");
	if (line->base.wish.attribute_count == ATTRIBUTES_MAX)
		return orma_tool_fail("--add-attribute: more than %d attributes", ATTRIBUTES_MAX);
	line->attributes[line->base.wish.attribute_count++] = value;
	return -1;
}

static int take_flag(struct command_line *line, int option)
{
	switch (option) {
	case OPTION_TXT_LOSSY:
		line->base.wish.format = ORMA_CONFIG_TEXT_LOSSY;
		line->is_lossy_text = true;
		return -1;
	case OPTION_QUERY:
		line->queries = true;
		return -1;
	case OPTION_LONG:
		line->is_long = true;
		return -1;
	case OPTION_QUERY_RAW:
		line->queries_raw = true;
		return -1;
	case OPTION_STOP:
		line->base.options.stops_attached = true;
		return -1;
	case OPTION_CLONE_FOR_BUGREPORT:
		line->base.options.is_for_bugreport = true;
		return -1;
	case OPTION_BUGREPORT:
		line->base.options.clone_id = HIGHEST_SCORE;
		line->base.options.is_for_bugreport = true;
		return -1;
	case OPTION_RESET_GUARDRAILS:
		orma_tool_warn("there are no guardrails any more; --reset-guardrails does nothing");
		return ORMA_EXIT_OK;
	case OPTION_IGNORED:
		return -1;
	default:
		return ORMA_EXIT_FAILURE;
	}
}

/* Takes an option that has a meaning on Android alone. */
static int take_android(struct command_line *line, int option)
{
	if (option == OPTION_ANDROID)
		return orma_tool_fail("--upload, --dropbox and --save-all-for-bugreport are for "
				      "Android; --out writes a file");
	if (option == 'a') {
		line->has_light_option = true;
		orma_tool_warn("--app names an app of Android's atrace; it is left out");
		return -1;
	}
	orma_tool_warn("--alert-id, --config-id, --config-uid and --subscription-id are for "
		       "Android's statsd; the number is left out");
	return -1;
}

static int take_option(void *ctx, int option, char *value)
{
	struct command_line *line = ctx;
	struct orma_error error = {0};
	uint32_t ms = 1;

	line->has_light_option |= option == 't' || option == 'b' || option == 's';
	line->is_text |= option == ORMA_OPTION_TXT;
	if (option == 't') /* the last one counts; 0 is without end */
		line->base.wish.is_endless =
			orma_tool_parse_duration_ms(value, &ms) == 0 && ms == 0;
	int r = ms ? orma_record_take_option(&line->base, option, value, &error) : 1;
	if (r < 0)
		return orma_tool_fail("%s", error.message);
	if (r > 0)
		return -1;
	switch (option) {
	case OPTION_NOTIFY_FD:
		return take_fd(line, value);
	case OPTION_ATTRIBUTE:
	case OPTION_NOTE:
		return take_attribute(line, value);
	case OPTION_DETACH:
		line->base.options.detach_key = value;
		return -1;
	case OPTION_ATTACH:
		line->base.options.attach_key = value;
		return -1;
	case OPTION_IS_DETACHED:
		line->is_detached_key = value;
		return -1;
	case OPTION_CLONE:
		if (orma_base_parse_u64(value, 10, &line->base.options.clone_id) ||
		    line->base.options.clone_id == 0)
			return orma_tool_fail("\"%s\" is not the id of a session", value);
		return -1;
	case OPTION_CLONE_BY_NAME:
		line->base.options.clone_name = value;
		return -1;
	case 'a':
	case OPTION_ANDROID:
	case OPTION_ANDROID_VALUE:
		return take_android(line, option);
	default:
		return take_flag(line, option);
	}
}

static bool is_clone(const struct command_line *line)
{
	return line->base.options.clone_id || line->base.options.clone_name;
}

static int check_clone(const struct command_line *line, bool makes_config)
{
	const struct orma_record_options *options = &line->base.options;
	if (options->clone_id && options->clone_name)
		return orma_tool_fail("--clone and --clone-by-name exclude each other");
	if (options->attach_key || options->detach_key || makes_config)
		return orma_tool_fail("a clone takes no other session's options");
	return -1;
}

/* Refuses combinations that have no meaning. Returns the exit status, or -1. */
static int check(const struct command_line *line)
{
	const struct orma_record_options *options = &line->base.options;
	bool makes_config = line->has_light_option || line->base.wish.source_count > 0;
	if (line->is_text && line->is_lossy_text)
		return orma_tool_fail("--txt and --txt-lossy exclude each other");
	if (is_clone(line))
		return check_clone(line, makes_config);
	if (options->is_for_bugreport)
		return orma_tool_fail("--clone-for-bugreport goes with --clone or --clone-by-name");
	if (options->attach_key && options->detach_key)
		return orma_tool_fail("--attach and --detach exclude each other");
	if (options->detach_key && !*options->detach_key)
		return orma_tool_fail("--detach: the key is empty");
	if (options->detach_key && options->in_background)
		return orma_tool_fail("--detach and --background exclude each other");
	if (options->stops_attached && !options->attach_key)
		return orma_tool_fail("--stop goes with --attach");
	if (options->attach_key && (line->base.wish.config_path || makes_config))
		return orma_tool_fail("--attach takes no config");
	if (options->attach_key)
		return -1;
	if (line->base.wish.config_path && makes_config)
		return orma_tool_fail(
			"name events and sizes either in a config or as options, not both");
	if (!line->base.wish.config_path && !makes_config)
		return orma_tool_fail(
			"name a config (-c) or at least one event; --help shows the options");
	return -1;
}

static int check_output(const struct command_line *line, const struct orma_record_config *config)
{
	bool needs_output = !config || !config->output_path;
	if (!line->base.options.out_path && needs_output && !line->base.options.attach_key)
		return orma_tool_fail("name the trace's file with --out");
	if (line->base.options.out_path && config && config->output_path)
		return orma_tool_fail("the config names an output_path, so --out has no meaning");
	if (line->base.options.detach_key && config && !config->writes_into_file)
		return orma_tool_fail("--detach needs write_into_file in the config");
	return -1;
}

static int run(struct command_line *line, struct orma_record_config *config)
{
	int status = check_output(line, config);
	if (status >= 0)
		return status;
	status = orma_record_start(&line->base, config);
	return status != ORMA_EXIT_OK && line->base.options.attach_key ? EXIT_ATTACH_FAILED
								       : status;
}

static int record(struct command_line *line)
{
	struct orma_record_config config;
	struct orma_error error = {0};
	const char **sources = NULL;
	int r = 0;
	/* A detached session streams into its own file. Upstream's recorder skips --out without a
	 * word. */
	if (line->base.options.attach_key && line->base.options.out_path) {
		orma_tool_warn("--attach leaves --out as it is: the trace is in the session's own "
			       "file");
		line->base.options.out_path = NULL;
	}
	/* Upstream's recorder accepts a config with a clone, and ignores it. */
	if (line->base.options.attach_key || is_clone(line))
		return run(line, NULL);
	const char *path = line->base.wish.config_path;
	if (path && strcmp(path, TEST_CONFIG) == 0)
		r = orma_perfetto_add_test(&line->base.wish, &sources);
	else if (!path)
		r = orma_perfetto_add_sources(line->base.wish.sources, line->base.wish.source_count,
					      &line->base.wish, &sources);
	else if (line->base.wish.format == ORMA_CONFIG_GUESS)
		line->base.wish.format = ORMA_CONFIG_BINARY;
	if (r < 0)
		return orma_tool_fail("%s", strerror(-r));
	r = orma_record_config_make(&line->base.wish, &config, &error);
	int status;
	if (r)
		status = orma_tool_fail_in_text(&error);
	else if (config.trigger_count)
		status = orma_tool_activate_triggers(config.triggers, config.trigger_count, false);
	else
		status = run(line, &config);
	if (r == 0)
		orma_record_config_done(&config);
	orma_base_free(sources);
	return status;
}

int orma_perfetto_run(int argc, char **argv, bool may_serve)
{
	struct command_line line = {
		.base.options = {.ready_fd = -1, .may_serve = may_serve, .mixes_output = true}};
	int status = orma_tool_read_options(&orma_perfetto_command, argc, argv, take_option, &line);

	if (status >= 0)
		return status == ORMA_EXIT_USAGE ? ORMA_EXIT_FAILURE : status;
	line.base.wish.attributes = line.attributes;
	line.base.wish.sources = (const char *const *)argv + optind;
	line.base.wish.source_count = argc - optind;
	orma_tool_log_to_stderr(ORMA_LOG_WARNING);
	if (line.is_long && !line.queries && !line.queries_raw)
		return orma_tool_fail("--long goes with --query");
	if ((line.queries || line.queries_raw) &&
	    (line.base.wish.config_path || line.has_light_option || line.base.wish.source_count ||
	     line.base.options.attach_key || line.base.options.detach_key ||
	     line.base.options.in_background))
		return orma_tool_fail("--query goes with --long alone");
	if (line.queries || line.queries_raw)
		return orma_tool_print_query(line.queries_raw ? ORMA_QUERY_RAW
					     : line.is_long   ? ORMA_QUERY_LONG
							      : ORMA_QUERY_SHORT);
	if (line.is_detached_key)
		return orma_record_is_detached(line.is_detached_key);
	if (line.base.options.clone_id == HIGHEST_SCORE && !line.base.options.out_path)
		line.base.options.out_path = BUGREPORT_PATH;
	status = check(&line);
	return status >= 0 ? status : record(&line);
}

static int run_command(int argc, char **argv)
{
	return orma_perfetto_run(argc, argv, false);
}

const struct orma_tool_command orma_perfetto_command = {
	.name = "perfetto",
	.usage = "[OPTIONS] -c CONFIG -o TRACE\n[OPTIONS] -o TRACE EVENT...",
	.about = "Perfetto's recorder. It needs a daemon. The second form records "
		 "linux.process_stats, linux.system_info and the events: GROUP/EVENT, a group of "
		 "orma record (sched, freq, ...), disk or hyp. -c :test stands for a config of two "
		 "seconds with events of scheduling and power.",
	.options = option_table,
	.completes = ORMA_COMPLETE_SOURCE,
	.run = run_command,
};
