/* SPDX-License-Identifier: Apache-2.0
 * last_resort.c - watches that the main thread reads its signals.
 *
 *   Ctrl-C, unread for a second: the main thread is stuck (its file is on a disk that hangs)
 *     --> kept pending as SIGTERM, with a message to the user --> Ctrl-C again, unread --> _exit()
 *
 * A main thread that runs, or that waits for a CPU of a busy machine, is not stuck: it reads its
 * signals when it comes to that.
 *
 * A second signal of the same kind is lost while the first is pending. So the first is replaced by
 * another signal, which the main thread counts in the same way if it continues. Rejected: signal
 * handlers (a handler cannot know whether the main thread is stuck, and the first Ctrl-C must not
 * end the process), and writing files on another thread (the process cannot end before its files
 * are closed either way).
 */
#include "tool/record/last_resort.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "tool/tool.h"

enum { UNREAD_MS = 1000, EXIT_INTERRUPTED = 128 + SIGINT };

/* Waits for a signal. Returns false when the watch must stop. */
static bool wait_for(const struct orma_last_resort *resort, bool for_signal, int timeout_ms)
{
	struct pollfd fds[2] = {{resort->stop_fd, POLLIN, 0},
				{for_signal ? resort->signal_fd : -1, POLLIN, 0}};

	(void)poll(fds, 2, timeout_ms);
	return fds[0].revents == 0;
}

static bool is_pending(int signal)
{
	sigset_t pending;

	sigemptyset(&pending);
	return sigpending(&pending) == 0 && sigismember(&pending, signal) == 1;
}

/* The state that the kernel shows for a process is its main thread's. */
static bool is_main_thread_runnable(void)
{
	char text[256];
	int fd = open("/proc/self/stat", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd >= 0 ? read(fd, text, sizeof(text) - 1) : -1;

	orma_base_fd_close(fd);
	text[size > 0 ? size : 0] = '\0';
	const char *behind_name = strrchr(text, ')');
	return behind_name && strncmp(behind_name, ") R", 3) == 0;
}

static void exchange(void)
{
	const struct timespec zero = {0, 0};
	sigset_t interrupt;

	sigemptyset(&interrupt);
	sigaddset(&interrupt, SIGINT);
	if (sigtimedwait(&interrupt, NULL, &zero) == SIGINT)
		kill(getpid(), SIGTERM);
}

static void *run(void *arg)
{
	const struct orma_last_resort *resort = arg;
	bool is_told = false;

	while (wait_for(resort, true, -1)) {
		if (!wait_for(resort, false, UNREAD_MS))
			break;
		if (!is_pending(SIGINT) || is_main_thread_runnable())
			continue;
		if (is_told && is_pending(SIGTERM)) {
			orma_tool_warn("interrupted twice while a file or a peer does not answer; "
				       "what is not written is lost");
			_exit(EXIT_INTERRUPTED);
		}
		/* Before the message, after which the user may press Ctrl-C again at once. */
		exchange();
		orma_tool_warn("waiting for a file or a peer that does not answer; Ctrl-C again "
			       "ends at once");
		is_told = true;
	}
	return NULL;
}

void orma_last_resort_start(struct orma_last_resort *resort, int signal_fd)
{
	resort->signal_fd = signal_fd;
	resort->stop_fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (resort->stop_fd < 0)
		return;
	resort->is_running = pthread_create(&resort->thread, NULL, run, resort) == 0;
	if (!resort->is_running)
		resort->stop_fd = orma_base_fd_close(resort->stop_fd);
}

void orma_last_resort_stop(struct orma_last_resort *resort)
{
	if (!resort->is_running)
		return;
	(void)eventfd_write(resort->stop_fd, 1);
	pthread_join(resort->thread, NULL);
	resort->stop_fd = orma_base_fd_close(resort->stop_fd);
	resort->is_running = false;
}
