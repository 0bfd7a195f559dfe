/* SPDX-License-Identifier: Apache-2.0
 * retry.h - when to try again to connect to a daemon that is not there. Loop thread only.
 */
#ifndef ORMA_CLIENT_RETRY_H
#define ORMA_CLIENT_RETRY_H

#include <stdbool.h>
#include <stdint.h>

#include "base/loop.h"
#include "ipc/address.h"

struct orma_client_retry {
	struct orma_loop *loop;
	void (*connect)(struct orma_client_retry *retry); /* one attempt */
	struct orma_timer timer;
	uint64_t delay_ns; /* the delay with which the timer was armed last */

	/* The folder of the daemon's socket. */
	struct orma_watch folder_watch;
	struct orma_timer folder_timer;                /* armed while the watch sleeps */
	int folder_fd;                                 /* inotify while not connected, or -1 */
	char socket_path[ORMA_IPC_ADDRESS_TEXT_BYTES]; /* the file that it waits for */

	bool has_logged;
	int logged_error; /* 0 = connected */
};

void orma_client_retry_init(struct orma_client_retry *retry, struct orma_loop *loop,
			    void (*connect)(struct orma_client_retry *retry));
/* Another attempt after a delay, or when the daemon appears at `address` (NULL = nowhere in particular).
 * `name` is for messages. */
void orma_client_retry_arm(struct orma_client_retry *retry, const char *address, const char *name,
			   bool was_connected);
void orma_client_retry_disarm(struct orma_client_retry *retry);
/* Logs that there is a connection (0), or why there is none, if that has changed. */
void orma_client_retry_log(struct orma_client_retry *retry, const char *address, int error);

#endif
