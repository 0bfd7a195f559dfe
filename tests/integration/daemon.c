/* SPDX-License-Identifier: Apache-2.0
 * daemon.c - starts and stops the daemon on its thread.
 *
 * The daemon listens before the thread exists, so a client can connect as soon as start returns.
 * Rejected: a child process (its leaks and its open descriptors would go unseen), the in-process
 * endpoints (no socket would be tested).
 */
#include "daemon.h"

#include <signal.h>

#include "harness.h"

static void *run(void *arg)
{
	struct orma_test_daemon *daemon = arg;

	if (orma_daemon_run(&daemon->daemon) < 0)
		abort();
	return NULL;
}

void orma_test_daemon_start(struct orma_test_daemon *daemon)
{
	const char *folder = orma_test_tmpdir();
	struct orma_error error = {0};

	CHECK((size_t)snprintf(daemon->producers, sizeof(daemon->producers), "%s/p.sock", folder) <
	      sizeof(daemon->producers));
	CHECK((size_t)snprintf(daemon->consumers, sizeof(daemon->consumers), "%s/c.sock", folder) <
	      sizeof(daemon->consumers));
	struct orma_daemon_options options = {
		.producer_addresses = daemon->producers,
		.consumer_addresses = daemon->consumers,
	};
	/* As in `orma traced`: a pipe that nobody reads is an error, not the end. */
	signal(SIGPIPE, SIG_IGN);
	if (orma_daemon_init(&daemon->daemon, &options, &error) < 0)
		orma_test_fail(__FILE__, __LINE__, "%s", error.message);
	CHECK_INT(pthread_create(&daemon->thread, NULL, run, daemon), 0);
}

void orma_test_daemon_stop(struct orma_test_daemon *daemon)
{
	orma_daemon_stop(&daemon->daemon);
	CHECK_INT(pthread_join(daemon->thread, NULL), 0);
	orma_daemon_done(&daemon->daemon);
}
