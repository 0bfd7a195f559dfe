/* SPDX-License-Identifier: Apache-2.0
 * host_consumer.h - a consumer's connection, shared by its calls (host_consumer.c) and its stream
 * (host_stream.c).
 */
#ifndef ORMA_HOST_HOST_CONSUMER_H
#define ORMA_HOST_HOST_CONSUMER_H

#include "host/host_state.h"

struct orma_host_consumer {
	struct orma_host_peer peer; /* first */
	struct orma_consumer_port *port;
	/* Calls that are answered later; one of each kind, a new one rejects the old. */
	struct orma_ipc_call *enable, *read, *observe;
	struct orma_list flushes; /* struct host_flush */
	struct orma_list stream;  /* in host->streams while `read` is to be fed */
};

/* Ends the ReadBuffers call, if there is one, by a rejection. */
void orma_host_stream_cancel(struct orma_host_consumer *consumer);

#endif
