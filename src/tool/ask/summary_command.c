/* SPDX-License-Identifier: Apache-2.0
 * summary_command.c - `orma summary`: one page about a trace.
 */
#include <string.h>
#include <unistd.h>

#include "tool/ask/answer.h"
#include "tool/tool.h"

enum { OPTION_JSON = ORMA_OPTION_FIRST_OWN };

static const struct orma_tool_option option_table[] = {
	{'n', "top", "N", "Show at most N rows of each kind, up to 100. Default: 6.", NULL},
	{'j', "json", NULL, "Print the same facts as JSON.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of tables and rows in memory, and the rest in files below TMPDIR "
	 "or /var/tmp. The default is a quarter of what the machine or the container has.",
	 NULL},
	{0},
};

static int take_option(void *ctx, int id, char *value)
{
	struct orma_summary_options *options = ctx;
	if (id == 'm')
		return orma_ask_take_memory(&options->ask, value);
	if (id == 'n')
		return orma_ask_take_top(value, &options->top);
	options->is_json = true;
	return -1;
}

static int run(int argc, char **argv)
{
	struct orma_summary_options options = {.top = 6};
	int status =
		orma_tool_read_options(&orma_summary_command, argc, argv, take_option, &options);
	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name a trace");
	return orma_summary_run(&options, (const char *const *)argv + optind,
				(size_t)(argc - optind));
}

const struct orma_tool_command orma_summary_command = {
	.name = "summary",
	.summary = "show on one page what is in a trace, and what is slow",
	.usage = "[OPTIONS] TRACE...",
	.about = "Prints what a trace (- is standard input) holds and what it lacks, the slices "
		 "that take most time, the slowest ones and why, CPU and memory of processes, the "
		 "longest waits for a CPU, and counters. Several traces of one machine are one "
		 "page; "
		 "orma-diff(1) compares them.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
