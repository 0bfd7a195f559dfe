/* SPDX-License-Identifier: Apache-2.0
 * report_command.c - `orma report`: one file about a trace, for those who have no orma.
 */
#include <string.h>
#include <unistd.h>

#include "tool/ask/answer.h"
#include "tool/report/report.h"
#include "tool/tool.h"
#include "tool/trace/trace_input.h"

enum {
	OPTION_NOTE = ORMA_OPTION_FIRST_OWN,
	OPTION_TITLE,
	OPTION_TOGETHER,
	OPTION_MAX_SIZE,
	OPTION_OPEN_AT
};
enum { ROWS_DEFAULT = 20, KB_DEFAULT = 10 << 10 };

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
	{OPTION_MAX_SIZE, "max-size", "SIZE",
	 "Join short events of the timeline that are close together, so that the file has at most "
	 "this size; 0 leaves the timeline out. Default: 10m.",
	 NULL},
	{OPTION_OPEN_AT, "open-at", "TIME[..TIME]",
	 "Let the file open with the timeline at this time or range: 1.5s or 200ms after the first "
	 "event, -3s before the last, or @N nanoseconds on the trace's clock.",
	 NULL},
	{OPTION_TOGETHER, "together", NULL,
	 "The traces are parts of one recording: make one report of them all.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of tables and rows in memory, and the rest in files below TMPDIR "
	 "or /var/tmp. The default is a quarter of what the machine or the container has.",
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

static int take_open_at(struct orma_report_run_options *options, char *value)
{
	char *dots = strstr(value, "..");
	if (dots)
		*dots = '\0';
	if (orma_time_limit_parse(value, &options->open_at) &&
	    (!dots || orma_time_limit_parse(dots + 2, &options->open_to)))
		return -1;
	if (dots)
		*dots = '.';
	return orma_tool_usage_error(
		"\"%s\" is not a time like 1.5s, 200ms, -3s (before the end) or "
		"@NANOSECONDS, or two with .. between them",
		value);
}

struct request {
	struct orma_report_run_options options;
	bool is_together;
};

static int take_option(void *ctx, int id, char *value)
{
	struct request *request = ctx;
	struct orma_report_run_options *options = &request->options;
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
	case OPTION_MAX_SIZE:
		return orma_tool_parse_size_kb(value, &options->max_kb)
			       ? orma_tool_usage_error("\"%s\" is not a size; try 10m", value)
			       : -1;
	case OPTION_OPEN_AT:
		return take_open_at(options, value);
	case OPTION_TOGETHER:
		request->is_together = true;
		return -1;
	default:
		options->title = value;
		return -1;
	}
}

static int run(int argc, char **argv)
{
	struct request request = {.options = {.top = ROWS_DEFAULT, .max_kb = KB_DEFAULT}};
	int second = orma_tool_count_behind_dashes(argc, argv);
	int status =
		orma_tool_read_options(&orma_report_command, argc, argv, take_option, &request);
	int count = argc - optind;
	if (status >= 0)
		return status;
	if (count == 0)
		return orma_tool_usage_error("name a trace");
	if (orma_trace_input_spare(request.options.path, argv + optind, count))
		return ORMA_EXIT_FAILURE;
	if (request.is_together || (count == 1 && second < 0))
		return orma_report_run(&request.options, (const char *const *)argv + optind,
				       (size_t)count);
	if (second < 0 && count != 2)
		return orma_tool_usage_error(
			"name two traces to compare, two groups with -- between "
			"them, or --together for one report of all");
	struct orma_diff_options sides = {.ask = request.options.ask, .top = request.options.top};
	status = orma_diff_take_sides(&sides, argv + optind, count, second);
	return status >= 0 ? status : orma_report_compare(&request.options, &sides);
}

const struct orma_tool_command orma_report_command = {
	.name = "report",
	.summary = "write one file about a trace that any browser opens",
	.usage = "[OPTIONS] TRACE\n[OPTIONS] A B\n[OPTIONS] A... -- B...",
	.about = "Writes the facts of orma-summary(1), and the rows of queries, as one file of "
		 "HTML, with a timeline of the trace to zoom and search in. "
		 "It needs no network and no other file, and the facts can be read without "
		 "JavaScript, so that it can be attached to a "
		 "bug report, mailed and printed. The same trace gives the same bytes.\n\n"
		 "Of two traces, or two groups of them, it shows what differs, as orma-diff(1) "
		 "does.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
