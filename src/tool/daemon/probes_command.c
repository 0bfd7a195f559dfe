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
#include "tool/daemon/daemon_options.h"
#include "tool/daemon/probes_run.h"
#include "tool/print.h"
#include "tool/tool.h"

#define SYNC_TIMEOUT_MS 30000
#define PARENT_SYNC_MS  1000

static void print_help(void)
{
	puts("Usage: orma probes [OPTIONS]\n"
	     "\n"
	     "Offers this machine's data sources (linux.process_stats, linux.sys_stats, "
	     "linux.system_info) to a tracing\n"
	     "daemon; waits for one, and finds it again when it restarts.\n"
	     "\n"
	     "      --background           go on in the background\n"
	     "      --reset-ftrace         accepted; these probes leave ftrace alone\n"
	     "      --cleanup-after-crash  accepted; these probes leave nothing behind\n"
	     "      --version              print the version\n"
	     "  -h, --help                 show this\n"
	     "\n"
	     "Environment: PERFETTO_PRODUCER_SOCK_NAME, TRACED_PROBES_NOTIFY_FD (gets \"1\" when "
	     "the daemon knows them).");
}

static void on_signal(struct orma_watch *watch, unsigned ready)
{
	struct signalfd_siginfo info;
	(void)ready;
	if (read(watch->fd, &info, sizeof(info)) == sizeof(info))
		orma_base_loop_stop(watch->loop);
}

static int serve(int *parent_fd, void *ctx)
{
	struct orma_probes_options options = {0};
	struct orma_probes *probes = NULL;
	struct orma_watch watch = {0};
	sigset_t signals;
	(void)ctx;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	ORMA_AUTO(orma_base_fd_closep) int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
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
		orma_tool_tell_parent(parent_fd, ORMA_EXIT_OK);
		r = orma_tool_probes_run(probes);
	}
	orma_base_watch_remove(&watch);
	orma_tool_probes_free(probes);
	return r ? orma_tool_fail("the probes failed: %s", strerror(-r)) : ORMA_EXIT_OK;
}

/* Both options are Perfetto's, and have no meaning here. */
enum { OPTION_RESET = ORMA_OPTION_DAEMON_OTHERS, OPTION_CLEANUP };

static int take_option(int option, void *ctx)
{
	(void)ctx;
	return option == OPTION_RESET || option == OPTION_CLEANUP ? -1 : ORMA_EXIT_USAGE;
}

int orma_tool_probes(int argc, char **argv)
{
	static const struct option options[] = {
		ORMA_DAEMON_OPTIONS,
		{"reset-ftrace", no_argument, NULL, OPTION_RESET},
		{"cleanup-after-crash", no_argument, NULL, OPTION_CLEANUP},
		{NULL, 0, NULL, 0},
	};
	struct orma_daemon_command command = {
		.name = "orma probes",
		.print_help = print_help,
		.take_option = take_option,
		.serve = serve,
	};
	int status = orma_daemon_take_options(&command, argc, argv, options);

	if (status >= 0)
		return status;
	orma_tool_log_to_stderr(ORMA_LOG_INFO);
	return orma_daemon_serve(&command);
}
