/* SPDX-License-Identifier: Apache-2.0
 * view_command.c - `orma view`: shows a trace in a browser.
 */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "tool/record/record_app.h"
#include "tool/tool.h"
#include "tool/view/view_run.h"

enum {
	OPTION_BIND = ORMA_OPTION_FIRST_OWN,
	OPTION_REMOTE,
	OPTION_NO_OPEN,
	OPTION_EXIT_IDLE,
	OPTION_INDEX,
	OPTION_LIVE,
	OPTION_KEEP,
};

struct view {
	struct orma_view_options options;
	char *recorder[ORMA_VIEW_RECORDER_MAX + 2];
	bool allows_remote;
};

static const struct orma_tool_option option_table[] = {
	{'p', "port", "PORT", "Listen on this port instead of any that is free.", NULL},
	{OPTION_NO_OPEN, "no-open", NULL, "Do not open a browser; only print the address.", NULL},
	{OPTION_LIVE, "live", NULL,
	 "Show a recording while it goes on: that which comes on standard input if the trace is -, "
	 "or else one of its own. What follows is as for orma-record(1).",
	 NULL},
	{OPTION_KEEP, "keep", "TIME",
	 "With --live, keep this much of it, such as 10s. Default: 1m.", NULL},
	{OPTION_EXIT_IDLE, "exit-idle", NULL,
	 "End when a page was open, and none has asked for anything for two minutes.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of tables and rows in memory, and the rest in files below TMPDIR "
	 "or /var/tmp. The default is a quarter of what the machine or the container has.",
	 NULL},
	{OPTION_INDEX, "index", NULL,
	 "Write the tables into TRACE.orma-index, so that this and other commands need not fill "
	 "them again.",
	 NULL},
	{OPTION_BIND, "bind", "ADDRESS",
	 "Listen on this address instead of the machine's own. Nothing is encrypted: who can read "
	 "along in the network sees the trace. It needs --allow-remote as well; ssh -L is safer.",
	 NULL},
	{OPTION_REMOTE, "allow-remote", NULL, "Allow --bind with an address of a network.", NULL},
	{0},
};

/* Returns -1 or the exit status. */
static int take_port(struct view *view, const char *value)
{
	uint64_t port;
	if (orma_base_parse_u64(value, 10, &port) < 0 || port == 0 || port > UINT16_MAX)
		return orma_tool_usage_error("\"%s\" is not a port; it is a number from 1 to 65535",
					     value);
	view->options.port = (uint16_t)port;
	return -1;
}

static int take_address(struct view *view, const char *value)
{
	struct in6_addr address;
	if (inet_pton(AF_INET, value, &address) != 1 && inet_pton(AF_INET6, value, &address) != 1)
		return orma_tool_usage_error("\"%s\" is not an address; try 192.0.2.7", value);
	view->options.address = value;
	return -1;
}

static int take_keep(struct view *view, const char *value)
{
	uint32_t ms;
	if (orma_tool_parse_duration_ms(value, &ms) < 0 || ms == 0)
		return orma_tool_usage_error("\"%s\" is not a length of time; try 10s", value);
	view->options.live_keep_ns = ms * ORMA_NS_PER_MS;
	return -1;
}

/* Takes what is to be recorded: words for `orma record`, and a program behind "--", which getopt_long() has removed. Returns -1
 * or the exit status. */
static int take_recorder(struct view *view, char **words, int count, int program)
{
	static char separator[] = "--";
	int before = program < 0 ? count : count - program, filled = 0;
	if (count > ORMA_VIEW_RECORDER_MAX)
		return orma_tool_usage_error("there are more than %d arguments",
					     ORMA_VIEW_RECORDER_MAX);
	for (int i = 0; i < count; i++) {
		if (i == before)
			view->recorder[filled++] = separator;
		view->recorder[filled++] = words[i];
	}
	view->options.recorder = view->recorder;
	/* A page that waits for a program that is not there would wait for ever. */
	int status = program > 0 ? orma_record_app_find(words[before]) : ORMA_EXIT_OK;
	return status ? status : -1;
}

static int take_option(void *ctx, int id, char *value)
{
	struct view *view = ctx;
	switch (id) {
	case 'p':
		return take_port(view, value);
	case 'm':
		return orma_ask_take_memory(&view->options.ask, value);
	case OPTION_BIND:
		return take_address(view, value);
	case OPTION_REMOTE:
		view->allows_remote = true;
		break;
	case OPTION_LIVE:
		view->options.is_live = true;
		break;
	case OPTION_KEEP:
		return take_keep(view, value);
	case OPTION_NO_OPEN:
		view->options.opens_no_browser = true;
		break;
	case OPTION_EXIT_IDLE:
		view->options.ends_when_idle = true;
		break;
	default:
		view->options.ask.has_index = true;
		break;
	}
	return -1;
}

static int run(int argc, char **argv)
{
	struct view view = {.allows_remote = false};
	int program = orma_tool_count_behind_dashes(argc, argv);
	int status = orma_tool_read_options(&orma_view_command, argc, argv, take_option, &view);
	if (status >= 0)
		return status;
	int count = argc - optind;
	bool is_stream = count == 1 && program < 0 && strcmp(argv[optind], "-") == 0;
	if (!view.options.is_live && view.options.live_keep_ns > 0)
		return orma_tool_usage_error("--keep is for --live");
	if (view.options.is_live && view.options.ask.has_index)
		return orma_tool_usage_error("--index is for a trace that is whole");
	if (view.options.is_live && !is_stream) {
		status = take_recorder(&view, argv + optind, count, program);
		count = 0;
	}
	if (status >= 0)
		return status;
	if (count == 0 && !view.options.is_live)
		return orma_tool_usage_error("name a trace");
	if (view.options.address && !view.allows_remote)
		return orma_tool_usage_error(
			"--bind lets other machines connect, and needs --allow-remote as well");
	if (view.options.ask.has_index && (count > 1 || strcmp(argv[optind], "-") == 0))
		return orma_tool_usage_error("--index is for one trace that is a file");
	return orma_view_run(&view.options, (const char *const *)argv + optind, (size_t)count);
}

const struct orma_tool_command orma_view_command = {
	.name = "view",
	.summary = "show a trace in a browser",
	.usage = "[OPTIONS] TRACE...\n[OPTIONS] --live -\n[OPTIONS] --live [WHAT TO RECORD] [-- "
		 "PROGRAM]",
	.about =
		"Loads a trace (- is standard input) and serves a page that shows it: a timeline "
		"of "
		"processes, threads, slices, CPUs and counters, details of each, and SQL. The page "
		"and all that it needs are in this program, and the trace stays here. The command "
		"prints the page's address and opens a browser. Ctrl-C ends it.\n\n"
		"The address is valid once, and for a minute. Press Enter for a new one.",
	.options = option_table,
	.completes = ORMA_COMPLETE_FILE,
	.run = run,
};
