/* SPDX-License-Identifier: Apache-2.0
 * trigger.h - what the host tells a producer that activates triggers, beyond orma/service.h.
 */
#ifndef ORMA_SERVICE_TRIGGER_H
#define ORMA_SERVICE_TRIGGER_H

#include <orma/service.h>
#include <stdint.h>

/* How many sessions list this trigger for a producer of this name, and have not ended. Whether they
 * obey it is up to chance and limits, too (skip_probability, max_per_24_h). */
uint32_t orma_service_trigger_count_waiting(const struct orma_producer_port *port,
					    const char *name);

#endif
