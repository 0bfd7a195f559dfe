/* SPDX-License-Identifier: Apache-2.0
 * daemon.h - the daemon of `orma traced` on a thread of the test, with sockets in the test's own
 * folder. It is in the same process, so the harness and the sanitizers check its descriptors and
 * its memory.
 */
#ifndef ORMA_TESTS_INTEGRATION_DAEMON_H
#define ORMA_TESTS_INTEGRATION_DAEMON_H

#include <pthread.h>

#include "tool/daemon/daemon.h"

struct orma_test_daemon {
	struct orma_daemon daemon;
	pthread_t thread;
	char producers[108], consumers[108]; /* socket paths */
	uint16_t tcp_port; /* producers without descriptors: 127.0.0.1; 0 = no network */
};

void orma_test_daemon_start(struct orma_test_daemon *daemon);
/* Returns when the thread is gone and everything is freed. */
void orma_test_daemon_stop(struct orma_test_daemon *daemon);

#endif
