/* SPDX-License-Identifier: Apache-2.0
 * batch.h - the packets of one read, as slices; see batch.c.
 */
#ifndef ORMA_SERVICE_BATCH_H
#define ORMA_SERVICE_BATCH_H

#include <orma/service.h>

#include "base/arena.h"
#include "base/buf.h"
#include "buffer/trace_buffer.h"
#include "service/service_limits.h"

struct orma_proto_heap_writer;
struct orma_proto_writer;

/* Invariants: `packet_count` slices end a packet; `bytes` is the sum of the slices' sizes. */
struct orma_service_batch {
	struct orma_trace_slice *slices;
	size_t count, capacity;
	size_t packet_count, bytes;
	uint8_t (*trailers)[ORMA_SERVICE_TRAILER_BYTES];
	size_t trailer_count;
	const uint8_t *last_trailer;
	size_t last_trailer_bytes;
	uint32_t last_sequence_id; /* its trailer is last_trailer; 0 = do not reuse */
	struct orma_arena own;     /* the service's packets, and what filters write */
	uint8_t *filtered;         /* in `own`: room for the next filtered packet */
	size_t filtered_left;
	uint64_t filter_ns;  /* the time taken by a filter with string rules */
	bool is_out_of_time; /* filtering took too long: the batch and this turn's work end */
};

void orma_service_batch_done(struct orma_service_batch *batch);
void orma_service_batch_begin(struct orma_service *service);
/* Makes room for that many more slices. */
int orma_service_batch_reserve(struct orma_service_batch *batch, size_t extra);
/* Appends a packet whose bytes stay where they are. */
int orma_service_batch_add_borrowed(struct orma_service *service, const void *data, size_t size);
/* Appends a packet made of a head, which is copied, and data, which is not. */
int orma_service_batch_add_outer(struct orma_service *service, const void *head, size_t head_size,
				 const void *data, size_t size);
/* Appends a piece of a packet; there is room for the packet's end then. */
int orma_service_batch_append(struct orma_service_batch *batch, const void *data, size_t size);
/* Appends the trusted fields of a producer's packet. The caller has reserved a slice. */
void orma_service_batch_end_packet(struct orma_service_batch *batch,
				   const struct orma_trace_buffer_writer *writer, uint32_t loss);
/* Appends the batch's packets from a slice on to `to`, as entries of a trace. */
int orma_service_batch_encode(const struct orma_service_batch *batch, size_t begin,
			      struct orma_buf *to);

/* A packet of the service's own goes between these two. The end appends the trusted fields and says
 * that timestamps are CLOCK_BOOTTIME. */
void orma_service_own_begin(struct orma_service *service, struct orma_proto_heap_writer *heap);
int orma_service_own_end(struct orma_service *service, struct orma_proto_heap_writer *heap);
/* The parts of the end, for packets that have fields of their own there. */
void orma_service_own_write_trusted(struct orma_service *service, struct orma_proto_writer *writer);
int orma_service_own_end_bare(struct orma_service *service, struct orma_proto_heap_writer *heap);

#endif
