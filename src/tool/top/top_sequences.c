/* SPDX-License-Identifier: Apache-2.0
 * top_sequences.c - the incremental state of the packet sequences of a session, within limits.
 *
 * Owns the sequences. Invariants: there are at most ORMA_TOP_SEQUENCES_MAX; `interned_bytes` is the sum over all sequences, and at
 * most ORMA_TOP_INTERNED_MAX_BYTES. A sequence whose interned data exceeds that loses its state, and has no valid one until it
 * clears it. When there is no room for a new sequence, those without a packet in ORMA_TOP_QUIET_MAX intervals are removed.
 */
#include "tool/top/top_sequences.h"

#include <errno.h>

#include "base/alloc.h"
#include "tool/top/top_traffic.h"

static void free_sequence(struct orma_top_sequences *sequences, struct orma_top_sequence *sequence)
{
	sequences->interned_bytes -= sequence->interned_bytes;
	orma_sequence_time_done(&sequence->time);
	orma_sequence_state_done(&sequence->state);
	orma_base_free(sequence);
}

/* At most once per interval, because it visits all sequences. */
static void remove_quiet_sequences(struct orma_top_sequences *sequences)
{
	struct orma_map_slot *slot;
	size_t position = 0;

	if (sequences->swept_interval == sequences->interval)
		return;
	sequences->swept_interval = sequences->interval;
	while ((slot = orma_base_map_next(&sequences->by_id, &position))) {
		struct orma_top_sequence *sequence = slot->value;

		if (sequences->interval - sequence->interval < ORMA_TOP_QUIET_MAX)
			continue;
		(void)orma_base_map_remove(&sequences->by_id, slot->key);
		free_sequence(sequences, sequence);
		position--; /* Another one may have moved into the slot. */
	}
}

struct orma_top_sequence *orma_top_sequences_get(struct orma_top_sequences *sequences, uint32_t id)
{
	uint64_t key = (uint64_t)id + 1;
	struct orma_top_sequence *sequence = orma_base_map_get(&sequences->by_id, key);

	if (sequence)
		return sequence;
	if (sequences->by_id.count >= ORMA_TOP_SEQUENCES_MAX)
		remove_quiet_sequences(sequences);
	if (sequences->by_id.count >= ORMA_TOP_SEQUENCES_MAX)
		return NULL;
	sequence = orma_base_zalloc(sizeof(*sequence));
	if (!sequence)
		return NULL;
	sequence->id = sequence->time.sequence = id;
	sequence->state.interning.seed = sequences->by_id.seed;
	if (orma_base_map_put(&sequences->by_id, key, sequence) < 0) {
		orma_base_free(sequence);
		return NULL;
	}
	return sequence;
}

int64_t orma_top_sequence_time(const struct orma_top_sequence *sequence,
			       const struct orma_packet *packet)
{
	uint32_t clock = packet->clock ? packet->clock : sequence->time.default_clock;
	for (uint32_t i = 0; i < sequence->time.clock_count; i++) {
		struct orma_sequence_clock *found = &sequence->time.clocks[i];
		if (found->clock != clock)
			continue;
		found->now_ns = (int64_t)((uint64_t)found->now_ns +
					  packet->timestamp * (uint64_t)found->unit_ns);
		return found->now_ns;
	}
	return (int64_t)packet->timestamp;
}

/* Returns the memory of a sequence's interned data. */
static size_t interned_bytes(const struct orma_interning *interning)
{
	const size_t entry_bytes = sizeof(struct orma_interned *) + sizeof(uint32_t);
	size_t bytes = interning->arena.used_bytes;

	for (size_t i = 0; i < ORMA_INTERNED_FIELDS; i++)
		if (interning->tables[i])
			bytes += interning->tables[i]->capacity * entry_bytes +
				 interning->tables[i]->others.capacity *
					 sizeof(struct orma_map_slot);
	return bytes;
}

static void set_interned_bytes(struct orma_top_sequences *sequences,
			       struct orma_top_sequence *sequence)
{
	sequences->interned_bytes -= sequence->interned_bytes;
	sequence->interned_bytes = interned_bytes(&sequence->state.interning);
	sequences->interned_bytes += sequence->interned_bytes;
}

int orma_top_sequence_take_state(struct orma_top_sequences *sequences,
				 struct orma_top_sequence *sequence,
				 const struct orma_packet *packet)
{
	const unsigned changes =
		ORMA_PACKET_IS_CLEARED | ORMA_PACKET_HAS_DEFAULTS | ORMA_PACKET_HAS_INTERNED;

	if (!(packet->flags & changes))
		return 0;
	int r = orma_sequence_state_take(&sequence->state, packet, sequence->time.is_valid);
	set_interned_bytes(sequences, sequence);
	if (r == 0 && sequences->interned_bytes > ORMA_TOP_INTERNED_MAX_BYTES)
		r = -ENOMEM;
	if (r < 0) {
		orma_interning_clear(&sequence->state.interning);
		set_interned_bytes(sequences, sequence);
		sequence->time.is_valid = false;
	}
	return r;
}

void orma_top_sequences_clear(struct orma_top_sequences *sequences)
{
	uint64_t seed = sequences->by_id.seed;
	struct orma_map_slot *slot;
	size_t position = 0;

	while ((slot = orma_base_map_next(&sequences->by_id, &position)))
		free_sequence(sequences, slot->value);
	orma_base_map_done(&sequences->by_id);
	sequences->by_id.seed = seed;
}
