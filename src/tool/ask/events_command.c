/* SPDX-License-Identifier: Apache-2.0
 * events_command.c - `orma events`: one line for each event, in the order of time.
 */
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "tool/ask/answer.h"
#include "tool/tool.h"

enum {
	OPTION_CLOCK = ORMA_EVENT_OPTION_FIRST_FREE,
	OPTION_JSON,
	OPTION_NO_ARGS,
	OPTION_FOLLOW,
};

static const struct orma_tool_option option_table[] = {
	ORMA_EVENT_FILTER_OPTIONS,
	{'n', "count", "N", "Print at most N events.", NULL},
	{OPTION_CLOCK, "clock", "CLOCK",
	 "What the first column is: relative, the time since the first event of the trace; delta, "
	 "the time since the line before; wall, date and time; or trace, nanoseconds on the "
	 "trace's clock. Default: relative.",
	 "relative delta wall trace"},
	{OPTION_NO_ARGS, "no-args", NULL, "Leave out the arguments of events, which is faster.",
	 NULL},
	{OPTION_FOLLOW, "follow", NULL,
	 "Print the events of a trace while it is recorded, until it ends: orma record --stream -o "
	 "- "
	 "| orma events --follow -",
	 NULL},
	{'j', "json", NULL, "Print an object of JSON for each event, one per line.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of the tables in memory, and the rest in a file below TMPDIR or "
	 "/var/tmp.",
	 NULL},
	{0},
};

static int take_clock(struct orma_events_options *options, const char *value)
{
	static const char *const names[] = {"relative", "delta", "wall", "trace"};
	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		if (strcmp(value, names[i]) == 0) {
			options->time = (enum orma_event_time)i;
			return -1;
		}
	return orma_tool_usage_error("\"%s\" is not relative, delta, wall or trace", value);
}

static int take_option(void *ctx, int id, char *value)
{
	struct orma_events_options *options = ctx;
	switch (id) {
	case 'n':
		return orma_base_parse_u64(value, 10, &options->limit)
			       ? orma_tool_usage_error("\"%s\" is not a number of events", value)
			       : -1;
	case 'm':
		return orma_ask_take_memory(&options->ask, value);
	case 'j':
		options->is_json = true;
		return -1;
	case OPTION_NO_ARGS:
		options->has_no_args = true;
		return -1;
	case OPTION_FOLLOW:
		options->follows = true;
		return -1;
	case OPTION_CLOCK:
		return take_clock(options, value);
	default:
		return orma_event_filter_take(&options->filter, id, value);
	}
}

static int run(int argc, char **argv)
{
	struct orma_events_options options = {.limit = UINT64_MAX};
	int status =
		orma_tool_read_options(&orma_events_command, argc, argv, take_option, &options);
	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name a trace");
	if (!options.follows)
		return orma_events_run(&options, (const char *const *)argv + optind,
				       (size_t)(argc - optind));
	if (optind + 1 != argc)
		return orma_tool_usage_error("--follow takes one trace");
	if (options.filter.from.base != ORMA_TIME_NONE || options.filter.to.base != ORMA_TIME_NONE)
		return orma_tool_usage_error("--follow begins with what comes next, so --from and "
					     "--to have no meaning");
	return orma_events_follow(&options, argv[optind]);
}

const struct orma_tool_command orma_events_command = {
	.name = "events",
	.summary = "print the events of a trace, one per line",
	.usage = "[OPTIONS] TRACE...",
	.about = "Prints slices, instants, counters, states, kernel events and log entries of a "
		 "trace (- is standard input), one line for each, in the order of time: when it "
		 "was, how long it took, the thread with the ids of process and thread, what it "
		 "was, and its arguments. Events of several traces are printed in the order of "
		 "their common time.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
