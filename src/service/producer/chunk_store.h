/* SPDX-License-Identifier: Apache-2.0
 * chunk_store.h - stores chunks of producers in buffers; see chunk_store.c.
 */
#ifndef ORMA_SERVICE_CHUNK_STORE_H
#define ORMA_SERVICE_CHUNK_STORE_H

#include <orma/service.h>

#include "shm/view.h"

/* The producer and the payload's place are settled; everything else is checked. A chunk that
 * fails is dropped and counted. */
void orma_service_store_chunk(struct orma_producer_port *port, const struct orma_shm_chunk *chunk,
			      const void *payload, size_t payload_bytes, uint64_t buffer_id,
			      bool is_complete);

#endif
