/* SPDX-License-Identifier: Apache-2.0
 * probes_command.c - `orma probes`: this machine's data sources as a producer of a daemon, with the
 * options of traced_probes.
 */
#include <errno.h>
#include <orma/init.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log_message.h"
#include "base/loop.h"
#include "probes/ftrace/ftrace_reset.h"
#include "tool/daemon/daemon_options.h"
#include "tool/daemon/descriptor_limit.h"
#include "tool/daemon/probes_run.h"
#include "tool/print.h"
#include "tool/tool.h"

#define SYNC_TIMEOUT_MS 30000
#define PARENT_SYNC_MS  1000
/* linux.process_stats keeps a file of each process open, up to half of the limit. */
#define DESCRIPTORS_WANTED 32768

static void on_signal(struct orma_watch *watch, unsigned ready)
{
	struct signalfd_siginfo info;
	(void)ready;
	if (read(watch->fd, &info, sizeof(info)) == sizeof(info))
		orma_base_loop_stop(watch->loop);
}

static int serve(int *parent_fd, void *ctx)
{
	struct orma_probes_options options = {.kinds = ORMA_PROBES_SYSTEM};
	struct orma_probes *probes = NULL;
	struct orma_watch watch = {0};
	sigset_t signals;
	(void)ctx;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	ORMA_AUTO(orma_base_fd_closep) int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	orma_tool_raise_descriptor_limit(DESCRIPTORS_WANTED);
	int r = fd < 0 ? -errno : orma_tool_probes_new(&options, &probes);
	if (r)
		return orma_tool_fail("the probes failed: %s", strerror(-r));
	r = orma_base_loop_watch(orma_tool_probes_loop(probes), &watch, fd, ORMA_LOOP_READ,
				 on_signal);
	if (r == 0 && getenv("TRACED_PROBES_NOTIFY_FD") && orma_sync(SYNC_TIMEOUT_MS) == 0)
		orma_tool_notify("TRACED_PROBES_NOTIFY_FD", "1");
	/* Wait, so that a daemon that already runs knows the data sources before the parent exits.
	 * The daemon may also start later. */
	if (r == 0 && *parent_fd >= 0)
		(void)orma_sync(PARENT_SYNC_MS);
	if (r == 0) {
		orma_daemon_tell_ready(parent_fd);
		r = orma_tool_probes_run(probes);
	}
	orma_base_watch_remove(&watch);
	orma_tool_probes_free(probes);
	return r ? orma_tool_fail("the probes failed: %s", strerror(-r)) : ORMA_EXIT_OK;
}

enum { OPTION_RESET = ORMA_OPTION_DAEMON_OTHERS, OPTION_CLEANUP };

static const struct orma_tool_option option_table[] = {
	{ORMA_OPTION_BACKGROUND, "background", NULL,
	 "Go on in the background once the daemon knows the data sources, or after a second "
	 "without a daemon.",
	 NULL},
	{OPTION_RESET, "reset-ftrace", NULL,
	 "First end all tracing of the kernel, whichever program began it: restore what a killed "
	 "orma "
	 "has left, and switch events, tracer and buffers off.",
	 NULL},
	{OPTION_CLEANUP, "cleanup-after-crash", NULL, "Do what --reset-ftrace does, and exit.",
	 NULL},
	ORMA_TOOL_VERSION_OPTION,
	{0},
};

/* A failed reset is no reason to offer nothing. */
static int take_option(void *ctx, int option, char *value)
{
	struct orma_error error;

	(void)ctx;
	(void)value;
	if (option != OPTION_RESET && option != OPTION_CLEANUP)
		return ORMA_EXIT_USAGE;
	int r = orma_ftrace_reset(getenv("ORMA_TRACEFS"), &error);
	if (r < 0)
		orma_tool_warn("ftrace was not reset: %s", error.message);
	if (option == OPTION_RESET)
		return -1;
	return r < 0 ? ORMA_EXIT_FAILURE : ORMA_EXIT_OK;
}

static int run(int argc, char **argv)
{
	struct orma_daemon_command command = {
		.command = &orma_probes_command,
		.take_option = take_option,
		.serve = serve,
	};
	int status = orma_daemon_take_options(&command, argc, argv);

	if (status >= 0)
		return status;
	orma_tool_log_to_stderr(ORMA_LOG_INFO);
	return orma_daemon_serve(&command);
}

const struct orma_tool_command orma_probes_command = {
	.name = "probes",
	.summary = "the operating system's data sources, for a daemon",
	.usage = "[OPTIONS]",
	.about = "Offers this machine's data sources (linux.ftrace, linux.process_stats, "
		 "linux.sys_stats, linux.system_info and others) to a tracing daemon. It waits for "
		 "a daemon, and connects "
		 "again when the daemon restarts.",
	.options = option_table,
	.notes = "Environment: PERFETTO_PRODUCER_SOCK_NAME, TRACED_PROBES_NOTIFY_FD (gets \"1\" "
		 "when the daemon knows them), ORMA_TRACEFS (where tracefs is mounted).",
	.run = run,
};
