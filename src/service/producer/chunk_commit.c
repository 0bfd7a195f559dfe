/* SPDX-License-Identifier: Apache-2.0
 * chunk_commit.c - commits: a producer names the chunks that it has completed, and patches.
 *
 * Indices, ids and buffers in a commit are claims of the producer: an entry that fails a check is
 * dropped and counted, and the rest of the commit goes on. Chunks inside commits (emulation) count
 * only from producers that cannot pass descriptors, and only with a length that a chunk can have.
 *
 * A commit of thousands of chunks into memory that was never touched takes tens of milliseconds, so
 * it can be applied in steps. Entries are independent of each other, and a commit that is half
 * applied looks to all other peers like one that is still on its way. If the commit answers a
 * flush, the answer counts when the last entry is applied. Rejected: copying the rest of the commit
 * (megabytes from a frame of 128 KiB), disconnecting producers whose entries are wrong (upstream's
 * own clients race with the ends of sessions).
 */
#include <string.h>

#include "base/macros.h"
#include "buffer/trace_buffer.h"
#include "service/flush.h"
#include "service/packet_sequence.h"
#include "service/producer/chunk_store.h"
#include "service/producer/producer.h"
#include "service/producer/producer_memory.h"
#include "service/service_core.h"
#include "service/service_limits.h"
#include "service/steps.h"
#include "shm/abi.h"
#include "shm/view.h"

static void move_emulated(struct orma_producer_port *port, const struct orma_chunk_move *move)
{
	struct orma_shm_chunk chunk = {0};
	uint16_t packets;

	if (!port->is_emulated || !port->memory.is_made ||
	    move->size <= ORMA_SERVICE_EMULATED_CHUNK_MIN ||
	    move->size > ORMA_SERVICE_EMULATED_CHUNK_MAX) {
		port->service->chunks_discarded++;
		return;
	}
	memcpy(&chunk.chunk_id, move->data, sizeof(chunk.chunk_id));
	memcpy(&chunk.writer_id, (const uint8_t *)move->data + 4, sizeof(chunk.writer_id));
	memcpy(&packets, (const uint8_t *)move->data + 6, sizeof(packets));
	chunk.fragment_count = packets & ORMA_SHM_FRAGMENT_COUNT_MASK;
	chunk.flags = (uint8_t)(packets >> ORMA_SHM_FLAGS_SHIFT);
	orma_service_store_chunk(port, &chunk,
				 (const uint8_t *)move->data + sizeof(struct orma_shm_chunk_header),
				 move->size - sizeof(struct orma_shm_chunk_header),
				 move->target_buffer, !move->is_incomplete);
}

/* Returns its cost in bytes. */
static size_t move_chunk(struct orma_producer_port *port, const struct orma_chunk_move *move)
{
	struct orma_shm_chunk chunk;

	if (move->data) {
		move_emulated(port, move);
		return ORMA_SERVICE_COMMIT_LOOK_BYTES + move->size;
	}
	if (!port->memory.shared.start || move->page_idx >= port->memory.view.page_count ||
	    !orma_service_memory_is_used(port, move->page_idx) ||
	    orma_shm_view_begin_read(&port->memory.view, move->page_idx, move->chunk_idx, &chunk) <
		    0) {
		port->service->chunks_discarded++;
		return ORMA_SERVICE_COMMIT_LOOK_BYTES;
	}
	orma_service_store_chunk(port, &chunk, chunk.payload, chunk.payload_bytes,
				 move->target_buffer, true);
	(void)orma_shm_view_end_read(&port->memory.view, &chunk);
	return ORMA_SERVICE_COMMIT_LOOK_BYTES + chunk.payload_bytes;
}

static void apply_patches(struct orma_producer_port *port, const struct orma_chunk_patch *patch)
{
	struct orma_service *service = port->service;
	const struct orma_service_grant *grant =
		orma_service_producer_grant(port, patch->target_buffer);
	struct orma_trace_buffer *buffer = grant ? grant->buffer->trace_buffer : NULL;
	struct orma_trace_buffer_patch patches[64];
	uint32_t sequence_id;
	size_t count;

	if (!buffer || patch->writer_id == 0 || patch->writer_id > UINT16_MAX ||
	    patch->count > ORMA_SERVICE_PATCHES_PER_CHUNK) {
		service->patches_discarded += patch->count;
		return;
	}
	/* The chunk may be of a producer that had this id before. */
	sequence_id =
		orma_service_sequence_find_id(grant->buffer, port, (uint16_t)patch->writer_id);
	if (!orma_trace_buffer_has_sequence(buffer, (uint16_t)port->id, (uint16_t)patch->writer_id,
					    sequence_id)) {
		orma_trace_buffer_patches_failed(buffer, patch->count);
		return;
	}
	for (size_t at = 0; at < patch->count || at == 0; at += count) {
		bool is_last;

		count = ORMA_MIN(patch->count - at, ORMA_ARRAY_SIZE(patches));
		is_last = at + count == patch->count;
		for (size_t i = 0; i < count; i++) {
			patches[i].offset_untrusted = patch->patches[at + i].offset;
			memcpy(patches[i].data, patch->patches[at + i].data,
			       sizeof(patches[i].data));
		}
		(void)orma_trace_buffer_patch(buffer, (uint16_t)port->id,
					      (uint16_t)patch->writer_id, patch->chunk_id, patches,
					      count, patch->has_more_patches || !is_last);
		if (count == 0)
			break;
	}
}

/* Entries are counted through: first the moves, then the patches. Returns its cost in bytes. */
static size_t apply_entry(struct orma_producer_port *port, const struct orma_commit *commit,
			  size_t at)
{
	const struct orma_chunk_patch *patch;

	if (at < commit->move_count)
		return move_chunk(port, &commit->moves[at]);
	patch = &commit->patches[at - commit->move_count];
	apply_patches(port, patch);
	return ORMA_SERVICE_COMMIT_LOOK_BYTES + patch->count * sizeof(*patch->patches);
}

/* Applies entries up to some bytes' cost; true when all are applied. */
static bool apply_some(struct orma_producer_port *port, const struct orma_commit *commit,
		       size_t *at)
{
	size_t count = commit->move_count + commit->patch_count;

	for (size_t bytes = 0; *at < count && bytes < ORMA_SERVICE_COMMIT_LOOK_AT_CLOCK; ++*at)
		bytes += apply_entry(port, commit, *at);
	if (*at < count)
		return false;
	if (commit->flush_request_id)
		orma_service_flush_acknowledge(port, commit->flush_request_id);
	return true;
}

bool orma_service_commit_step(struct orma_producer_port *port, const struct orma_commit *commit,
			      size_t *at)
{
	uint64_t end_ns;

	if (apply_some(port, commit, at))
		return true;
	end_ns = orma_service_now_ns(port->service) + ORMA_SERVICE_COMMIT_STEP_NS;
	do
		if (apply_some(port, commit, at))
			return true;
	while (orma_service_now_ns(port->service) < end_ns);
	return false;
}

void orma_producer_port_commit(struct orma_producer_port *port, const struct orma_commit *commit)
{
	size_t at = 0;

	if (!port || !commit)
		return;
	while (!apply_some(port, commit, &at))
		;
}
