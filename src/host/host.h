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
/* Closes all connections; the sessions of their consumers end. Not from inside a callback. */
void orma_host_free(struct orma_host *host);

enum {
	/* Beside the flags of orma_ipc_listen(), for producers: serve relays of other machines too.
	 */
	ORMA_HOST_RELAY = 1 << 8,
};

/* Listen on a comma-separated list of addresses (ipc/address.h), or on a socket made elsewhere. */
int orma_host_listen_producers(struct orma_host *host, const char *addresses, unsigned flags);
int orma_host_listen_consumers(struct orma_host *host, const char *addresses, unsigned flags);
int orma_host_adopt_producer_listener(struct orma_host *host, int fd, unsigned flags);
int orma_host_adopt_consumer_listener(struct orma_host *host, int fd);
/* How many producers, and how many consumers, one user may connect (ipc/ipc_host.h); 0 = default. */
void orma_host_limit_peers_per_uid(struct orma_host *host, uint32_t max);
/* Serve a connected socket; taken over on success. */
int orma_host_add_consumer_fd(struct orma_host *host, int fd);

/* To be called after any direct call of the service or its ports: its next deadline may have
 * changed. */
void orma_host_kick(struct orma_host *host);

#endif
