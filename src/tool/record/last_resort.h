/* SPDX-License-Identifier: Apache-2.0
 * last_resort.h - a second Ctrl-C ends a program whose main thread is stuck and reads no signals.
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

/* SIGINT and SIGTERM are blocked in all threads and read from `signal_fd`, which must stay open. Does
 * without when there is no thread to be had. */
void orma_last_resort_start(struct orma_last_resort *resort, int signal_fd);
/* Harmless on {0}. */
void orma_last_resort_stop(struct orma_last_resort *resort);

#endif
