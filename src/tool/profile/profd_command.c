/* SPDX-License-Identifier: Apache-2.0
 * profd_command.c - `orma profd`: the profilers, as a producer of a daemon.
 *
 * It is a process apart from `orma probes`, because it reads the files and the stacks of other programs. A hostile program that takes
 * it over must not get at the kernel's tracing. Without a session it sleeps and does not listen.
 */
#include <errno.h>
#include <orma/init.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/log_message.h"
#include "base/loop.h"
#include "base/macros.h"
#include "tool/daemon/daemon_options.h"
#include "tool/daemon/descriptor_limit.h"
#include "tool/daemon/probes_run.h"
#include "tool/tool.h"

#ifdef ORMA_HAVE_PROFILERS
#define PARENT_SYNC_MS 1000
/* Each profiled process has a connection and shared memory, and files are open while their symbols are read. */
#define DESCRIPTORS_WANTED 16384

struct signals {
	struct orma_watch watch;
	struct orma_probes *probes;
};

static void on_signal(struct orma_watch *watch, unsigned ready)
{
	struct signals *signals = ORMA_CONTAINER_OF(watch, struct signals, watch);
	struct signalfd_siginfo info;

	(void)ready;
	if (read(watch->fd, &info, sizeof(info)) != sizeof(info))
		return;
	if (info.ssi_signo == SIGUSR1)
		orma_tool_probes_dump_heaps(signals->probes);
	else
		orma_base_loop_stop(watch->loop);
}

static int serve(int *parent_fd, void *ctx)
{
	struct orma_probes_options options = {
		.producer_name = "orma.profd",
		.kinds = ORMA_PROBES_PROFILERS,
	};
	struct signals signals = {0};
	sigset_t set;

	(void)ctx;
	sigemptyset(&set);
	sigaddset(&set, SIGINT);
	sigaddset(&set, SIGTERM);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	ORMA_AUTO(orma_base_fd_closep) int fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	orma_tool_raise_descriptor_limit(DESCRIPTORS_WANTED);
	int r = fd < 0 ? -errno : orma_tool_probes_new(&options, &signals.probes);
	if (r)
		return orma_tool_fail("the profilers failed: %s", strerror(-r));
	r = orma_base_loop_watch(orma_tool_probes_loop(signals.probes), &signals.watch, fd,
				 ORMA_LOOP_READ, on_signal);
	if (r == 0 && *parent_fd >= 0)
		(void)orma_sync(PARENT_SYNC_MS);
	if (r == 0) {
		orma_daemon_tell_ready(parent_fd);
		r = orma_tool_probes_run(signals.probes);
	}
	orma_base_watch_remove(&signals.watch);
	orma_tool_probes_free(signals.probes);
	return r ? orma_tool_fail("the profilers failed: %s", strerror(-r)) : ORMA_EXIT_OK;
}
#else
static int serve(int *parent_fd, void *ctx)
{
	(void)parent_fd;
	(void)ctx;
	return orma_tool_fail("this binary is built without profilers; build orma without "
			      "ORMA_STATIC to have them");
}
#endif

static const struct orma_tool_option option_table[] = {
	{ORMA_OPTION_BACKGROUND, "background", NULL,
	 "Go on in the background once the daemon knows the data sources, or after a second "
	 "without a daemon.",
	 NULL},
	ORMA_TOOL_VERSION_OPTION,
	{0},
};

static int run(int argc, char **argv)
{
	struct orma_daemon_command command = {
		.command = &orma_profd_command,
		.serve = serve,
	};
	int status = orma_daemon_take_options(&command, argc, argv);

	if (status >= 0)
		return status;
	orma_tool_log_to_stderr(ORMA_LOG_INFO);
	return orma_daemon_serve(&command);
}

const struct orma_tool_command orma_profd_command = {
	.name = "profd",
	.summary = "the profilers, for a daemon",
	.usage = "[OPTIONS]",
	.about = "Offers the data sources android.heapprofd (where programs allocate memory) and "
		 "linux.perf (what CPUs do) to a tracing daemon, both by call stack. It waits for "
		 "a daemon, and connects again when the daemon restarts. Programs are profiled "
		 "that run with liborma-heap.so, preloaded or linked. SIGUSR1 writes a dump of "
		 "each heap that is profiled.",
	.options = option_table,
	.notes = "Environment: PERFETTO_PRODUCER_SOCK_NAME, ORMA_HEAP_SOCK (where profiled "
		 "programs connect).",
	.run = run,
};
