/* SPDX-License-Identifier: Apache-2.0
 * chunk_store.c - stores one chunk of a producer in the buffer that it is for.
 *
 * Committed chunks (chunk_commit.c) and scraped ones (scrape.c) come through here. The caller has
 * settled which producer it is and where the bytes are. Everything else is still the producer's
 * claim and is checked here: the buffer, the writer, and that the two belong together.
 */
#include "service/producer/chunk_store.h"

#include "base/assert.h"
#include "buffer/trace_buffer.h"
#include "service/incremental.h"
#include "service/packet_sequence.h"
#include "service/producer/producer.h"
#include "service/service_core.h"
#include "service/session_events.h"
#include "shm/abi.h"
#include "shm/view.h"

void orma_service_store_chunk(struct orma_producer_port *port, const struct orma_shm_chunk *chunk,
			      const void *payload, size_t payload_bytes, uint64_t buffer_id,
			      bool is_complete)
{
	struct orma_service *service = port->service;
	struct orma_service_grant *grant = orma_service_producer_grant(port, buffer_id);
	uint32_t registered = orma_service_producer_writer_buffer(port, chunk->writer_id);
	struct orma_service_sequence *sequence;
	struct orma_trace_buffer_chunk copy;
	int r;

	if (!grant || chunk->writer_id == 0 || (registered && registered != buffer_id)) {
		service->chunks_discarded++;
		return;
	}
	ORMA_ASSERT(grant->buffer_id == grant->buffer->id);
	sequence = orma_service_sequence_get(grant->buffer, port, chunk->writer_id);
	if (!sequence) {
		service->chunks_discarded++;
		return;
	}
	copy = (struct orma_trace_buffer_chunk){
		.writer = {.producer_id = (uint16_t)port->id,
			   .writer_id = chunk->writer_id,
			   .sequence_id = sequence->id,
			   .uid = (int32_t)port->uid,
			   .pid = (int32_t)port->pid,
			   .machine_id = port->machine_id},
		.chunk_id = chunk->chunk_id,
		.fragment_count = chunk->fragment_count,
		.flags = chunk->flags,
		.is_complete = is_complete,
		/* A committed chunk is BeingRead by now; these two states mean a scraped one. */
		.is_scraped =
			chunk->state == ORMA_SHM_COMPLETE || chunk->state == ORMA_SHM_BEING_WRITTEN,
		.payload_untrusted = payload,
		.payload_size_bytes = payload_bytes,
	};
	r = orma_trace_buffer_write_chunk(grant->buffer->trace_buffer, &copy);
	if (r < 0)
		return;
	if ((int32_t)(chunk->chunk_id - sequence->newest_chunk_id) > 0)
		sequence->newest_chunk_id = chunk->chunk_id;
	orma_service_sequence_count_chunk(sequence, (uint64_t)r);
	orma_service_incremental_written(grant);
	service->events->stored(grant->buffer->session, (size_t)r);
}
