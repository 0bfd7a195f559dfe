/* SPDX-License-Identifier: Apache-2.0
 * last_resort.h - lets a second Ctrl-C end a program whose main thread is stuck and reads no
 * signals.
 */
#ifndef ORMA_TOOL_LAST_RESORT_H
#define ORMA_TOOL_LAST_RESORT_H

#include <pthread.h>
#include <stdbool.h>

struct orma_last_resort {
	pthread_t thread;
	int signal_fd, stop_fd;
	bool is_running;
};

/* SIGINT and SIGTERM must be blocked in all threads and read from `signal_fd`, which must stay
 * open. If no thread can be started, nothing is watched. */
void orma_last_resort_start(struct orma_last_resort *resort, int signal_fd);
/* Does nothing on {0}. */
void orma_last_resort_stop(struct orma_last_resort *resort);

#endif
