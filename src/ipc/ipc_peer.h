/* SPDX-License-Identifier: Apache-2.0
 * ipc_peer.h - a connection to a host, as ipc_host.c and ipc_peer.c share it.
 */
#ifndef ORMA_IPC_IPC_PEER_H
#define ORMA_IPC_IPC_PEER_H

#include "base/list.h"
#include "ipc/connection.h"
#include "ipc/ipc_host.h"
#include "ipc/socket_io.h"

struct orma_ipc_host {
	struct orma_ipc_host_options options;
	struct orma_list peers;     /* struct orma_ipc_peer */
	struct orma_list listeners; /* struct orma_ipc_listener */
	size_t peer_count;          /* in `peers` */
	char machine_name[ORMA_IPC_MACHINE_NAME_BYTES];
};

struct orma_ipc_peer {
	struct orma_list link; /* host->peers */
	struct orma_ipc_host *host;
	struct orma_ipc_connection connection;
	struct orma_ipc_peer_identity identity;
	bool has_said_identity;
	size_t service_count; /* the peer can bind this many of options->services */
	void *data;
	struct orma_list calls; /* struct orma_ipc_call: unfinished ones */
	uint32_t call_count;    /* in `calls` */
	struct orma_ipc_call
		*unfinished; /* returned ORMA_IPC_AGAIN: its frame comes next; NULL = none */
	bool wants_closed_again;
};

/* Takes over the descriptor and joins host->peers. Returns 0, -ENOMEM or the error of the loop; on
 * failure the caller still owns the descriptor. */
int orma_ipc_peer_new(struct orma_ipc_host *host, int fd,
		      const struct orma_ipc_credentials *credentials, struct orma_ipc_peer **ret);
/* Frees it with its calls. No callback follows. */
void orma_ipc_peer_free(struct orma_ipc_peer *peer);

#endif
