/* SPDX-License-Identifier: Apache-2.0
 * diff_command.c - `orma diff`: what differs between two traces, or between two groups of them.
 */
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "tool/ask/answer.h"
#include "tool/tool.h"

static const struct orma_tool_option option_table[] = {
	{'n', "top", "N", "Show at most N rows of each kind; 0 shows all. Default: 12.", NULL},
	{'j', "json", NULL, "Print the differences as JSON.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of the tables in memory, and the rest in a file below TMPDIR or "
	 "/var/tmp.",
	 NULL},
	{0},
};

static int take_option(void *ctx, int id, char *value)
{
	struct orma_diff_options *options = ctx;
	if (id == 'm')
		return orma_ask_take_memory(&options->ask, value);
	if (id == 'n')
		return orma_base_parse_u64(value, 10, &options->top)
			       ? orma_tool_usage_error("\"%s\" is not a number of rows", value)
			       : -1;
	options->is_json = true;
	return -1;
}

int orma_diff_take_sides(struct orma_diff_options *options, char **paths, int count, int second)
{
	options->counts[1] = second < 0 ? 1 : second;
	options->counts[0] = count - options->counts[1];
	if (options->counts[0] < 1 || options->counts[1] < 1)
		return orma_tool_usage_error("there is no trace on one side of --");
	if (options->counts[0] > ORMA_DIFF_RUNS_MAX || options->counts[1] > ORMA_DIFF_RUNS_MAX)
		return orma_tool_usage_error("a side has at most %d traces", ORMA_DIFF_RUNS_MAX);
	options->paths[0] = paths;
	options->paths[1] = paths + options->counts[0];
	return -1;
}

static int run(int argc, char **argv)
{
	struct orma_diff_options options = {.top = 12};
	int second = orma_tool_count_behind_dashes(argc, argv);
	int status = orma_tool_read_options(&orma_diff_command, argc, argv, take_option, &options);
	if (status >= 0)
		return status;
	int count = argc - optind;
	if (second < 0 && count != 2)
		return orma_tool_usage_error("name two traces, or two groups with -- between them");
	status = orma_diff_take_sides(&options, argv + optind, count, second);
	return status >= 0 ? status : orma_diff_run(&options);
}

const struct orma_tool_command orma_diff_command = {
	.name = "diff",
	.summary = "compare two traces, or several of before and after",
	.usage = "[OPTIONS] A B\n[OPTIONS] A... -- B...",
	.about = "Compares slices by name, CPU time and waits for a CPU of threads, counters, "
		 "functions of profiles, and heaps by call stack of trace A with those of trace B. "
		 "What changed most comes first.\n\n"
		 "With several traces on each side, numbers are means of a trace, and p says how "
		 "likely chance alone makes such a difference.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
