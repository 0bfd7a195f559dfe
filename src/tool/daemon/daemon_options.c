/* SPDX-License-Identifier: Apache-2.0
 * daemon_options.c - the command lines of daemons.
 */
#include "tool/daemon/daemon_options.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int take_option(void *ctx, int option, char *value)
{
	struct orma_daemon_command *command = ctx;

	if (option != ORMA_OPTION_BACKGROUND)
		return command->take_option(command->ctx, option, value);
	command->in_background = true;
	return -1;
}

int orma_daemon_take_options(struct orma_daemon_command *command, int argc, char **argv)
{
	int status = orma_tool_read_options(command->command, argc, argv, take_option, command);

	if (status >= 0)
		return status;
	return optind == argc ? -1 : orma_tool_usage_error("\"%s\" is not an option", argv[optind]);
}

/* Closes a terminal or a pipe, which somebody may read until its end. A file stays, as the log. In the
 * background standard output is /dev/null, which the sandbox does not let us open any more. */
static void release_messages(void)
{
	struct stat facts;

	if (fstat(STDERR_FILENO, &facts) < 0 || !S_ISREG(facts.st_mode))
		/* The dup3() of musl needs a flag to be that system call. */
		(void)dup3(STDOUT_FILENO, STDERR_FILENO, O_CLOEXEC);
}

void orma_daemon_tell_ready(int *parent_fd)
{
	bool is_in_background = *parent_fd >= 0;

	orma_tool_tell_parent(parent_fd, ORMA_EXIT_OK);
	if (is_in_background)
		release_messages();
}

int orma_daemon_serve(const struct orma_daemon_command *command)
{
	/* Scripts that call Perfetto's programs read the process id. */
	int parent_fd =
		command->in_background ? orma_tool_background(orma_tool_is_drop_in(), -1) : -1;

	if (command->in_background && parent_fd < 0)
		return orma_tool_fail("cannot go into the background: %s", strerror(-parent_fd));
	int status = command->serve(&parent_fd, command->ctx);
	orma_tool_tell_parent(&parent_fd, status);
	return status;
}
