/* SPDX-License-Identifier: Apache-2.0
 * record_command.c - the command line of `orma record`.
 */
#include <string.h>
#include <unistd.h>

#include "base/log_message.h"
#include "tool/control/trigger_command.h"
#include "tool/print.h"
#include "tool/record/record_app.h"
#include "tool/record/record_options.h"
#include "tool/tool.h"

struct command_line {
	struct orma_record_line base;
	bool prints_config;
};

enum { OPTION_PRINT_CONFIG = ORMA_OPTION_OTHERS, OPTION_STREAM, OPTION_UNTIL_STOPPED };

static const struct orma_tool_option option_table[] = {
	{'o', "out", "FILE",
	 "Write the trace to FILE; - is standard output. Default: trace.pftrace.",
	 ORMA_COMPLETE_FILE},
	{'t', "time", "TIME",
	 "Record for TIME: 500ms, 10s, 2m or 1h; a number without a unit means seconds. 0 is "
	 "without end, until Ctrl-C. Default: 10s, or what the config says; with a PROGRAM, until "
	 "it ends.",
	 NULL},
	{OPTION_UNTIL_STOPPED, "until-stopped", NULL, "The same as --time 0.", NULL},
	{'b', "buffer", "SIZE",
	 "Size of the trace buffer: 4096k, 32mb or 1g; a number without a unit means kilobytes. "
	 "Default: 32mb.",
	 NULL},
	{OPTION_STREAM, "stream", NULL,
	 "Write the file while recording, instead of keeping the newest data in memory until the "
	 "end.",
	 NULL},
	{'s', "size", "SIZE", "The same, and stop when the file has that SIZE.", NULL},
	{'c', "config", "FILE",
	 "Record by the TraceConfig in FILE, in text or binary form; - is standard input. --time, "
	 "--buffer, --size and --stream override it.",
	 ORMA_COMPLETE_FILE},
	{ORMA_OPTION_TXT, "txt", NULL, "Read the config as text, whatever it looks like.", NULL},
	{OPTION_PRINT_CONFIG, "print-config", NULL,
	 "Print the config that the other options stand for, and exit.", NULL},
	{ORMA_OPTION_NO_CLOBBER, "no-clobber", NULL,
	 "Fail if the file exists, instead of overwriting it.", NULL},
	{'d', "background", NULL,
	 "Go on in the background once the session has begun, and print the process id. SIGTERM to "
	 "it ends the recording.",
	 NULL},
	{'D', "background-wait", NULL,
	 "The same, but return when all data sources have started, or after 30 seconds.", NULL},
	{'q', "quiet", NULL, "Print no progress and no summary.", NULL},
	{0},
};

static bool is_zero_duration(const char *value)
{
	uint32_t ms;

	return orma_tool_parse_duration_ms(value, &ms) == 0 && ms == 0;
}

static int take_option(void *ctx, int option, char *value)
{
	struct command_line *line = ctx;
	struct orma_error error = {0};
	int r;

	if (option == OPTION_UNTIL_STOPPED || (option == 't' && is_zero_duration(value))) {
		line->base.wish.is_endless = true;
		line->base.wish.duration_ms = 0;
		return -1;
	}
	if (option == 't')
		line->base.wish.is_endless = false; /* the last -t counts */
	r = orma_record_take_option(&line->base, option, value, &error);
	if (r < 0)
		return orma_tool_usage_error("%s", error.message);
	if (r > 0)
		return -1;
	switch (option) {
	case OPTION_PRINT_CONFIG:
		line->prints_config = true;
		return -1;
	case OPTION_STREAM:
		line->base.wish.is_streaming = true;
		return -1;
	case 'q':
		line->base.options.is_quiet = true;
		return -1;
	default:
		return ORMA_EXIT_USAGE;
	}
}

static int print_config(const struct orma_record_wish *wish)
{
	struct orma_buf text = {0};
	int r = orma_record_config_text(wish, &text);
	if (r == 0)
		/* main() reports a failure */
		(void)orma_tool_write_raw(stdout, text.data, text.size);
	orma_base_buf_done(&text);
	return r ? orma_tool_fail("%s", strerror(-r)) : ORMA_EXIT_OK;
}

static int record(struct orma_record_line *line)
{
	struct orma_record_config config;
	struct orma_error error = {0};
	int status;
	if (orma_record_config_make(&line->wish, &config, &error))
		return orma_tool_fail_in_text(&error);
	if (config.trigger_count && line->options.app_argv) {
		status = orma_tool_usage_error(
			"a config with activate_triggers records nothing, so no program is started "
			"for it; leave the program out, or leave activate_triggers out");
	} else if (config.trigger_count) {
		status = orma_tool_activate_triggers(config.triggers, config.trigger_count, true);
	} else if (line->options.out_path && config.output_path) {
		status = orma_tool_fail("the config names an output_path, so --out has no meaning");
	} else {
		if (!line->options.out_path && !config.output_path)
			line->options.out_path = "trace.pftrace";
		status = orma_record_start(line, &config);
	}
	orma_record_config_done(&config);
	return status;
}

/* Returns the index of the program to record, after "--"; argc = there is none. */
static int find_program(int argc, char **argv)
{
	for (int i = 1; i < argc; i++)
		if (strcmp(argv[i], "--") == 0)
			return i + 1;
	return argc;
}

/* -1 = go on, else the exit status. */
static int take_program(struct orma_record_line *line, char **argv)
{
	const char *out_path = line->options.out_path;

	if (!argv[0])
		return orma_tool_usage_error("name the program to record behind --");
	if (line->options.in_background)
		return orma_tool_usage_error("--background and a program exclude each other");
	if (out_path && strcmp(out_path, "-") == 0)
		return orma_tool_usage_error(
			"standard output is the program's; name a file for the trace (-o)");
	int status = orma_record_app_find(argv[0]);
	if (status != ORMA_EXIT_OK)
		return status;
	line->options.app_argv = argv;
	if (!line->wish.config_path && line->wish.duration_ms == 0)
		line->wish.is_endless = true;
	return -1;
}

static int run(int argc, char **argv)
{
	struct command_line line = {
		.base.options = {.may_serve = true, .must_record = true, .ready_fd = -1},
	};
	int program = find_program(argc, argv);
	bool has_program = program > 1 && strcmp(argv[program - 1], "--") == 0;
	int own_argc = has_program ? program - 1 : argc;
	int status =
		orma_tool_read_options(&orma_record_command, own_argc, argv, take_option, &line);

	if (status >= 0)
		return status;
	line.base.wish.sources = (const char *const *)argv + optind;
	line.base.wish.source_count = own_argc - optind;
	if (line.base.wish.config_path && line.base.wish.source_count)
		return orma_tool_usage_error(
			"name data sources either on the command line or in a config");
	status = has_program ? take_program(&line.base, argv + program) : -1;
	if (status >= 0)
		return status;
	if (line.prints_config)
		return print_config(&line.base.wish);
	orma_tool_log_to_stderr(ORMA_LOG_WARNING);
	return record(&line.base);
}

const struct orma_tool_command orma_record_command = {
	.name = "record",
	.summary = "record a trace of this machine into a file",
	.usage = "[OPTIONS] [SOURCE...] [-- PROGRAM [ARGUMENT...]]",
	.about = "Records a trace. Uses the tracing daemon when one runs; without one it is its "
		 "own, with this machine's probes, and other programs can join in. A SOURCE is a "
		 "data source's name (linux.process_stats, linux.sys_stats, linux.system_info, "
		 "track_event, ...) or an ftrace event (sched/sched_switch); without any, those "
		 "four are recorded.\n\n"
		 "With a PROGRAM, the recorder starts it, records until it ends, and exits with "
		 "its status.",
	.options = option_table,
	.completes = ORMA_COMPLETE_SOURCE,
	.notes = "Ctrl-C stops early and still writes the whole trace.",
	.run = run,
};
