/* SPDX-License-Identifier: Apache-2.0
 * daemon_options.h - the options that `orma traced` and `orma probes` share, and how both go into
 * the background.
 */
#ifndef ORMA_TOOL_DAEMON_OPTIONS_H
#define ORMA_TOOL_DAEMON_OPTIONS_H

#include <stdbool.h>

#include "tool/tool.h"

enum { ORMA_OPTION_BACKGROUND = 256, ORMA_OPTION_VERSION, ORMA_OPTION_DAEMON_OTHERS };

/* The options of both commands, for orma_daemon_take_options(). */
/* clang-format off */
#define ORMA_DAEMON_OPTIONS                                                                        \
	{"background", no_argument, NULL, ORMA_OPTION_BACKGROUND},                                 \
	{"version", no_argument, NULL, ORMA_OPTION_VERSION},                                       \
	{"help", no_argument, NULL, 'h'}
/* clang-format on */

struct orma_daemon_command {
	const char *name; /* "orma traced" */
	void (*print_help)(void);
	/* Handles an option that only this command has; its value is in `optarg`. Returns -1 to go
	 * on, else the exit status. */
	int (*take_option)(int option, void *ctx);
	/* Runs until the end; returns the exit status. `parent_fd` is for orma_tool_tell_parent();
	 * the descriptor is -1 when no parent waits. */
	int (*serve)(int *parent_fd, void *ctx);
	void *ctx;
	bool in_background; /* set by --background */
};

/* Reads the command line, which has options only. Returns -1 to go on, else the exit status. */
int orma_daemon_take_options(struct orma_daemon_command *command, int argc, char **argv,
			     const struct option *options);
/* Serves, in the background if that was asked for; returns the exit status. */
int orma_daemon_serve(const struct orma_daemon_command *command);

#endif
