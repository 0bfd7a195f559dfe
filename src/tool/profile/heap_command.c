/* SPDX-License-Identifier: Apache-2.0
 * heap_command.c - `orma heap`: where a program allocates memory, and what it does not free.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log_message.h"
#include "base/macros.h"
#include "base/str.h"
#include "tool/ask/ask.h"
#include "tool/profile/heap.h"
#include "tool/tool.h"

enum {
	OPTION_ALL_HEAPS = ORMA_OPTION_FIRST_OWN,
	OPTION_DUMP_INTERVAL,
	OPTION_FAIL_ON_LEAK,
	OPTION_FOLLOW,
	OPTION_HEAP,
	OPTION_LIBRARY,
	OPTION_MAX
};
enum { ROWS_DEFAULT = 5, INTERVAL_DEFAULT = 4096 };

static const struct orma_tool_option option_table[] = {
	{'o', "output", "FILE",
	 "Write a report with flame graphs when the name ends with .html, otherwise the trace; - "
	 "is standard output, and there is no summary.",
	 ORMA_COMPLETE_FILE},
	{'p', "pid", "PID",
	 "Profile a process that runs, with liborma-heap.so loaded or liborma-heap.a linked, until "
	 "it ends, until Ctrl-C or for --time.",
	 NULL},
	{'i', "interval", "BYTES",
	 "Sample one allocation in so many bytes, on average; 1 records all. Default: 4096; 1 with "
	 "--fail-on-leak.",
	 NULL},
	{'t', "time", "DURATION", "Stop after this time: 10s, 500ms, 2m or 1h.", NULL},
	{OPTION_FAIL_ON_LEAK, "fail-on-leak", "[=BYTES]",
	 "Exit with 23 when more than BYTES are live at the end, and with 1 when samples or frees "
	 "were lost, so that the result is unknown. Default: 0.",
	 NULL},
	{OPTION_HEAP, "heap", "NAME",
	 "Profile this heap of the program, such as libc.malloc or one that it registers. May be "
	 "repeated.",
	 NULL},
	{OPTION_ALL_HEAPS, "all-heaps", NULL, "Profile all heaps of the program.", NULL},
	{OPTION_FOLLOW, "follow", NULL, "Profile the processes that the program starts, too.",
	 NULL},
	{OPTION_LIBRARY, "library", "FILE",
	 "Preload this liborma-heap.so, for example one that was built for another C library.",
	 ORMA_COMPLETE_FILE},
	{OPTION_DUMP_INTERVAL, "dump-interval", "DURATION",
	 "Write the totals into the trace so often, and not only at the end.", NULL},
	{OPTION_MAX, "max", NULL, "Show what was live when the heap was largest.", NULL},
	{'n', "top", "N", "Print at most N call stacks of each kind, up to 100. Default: 5.", NULL},
	{'q', "quiet", NULL, "Print no summary.", NULL},
	{0},
};

/* "4096", "4k", "1m" */
static int take_bytes(const char *value, uint64_t *ret)
{
	uint64_t kb;

	if (orma_base_parse_u64(value, 10, ret) == 0)
		return -1;
	if (orma_tool_parse_size_kb(value, &kb) || kb > UINT64_MAX >> 10)
		return orma_tool_usage_error("\"%s\" is not a number of bytes; try 4096 or 64k",
					     value);
	*ret = kb << 10;
	return -1;
}

static int take_interval(struct orma_heap_options *options, const char *value)
{
	int status = take_bytes(value, &options->interval_bytes);

	if (status < 0 && options->interval_bytes == 0)
		return orma_tool_usage_error("an interval of 0 samples nothing; 1 records every "
					     "allocation");
	return status;
}

static int take_heap(struct orma_heap_options *options, const char *value)
{
	if (options->heap_count == ORMA_HEAP_NAMES_MAX)
		return orma_tool_usage_error("there are more than %d heaps", ORMA_HEAP_NAMES_MAX);
	options->heaps[options->heap_count++] = value;
	return -1;
}

static int take_option(void *ctx, int id, char *value)
{
	struct orma_heap_options *options = ctx;

	switch (id) {
	case 'o':
		options->out_path = value;
		return -1;
	case 'p':
		return orma_tool_take_pid(value, &options->pid);
	case 'i':
		return take_interval(options, value);
	case 't':
		return orma_tool_take_duration(value, &options->duration_ms);
	case 'n':
		return orma_ask_take_top(value, &options->top);
	case OPTION_FAIL_ON_LEAK:
		options->fails_on_leak = true;
		return value ? take_bytes(value, &options->leak_bytes) : -1;
	case OPTION_HEAP:
		return take_heap(options, value);
	case OPTION_LIBRARY:
		options->library = value;
		return -1;
	case OPTION_DUMP_INTERVAL:
		return orma_tool_take_duration(value, &options->dump_interval_ms);
	case OPTION_ALL_HEAPS:
		options->has_all_heaps = true;
		return -1;
	case OPTION_FOLLOW:
		options->follows_children = true;
		return -1;
	case OPTION_MAX:
		options->dumps_at_max = true;
		return -1;
	default:
		options->is_quiet = true;
		return -1;
	}
}

static int check(const struct orma_heap_options *options)
{
	if (!options->pid && !options->app_argv)
		return orma_tool_usage_error(
			"name a program (orma heap -- ./app) or a process (--pid)");
	if (options->pid && options->app_argv)
		return orma_tool_usage_error("name either a program or a process");
	if (options->pid && options->follows_children)
		return orma_tool_usage_error("--follow is for programs that orma starts; name the "
					     "processes instead");
	if (options->pid && options->library)
		return orma_tool_usage_error(
			"--library is for programs that orma starts; a process has "
			"loaded its library");
	if (options->has_all_heaps && options->heap_count > 0)
		return orma_tool_usage_error("--all-heaps and --heap exclude each other");
	if (options->dumps_at_max && (options->fails_on_leak || options->dump_interval_ms))
		return orma_tool_usage_error(
			"--max shows the largest heap and not the last one, so "
			"it goes with neither --fail-on-leak nor "
			"--dump-interval");
	if (options->is_quiet && !options->out_path && !options->fails_on_leak)
		return orma_tool_usage_error("--quiet without -o and --fail-on-leak does nothing");
	return -1;
}

static int profile(const struct orma_heap_options *options)
{
#ifdef ORMA_HAVE_SQL
	orma_tool_log_to_stderr(ORMA_LOG_WARNING);
	return orma_heap_run(options);
#else
	(void)options;
	return orma_tool_fail("this binary was built without profilers or without SQLite, which "
			      "this command needs");
#endif
}

static int run(int argc, char **argv)
{
	struct orma_heap_options options = {.top = ROWS_DEFAULT};
	int behind = orma_tool_count_behind_dashes(argc, argv);
	int status = orma_tool_read_options(&orma_heap_command, argc, argv, take_option, &options);

	if (status >= 0)
		return status;
	if (argc - optind > ORMA_MAX(behind, 0))
		return orma_tool_usage_error("put -- before the program: orma heap -- %s",
					     argv[optind]);
	if (behind > 0)
		options.app_argv = argv + optind;
	status = check(&options);
	if (options.interval_bytes == 0)
		options.interval_bytes = options.fails_on_leak ? 1 : INTERVAL_DEFAULT;
	return status >= 0 ? status : profile(&options);
}

const struct orma_tool_command orma_heap_command = {
	.name = "heap",
	.summary = "show where a program allocates memory, and what it does not free",
	.usage = "[OPTIONS] -- PROGRAM [ARGUMENT...]\n[OPTIONS] --pid PID",
	.about =
		"Runs a program, samples its allocations, and prints at its end what is still live "
		"and what was allocated, by call stack. It needs no daemon, no root and no other "
		"build of the program: liborma-heap.so is preloaded. Numbers are estimates unless "
		"the interval is 1.",
	.options = option_table,
	.notes = "Exit status: that of the program if it is not 0; 23 for --fail-on-leak; 126 "
		 "and 127 when the program cannot be started.",
	.run = run,
};
