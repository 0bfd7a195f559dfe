/* SPDX-License-Identifier: Apache-2.0
 * daemon_options.c - the command lines of daemons.
 */
#include "tool/daemon/daemon_options.h"

#include <string.h>

static int take_option(struct orma_daemon_command *command, int option)
{
	switch (option) {
	case ORMA_OPTION_BACKGROUND:
		command->in_background = true;
		return -1;
	case ORMA_OPTION_VERSION:
		orma_tool_print_version(command->name);
		return ORMA_EXIT_OK;
	case 'h':
		command->print_help();
		return ORMA_EXIT_OK;
	case '?':
		return ORMA_EXIT_USAGE;
	default:
		return command->take_option(option, command->ctx);
	}
}

int orma_daemon_take_options(struct orma_daemon_command *command, int argc, char **argv,
			     const struct option *options)
{
	for (int option; (option = orma_tool_option(argc, argv, ":h", options)) != -1;) {
		int status = take_option(command, option);
		if (status >= 0)
			return status;
	}
	return optind == argc ? -1 : orma_tool_usage_error("\"%s\" is not an option", argv[optind]);
}

int orma_daemon_serve(const struct orma_daemon_command *command)
{
	int parent_fd = command->in_background ? orma_tool_background(false, -1) : -1;

	if (command->in_background && parent_fd < 0)
		return orma_tool_fail("cannot go into the background: %s", strerror(-parent_fd));
	int status = command->serve(&parent_fd, command->ctx);
	orma_tool_tell_parent(&parent_fd, status);
	return status;
}
