/* SPDX-License-Identifier: Apache-2.0
 * record_signals.c - signals that end a recording.
 *
 * Tools like timeout(1) send a signal to the process and then to its group, so one wish to stop
 * arrives twice. Signals that follow each other within SAME_MS count as one.
 *
 * While a program is recorded, the first signal is for the program: it is passed on, and the
 * recording ends when the program does. The next signal ends the recording.
 */
#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "client/thread.h"
#include "tool/record/recorder.h"
#include "tool/tool.h"

#define SAME_MS 500

int orma_recorder_block_signals(struct orma_recorder *recorder)
{
	struct sigaction hangup;
	sigset_t signals;
	int r = orma_record_app_prepare(&recorder->app, recorder->options->app_argv);

	if (r < 0)
		return orma_tool_fail("signalfd: %s", strerror(-r));
	recorder->app.environment = recorder->options->app_environment;
	recorder->app.descriptors = recorder->options->app_descriptors;
	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	/* SIGHUP says that the terminal is gone; a recorder that nohup started ignores it. */
	if (sigaction(SIGHUP, NULL, &hangup) == 0 && hangup.sa_handler != SIG_IGN)
		sigaddset(&signals, SIGHUP);
	sigprocmask(SIG_BLOCK, &signals, NULL);
	recorder->signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	if (recorder->signal_fd < 0)
		return orma_tool_fail("signalfd: %s", strerror(errno));
	/* No thread has been made yet: the last resort is the first. */
	orma_client_threads_prepare();
	orma_last_resort_start(&recorder->last_resort, recorder->signal_fd);
	return ORMA_EXIT_OK;
}

static void count_signal(struct orma_recorder *recorder, const struct signalfd_siginfo *info)
{
	uint64_t now_ns = orma_base_clock_ns(CLOCK_MONOTONIC);
	bool is_same =
		recorder->has_signal && now_ns - recorder->signal_ns < SAME_MS * ORMA_NS_PER_MS;

	orma_record_app_forward(&recorder->app, (int)info->ssi_signo, info->ssi_code == SI_KERNEL);
	if (is_same)
		return;
	recorder->has_signal = true;
	recorder->signal_ns = now_ns;
	if (orma_record_app_is_running(&recorder->app) && !recorder->has_told_app) {
		recorder->has_told_app = true;
		return;
	}
	recorder->signal_count++;
}

void orma_recorder_count_signals(struct orma_recorder *recorder)
{
	struct signalfd_siginfo info;

	while (read(recorder->signal_fd, &info, sizeof(info)) == sizeof(info))
		count_signal(recorder, &info);
}
