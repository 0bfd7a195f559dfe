/* SPDX-License-Identifier: Apache-2.0
 * packet_sequence.c - the packet sequences of a session: their ids, and how full their chunks were.
 *
 * A sequence is one writer of one producer. Its id counts from 2 in each session (1 is the
 * service). A writer that writes to two buffers has one id and two records, because histograms are
 * reported per buffer. The records are freed with the session. Records name a producer by its
 * serial, because producer ids are reused.
 *
 * Records are kept in blocks, and a clone shares the blocks of its source: there may be very many
 * records, and copying all of them would delay other sessions. A shared block is copied before it
 * is changed. A clone has no keys, because nothing is written to it. When the maximum is reached, a
 * new sequence replaces one whose writer is gone, so a session may run for any length of time. Only
 * while nearly all known writers still exist is a new one refused, and its chunks are counted as
 * discarded.
 *
 * Invariants: a block's owner_count is the number of sessions that point to it; every value of
 * by_key is at most `count`. Rejected: ids at read time (the trace buffer carries them for us),
 * histograms in the trace buffer (it forgets sequences that are empty).
 */
#include "service/packet_sequence.h"

#include <errno.h>
#include <stdlib.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"
#include "base/map.h"
#include "service/producer/producer.h"
#include "service/service_limits.h"
#include "service/session_state.h"

enum { PER_BLOCK = 256 };

struct orma_service_sequence_block {
	uint32_t owner_count; /* how many sessions point to it */
	struct orma_service_sequence items[PER_BLOCK];
};

const uint32_t orma_service_histogram_bounds[ORMA_SERVICE_HISTOGRAM_BUCKETS - 1] = {
	8, 32, 128, 512, 1024, 2048, 4096, 8192, 12288, 16384};

static uint64_t make_key_of(uint32_t buffer_idx, uint64_t producer_serial, uint32_t writer_id)
{
	_Static_assert(ORMA_SERVICE_BUFFERS_PER_SESSION <= 1 << 7, "an index has 7 bits");
	return producer_serial << 23 | (uint64_t)buffer_idx << 16 | writer_id;
}

static uint64_t make_key(uint32_t buffer_idx, const struct orma_producer_port *port,
			 uint16_t writer_id)
{
	return make_key_of(buffer_idx, port->serial, writer_id);
}

static struct orma_service_sequence *get(const struct orma_service_sequences *sequences, size_t idx)
{
	ORMA_ASSERT(idx / PER_BLOCK < sequences->block_capacity);
	return &sequences->blocks[idx / PER_BLOCK]->items[idx % PER_BLOCK];
}

/* Returns the index + 1; 0 = there is none. */
static size_t find(const struct orma_service_sequences *sequences, uint64_t key)
{
	return (uintptr_t)orma_base_map_get(&sequences->by_key, key);
}

static uint32_t find_id(const struct orma_service_session *session,
			const struct orma_producer_port *port, uint16_t writer_id)
{
	for (uint32_t i = 0; i < session->buffer_count; i++) {
		size_t found = find(&session->sequences, make_key(i, port, writer_id));

		if (found)
			return get(&session->sequences, found - 1)->id;
	}
	return 0;
}

uint32_t orma_service_sequence_find_id(const struct orma_service_session_buffer *buffer,
				       const struct orma_producer_port *port, uint16_t writer_id)
{
	const struct orma_service_sequences *sequences = &buffer->session->sequences;
	size_t found = find(sequences, make_key(buffer->idx, port, writer_id));

	return found ? get(sequences, found - 1)->id : 0;
}

static void release_block(struct orma_service_sequence_block *block)
{
	ORMA_ASSERT(!block || block->owner_count > 0);
	if (block && --block->owner_count == 0)
		orma_base_free(block);
}

/* A record that may be changed; NULL when out of memory. */
static struct orma_service_sequence *get_own(struct orma_service_sequences *sequences, size_t idx)
{
	struct orma_service_sequence_block **block = &sequences->blocks[idx / PER_BLOCK], *own;

	if (ORMA_UNLIKELY((*block)->owner_count > 1)) {
		own = orma_base_memdup(*block, sizeof(*own));
		if (!own)
			return NULL;
		own->owner_count = 1;
		release_block(*block);
		*block = own;
	}
	return get(sequences, idx);
}

/* Makes room for one more record. */
static int reserve(struct orma_service_sequences *sequences)
{
	size_t block_idx = sequences->count / PER_BLOCK;

	if (block_idx == sequences->block_capacity) {
		size_t capacity = ORMA_MAX(2 * sequences->block_capacity, (size_t)4);
		struct orma_service_sequence_block **blocks = orma_base_realloc_array(
			sequences->blocks, capacity, sizeof(*sequences->blocks));

		if (!blocks)
			return -ENOMEM;
		for (size_t i = sequences->block_capacity; i < capacity; i++)
			blocks[i] = NULL;
		sequences->blocks = blocks;
		sequences->block_capacity = capacity;
	}
	if (!sequences->blocks[block_idx]) {
		sequences->blocks[block_idx] =
			orma_base_zalloc(sizeof(struct orma_service_sequence_block));
		if (!sequences->blocks[block_idx])
			return -ENOMEM;
		sequences->blocks[block_idx]->owner_count = 1;
	}
	return get_own(sequences, sequences->count) ? 0 : -ENOMEM;
}

static bool has_gone(const struct orma_service *service,
		     const struct orma_service_sequence *sequence)
{
	const struct orma_producer_port *port =
		orma_service_producer_by_id(service, sequence->producer_id);

	return !port || port->serial != sequence->producer_serial ||
	       orma_service_producer_writer_buffer(port, sequence->writer_id) == 0;
}

/* Drops a record whose writer is gone; returns its index, or a negative errno. */
static int64_t reuse_record(struct orma_service_session *session)
{
	struct orma_service_sequences *sequences = &session->sequences;

	for (unsigned i = 0; i < ORMA_SERVICE_SEQUENCES_PER_LOOK; i++) {
		uint32_t idx = sequences->next_reuse_idx;
		struct orma_service_sequence *sequence = get(sequences, idx);

		sequences->next_reuse_idx = (idx + 1) % sequences->count;
		if (!has_gone(session->service, sequence))
			continue;
		sequence = get_own(sequences, idx);
		if (!sequence)
			return -ENOMEM;
		(void)orma_base_map_remove(&sequences->by_key,
					   make_key_of(sequence->buffer_idx,
						       sequence->producer_serial,
						       sequence->writer_id));
		return idx;
	}
	return -ENOSPC;
}

/* The index for a new record, or a negative errno. */
static int64_t find_free_record(struct orma_service_session *session)
{
	struct orma_service_sequences *sequences = &session->sequences;
	int r;

	if (sequences->count >= ORMA_SERVICE_SEQUENCES_MAX)
		return reuse_record(session);
	r = reserve(sequences);
	return r < 0 ? r : (int64_t)sequences->count;
}

struct orma_service_sequence *orma_service_sequence_get(struct orma_service_session_buffer *buffer,
							const struct orma_producer_port *port,
							uint16_t writer_id)
{
	struct orma_service_session *session = buffer->session;
	struct orma_service_sequences *sequences = &session->sequences;
	uint64_t key = make_key(buffer->idx, port, writer_id);
	size_t found = find(sequences, key);
	struct orma_service_sequence *sequence;
	int64_t record_idx;
	uint32_t id;

	ORMA_ASSERT(found <= sequences->count);
	if (found)
		return get_own(sequences, found - 1);
	id = find_id(session, port, writer_id);
	record_idx = find_free_record(session);
	if (record_idx < 0 ||
	    orma_base_map_put(&sequences->by_key, key, (void *)((uintptr_t)record_idx + 1)) < 0)
		return NULL;
	sequences->count += record_idx == (int64_t)sequences->count;
	ORMA_ASSERT(sequences->count <= ORMA_SERVICE_SEQUENCES_MAX);
	sequence = get(sequences, (size_t)record_idx);
	ORMA_ASSERT(sequences->blocks[(size_t)record_idx / PER_BLOCK]->owner_count == 1);
	*sequence = (struct orma_service_sequence){
		.id = id ? id : ++session->sequences.last_id,
		.producer_id = port->id,
		.producer_serial = port->serial,
		.writer_id = writer_id,
		.buffer_idx = buffer->idx,
		.newest_chunk_id = UINT32_MAX, /* a writer begins with 0 */
	};
	return sequence;
}

int orma_service_packet_sequences_share(const struct orma_service_session *source,
					struct orma_service_session *session)
{
	const struct orma_service_sequences *from = &source->sequences;
	struct orma_service_sequences *to = &session->sequences;
	size_t block_count = (from->count + PER_BLOCK - 1) / PER_BLOCK;

	if (block_count == 0)
		return 0;
	to->blocks = orma_base_memdup(from->blocks, block_count * sizeof(*to->blocks));
	if (!to->blocks)
		return -ENOMEM;
	to->block_capacity = block_count;
	to->count = from->count;
	for (size_t i = 0; i < block_count; i++)
		to->blocks[i]->owner_count++;
	return 0;
}

void orma_service_sequence_count_chunk(struct orma_service_sequence *sequence,
				       uint64_t payload_bytes)
{
	size_t i = 0;

	while (i < ORMA_SERVICE_HISTOGRAM_BUCKETS - 1 &&
	       payload_bytes > orma_service_histogram_bounds[i])
		i++;
	sequence->histogram_counts[i]++;
	sequence->histogram_sums[i] += payload_bytes;
}

static int compare(const void *a, const void *b)
{
	const struct orma_service_sequence *x = *(struct orma_service_sequence *const *)a;
	const struct orma_service_sequence *y = *(struct orma_service_sequence *const *)b;

	if (x->buffer_idx != y->buffer_idx)
		return x->buffer_idx < y->buffer_idx ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

struct orma_service_sequence **
orma_service_packet_sequences_sorted(const struct orma_service_session *session)
{
	size_t count = session->sequences.count;
	struct orma_service_sequence **items;

	if (count == 0)
		return NULL;
	items = orma_base_alloc_array(count, sizeof(struct orma_service_sequence *));
	if (!items)
		return NULL;
	for (size_t i = 0; i < count; i++)
		items[i] = get(&session->sequences, i);
	qsort(items, count, sizeof(struct orma_service_sequence *), compare);
	return items;
}

void orma_service_packet_sequences_done(struct orma_service_session *session)
{
	struct orma_service_sequences *sequences = &session->sequences;

	for (size_t i = 0; i < sequences->block_capacity; i++)
		release_block(sequences->blocks[i]);
	orma_base_free(sequences->blocks);
	orma_base_map_done(&sequences->by_key);
}
