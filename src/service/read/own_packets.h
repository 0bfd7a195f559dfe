/* SPDX-License-Identifier: Apache-2.0
 * own_packets.h - the packets that the service puts into a trace; see own_packets.c.
 */
#ifndef ORMA_SERVICE_OWN_PACKETS_H
#define ORMA_SERVICE_OWN_PACKETS_H

#include <orma/service.h>

struct orma_service_session;

/* Writes the packets that begin each read. */
int orma_service_own_before(struct orma_service_session *session);
/* Write the packets that end a pass: "buffers read", then the statistics. */
int orma_service_own_after(struct orma_service_session *session);
int orma_service_own_stats(struct orma_service_session *session);

#endif
