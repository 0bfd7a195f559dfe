/* SPDX-License-Identifier: Apache-2.0
 * trigger_activate.h - producers activate triggers; see trigger_activate.c.
 */
#ifndef ORMA_SERVICE_TRIGGER_ACTIVATE_H
#define ORMA_SERVICE_TRIGGER_ACTIVATE_H

#include <orma/service.h>
#include <stdint.h>

struct orma_service_session;

/* The host calls this; it is not part of orma/service.h. Returns how many sessions that have not ended list this
 * trigger for a producer of this name. Whether they obey it depends on chance and limits, too
 * (skip_probability, max_per_24_h). */
uint32_t orma_service_trigger_count_waiting(const struct orma_producer_port *port,
					    const char *name);
/* The session is configured: its timeout begins. */
void orma_service_triggers_arm(struct orma_service_session *session);
/* The disconnection of some producers is a trigger. */
void orma_service_triggers_producer_left(struct orma_producer_port *port);

#endif
