/* SPDX-License-Identifier: Apache-2.0
 * host_state.h - the host and its peers, as the files of this folder share them.
 */
#ifndef ORMA_HOST_HOST_STATE_H
#define ORMA_HOST_HOST_STATE_H

#include "base/buf.h"
#include "base/list.h"
#include "host/host.h"
#include "host/host_commit.h"
#include "ipc/ipc_host.h"

struct orma_host {
	struct orma_loop *loop;
	struct orma_service *service;
	struct orma_ipc_turns *turns; /* shared by the two ipc hosts */
	struct orma_ipc_host *producers, *consumers;
	struct orma_ipc_service producer_services[2];
	struct orma_timer timer;        /* armed for the service's next deadline */
	struct orma_task run_task;      /* queued whenever the service may have something to do */
	orma_task_fn *run;              /* the function of run_task */
	struct orma_list peers;         /* struct orma_host_peer */
	struct orma_list streams;       /* consumers whose ReadBuffers call can be fed */
	struct orma_list queries;       /* consumers whose QueryServiceState call goes on */
	struct orma_buf scratch;        /* a reply being encoded; keeps its capacity */
	struct orma_host_commit commit; /* the CommitData call being handled; likewise */
	size_t waiting_state_bytes;     /* copies of the state that consumers have not read yet */
};

/* The first member of struct orma_host_producer and struct orma_host_consumer. */
struct orma_host_peer {
	struct orma_host *host;
	struct orma_ipc_peer *ipc;
	struct orma_list link;
	struct orma_relay_port *relay;               /* see host_relay.c; NULL = none */
	void (*forget)(struct orma_host_peer *peer); /* closes its port and frees it */
	bool is_consumer;
};

/* The services and their methods. Calls arrive at peers of the producers' or the consumers' ipc
 * host. */
extern const struct orma_ipc_service orma_host_producer_service;
extern const struct orma_ipc_service orma_host_relay_service;
extern const struct orma_ipc_service orma_host_consumer_services[1];

int orma_host_producer_accepted(void *ctx, struct orma_ipc_peer *ipc);
void orma_host_producer_closed(void *ctx, struct orma_ipc_peer *ipc, int error);
int orma_host_consumer_accepted(void *ctx, struct orma_ipc_peer *ipc);
void orma_host_consumer_closed(void *ctx, struct orma_ipc_peer *ipc, int error);
void orma_host_consumer_drained(void *ctx, struct orma_ipc_peer *ipc);
/* Feeds one batch to each consumer that reads and whose socket has room. Returns true when there is
 * more to do at once. */
bool orma_host_feed_streams(struct orma_host *host);
/* Continues answers to QueryServiceState, and schedules another run when there is more to do. */
void orma_host_feed_queries(struct orma_host *host);

#endif
