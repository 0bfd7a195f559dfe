/* SPDX-License-Identifier: Apache-2.0
 * trigger_activation.h - triggers that services have not been told of yet. Loop thread only.
 */
#ifndef ORMA_CLIENT_TRIGGER_ACTIVATION_H
#define ORMA_CLIENT_TRIGGER_ACTIVATION_H

struct orma_client_link;

/* The link is up: tells its service what it has missed. */
void orma_client_triggers_send(struct orma_client_link *link);
/* Forgets all. */
void orma_client_triggers_end(void);

#endif
