/* SPDX-License-Identifier: Apache-2.0
 * probes_command.c - `orma probes`: this machine's data sources as a producer of a daemon, with the options
 * of traced_probes.
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

static int serve(int *parent_fd)
{
	struct orma_probes_options options = {0};
	struct orma_probes *probes = NULL;
	struct orma_watch watch = {0};
	sigset_t signals;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	ORMA_AUTO(orma_base_fd_closep) int fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	int result = fd < 0 ? -errno : orma_tool_probes_new(&options, &probes);
	if (result)
		return orma_tool_fail("the probes failed: %s", strerror(-result));
	result = orma_base_loop_watch(orma_tool_probes_loop(probes), &watch, fd, ORMA_LOOP_READ,
				      on_signal);
	if (result == 0 && getenv("TRACED_PROBES_NOTIFY_FD") && orma_sync(SYNC_TIMEOUT_MS) == 0)
		orma_tool_notify("TRACED_PROBES_NOTIFY_FD", "1");
	/* A daemon that is there knows them when the parent returns; one may also come later. */
	if (result == 0 && *parent_fd >= 0)
		(void)orma_sync(PARENT_SYNC_MS);
	if (result == 0) {
		orma_tool_tell_parent(parent_fd, ORMA_EXIT_OK);
		result = orma_tool_probes_run(probes);
	}
	orma_base_watch_remove(&watch);
	orma_tool_probes_free(probes);
	return result ? orma_tool_fail("the probes failed: %s", strerror(-result)) : ORMA_EXIT_OK;
}

int orma_tool_probes(int argc, char **argv)
{
	enum { OPTION_BACKGROUND = 256, OPTION_RESET, OPTION_CLEANUP, OPTION_VERSION };
	static const struct option options[] = {
		{"background", no_argument, NULL, OPTION_BACKGROUND},
		{"reset-ftrace", no_argument, NULL, OPTION_RESET},
		{"cleanup-after-crash", no_argument, NULL, OPTION_CLEANUP},
		{"version", no_argument, NULL, OPTION_VERSION},
		{"help", no_argument, NULL, 'h'},
		{NULL, 0, NULL, 0},
	};
	bool in_background = false;
	for (int option; (option = orma_tool_option(argc, argv, ":h", options)) != -1;) {
		switch (option) {
		case OPTION_BACKGROUND:
			in_background = true;
			break;
		case OPTION_RESET:
		case OPTION_CLEANUP:
			break;
		case OPTION_VERSION:
			orma_tool_print_version("orma probes");
			return ORMA_EXIT_OK;
		case 'h':
			print_help();
			return ORMA_EXIT_OK;
		default:
			return ORMA_EXIT_USAGE;
		}
	}
	if (optind != argc)
		return orma_tool_usage_error("\"%s\" is not an option", argv[optind]);
	orma_tool_log_to_stderr(ORMA_LOG_INFO);
	int parent_fd = in_background ? orma_tool_background(false, -1) : -1;
	if (in_background && parent_fd < 0)
		return orma_tool_fail("cannot go into the background: %s", strerror(-parent_fd));
	int status = serve(&parent_fd);
	orma_tool_tell_parent(&parent_fd, status);
	return status;
}
