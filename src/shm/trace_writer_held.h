/* SPDX-License-Identifier: Apache-2.0
 * trace_writer_held.h - the chunks that the open packet has left. Private to src/shm.
 *
 * Invariant: each open message's length field lies in the chunk in hand, in a held chunk, in a
 * patch record or in scrap_length, so always in memory that the writer may write to.
 */
#ifndef ORMA_SHM_TRACE_WRITER_HELD_H
#define ORMA_SHM_TRACE_WRITER_HELD_H

#include "shm/arbiter_state.h"

static inline bool orma_shm_is_inside(const uint8_t *at, const uint8_t *start, size_t size)
{
	return at >= start && at < start + size;
}

static inline struct orma_shm_chunk_header *
orma_shm_chunk_header_of(const struct orma_shm_writer *writer, const struct orma_shm_event *chunk)
{
	uint8_t *start = orma_shm_arbiter_chunk_start(writer->arbiter, chunk);

	return (struct orma_shm_chunk_header *)(void *)start;
}

/* True while the service accepts held chunks and not too much of the memory is held. */
bool orma_shm_writer_may_hold(const struct orma_shm_writer *writer);
void orma_shm_writer_hold(struct orma_shm_writer *writer, struct orma_shm_event *chunk);
/* Completes the held chunks, the oldest first. Lengths that are still open in them will be
 * patches. */
void orma_shm_writer_release_held(struct orma_shm_writer *writer);
/* Sends the patches whose length is known, in order, up to the first one that is not. */
void orma_shm_writer_send_patches(struct orma_shm_writer *writer);

#endif
