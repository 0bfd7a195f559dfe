/* SPDX-License-Identifier: Apache-2.0
 * daemon_options.h - the options that `orma traced` and `orma probes` share, and how both go into
 * the background.
 */
#ifndef ORMA_TOOL_DAEMON_OPTIONS_H
#define ORMA_TOOL_DAEMON_OPTIONS_H

#include <stdbool.h>

#include "tool/tool.h"

/* The number of --background in both tables; the numbers of a command's own begin behind it. */
enum { ORMA_OPTION_BACKGROUND = ORMA_OPTION_FIRST_OWN, ORMA_OPTION_DAEMON_OTHERS };

struct orma_daemon_command {
	const struct orma_tool_command *command;
	/* Handles an option that only this command has. */
	orma_tool_option_fn *take_option;
	/* Runs until the end; returns the exit status. `parent_fd` is for orma_daemon_tell_ready();
	 * the descriptor is -1 when no parent waits. */
	int (*serve)(int *parent_fd, void *ctx);
	void *ctx;
	bool in_background; /* set by --background */
};

/* Reads the command line, which has options only. Returns -1 to go on, else the exit status. */
int orma_daemon_take_options(struct orma_daemon_command *command, int argc, char **argv);
/* The daemon serves. In the background, its messages go to standard error until then, and after that
 * only if it is a file. */
void orma_daemon_tell_ready(int *parent_fd);
/* Serves, in the background if that was asked for; returns the exit status. */
int orma_daemon_serve(const struct orma_daemon_command *command);

#endif
