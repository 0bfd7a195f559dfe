/* SPDX-License-Identifier: Apache-2.0
 * sequence.c - the packet sequences of a session: their ids, and how full their chunks were.
 *
 * A sequence is one writer of one producer; its id counts from 2 in each session (1 is the
 * service). A writer that writes to two buffers has one id and two records, because the histograms
 * are told per buffer. The records die with the session. Rejected: ids at read time (the trace
 * buffer carries them for us), histograms in the trace buffer (it forgets sequences that are
 * empty).
 */
#include <stdlib.h>

#include "base/alloc.h"
#include "service/state.h"

const uint32_t orma_service_histogram_bounds[ORMA_SERVICE_HISTOGRAM_BUCKETS - 1] = {
	8, 32, 128, 512, 1024, 2048, 4096, 8192, 12288, 16384};

static uint64_t make_key(uint32_t buffer_idx, uint32_t producer_id, uint32_t writer_id)
{
	return (uint64_t)buffer_idx << 32 | producer_id << 16 | writer_id;
}

static uint32_t find_id(const struct orma_service_session *session, uint32_t producer_id,
			uint32_t writer_id)
{
	for (uint32_t i = 0; i < session->buffer_count; i++) {
		const struct orma_service_sequence *sequence =
			orma_base_map_get(&session->sequences, make_key(i, producer_id, writer_id));

		if (sequence)
			return sequence->id;
	}
	return 0;
}

struct orma_service_sequence *
orma_service_session_sequence(struct orma_service_session_buffer *buffer, uint32_t producer_id,
			      uint32_t writer_id)
{
	struct orma_service_session *session = buffer->session;
	uint64_t key = make_key(buffer->idx, producer_id, writer_id);
	struct orma_service_sequence *sequence = orma_base_map_get(&session->sequences, key);
	uint32_t id;

	if (sequence)
		return sequence;
	if (session->sequences.count >= ORMA_SERVICE_SEQUENCES_MAX)
		return NULL;
	sequence = orma_base_zalloc(sizeof(*sequence));
	if (!sequence)
		return NULL;
	id = find_id(session, producer_id, writer_id);
	sequence->id = id ? id : session->last_sequence_id + 1;
	sequence->producer_id = producer_id;
	sequence->writer_id = writer_id;
	sequence->buffer_idx = buffer->idx;
	if (orma_base_map_put(&session->sequences, key, sequence) < 0) {
		orma_base_free(sequence);
		return NULL;
	}
	if (!id)
		session->last_sequence_id++;
	return sequence;
}

void orma_service_session_sequence_count(struct orma_service_sequence *sequence,
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
orma_service_session_sequences_sorted(const struct orma_service_session *session)
{
	struct orma_service_sequence **items;
	struct orma_map_slot *slot;
	size_t position = 0, count = 0;

	if (session->sequences.count == 0)
		return NULL;
	items = orma_base_alloc_array(session->sequences.count,
				      sizeof(struct orma_service_sequence *));
	if (!items)
		return NULL;
	while ((slot = orma_base_map_next(&session->sequences, &position)))
		items[count++] = slot->value;
	qsort(items, count, sizeof(struct orma_service_sequence *), compare);
	return items;
}

void orma_service_session_sequences_done(struct orma_service_session *session)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&session->sequences, &position)))
		orma_base_free(slot->value);
	orma_base_map_done(&session->sequences);
}
