/* SPDX-License-Identifier: Apache-2.0
 * process.h - `orma traced` as a process of its own: for tests of what concerns a whole process,
 * which the daemon on a thread (daemon.h) cannot show: options, signals, privileges, inherited
 * sockets.
 */
#ifndef ORMA_TESTS_INTEGRATION_PROCESS_H
#define ORMA_TESTS_INTEGRATION_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

struct orma_test_process {
	/* Set before the start: options after `orma traced`, and variables as NAME=value, both
	 * up to the first NULL; sockets that the process inherits as descriptors 3, 4, ... */
	const char *options[12];
	const char *variables[12];
	int fds[4];
	size_t fd_count;
	bool says_listen_pid; /* LISTEN_FDS and LISTEN_PID, as systemd would */

	pid_t pid;
	char producers[108], consumers[108]; /* socket paths in the test's own folder */
};

/* Returns false if the process ended before it was ready. */
bool orma_test_process_start(struct orma_test_process *process);
void orma_test_process_signal(const struct orma_test_process *process, int signal);
/* Waits for its end: exit status, or 128 + signal. */
int orma_test_process_wait(struct orma_test_process *process);
/* SIGTERM, and the same. */
int orma_test_process_stop(struct orma_test_process *process);
/*
 * Runs a program of the build folder ("orma", or "perfetto": the same under another name) with
 * these arguments, up to NULL, against the sockets, to its end: exit status, or 128 + signal.
 * orma_test_process_messages() returns its output.
 */
int orma_test_process_run(const struct orma_test_process *process, const char *program,
			  const char *const *arguments);
/* The same without waiting: the process object stands for that program from here on. */
void orma_test_process_begin(struct orma_test_process *process, const char *program,
			     const char *const *arguments);
/* Its output on standard error so far; valid until the next call. */
const char *orma_test_process_messages(void);
/* The value of a line "Name:\tvalue" of /proc/PID/status; valid until the next call. */
const char *orma_test_process_status(const struct orma_test_process *process, const char *name);

#endif
