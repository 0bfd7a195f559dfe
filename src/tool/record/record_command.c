/* SPDX-License-Identifier: Apache-2.0
 * record_command.c - the command line of `orma record`.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/log_message.h"
#include "base/str.h"
#include "proto/codec.h"
#include "schema/gen/trace_config.pb.h"
#include "tool/control/trigger_command.h"
#include "tool/print.h"
#include "tool/record/record_app.h"
#include "tool/record/record_options.h"
#include "tool/tool.h"

#define CATEGORIES_MAX 64

struct command_line {
	struct orma_record_line base;
	bool prints_config;
	const char *categories[CATEGORIES_MAX];
	char output_path[PATH_MAX]; /* with --rotate: the absolute name of the file */
	struct orma_buf ftrace_words, root_command; /* see record.h */
};

enum {
	OPTION_PRINT_CONFIG = ORMA_OPTION_OTHERS,
	OPTION_STREAM,
	OPTION_UNTIL_STOPPED,
	OPTION_RING,
	OPTION_COMPRESS,
	OPTION_ZSTD,
	OPTION_ROTATE,
	OPTION_CLONE,
	OPTION_DETACH,
	OPTION_ATTACH,
	OPTION_STOP,
	OPTION_JSON,
};

static const struct orma_tool_option option_table[] = {
	{'o', "out", "FILE",
	 "Write the trace to FILE; - is standard output. Default: trace.pftrace.",
	 ORMA_COMPLETE_FILE},
	{'t', "time", "TIME",
	 "Record for TIME: 500ms, 1.5s, 2m or 1h; a number without a unit means seconds. 0 is "
	 "without end, until Ctrl-C. Default: 10s, or what the config says; with a PROGRAM, until "
	 "it ends.",
	 NULL},
	{OPTION_UNTIL_STOPPED, "until-stopped", NULL, "The same as --time 0.", NULL},
	{'e', "categories", "NAME",
	 "Record only events of programs whose category is NAME, or begins with it if it ends with "
	 "*; may be repeated.",
	 NULL},
	{'b', "buffer", "SIZE",
	 "Size of the trace buffer: 4096k, 32mb or 1g; a number without a unit means kilobytes. "
	 "Default: 32mb.",
	 NULL},
	{OPTION_RING, "ring", "TIME",
	 "Record until it is stopped, and keep about the last TIME. Without --buffer the buffer "
	 "has "
	 "4mb for each second of TIME, at most 1g.",
	 NULL},
	{OPTION_STREAM, "stream", NULL,
	 "Write the file while recording, instead of keeping the newest data in memory until the "
	 "end.",
	 NULL},
	{'s', "size", "SIZE", "The same, and stop when the file has that SIZE.", NULL},
	{OPTION_ROTATE, "rotate", "SIZExN",
	 "The same, but go on in a new file when one has SIZE, and keep N files: 100mx5, or 100m x "
	 "5. Older files are called FILE.1, FILE.2 and so on.",
	 NULL},
	{OPTION_COMPRESS, "compress", NULL,
	 "Compress the trace with deflate, which all readers know.", NULL},
	{OPTION_ZSTD, "zstd", NULL,
	 "Compress the trace with zstd, which is smaller and faster; Perfetto's readers know it "
	 "since v58. A service without zstd uses deflate.",
	 NULL},
	{'c', "config", "FILE",
	 "Record by the TraceConfig in FILE, in text or binary form; - is standard input. --time, "
	 "--buffer, --size and --stream override it.",
	 ORMA_COMPLETE_FILE},
	{ORMA_OPTION_TXT, "txt", NULL, "Read the config as text, whatever it looks like.", NULL},
	{OPTION_PRINT_CONFIG, "print-config", NULL,
	 "Print the config that the other options stand for, or that of --config, as text, and "
	 "exit.",
	 NULL},
	{ORMA_OPTION_NO_CLOBBER, "no-clobber", NULL,
	 "Fail if the file exists, instead of overwriting it.", NULL},
	{'d', "background", NULL,
	 "Go on in the background once the session has begun, and print the process id. SIGTERM to "
	 "it ends the recording.",
	 NULL},
	{'D', "background-wait", NULL,
	 "The same, but return when all data sources have started, or after 30 seconds.", NULL},
	{OPTION_CLONE, "clone", "SESSION",
	 "Write a snapshot of a running session, by its id or its unique_session_name as orma "
	 "status shows them. The session goes on.",
	 NULL},
	{OPTION_DETACH, "detach", "KEY",
	 "Leave the session running in the daemon under KEY, and return. The daemon writes the "
	 "file.",
	 NULL},
	{OPTION_ATTACH, "attach", "KEY",
	 "Take over the session that runs under KEY, and wait for its end. The trace is in the "
	 "file that was named with --detach.",
	 NULL},
	{OPTION_STOP, "stop", NULL, "With --attach: end the session.", NULL},
	{'q', "quiet", NULL, "Print no progress and no summary.", NULL},
	{'v', "verbose", NULL,
	 "Print the whole summary also where standard error is not a terminal.", NULL},
	{OPTION_JSON, "json", NULL,
	 "Print the summary as JSON on standard output, and no progress.", NULL},
	{0},
};

static bool is_zero_duration(const char *value)
{
	uint32_t ms;

	return orma_tool_parse_duration_ms(value, &ms) == 0 && ms == 0;
}

static int take_category(struct command_line *line, const char *value)
{
	int count = line->base.wish.category_count;

	if (*value == '\0')
		return orma_tool_usage_error("--categories: the name is empty");
	if (count == CATEGORIES_MAX)
		return orma_tool_usage_error("--categories can be given %d times at most",
					     CATEGORIES_MAX);
	line->categories[count] = value;
	line->base.wish.categories = line->categories;
	line->base.wish.category_count = count + 1;
	return -1;
}

static int take_ring(struct command_line *line, const char *value)
{
	uint32_t ms = 0;

	if (orma_tool_parse_duration_ms(value, &ms) || ms == 0)
		return orma_tool_usage_error("\"%s\" is not a duration; try --ring 30s", value);
	line->base.wish.ring_ms = ms;
	line->base.wish.is_endless = true;
	line->base.wish.duration_ms = 0;
	return -1;
}

static int take_session(struct command_line *line, const char *value)
{
	struct orma_record_options *options = &line->base.options;

	if (orma_base_parse_u64(value, 10, &options->clone_id) || options->clone_id == 0)
		options->clone_name = value;
	return *value ? -1 : orma_tool_usage_error("--clone: name a session");
}

/* Takes an option that `perfetto` does not have, or calls otherwise. */
static int take_own_option(struct command_line *line, int option, char *value)
{
	switch (option) {
	case OPTION_PRINT_CONFIG:
		line->prints_config = true;
		return -1;
	case OPTION_STREAM:
		line->base.wish.is_streaming = true;
		return -1;
	case OPTION_ZSTD:
		line->base.wish.uses_zstd = true;
		line->base.wish.compresses = true;
		return -1;
	case OPTION_COMPRESS:
		line->base.wish.compresses = true;
		return -1;
	case OPTION_DETACH:
		line->base.options.detach_key = value;
		return -1;
	case OPTION_ATTACH:
		line->base.options.attach_key = value;
		return -1;
	case OPTION_STOP:
		line->base.options.stops_attached = true;
		return -1;
	case OPTION_RING:
		return take_ring(line, value);
	case OPTION_ROTATE:
		return orma_record_take_rotation(&line->base.wish, value);
	case OPTION_CLONE:
		return take_session(line, value);
	case 'e':
		return take_category(line, value);
	case 'v':
		line->base.options.is_verbose = true;
		return -1;
	case OPTION_JSON:
		line->base.options.is_json = true;
		return -1;
	case 'q':
		line->base.options.is_quiet = true;
		return -1;
	default:
		return ORMA_EXIT_USAGE;
	}
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
	return take_own_option(line, option, value);
}

/* Appends the config of a file, with what the options change in it, as text. */
static int append_config_of_file(const struct orma_record_wish *wish, struct orma_buf *text,
				 struct orma_error *reterr)
{
	struct orma_record_config config;
	struct orma_pb_trace_config *decoded;
	struct orma_arena arena = {0};
	int r = orma_record_config_make(wish, &config, reterr);

	if (r < 0)
		return r;
	r = orma_pb_trace_config_decode(config.bytes.data, config.bytes.size, &arena, &decoded);
	if (r == 0)
		r = orma_proto_text_print(decoded, 0, text);
	orma_base_arena_done(&arena);
	orma_record_config_done(&config);
	return r;
}

static int print_config(const struct orma_record_wish *wish)
{
	struct orma_error error = {0};
	struct orma_buf text = {0};
	int r = wish->config_path ? append_config_of_file(wish, &text, &error)
				  : orma_record_config_text(wish, &text);
	if (r == 0)
		/* main() reports a failure */
		(void)orma_tool_write_raw(stdout, text.data, text.size);
	orma_base_buf_done(&text);
	if (error.message[0] != '\0')
		return orma_tool_fail_in_text(&error);
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
			line->options.out_path = ORMA_RECORD_DEFAULT_PATH;
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

/* Appends a word as a shell reads it. */
static int append_word(struct orma_buf *text, const char *word)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789_./:-+,=@%";
	bool is_plain = *word && word[strspn(word, plain)] == '\0';
	int r = orma_base_buf_append_str(text, is_plain ? " " : " '");

	for (; *word && r == 0; word++)
		r = *word == '\'' ? orma_base_buf_append_str(text, "'\\''")
				  : orma_base_buf_append(text, word, 1);
	return r || is_plain ? r : orma_base_buf_append_str(text, "'");
}

static bool needs_ftrace(const char *source)
{
	return orma_record_is_of_kernel(source) || strcmp(source, "linux.ftrace") == 0;
}

/* Remembers what needs ftrace, and the command that root would give. */
static int describe_ftrace(struct command_line *line, int argc, char **argv)
{
	const struct orma_record_wish *wish = &line->base.wish;
	int r = 0;

	for (int i = 0; i < wish->source_count && r == 0; i++)
		if (needs_ftrace(wish->sources[i]))
			r = orma_base_buf_printf(&line->ftrace_words, "%s%s",
						 line->ftrace_words.size ? ", " : "",
						 wish->sources[i]);
	if (r == 0)
		r = orma_base_buf_printf(&line->root_command, "sudo %s record", orma_tool_path());
	for (int i = 1; i < argc && r == 0; i++)
		r = append_word(&line->root_command, argv[i]);
	if (r == 0 && line->ftrace_words.size)
		line->base.options.ftrace_words = orma_base_buf_cstr(&line->ftrace_words);
	line->base.options.root_command = r == 0 ? orma_base_buf_cstr(&line->root_command) : NULL;
	return r;
}

static bool is_pipe(const char *path)
{
	struct stat info;

	return path &&
	       (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && S_ISFIFO(info.st_mode)));
}

static int start(struct command_line *line)
{
	struct orma_record_options *options = &line->base.options;
	int status = orma_record_name_rotation(&line->base, line->output_path);

	if (status >= 0)
		return status;
	/* Another process has to keep a session that outlives its recorder. */
	if (options->detach_key) {
		line->base.wish.is_streaming = true;
		options->may_serve = false;
	}
	line->base.wish.is_live = is_pipe(options->out_path);
	if (line->prints_config)
		return print_config(&line->base.wish);
	orma_tool_log_to_stderr(ORMA_LOG_WARNING);
	if (!options->attach_key && !options->clone_id && !options->clone_name)
		return record(&line->base);
	options->may_serve = false;
	options->must_record = false;
	if (!options->out_path && !options->attach_key)
		options->out_path = ORMA_RECORD_DEFAULT_PATH;
	return orma_record_start(&line->base, NULL);
}

static int run_line(struct command_line *line, int argc, char **argv)
{
	int program = find_program(argc, argv);
	bool has_program = program > 1 && strcmp(argv[program - 1], "--") == 0;
	int own_argc = has_program ? program - 1 : argc;
	int status =
		orma_tool_read_options(&orma_record_command, own_argc, argv, take_option, line);

	if (status >= 0)
		return status;
	line->base.wish.sources = (const char *const *)argv + optind;
	line->base.wish.source_count = own_argc - optind;
	status = orma_record_check(&line->base, has_program);
	if (status < 0 && has_program)
		status = orma_record_take_program(&line->base, argv + program);
	if (status >= 0)
		return status;
	if (describe_ftrace(line, argc, argv))
		return orma_tool_fail("%s", strerror(ENOMEM));
	return start(line);
}

static int run(int argc, char **argv)
{
	struct command_line line = {
		.base.options = {.may_serve = true, .must_record = true, .ready_fd = -1},
	};
	char rotation[64];
	int status = run_line(
		&line, orma_record_join_rotation(argc, argv, rotation, sizeof(rotation)), argv);

	orma_base_buf_done(&line.ftrace_words);
	orma_base_buf_done(&line.root_command);
	return status;
}

const struct orma_tool_command orma_record_command = {
	.name = "record",
	.summary = "record a trace of this machine into a file",
	.usage = "[OPTIONS] [SOURCE...] [-- PROGRAM [ARGUMENT...]]",
	.about = "Records a trace: events of programs, what the probes poll, and with groups also "
		 "events of the kernel. A SOURCE is one of the groups sched, freq, idle, irq, "
		 "syscalls, block, net, memory and power, an event of the kernel "
		 "(sched/sched_switch), or a data source (linux.process_stats, linux.sys_stats, "
		 "linux.system_info, track_event, ...). With a data source, only what is named is "
		 "recorded; without any, those four, which need no root.\n\n"
		 "Uses the tracing daemon when one runs; without one it is its own, with this "
		 "machine's probes, and other programs and recorders join in.\n\n"
		 "With a PROGRAM, the recorder starts it, records until it ends, and exits with "
		 "its status.",
	.options = option_table,
	.completes = ORMA_COMPLETE_SOURCE,
	.notes = "Ctrl-C stops early and still writes the whole trace.",
	.run = run,
};
