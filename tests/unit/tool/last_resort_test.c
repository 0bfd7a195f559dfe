/* SPDX-License-Identifier: Apache-2.0
 * last_resort_test.c - when Ctrl-C says that the main thread is stuck, and when it does not.
 */
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock_ns.h"
#include "harness.h"
#include "tool/record/last_resort.h"

static int messages; /* the end from which a test reads what is written to standard error */

/* Watches the main thread of a child, which is this one. */
static void watch(struct orma_last_resort *resort)
{
	sigset_t signals;
	int fds[2];

	sigemptyset(&signals);
	sigaddset(&signals, SIGINT);
	sigaddset(&signals, SIGTERM);
	CHECK_INT(sigprocmask(SIG_BLOCK, &signals, NULL), 0);
	int signal_fd = signalfd(-1, &signals, SFD_CLOEXEC | SFD_NONBLOCK);
	CHECK(signal_fd >= 0);
	CHECK_INT(pipe(fds), 0);
	CHECK(dup2(fds[1], STDERR_FILENO) >= 0);
	messages = fds[0];
	orma_last_resort_start(resort, signal_fd);
	CHECK(resort->is_running);
}

static bool has_message(void)
{
	struct pollfd fd = {.fd = messages, .events = POLLIN};

	return poll(&fd, 1, 0) > 0;
}

static void await_message(const char *part)
{
	char text[512];
	ssize_t size = read(messages, text, sizeof(text) - 1);

	CHECK(size > 0);
	text[size] = '\0';
	CHECK(strstr(text, part));
}

/* Runs in a child, whose threads and signals are its own. */
static int run_child(void (*run)(void))
{
	int status;
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		run();
		_exit(0);
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	CHECK(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static void run_without_reading(void)
{
	struct orma_last_resort resort = {0};

	watch(&resort);
	kill(getpid(), SIGINT);
	uint64_t end_ns = orma_base_clock_ns(CLOCK_MONOTONIC) + 5 * ORMA_NS_PER_SEC / 2;
	while (orma_base_clock_ns(CLOCK_MONOTONIC) < end_ns)
		CHECK(!has_message());
	/* Now it waits for something else than a CPU. */
	await_message("waiting for a file or a peer that does not answer");
	orma_last_resort_stop(&resort);
}

ORMA_TEST(a_main_thread_that_runs_is_not_called_stuck_by_ctrl_c)
{
	CHECK_INT(run_child(run_without_reading), 0);
}

static void hang(void)
{
	struct orma_last_resort resort = {0};

	watch(&resort);
	kill(getpid(), SIGINT);
	await_message("Ctrl-C again ends at once");
	kill(getpid(), SIGINT);
	for (;;)
		pause();
}

ORMA_TEST(a_main_thread_that_hangs_is_ended_by_the_second_ctrl_c)
{
	CHECK_INT(run_child(hang), 128 + SIGINT);
}
