/* SPDX-License-Identifier: Apache-2.0
 * trace_processor_command.c - the command line of Perfetto's trace_processor_shell: its options, and those of its
 * subcommands that ask or export.
 *
 * Options without effect here are those whose effect orma always has, or that choose how upstream works inside. Parts that
 * orma does not have, and those for other systems than Linux, are refused by name.
 */
#include <string.h>
#include <unistd.h>

#include "tool/ask/trace_processor.h"
#include "tool/print.h"
#include "tool/tool.h"

enum {
	OPTION_NO_FTRACE_RAW = ORMA_OPTION_FIRST_OWN,
	OPTION_ADD_PACKAGE,
	OPTION_OVERRIDE_PACKAGE,
	OPTION_OVERRIDE_STDLIB,
	OPTION_DEV,
	OPTION_ANALYZE,
	OPTION_CROP,
	OPTION_CHECKS,
	OPTION_FILES,
	OPTION_IGNORED,
	/* From here on, all are refused. */
	OPTION_REFUSED,
	OPTION_STDIOD = OPTION_REFUSED,
	OPTION_SUMMARY,
	OPTION_STRUCTURED_ID,
	OPTION_RUN_METRICS,
};

#define REFUSED "Not a part of orma."
#define IGNORED "Accepted without effect."

static const struct orma_tool_option option_table[] = {
	{'q', "query-file", "FILE", "Run the queries in a file; - is standard input.",
	 ORMA_COMPLETE_FILE},
	{'f', "file", "FILE", "The same, as the subcommand query has it.", ORMA_COMPLETE_FILE},
	{'Q', "query-string", "QUERY", "Run these queries.", NULL},
	{'i', "interactive", NULL, "Start a shell when the queries are done.", NULL},
	{'e', "export", "FILE", "Write all tables and views into a file of SQLite.",
	 ORMA_COMPLETE_FILE},
	{'o', "output", "FILE", "The same, as the subcommand export has it.", ORMA_COMPLETE_FILE},
	{'p', "perf-file", "FILE",
	 "Write how long the loading and the queries took, as two numbers of nanoseconds with a "
	 "comma between.",
	 ORMA_COMPLETE_FILE},
	{OPTION_NO_FTRACE_RAW, "no-ftrace-raw", NULL,
	 "Do not make a row of ftrace_event for each event of the kernel.", NULL},
	{OPTION_ADD_PACKAGE, "add-sql-package", "FOLDER[@NAME]",
	 "Let `include perfetto module NAME.a.b` find the file a/b.sql in the folder.",
	 ORMA_COMPLETE_FOLDER},
	{OPTION_OVERRIDE_PACKAGE, "override-sql-package", "FOLDER[@NAME]",
	 "The same; the modules may replace others.", ORMA_COMPLETE_FOLDER},
	{OPTION_OVERRIDE_STDLIB, "override-stdlib", "FOLDER",
	 "With --dev: the folder's modules replace those of the same names.", ORMA_COMPLETE_FOLDER},
	{OPTION_DEV, "dev", NULL, "Allow --override-stdlib.", NULL},
	{OPTION_ANALYZE, "analyze-trace-proto-content", NULL,
	 "Fill the tables experimental_proto_path and experimental_proto_content: how many bytes "
	 "of "
	 "the trace each field of its packets takes.",
	 NULL},
	{OPTION_CROP, "crop-track-events", NULL,
	 "Leave out track events before the range of interest, if the trace tells one.", NULL},
	{OPTION_CHECKS, "extra-checks", NULL,
	 "Run the query of each view that has a schema when the view is created, and check that a "
	 "table could hold its values.",
	 NULL},
	{OPTION_FILES, "register-files-dir", "FOLDER",
	 "List the files in and below the folder in __intrinsic_file, and the build ids of "
	 "programs "
	 "and libraries among them in __intrinsic_elf_file.",
	 ORMA_COMPLETE_FOLDER},
	{'v', "version", NULL, "Print the version.", NULL},
	{'W', "wide", NULL, IGNORED, NULL},
	{'d', "debug", NULL, IGNORED, NULL},
	{OPTION_IGNORED, "full-sort", NULL, IGNORED, NULL},
	{OPTION_IGNORED, "dev-flag", "KEY=VALUE", IGNORED, NULL},
	{OPTION_IGNORED, "allow-sql-file-access", NULL, IGNORED, NULL},
	{'D', "httpd", NULL, REFUSED, NULL},
	{OPTION_STDIOD, "stdiod", NULL, REFUSED, NULL},
	{OPTION_SUMMARY, "summary", NULL, REFUSED, NULL},
	{OPTION_STRUCTURED_ID, "structured-query-id", "ID", REFUSED, NULL},
	{'m', "metatrace", "FILE", REFUSED, NULL},
	{OPTION_RUN_METRICS, "run-metrics", "NAMES", REFUSED, NULL},
	{0},
};

static int refuse(int id)
{
	const struct orma_tool_option *option = option_table;
	while (option->id != id)
		option++;
	return orma_tool_fail("--%s is not a part of orma; Perfetto's own trace_processor_shell "
			      "has it",
			      option->name);
}

static int print_version(void)
{
	orma_tool_print_version("trace_processor_shell");
	return ORMA_EXIT_OK;
}

static int take_option(void *ctx, int id, char *value)
{
	struct orma_trace_processor_options *options = ctx;
	switch (id) {
	case 'q':
	case 'f':
		options->query_file = value;
		return -1;
	case 'Q':
		options->query = *value ? value : NULL;
		return -1;
	case 'i':
		options->is_interactive = true;
		return -1;
	case 'e':
	case 'o':
		options->sqlite_file = value;
		return -1;
	case 'p':
		options->times_file = value;
		return -1;
	case 'v':
		return print_version();
	case OPTION_NO_FTRACE_RAW:
		options->ask.has_no_raw_events = true;
		return -1;
	case OPTION_ANALYZE:
		options->ask.analyzes_content = true;
		return -1;
	case OPTION_CROP:
		options->ask.crops_events = true;
		return -1;
	case OPTION_CHECKS:
		options->ask.checks_views = true;
		return -1;
	case OPTION_FILES:
		options->files_folder = value;
		return -1;
	case OPTION_ADD_PACKAGE:
	case OPTION_OVERRIDE_PACKAGE:
		return orma_ask_take_package(&options->ask, value, id == OPTION_OVERRIDE_PACKAGE);
	case OPTION_OVERRIDE_STDLIB:
		options->stdlib = value;
		return -1;
	case OPTION_DEV:
		options->is_dev = true;
		return -1;
	default:
		return id == 'D' || id == 'm' || id >= OPTION_REFUSED ? refuse(id) : -1;
	}
}

/* Takes the words that are no options: a subcommand, the trace, and queries. -1 or the exit status. */
static int take_words(struct orma_trace_processor_options *options, int count, char **words)
{
	static const char *const refused[] = {"server",  "summarize", "metrics",
					      "convert", "bundle",    "util"};
	const char *word = count > 0 ? words[0] : "";
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++)
		if (strcmp(word, refused[i]) == 0)
			return orma_tool_fail("%s is not a part of orma; Perfetto's own "
					      "trace_processor_shell has it",
					      word);
	bool is_query = strcmp(word, "query") == 0, is_export = strcmp(word, "export") == 0;
	if (is_query || is_export || strcmp(word, "interactive") == 0) {
		words++;
		count--;
	}
	if (is_export && (count < 1 || strcmp(words[0], "sqlite") != 0 || !options->sqlite_file))
		return orma_tool_fail("orma exports `sqlite -o FILE`; `orma export` knows more");
	words += is_export;
	count -= is_export;
	options->path = count > 0 ? words[0] : NULL;
	if (is_query && count > 1)
		options->query = words[1];
	if (is_query && !options->query && !options->query_file)
		options->query_file = "-";
	return !options->path || count > 1 + is_query ? orma_tool_usage_error("name one trace")
						      : -1;
}

static int run(int argc, char **argv)
{
	struct orma_trace_processor_options options = {.path = NULL};
	if (argc == 1) {
		orma_tool_print_help(&orma_trace_processor_command);
		return ORMA_EXIT_OK;
	}
	int status = orma_tool_read_options(&orma_trace_processor_command, argc, argv, take_option,
					    &options);
	if (status < 0)
		status = take_words(&options, argc - optind, argv + optind);
	if (status < 0 && options.sqlite_file && options.query_file)
		status = orma_tool_usage_error("-e does not go together with -q");
	if (status < 0 && options.stdlib && !options.is_dev)
		status = orma_tool_fail("--override-stdlib needs --dev");
	bool has_work = options.query_file || options.query || options.sqlite_file;
	if (status < 0 && options.times_file && (!has_work || options.is_interactive))
		status =
			orma_tool_usage_error("-p needs queries, and does not go together with -i");
	options.is_interactive = options.is_interactive || !has_work;
	if (status < 0)
		status = orma_trace_processor_run(&options);
	/* Perfetto's program has no other status of failure. */
	return status == ORMA_EXIT_USAGE ? ORMA_EXIT_FAILURE : status;
}

const struct orma_tool_command orma_trace_processor_command = {
	.name = "trace_processor_shell",
	.usage = "[OPTIONS] TRACE\n"
		 "query [OPTIONS] TRACE [QUERIES]\n"
		 "interactive [OPTIONS] TRACE\n"
		 "export sqlite -o FILE [OPTIONS] TRACE",
	.about = "Asks a trace with SQL, with the options of Perfetto's trace_processor_shell. "
		 "Without queries it is a shell.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
