/* SPDX-License-Identifier: Apache-2.0
 * report_command.c - `orma report`: one file about a trace, for those who have no orma.
 */
#include <string.h>
#include <unistd.h>

#include "tool/report/report.h"
#include "tool/tool.h"

enum { OPTION_QUERY = ORMA_OPTION_FIRST_OWN, OPTION_NOTE, OPTION_TITLE };
enum { ROWS_DEFAULT = 20 };

static const struct orma_tool_option option_table[] = {
	{'o', "output", "FILE",
	 "Write the report there; - is standard output. Default: the trace's name with .html "
	 "behind, "
	 "in this folder.",
	 ORMA_COMPLETE_FILE},
	{OPTION_TITLE, "title", "TEXT", "The title of the report. Default: the trace's name.",
	 NULL},
	{OPTION_NOTE, "note", "TEXT",
	 "Put a note above the facts, such as what went wrong. May be repeated.", NULL},
	{'q', "query", "TITLE=SQL",
	 "Run a query, and show its rows under this title. May be repeated.", NULL},
	{'n', "top", "N", "Show at most N rows of each kind, up to 100. Default: 20.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of tables and rows in memory, and the rest in files below TMPDIR "
	 "or "
	 "/var/tmp. The default is a quarter of the machine's memory.",
	 NULL},
	{0},
};

static int take_query(struct orma_report_run_options *options, const char *value)
{
	const char *equals = strchr(value, '=');
	if (!equals || equals == value || !equals[1])
		return orma_tool_usage_error("\"%s\" is not a query with a title; try "
					     "'Slices=select count(*) from slice'",
					     value);
	if (options->query_count == ORMA_REPORT_PARTS_MAX)
		return orma_tool_usage_error("there are more than %d queries",
					     ORMA_REPORT_PARTS_MAX);
	options->queries[options->query_count++] =
		(struct orma_report_query){{value, (size_t)(equals - value)}, equals + 1};
	return -1;
}

static int take_note(struct orma_report_run_options *options, const char *value)
{
	if (options->note_count == ORMA_REPORT_PARTS_MAX)
		return orma_tool_usage_error("there are more than %d notes", ORMA_REPORT_PARTS_MAX);
	options->notes[options->note_count++] = value;
	return -1;
}

static int take_option(void *ctx, int id, char *value)
{
	struct orma_report_run_options *options = ctx;
	switch (id) {
	case 'o':
		options->path = value;
		return -1;
	case 'q':
		return take_query(options, value);
	case 'm':
		return orma_ask_take_memory(&options->ask, value);
	case 'n':
		return orma_ask_take_top(value, &options->top);
	case OPTION_NOTE:
		return take_note(options, value);
	default:
		options->title = value;
		return -1;
	}
}

static int run(int argc, char **argv)
{
	struct orma_report_run_options options = {.top = ROWS_DEFAULT};
	int status =
		orma_tool_read_options(&orma_report_command, argc, argv, take_option, &options);
	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name a trace");
	return orma_report_run(&options, (const char *const *)argv + optind,
			       (size_t)(argc - optind));
}

const struct orma_tool_command orma_report_command = {
	.name = "report",
	.summary = "write one file about a trace that any browser opens",
	.usage = "[OPTIONS] TRACE...",
	.about =
		"Writes the facts of orma-summary(1), and the rows of queries, as one file of "
		"HTML. "
		"It needs no script, no network and no other file, so that it can be attached to a "
		"bug report, mailed and printed. The same trace gives the same bytes.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
