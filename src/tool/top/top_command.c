/* SPDX-License-Identifier: Apache-2.0
 * top_command.c - the options of `orma top`.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "tool/tool.h"
#include "tool/top/top.h"

enum {
	OPTION_BY = ORMA_OPTION_FIRST_OWN,
	OPTION_HISTOGRAM,
	OPTION_JSON,
	OPTION_KEEP,
	OPTION_TOTAL,
};

enum { INTERVAL_MIN_MS = 100, INTERVAL_MAX_MS = 3600000, KEEP_MAX_MS = 600000 };

/* The index of a word, or -1 after a message. */
static int find_word(const char *value, const char *const *words, size_t count, const char *what)
{
	for (size_t i = 0; i < count; i++)
		if (strcmp(value, words[i]) == 0)
			return (int)i;
	const char *closest = orma_tool_closest(value, words, count);
	(void)orma_tool_usage_error(closest ? "\"%s\" is not a %s; did you mean \"%s\"?"
					    : "\"%s\" is not a %s",
				    value, what, closest);
	return -1;
}

static int take_duration(const char *value, uint32_t min_ms, uint32_t max_ms, uint32_t *ret)
{
	uint32_t ms;
	int r = orma_tool_parse_duration_ms(value, &ms);
	if (r == 0 && (ms < min_ms || ms > max_ms))
		r = -ERANGE;
	if (r < 0)
		return orma_tool_usage_error("\"%s\" is not a time from %u ms to %u s", value,
					     min_ms, max_ms / 1000);
	*ret = ms;
	return -1;
}

static int take_filter(struct orma_top_options *options, const char *value)
{
	if (strlen(value) >= sizeof(options->choice.filter))
		return orma_tool_usage_error("the filter has more than %zu bytes",
					     sizeof(options->choice.filter) - 1);
	memcpy(options->choice.filter, value, strlen(value) + 1);
	return -1;
}

static int take_count(struct orma_top_options *options, const char *value)
{
	if (orma_base_parse_u64(value, 10, &options->limit) < 0 || options->limit == 0)
		return orma_tool_usage_error("\"%s\" is not a number of updates", value);
	return -1;
}

static int take_option(void *ctx, int option, char *value)
{
	struct orma_top_options *options = ctx;
	int found;
	switch (option) {
	case 'd':
		return take_duration(value, INTERVAL_MIN_MS, INTERVAL_MAX_MS,
				     &options->interval_ms);
	case 'n':
		return take_count(options, value);
	case 's':
		found = find_word(value, orma_top_column_names, ORMA_TOP_COLUMNS, "column");
		options->choice.sort = (enum orma_top_column)ORMA_MAX(found, 0);
		return found < 0 ? ORMA_EXIT_USAGE : -1;
	case 'F':
		return take_filter(options, value);
	case 'b':
		options->is_batch = true;
		return -1;
	case OPTION_BY:
		found = find_word(value, orma_top_by_names, ORMA_TOP_BY_KINDS, "kind of row");
		options->choice.by = (enum orma_top_by)ORMA_MAX(found, 0);
		return found < 0 ? ORMA_EXIT_USAGE : -1;
	case OPTION_HISTOGRAM:
		options->histogram_name = value;
		return -1;
	case OPTION_KEEP:
		return take_duration(value, 1000, KEEP_MAX_MS, &options->keep_ms);
	case OPTION_TOTAL:
		options->choice.is_total = true;
		return -1;
	default: /* OPTION_JSON */
		options->is_json = options->is_batch = true;
		return -1;
	}
}

static const struct orma_tool_option option_table[] = {
	{OPTION_BY, "by", "KIND",
	 "What a row is: name (of slices and instants), thread, category, cpu, counter or "
	 "producer.",
	 "name thread category cpu counter producer"},
	{'d', "delay", "TIME", "Show new figures every TIME: 1s (the default), 500ms, 1m.", NULL},
	{'n', "count", "COUNT", "End after so many updates.", NULL},
	{'s', "sort", "COLUMN",
	 "Sort by this column: name, rate (the default), avg, p50, p99, max, self or lost.",
	 "name rate avg p50 p99 max self lost"},
	{'F', "filter", "TEXT", "Show only rows whose name contains TEXT, in either case.", NULL},
	{'b', "batch", NULL,
	 "Print each update as lines of text, as without a terminal or with TERM=dumb.", NULL},
	{OPTION_JSON, "json", NULL, "Print each update as a line with an object of JSON.", NULL},
	{OPTION_HISTOGRAM, "hist", "NAME",
	 "Show the histogram of this row: how often it took how long.", NULL},
	{OPTION_TOTAL, "total", NULL,
	 "Show the figures since the start instead of those of the last interval.", NULL},
	{OPTION_KEEP, "keep", "TIME", "How much of the past the key s saves: 30s (the default).",
	 NULL},
	{0},
};

static int run(int argc, char **argv)
{
	struct orma_top_options options = {
		.choice.sort = ORMA_TOP_COLUMN_RATE, .interval_ms = 1000, .keep_ms = 30000};
	int status = orma_tool_read_options(&orma_top_command, argc, argv, take_option, &options);
	if (status >= 0)
		return status;
	if (optind < argc)
		return orma_tool_usage_error("\"%s\" is one argument too many", argv[optind]);
	return orma_top_run(&options);
}

const struct orma_tool_command orma_top_command = {
	.name = "top",
	.summary = "show live what traced programs do",
	.usage = "[OPTIONS]",
	.about =
		"Shows what the programs that can be traced do right now: how often and how long, "
		"by "
		"name of slices, thread, category, CPU, counter or producer, with percentiles, the "
		"last minute as a line, and everything that was lost. Nothing is recorded into a "
		"file. The key h shows the keys.",
	.options = option_table,
	.run = run,
};
