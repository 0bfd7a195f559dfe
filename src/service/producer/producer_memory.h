/* SPDX-License-Identifier: Apache-2.0
 * producer_memory.h - the memory that a producer shares with the service; see producer_memory.c.
 */
#ifndef ORMA_SERVICE_PRODUCER_MEMORY_H
#define ORMA_SERVICE_PRODUCER_MEMORY_H

#include <orma/service.h>

#include "schema/gen/trace_config.pb.h"
#include "shm/view.h"

/* Invariants: `used_count` bits of `used_pages` are set; without a mapping (shared.start NULL)
 * there are no used_pages. */
struct orma_service_memory {
	struct orma_shared_memory
		shared;            /* start is NULL until the first instance, or for good when
					     emulated */
	struct orma_shm_view view; /* view of shared.start */
	int fd;                    /* owned: shared.fd, or a copy of what the producer brought */
	uint8_t *used_pages;       /* a bit per page, see orma_service_memory_is_used() */
	uint32_t used_count;
	uint32_t page_size_hint_bytes, shm_size_hint_bytes;
	bool is_made, is_announced;
};

int orma_service_memory_map_provided(struct orma_producer_port *port, int fd);
int orma_service_memory_create(struct orma_producer_port *port,
			       const struct orma_pb_trace_config *config);
void orma_service_memory_announce(struct orma_producer_port *port);
/* False when the page's word is 0: no chunk is in it, and it may be a hole, which a read through
 * the mapping would fill. True for good once the word was anything else. The page exists. */
bool orma_service_memory_is_used(struct orma_producer_port *port, uint32_t page_idx);
/* The first used page from page_idx on, or page_count. When the budget runs out on the way, the
 * page to continue with, which is not known to be used. */
uint32_t orma_service_memory_next_used(struct orma_producer_port *port, uint32_t page_idx,
				       int64_t *budget_bytes);
/* Copies a chunk's payload as orma_shm_chunk_copy() does, and leaves holes in it alone. */
bool orma_service_memory_copy(const struct orma_producer_port *port,
			      const struct orma_shm_chunk *chunk, uint8_t *to);
void orma_service_memory_done(struct orma_producer_port *port);

#endif
