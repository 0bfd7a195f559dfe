/* SPDX-License-Identifier: Apache-2.0
 * packet_sequence.h - the packet sequences of a session; see packet_sequence.c.
 */
#ifndef ORMA_SERVICE_PACKET_SEQUENCE_H
#define ORMA_SERVICE_PACKET_SEQUENCE_H

#include <orma/service.h>

#include "base/map.h"
#include "service/service_limits.h"

struct orma_producer_port;
struct orma_service_session;
struct orma_service_session_buffer;
struct orma_service_sequence_block;

/* One writer in one buffer. */
struct orma_service_sequence {
	uint32_t id; /* trusted_packet_sequence_id; the same in all buffers of the session */
	uint32_t producer_id, writer_id;
	uint64_t producer_serial;
	uint32_t buffer_idx;
	uint32_t newest_chunk_id;
	/* How full its chunks were; see session_stats.c. */
	uint64_t histogram_counts[ORMA_SERVICE_HISTOGRAM_BUCKETS];
	uint64_t histogram_sums[ORMA_SERVICE_HISTOGRAM_BUCKETS];
};

/* All sequences of a session, in order of first use, in blocks that clones share. */
struct orma_service_sequences {
	/* producer's serial << 23 | buffer_idx << 16 | writer -> index + 1 */
	struct orma_map by_key;
	struct orma_service_sequence_block **blocks;
	size_t block_capacity;
	uint32_t count;
	uint32_t next_reuse_idx; /* where the search for a reusable record goes on */
	uint32_t last_id;
};

extern const uint32_t orma_service_histogram_bounds[ORMA_SERVICE_HISTOGRAM_BUCKETS - 1];

/* Finds the writer's record or makes one. The result may be changed now and must not be kept. NULL:
 * there is no memory, or no record is free. */
struct orma_service_sequence *orma_service_sequence_get(struct orma_service_session_buffer *buffer,
							const struct orma_producer_port *port,
							uint16_t writer_id);
/* 0 = the writer has written nothing to that buffer. */
uint32_t orma_service_sequence_find_id(const struct orma_service_session_buffer *buffer,
				       const struct orma_producer_port *port, uint16_t writer_id);
/* Adds a chunk to the sequence's histograms. */
void orma_service_sequence_count_chunk(struct orma_service_sequence *sequence,
				       uint64_t payload_bytes);
/* All sequences by buffer and id; the caller frees the array. NULL when there are none, or when out of
 * memory. */
struct orma_service_sequence **
orma_service_packet_sequences_sorted(const struct orma_service_session *session);
/* Lets a clone share the sequences of its source. */
int orma_service_packet_sequences_share(const struct orma_service_session *source,
					struct orma_service_session *session);
void orma_service_packet_sequences_done(struct orma_service_session *session);

#endif
