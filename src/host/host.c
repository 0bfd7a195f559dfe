/* SPDX-License-Identifier: Apache-2.0
 * host.c - the lifetime of a host, and the timer between the service and the event loop.
 *
 * The service has no clock of its own and does not call back when its next deadline changes. So
 * every call into it ends with orma_host_schedule(), which queues one task. In the next turn of the
 * loop the task reads the service's next deadline, runs the service when it is due, feeds the
 * consumers that read, and arms one timer for the next deadline. The peers of both ipc hosts share
 * the loop's time through `turns`.
 *
 * Invariant: whenever the loop sleeps, the timer is armed for the service's next deadline, or
 * disarmed when there is none. Rejected: reading the deadline after each call (one timer system
 * call per commit), and a callback "deadline changed" (one more way for the service to re-enter its
 * callers).
 */
#include "host/host.h"

#include <errno.h>
#include <time.h>

#include "base/alloc.h"
#include "base/clock_ns.h"
#include "host/host_state.h"
#include "ipc/turns.h"

static void arm_timer(struct orma_host *host);

static void on_timer(struct orma_timer *timer)
{
	struct orma_host *host = ORMA_CONTAINER_OF(timer, struct orma_host, timer);
	orma_service_run(host->service);
	orma_host_schedule(host);
}

static void run(struct orma_task *task)
{
	struct orma_host *host = ORMA_CONTAINER_OF(task, struct orma_host, run_task);
	if (orma_service_next_deadline_ns(host->service) <= orma_base_clock_ns(CLOCK_MONOTONIC)) {
		orma_service_run(host->service);
		orma_host_schedule(host);
	}
	if (orma_host_feed_streams(host))
		orma_host_schedule(host);
	orma_host_feed_queries(host);
	arm_timer(host);
}

static void arm_timer(struct orma_host *host)
{
	uint64_t deadline_ns = orma_service_next_deadline_ns(host->service);
	if (deadline_ns == UINT64_MAX) {
		orma_base_timer_disarm(&host->timer);
		return;
	}
	/* If there was no memory for the timer, the next run tries again. Any call of a peer
	 * schedules one. */
	if (!host->timer.is_armed || host->timer.deadline_ns != deadline_ns)
		(void)orma_base_loop_arm(host->loop, &host->timer, deadline_ns, on_timer);
}

static int new_ipc_hosts(struct orma_host *host)
{
	int r = orma_ipc_turns_new(host->loop, &host->turns);
	if (r)
		return r;
	struct orma_ipc_host_options producers = {
		.loop = host->loop,
		.services = host->producer_services,
		.service_count = ORMA_ARRAY_SIZE(host->producer_services),
		.reserved_count = 1,
		.ctx = host,
		.turns = host->turns,
		.accepted = orma_host_producer_accepted,
		.closed = orma_host_producer_closed,
	};
	struct orma_ipc_host_options consumers = {
		.loop = host->loop,
		.services = orma_host_consumer_services,
		.service_count = 1,
		.ctx = host,
		.turns = host->turns,
		.accepted = orma_host_consumer_accepted,
		.closed = orma_host_consumer_closed,
		.drained = orma_host_consumer_drained,
	};
	host->producer_services[0] = orma_host_producer_service;
	host->producer_services[1] = orma_host_relay_service;
	r = orma_ipc_host_new(&producers, &host->producers);
	return r ? r : orma_ipc_host_new(&consumers, &host->consumers);
}

int orma_host_new(struct orma_loop *loop, struct orma_service *service, struct orma_host **ret)
{
	struct orma_host *host = orma_base_zalloc(sizeof(*host));
	if (!host)
		return -ENOMEM;
	host->loop = loop;
	host->service = service;
	host->run = run;
	orma_base_list_init(&host->streams);
	orma_base_list_init(&host->queries);
	orma_base_list_init(&host->peers);
	int r = new_ipc_hosts(host);
	if (r) {
		orma_host_free(host);
		return r;
	}
	*ret = host;
	return 0;
}

void orma_host_close_consumers(struct orma_host *host)
{
	struct orma_host_peer *peer, *next;

	/* The ports hold calls of their peers, so they are closed first. */
	ORMA_LIST_FOR_EACH_SAFE (peer, next, &host->peers, link)
		if (peer->is_consumer)
			peer->forget(peer);
	orma_ipc_host_free(ORMA_TAKE(host->consumers));
}

void orma_host_free(struct orma_host *host)
{
	if (!host)
		return;
	/* The ports hold calls of their peers, so they are closed first. */
	while (!orma_base_list_is_empty(&host->peers)) {
		struct orma_host_peer *peer =
			ORMA_LIST_ENTRY(host->peers.next, struct orma_host_peer, link);
		peer->forget(peer);
	}
	orma_ipc_host_free(host->consumers);
	orma_ipc_host_free(host->producers);
	orma_ipc_turns_free(host->turns);
	orma_base_timer_disarm(&host->timer);
	orma_base_task_cancel(&host->run_task);
	orma_base_buf_done(&host->scratch);
	orma_host_commit_done(&host->commit);
	orma_base_free(host);
}

/* The bits below ORMA_HOST_RELAY are flags of orma_ipc_listen(). */
static unsigned listen_flags(unsigned flags)
{
	return (flags & (ORMA_HOST_RELAY - 1)) |
	       (flags & ORMA_HOST_RELAY ? ORMA_IPC_HOST_ALL_SERVICES : 0);
}

int orma_host_listen_producers(struct orma_host *host, const char *addresses, unsigned flags)
{
	return orma_ipc_host_listen(host->producers, addresses, listen_flags(flags));
}

int orma_host_listen_consumers(struct orma_host *host, const char *addresses, unsigned flags)
{
	return orma_ipc_host_listen(host->consumers, addresses, flags);
}

int orma_host_adopt_producer_listener(struct orma_host *host, int fd, unsigned flags)
{
	return orma_ipc_host_adopt_listener(host->producers, fd, listen_flags(flags));
}

int orma_host_adopt_consumer_listener(struct orma_host *host, int fd)
{
	return orma_ipc_host_adopt_listener(host->consumers, fd, 0);
}

void orma_host_limit_peers_per_uid(struct orma_host *host, uint32_t max)
{
	orma_ipc_host_limit_peers_per_uid(host->producers, max);
	orma_ipc_host_limit_peers_per_uid(host->consumers, max);
}

int orma_host_add_consumer_fd(struct orma_host *host, int fd)
{
	return orma_ipc_host_adopt(host->consumers, fd, NULL);
}
