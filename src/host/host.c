/* SPDX-License-Identifier: Apache-2.0
 * host.c - lifetime of a host, and the clockwork between the service and the event loop.
 *
 * The service never calls back for time. So every call into it ends with orma_host_kick(), which
 * queues one task; at the next turn of the loop the task reads the service's next deadline, runs
 * the service when it is due, feeds the consumers that read, and arms one timer for the rest. What
 * peers ask for shares the loop's time by `turns`, both kinds together.
 * Invariant: whenever the loop sleeps, the timer stands at the service's next deadline (or is off).
 * Rejected: asking for the deadline after each call (an epoll round trip per commit), and a
 * callback "deadline changed" (one more way for the service to re-enter its callers).
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
	orma_host_kick(host);
}

static void on_turn(struct orma_task *task)
{
	struct orma_host *host = ORMA_CONTAINER_OF(task, struct orma_host, turn);
	if (orma_service_next_deadline_ns(host->service) <= orma_base_clock_ns(CLOCK_MONOTONIC)) {
		orma_service_run(host->service);
		orma_host_kick(host);
	}
	if (orma_host_feed_streams(host))
		orma_host_kick(host);
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
	/* Without memory for a timer the next kick tries again; traffic of any kind is a kick. */
	if (!host->timer.is_armed || host->timer.deadline_ns != deadline_ns)
		(void)orma_base_loop_arm(host->loop, &host->timer, deadline_ns, on_timer);
}

void orma_host_kick(struct orma_host *host)
{
	if (!host->turn.is_queued)
		orma_base_loop_defer(host->loop, &host->turn, on_turn);
}

static int new_ipc_hosts(struct orma_host *host)
{
	int result = orma_ipc_turns_new(host->loop, &host->turns);
	if (result)
		return result;
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
	result = orma_ipc_host_new(&producers, &host->producers);
	return result ? result : orma_ipc_host_new(&consumers, &host->consumers);
}

int orma_host_new(struct orma_loop *loop, struct orma_service *service, struct orma_host **ret)
{
	struct orma_host *host = orma_base_zalloc(sizeof(*host));
	if (!host)
		return -ENOMEM;
	host->loop = loop;
	host->service = service;
	orma_base_list_init(&host->streams);
	orma_base_list_init(&host->queries);
	orma_base_list_init(&host->peers);
	int result = new_ipc_hosts(host);
	if (result) {
		orma_host_free(host);
		return result;
	}
	*ret = host;
	return 0;
}

void orma_host_free(struct orma_host *host)
{
	if (!host)
		return;
	/* First the ports, which still hold calls of their peers; then the peers. */
	while (!orma_base_list_is_empty(&host->peers)) {
		struct orma_host_peer *peer =
			ORMA_LIST_ENTRY(host->peers.next, struct orma_host_peer, link);
		peer->forget(peer);
	}
	orma_ipc_host_free(host->consumers);
	orma_ipc_host_free(host->producers);
	orma_ipc_turns_free(host->turns);
	orma_base_timer_disarm(&host->timer);
	orma_base_task_cancel(&host->turn);
	orma_base_buf_done(&host->scratch);
	orma_host_commit_done(&host->commit);
	orma_base_free(host);
}

/* The flags below ORMA_HOST_RELAY are those of orma_ipc_listen(). */
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
