/* SPDX-License-Identifier: Apache-2.0
 * view_command.c - `orma view`: shows a trace in a browser.
 */
#include <arpa/inet.h>
#include <string.h>
#include <unistd.h>

#include "tool/tool.h"
#include "tool/view/view_run.h"

enum {
	OPTION_BIND = ORMA_OPTION_FIRST_OWN,
	OPTION_REMOTE,
	OPTION_NO_OPEN,
	OPTION_EXIT_IDLE,
	OPTION_INDEX
};

struct view {
	struct orma_view_options options;
	bool allows_remote;
};

static const struct orma_tool_option option_table[] = {
	{'p', "port", "PORT", "Listen on this port instead of any that is free.", NULL},
	{OPTION_NO_OPEN, "no-open", NULL, "Do not open a browser; only print the address.", NULL},
	{OPTION_EXIT_IDLE, "exit-idle", NULL,
	 "End when a page was open, and none has asked for anything for two minutes.", NULL},
	{'m', "memory", "SIZE",
	 "Keep at most this much of tables and rows in memory, and the rest in files below TMPDIR "
	 "or /var/tmp. The default is a quarter of the machine's memory.",
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
	int status = orma_tool_read_options(&orma_view_command, argc, argv, take_option, &view);
	if (status >= 0)
		return status;
	if (optind == argc)
		return orma_tool_usage_error("name a trace");
	if (view.options.address && !view.allows_remote)
		return orma_tool_usage_error(
			"--bind lets other machines connect, and needs --allow-remote as well");
	if (view.options.ask.has_index && (argc - optind > 1 || strcmp(argv[optind], "-") == 0))
		return orma_tool_usage_error("--index is for one trace that is a file");
	return orma_view_run(&view.options, (const char *const *)argv + optind,
			     (size_t)(argc - optind));
}

const struct orma_tool_command orma_view_command = {
	.name = "view",
	.summary = "show a trace in a browser",
	.usage = "[OPTIONS] TRACE...",
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
