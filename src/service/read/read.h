/* SPDX-License-Identifier: Apache-2.0
 * read.h - taking packets out of a session; see read.c.
 */
#ifndef ORMA_SERVICE_READ_H
#define ORMA_SERVICE_READ_H

#include <orma/service.h>

struct orma_service_session;
struct orma_service_large;

/* Where a session's reader is. */
struct orma_service_reader {
	size_t buffer_idx;                   /* the buffer to read next in this pass */
	bool emits_sync_marker, emits_stats; /* in the next read */
	bool has_emitted_initial;            /* config, uuid and the like */
	struct orma_service_large *large;    /* a packet that takes many turns; NULL = none */
	uint64_t invalid_packet_count;
};

/* Fills the service's batch with the session's next packets; 1 = there is more, 0 = a pass has
 * ended, -ENOMEM. */
int orma_service_read(struct orma_service_session *session, size_t max_bytes);
/* The same for a caller that can send a packet on in parts: a large packet comes in several
 * batches, and only the last of them ends it. */
int orma_service_read_parts(struct orma_service_session *session, size_t max_bytes);

#endif
