/* SPDX-License-Identifier: Apache-2.0
 * producer_source.h - data sources join sessions and leave them; see producer_source.c.
 */
#ifndef ORMA_SERVICE_PRODUCER_SOURCE_H
#define ORMA_SERVICE_PRODUCER_SOURCE_H

#include <orma/service.h>

/* The producer leaves: unregisters all of its data sources. */
void orma_service_data_sources_close(struct orma_producer_port *port);

#endif
