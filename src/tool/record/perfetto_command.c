/* SPDX-License-Identifier: Apache-2.0
 * perfetto_command.c - the command line of Perfetto's recorder, for scripts that call `perfetto`.
 *
 * Options and exit codes are the same, with two exceptions: a session that the service refuses ends
 * with 1 (upstream: 0), and --help with 0 (upstream: 1). Options that exist only for Android are
 * refused by name.
 */
#include <string.h>

#include "base/alloc.h"
#include "base/log_message.h"
#include "base/str.h"
#include "tool/control/query_command.h"
#include "tool/control/trigger_command.h"
#include "tool/print.h"
#include "tool/record/record_options.h"
#include "tool/tool.h"

#define EXIT_ATTACH_FAILED 2

static void print_help(void)
{
	puts("Usage: perfetto [OPTIONS] -c CONFIG -o TRACE\n"
	     "       perfetto [OPTIONS] -o TRACE GROUP/EVENT...\n"
	     "\n"
	     "  -c, --config FILE     a TraceConfig; - is standard input\n"
	     "      --txt             it is text\n"
	     "      --txt-lossy       it is text; fields that are not known are skipped\n"
	     "  -o, --out FILE        the trace; - is standard output\n"
	     "      --no-clobber      never overwrite a file\n"
	     "  -d, --background      go on in the background; prints the process id\n"
	     "  -D, --background-wait the same, after all data sources have started (30 s at "
	     "most)\n"
	     "      --notify-fd FD    write a status byte there when all data sources have "
	     "started\n"
	     "      --add-attribute KEY[=VALUE]  put an attribute into the trace\n"
	     "      --query [--long]  show the daemon's state\n"
	     "      --query-raw       the same as a serialized message\n"
	     "      --detach KEY      leave the session running under a key\n"
	     "      --attach KEY [--stop]  take it over again, and stop it\n"
	     "      --clone ID        write a snapshot of a running session, which goes on; ID as "
	     "--query shows it\n"
	     "      --clone-by-name NAME  the same, by its unique_session_name\n"
	     "      --clone-for-bugreport with --clone: without the session's trace filter\n"
	     "      --is_detached KEY exit with 0 when there is one, else with 2\n"
	     "      --version         print the version\n"
	     "  -h, --help            show this\n"
	     "\n"
	     "Without a config:\n"
	     "  -t, --time TIME       10s, 2m, 1h (default: 10s)\n"
	     "  -b, --buffer SIZE     32mb, 1gb (default: 32mb)\n"
	     "  -s, --size SIZE       stream into the file, at most so much");
}

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
	OPTION_VERSION,
	OPTION_IGNORED,
};

#define ATTRIBUTES_MAX 64

struct command_line {
	struct orma_record_line base;
	const char *attributes[ATTRIBUTES_MAX];
	const char *is_detached_key;
	bool queries, queries_raw, is_long;
	bool has_light_option;
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
	case OPTION_VERSION:
		orma_tool_print_version("orma");
		return ORMA_EXIT_OK;
	case 'h':
		print_help();
		return ORMA_EXIT_OK;
	case OPTION_IGNORED:
		return -1;
	default:
		return ORMA_EXIT_FAILURE;
	}
}

static int take_option(struct command_line *line, int option, const char *value)
{
	struct orma_error error = {0};
	int r = orma_record_take_option(&line->base, option, value, &error);
	if (r < 0)
		return orma_tool_fail("%s", error.message);
	line->has_light_option |= option == 't' || option == 'b' || option == 's';
	if (r > 0)
		return -1;
	switch (option) {
	case OPTION_NOTIFY_FD:
		return take_fd(line, value);
	case OPTION_ATTRIBUTE:
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
		/* All ones selects the session with the highest bugreport_score. */
		if (orma_base_parse_u64(value, 10, &line->base.options.clone_id) ||
		    line->base.options.clone_id == 0)
			return orma_tool_fail("\"%s\" is not the id of a session", value);
		return -1;
	case OPTION_CLONE_BY_NAME:
		line->base.options.clone_name = value;
		return -1;
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
	if (is_clone(line))
		return check_clone(line, makes_config);
	if (options->is_for_bugreport)
		return orma_tool_fail("--clone-for-bugreport goes with --clone or --clone-by-name");
	if (options->attach_key && options->detach_key)
		return orma_tool_fail("--attach and --detach exclude each other");
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
	if (!line->base.wish.config_path && line->base.wish.source_count == 0)
		return orma_tool_fail(
			"name a config (-c) or at least one event; --help shows the options");
	return -1;
}

/* Light configs also record these sources. Names without a slash (Android's atrace categories) have
 * no meaning here. */
static int add_light_sources(const char *const *names, int count, const char ***ret)
{
	static const char *const always[] = {"linux.process_stats", "linux.system_info"};
	const char **sources = orma_base_alloc_array((size_t)count + 2, sizeof(*sources));
	if (!sources)
		return orma_tool_fail("no memory");
	for (int i = 0; i < count; i++) {
		if (!strchr(names[i], '/')) {
			orma_base_free(sources);
			return orma_tool_fail(
				"\"%s\" is an atrace category; those exist on Android alone",
				names[i]);
		}
		sources[i] = names[i];
	}
	memcpy(sources + count, always, sizeof(always));
	*ret = sources;
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

static int run(struct command_line *line, const struct orma_record_config *config)
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
	/* Upstream's recorder accepts a config with a clone, and ignores it. */
	if (line->base.options.attach_key || is_clone(line))
		return run(line, NULL);
	if (!line->base.wish.config_path) {
		int status = add_light_sources(line->base.wish.sources,
					       line->base.wish.source_count, &sources);
		if (status >= 0)
			return status;
		line->base.wish.sources = sources;
		line->base.wish.source_count += 2;
	} else if (line->base.wish.format == ORMA_CONFIG_GUESS) {
		line->base.wish.format = ORMA_CONFIG_BINARY;
	}
	int r = orma_record_config_make(&line->base.wish, &config, &error);
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

int orma_tool_perfetto(int argc, char **argv)
{
	static const struct option options[] = {
		ORMA_RECORD_OPTIONS,
		{"txt-lossy", no_argument, NULL, OPTION_TXT_LOSSY},
		{"notify-fd", required_argument, NULL, OPTION_NOTIFY_FD},
		{"add-attribute", required_argument, NULL, OPTION_ATTRIBUTE},
		{"query", no_argument, NULL, OPTION_QUERY},
		{"long", no_argument, NULL, OPTION_LONG},
		{"query-raw", no_argument, NULL, OPTION_QUERY_RAW},
		{"detach", required_argument, NULL, OPTION_DETACH},
		{"attach", required_argument, NULL, OPTION_ATTACH},
		{"stop", no_argument, NULL, OPTION_STOP},
		{"is_detached", required_argument, NULL, OPTION_IS_DETACHED},
		{"clone", required_argument, NULL, OPTION_CLONE},
		{"clone-by-name", required_argument, NULL, OPTION_CLONE_BY_NAME},
		{"clone-for-bugreport", no_argument, NULL, OPTION_CLONE_FOR_BUGREPORT},
		{"version", no_argument, NULL, OPTION_VERSION},
		{"no-guardrails", no_argument, NULL, OPTION_IGNORED},
		{"reset-guardrails", no_argument, NULL, OPTION_IGNORED},
		{NULL, 0, NULL, 0},
	};
	struct command_line line = {.base.options = {.ready_fd = -1}};

	for (int option;
	     (option = orma_tool_option(argc, argv, ":" ORMA_RECORD_LETTERS, options)) != -1;) {
		int status = take_option(&line, option, optarg);
		if (status >= 0)
			return status;
	}
	line.base.wish.attributes = line.attributes;
	line.base.wish.sources = (const char *const *)argv + optind;
	line.base.wish.source_count = argc - optind;
	orma_tool_log_to_stderr(ORMA_LOG_WARNING);
	if (line.queries || line.queries_raw)
		return orma_tool_print_query(line.queries_raw ? ORMA_QUERY_RAW
					     : line.is_long   ? ORMA_QUERY_LONG
							      : ORMA_QUERY_SHORT);
	if (line.is_detached_key)
		return orma_record_is_detached(line.is_detached_key);
	int status = check(&line);
	return status >= 0 ? status : record(&line);
}
