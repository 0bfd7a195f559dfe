/* SPDX-License-Identifier: Apache-2.0
 * daemon.h - a tracing daemon in a thread of the test.
 */
#ifndef ORMA_TESTS_UNIT_CLIENT_DAEMON_H
#define ORMA_TESTS_UNIT_CLIENT_DAEMON_H

#include <orma/service.h>
#include <pthread.h>

#include "base/loop.h"
#include "harness.h"
#include "host/host.h"

struct daemon {
	char producer[256], consumer[256]; /* addresses */
	struct orma_loop *loop;
	struct orma_service *service;
	struct orma_host *host;
	pthread_t thread;
};

static inline void *daemon_main(void *ctx)
{
	struct daemon *daemon = ctx;

	orma_base_loop_run(daemon->loop);
	return NULL;
}

static inline void daemon_stop_loop(void *ctx)
{
	orma_base_loop_stop(ctx);
}

static inline void daemon_addresses(struct daemon *daemon)
{
	snprintf(daemon->producer, sizeof(daemon->producer), "%s/producer", orma_test_tmpdir());
	snprintf(daemon->consumer, sizeof(daemon->consumer), "%s/consumer", orma_test_tmpdir());
}

static inline void daemon_start(struct daemon *daemon)
{
	const struct orma_service_options options = {.struct_size = sizeof(options)};

	CHECK_INT(orma_base_loop_new(&daemon->loop), 0);
	CHECK_INT(orma_service_new(&options, &daemon->service), 0);
	CHECK_INT(orma_host_new(daemon->loop, daemon->service, &daemon->host), 0);
	CHECK_INT(orma_host_listen_producers(daemon->host, daemon->producer, 0), 0);
	CHECK_INT(orma_host_listen_consumers(daemon->host, daemon->consumer, 0), 0);
	orma_base_loop_set_wake_handler(daemon->loop, daemon_stop_loop, daemon->loop);
	CHECK_INT(pthread_create(&daemon->thread, NULL, daemon_main, daemon), 0);
}

static inline void daemon_stop(struct daemon *daemon)
{
	orma_base_loop_wake(daemon->loop);
	pthread_join(daemon->thread, NULL);
	orma_host_free(daemon->host);
	orma_service_free(daemon->service);
	orma_base_loop_free(daemon->loop);
}

#endif
