/* SPDX-License-Identifier: Apache-2.0
 * embedded.c - a tracing service and the machine's probes inside the recorder, for a machine
 * without a daemon.
 *
 * It is the daemon itself, on a thread: programs find it at the default producer address while the
 * recording lasts. Programs of other users do not connect to it, unless root records and they trust
 * root's service (src/ipc/trust.c). The probes are an ordinary producer on a second thread.
 *
 * It has two consumer sockets. One lies in a folder that only this user can enter, and always works:
 * it is the recorder's own. The other is the usual one, where this user's other recorders and
 * `orma status` look for a daemon, with rights for this user alone. That one opens when the probes
 * have registered, so a recorder that joins in finds them. It would lose its service with this
 * process, so this one waits until the others have ended (orma_recorder_await_others()).
 *
 * Rejected: forking a daemon (it could outlive a recorder that is killed), calling the service
 * without sockets (a second variant of each of the recorder's calls), and handing the service over to
 * the next recorder (its memory and all connections would have to move).
 */
#include <errno.h>
#include <orma/init.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "ipc/address.h"
#include "tool/daemon/daemon.h"
#include "tool/daemon/private_folder.h"
#include "tool/daemon/probes_run.h"
#include "tool/record/record.h"

#define SYNC_MS 10000

struct orma_embedded {
	struct orma_daemon daemon;
	struct orma_probes *probes;
	pthread_t daemon_thread, probes_thread;
	bool has_daemon_thread, has_probes_thread, has_daemon;
	struct orma_private_folder folder;
	char consumer_address[96];
	const struct orma_record_options *options;
};

static void *run_daemon(void *arg)
{
	struct orma_embedded *embedded = arg;
	(void)orma_daemon_run(&embedded->daemon);
	/* Consumers that wait for an answer see now that none will come. */
	orma_host_close_consumers(embedded->daemon.host);
	return NULL;
}

static void *run_probes(void *arg)
{
	struct orma_embedded *embedded = arg;
	(void)orma_tool_probes_run(embedded->probes);
	return NULL;
}

static int start_thread(pthread_t *thread, bool *has_thread, const char *name, void *(*fn)(void *),
			void *arg)
{
	int r = pthread_create(thread, NULL, fn, arg);
	*has_thread = r == 0;
	if (r == 0)
		pthread_setname_np(*thread, name);
	return -r;
}

static int start_daemon(struct orma_embedded *embedded, struct orma_error *reterr)
{
	const struct orma_record_places *places = embedded->options->places;
	struct orma_daemon_options options = {
		.consumer_addresses = embedded->consumer_address,
		.producer_addresses = places ? places->producers : NULL,
		.late_consumer_addresses = places ? NULL : orma_ipc_consumer_address(),
		.listen_flags = ORMA_IPC_LISTEN_KEEP_LIVE,
		.has_private_consumers = true,
	};
	int r = orma_private_folder_make(orma_private_folder_parent(getenv("TMPDIR")),
					 &embedded->folder, reterr);
	if (r)
		return r;
	snprintf(embedded->consumer_address, sizeof(embedded->consumer_address),
		 "%s/" ORMA_PRIVATE_FOLDER_SOCKET, embedded->folder.path);
	r = orma_daemon_init(&embedded->daemon, &options, reterr);
	if (r == -EADDRINUSE)
		return orma_base_error_set(
			reterr, r, "another tracing service has %s, but none answers at %s",
			orma_ipc_producer_address(), orma_ipc_consumer_address());
	if (r)
		return r;
	embedded->has_daemon = true;
	r = start_thread(&embedded->daemon_thread, &embedded->has_daemon_thread, "orma-service",
			 run_daemon, embedded);
	return r ? orma_base_error_set(reterr, r, "cannot start a thread: %s", strerror(-r)) : 0;
}

static int start_probes(struct orma_embedded *embedded, struct orma_error *reterr)
{
	char address[ORMA_IPC_ADDRESS_TEXT_BYTES];
	const struct orma_record_places *places = embedded->options->places;
	const char *list = places ? places->producers : orma_ipc_producer_address();
	if (orma_ipc_address_list_next(&list, address) <= 0)
		return orma_base_error_set(reterr, -EINVAL, "no producer address");
	struct orma_probes_options options = {
		.producer_socket = address,
		.heap_socket = places ? places->profiler : NULL,
		.on_perf_failure = embedded->options->on_perf_failure,
		.on_perf_failure_ctx = embedded->options->app_ctx,
	};
	int r = orma_tool_probes_new(&options, &embedded->probes);
	/* Wait for the service, so that a query lists the probes. If it does not answer, they
	 * appear later. */
	if (r == 0)
		(void)orma_sync(SYNC_MS);
	if (r == 0)
		r = start_thread(&embedded->probes_thread, &embedded->has_probes_thread,
				 "orma-probes", run_probes, embedded);
	return r ? orma_base_error_set(reterr, r, "cannot start the probes: %s", strerror(-r)) : 0;
}

int orma_embedded_start(const struct orma_record_options *options, struct orma_embedded **ret,
			struct orma_error *reterr)
{
	struct orma_embedded *embedded = orma_base_zalloc(sizeof(*embedded));
	if (!embedded)
		return orma_base_error_set(reterr, -ENOMEM, "no memory");
	embedded->options = options;
	int r = start_daemon(embedded, reterr);
	if (r == 0)
		r = start_probes(embedded, reterr);
	if (r) {
		orma_embedded_stop(embedded);
		return r;
	}
	orma_daemon_request(&embedded->daemon, ORMA_DAEMON_OPEN);
	*ret = embedded;
	return 0;
}

void orma_embedded_finish(struct orma_embedded *embedded)
{
	orma_daemon_request(&embedded->daemon, ORMA_DAEMON_FINISH);
}

const char *orma_embedded_consumer_address(const struct orma_embedded *embedded)
{
	return embedded->consumer_address;
}

void orma_embedded_close_unused(struct orma_embedded *embedded)
{
	orma_daemon_request(&embedded->daemon, ORMA_DAEMON_CLOSE_UNUSED);
}

void orma_embedded_stop(struct orma_embedded *embedded)
{
	if (!embedded)
		return;
	if (embedded->has_probes_thread) {
		orma_tool_probes_stop(embedded->probes);
		pthread_join(embedded->probes_thread, NULL);
	}
	orma_tool_probes_free(embedded->probes);
	if (embedded->has_daemon_thread) {
		orma_daemon_request(&embedded->daemon, ORMA_DAEMON_STOP);
		pthread_join(embedded->daemon_thread, NULL);
	}
	if (embedded->has_daemon)
		orma_daemon_done(&embedded->daemon);
	orma_private_folder_remove(&embedded->folder);
	orma_base_free(embedded);
}
