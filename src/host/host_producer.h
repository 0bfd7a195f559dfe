/* SPDX-License-Identifier: Apache-2.0
 * host_producer.h - a producer's connection, shared by its calls (host_producer.c) and the commands
 * that the service gives it (host_command.c).
 */
#ifndef ORMA_HOST_HOST_PRODUCER_H
#define ORMA_HOST_HOST_PRODUCER_H

#include "host/host_state.h"

struct orma_host_producer {
	struct orma_host_peer peer;      /* first */
	struct orma_producer_port *port; /* NULL before InitializeConnection */
	struct orma_ipc_call *commands;  /* the GetAsyncCommand call; NULL before it */
	struct orma_list early;          /* struct early_command; empty once `commands` is set */
	size_t early_count, early_bytes; /* in `early` */
	size_t committed;                /* entries of the unfinished CommitData call */
};

/* The service's callbacks, which become commands. Their ctx is a struct orma_host_producer. */
extern const struct orma_producer_callbacks orma_host_command_callbacks;
/* Sends commands over `call` from now on, beginning with those that waited for it. */
void orma_host_command_begin(struct orma_host_producer *producer, struct orma_ipc_call *call);
/* Frees the commands that wait. */
void orma_host_command_clear(struct orma_host_producer *producer);

#endif
