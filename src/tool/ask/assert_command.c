/* SPDX-License-Identifier: Apache-2.0
 * assert_command.c - `orma assert`: checks traces, for continuous integration.
 */
#include <string.h>
#include <unistd.h>

#include "tool/ask/answer.h"
#include "tool/tool.h"

enum { OPTION_JUNIT = ORMA_OPTION_FIRST_OWN, OPTION_ROWS, OPTION_PACKAGE };

static const struct orma_tool_option option_table[] = {
	{'f', "file", "FILE",
	 "Read checks from this file; - is standard input. May be repeated. In the file, a line "
	 "`-- check: NAME` begins a check, and SQL follows.",
	 ORMA_COMPLETE_FILE},
	{'q', "query", "SQL", "Take this query as a check. May be repeated.", NULL},
	{OPTION_JUNIT, "junit", "FILE",
	 "Write the results as JUnit's XML, too; - is standard output.", ORMA_COMPLETE_FILE},
	{OPTION_ROWS, "rows", "N", "Print at most N rows of a check that fails. Default: 10.",
	 NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of the tables in memory, and the rest in a file below TMPDIR or "
	 "/var/tmp.",
	 NULL},
	{OPTION_PACKAGE, "add-sql-package", "FOLDER[@NAME]",
	 "Let `include perfetto module NAME.a.b` find the file a/b.sql in the folder. Without NAME "
	 "it is the folder's own name. May be repeated.",
	 ORMA_COMPLETE_FOLDER},
	{0},
};

static int add_text(const char **texts, size_t *count, const char *value)
{
	if (*count == ORMA_ASSERT_FILES_MAX)
		return orma_tool_usage_error("an option is given more than %d times",
					     ORMA_ASSERT_FILES_MAX);
	texts[(*count)++] = value;
	return -1;
}

static int take_option(void *ctx, int id, char *value)
{
	struct orma_assert_options *options = ctx;
	switch (id) {
	case 'f':
		return add_text(options->files, &options->file_count, value);
	case 'q':
		return add_text(options->queries, &options->query_count, value);
	case 'm':
		return orma_ask_take_memory(&options->ask, value);
	case OPTION_PACKAGE:
		return orma_ask_take_package(&options->ask, value, false);
	case OPTION_ROWS:
		return orma_base_parse_u64(value, 10, &options->rows)
			       ? orma_tool_usage_error("\"%s\" is not a number of rows", value)
			       : -1;
	default:
		options->junit_path = value;
		return -1;
	}
}

static int run(int argc, char **argv)
{
	struct orma_assert_options options = {.rows = 10};
	int status =
		orma_tool_read_options(&orma_assert_command, argc, argv, take_option, &options);
	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name at least one trace");
	if (options.file_count + options.query_count == 0)
		return orma_tool_usage_error("there is nothing to check: name a file with -f, or "
					     "a query with -q");
	options.paths = argv + optind;
	options.path_count = argc - optind;
	return orma_assert_run(&options);
}

const struct orma_tool_command orma_assert_command = {
	.name = "assert",
	.summary = "check traces with SQL, for continuous integration",
	.usage = "[-f FILE]... [-q SQL]... [OPTIONS] TRACE...",
	.about = "Runs checks on each trace. A check is one or more statements of SQL, as "
		 "`orma sql` takes them, and passes when they return no rows: the rows are what "
		 "is wrong. Exits with 1 when a check fails or cannot be run.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
