/* SPDX-License-Identifier: Apache-2.0
 * host.h - the tracing service behind sockets: binds the ports of orma/service.h to ProducerPort,
 * RelayPort and ConsumerPort over ipc, and drives the service's time from the event loop.
 *
 * Used by the daemon (`orma traced`), by the recorder when there is no daemon, and by the
 * in-process backend for its consumers. Belongs to the loop's thread.
 */
#ifndef ORMA_HOST_HOST_H
#define ORMA_HOST_HOST_H

#include <orma/service.h>
#include <stddef.h>

#include "base/loop.h"

struct orma_host;

/* `loop` and `service` are borrowed and outlive the host. 0 or -ENOMEM. */
int orma_host_new(struct orma_loop *loop, struct orma_service *service, struct orma_host **ret);
/* Closes all connections; the sessions of their consumers end. Must not be called inside a
 * callback. */
void orma_host_free(struct orma_host *host);

enum {
	/* Added to the flags of orma_ipc_listen() for producers: serve relays of other machines
	 * too. */
	ORMA_HOST_RELAY = 1 << 8,
};

/* Listen on a comma-separated list of addresses (ipc/address.h), or accept from a socket that
 * listens already. */
int orma_host_listen_producers(struct orma_host *host, const char *addresses, unsigned flags);
int orma_host_listen_consumers(struct orma_host *host, const char *addresses, unsigned flags);
int orma_host_adopt_producer_listener(struct orma_host *host, int fd, unsigned flags);
int orma_host_adopt_consumer_listener(struct orma_host *host, int fd);
/* Limits the producers, and likewise the consumers, that one user may connect (ipc/ipc_host.h); 0 =
 * default. */
void orma_host_limit_peers_per_uid(struct orma_host *host, uint32_t max);
/* Serves a connected socket, and takes it over on success. */
int orma_host_add_consumer_fd(struct orma_host *host, int fd);
/* Closes the sockets and connections of consumers for good; their sessions end. Must not be called
 * inside a callback. */
void orma_host_close_consumers(struct orma_host *host);

/* Queues a run of the service in the loop's next turn. To be called after every direct call of the
 * service or its ports, because the next deadline may have changed. */
void orma_host_schedule(struct orma_host *host);

#endif
