/* SPDX-License-Identifier: Apache-2.0
 * sync.h - fences, for which threads wait in orma_sync(): the reports of links about them. Loop thread only.
 */
#ifndef ORMA_CLIENT_SYNC_H
#define ORMA_CLIENT_SYNC_H

#include <stdbool.h>

struct orma_client_link;

/* Sends a fence that nobody waits for. False: it was not sent. */
bool orma_client_sync_send(struct orma_client_link *link);
/* A link has come up: orma_sync() waits for the answer of its service, too. */
void orma_client_syncs_link_up(void);
/* The link is down: what was asked over it is asked again after the next connection. */
void orma_client_syncs_link_down(struct orma_client_link *link);
/* The service has answered the oldest fence of the link. */
void orma_client_syncs_link_answered(struct orma_client_link *link);
/* Ends all waits, whatever answers there are. */
void orma_client_syncs_end(void);

#endif
