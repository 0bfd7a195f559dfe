/* SPDX-License-Identifier: Apache-2.0
 * packet_sequences.c - the machines and sequences that the packets of a trace are of, and the gaps in them.
 *
 * Owns the part of struct orma_packet_index with machines, sequences and gaps. A sequence is found by the index of its machine and
 * its id. A gap begins at the last time before a loss, and ends at the first time after it; until then the sequence has
 * `gap_causes`.
 *
 * Invariants: machine 0 is the host. In a trace that begins with packets of another machine, that machine stands for the host.
 * Sequences are in the order of their first packets, and never move.
 */
#include "trace/packet_sequences.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/macros.h"
#include "store/grow.h"

int orma_packet_machine_find(struct orma_packet_index *index, uint32_t id)
{
	uintptr_t known = (uintptr_t)orma_base_map_get(&index->machines, id);
	if (known)
		return (int)(known - 1);
	if (index->machine_count == 1 && !index->is_host_used && index->machine_ids[0] == 0) {
		index->machine_ids[0] = id;
		return orma_base_map_put(&index->machines, id, (void *)(uintptr_t)1);
	}
	int r = orma_store_grow(&index->machine_ids, (uint64_t)index->machine_count + 1,
				&index->machine_capacity, sizeof(*index->machine_ids));
	if (r < 0)
		return r;
	r = orma_base_map_put(&index->machines, id, (void *)((uintptr_t)index->machine_count + 1));
	if (r < 0)
		return r;
	index->machine_ids[index->machine_count] = id;
	return (int)index->machine_count++;
}

int orma_packet_index_sequence(struct orma_packet_index *index, const struct orma_packet *packet,
			       struct orma_sequence **ret)
{
	*ret = index->last_sequence;
	if (*ret && (*ret)->id == packet->sequence && index->last_machine == packet->machine)
		return 0;
	int machine = orma_packet_machine_find(index, packet->machine);
	if (machine < 0)
		return machine;
	uint64_t key = (uint64_t)(uint32_t)machine << 32 | packet->sequence;
	*ret = index->last_sequence = orma_base_map_get(&index->sequence_map, key);
	index->last_machine = packet->machine;
	if (*ret)
		return 0;
	int r = orma_store_grow(&index->sequences, (uint64_t)index->sequence_count + 1,
				&index->sequence_capacity, sizeof(*index->sequences));
	if (r < 0)
		return r;
	struct orma_sequence *sequence = orma_base_zalloc(sizeof(*sequence));
	if (!sequence)
		return -ENOMEM;
	sequence->id = packet->sequence;
	sequence->machine_idx = (uint32_t)machine;
	sequence->trace_file = index->trace_file;
	sequence->seed = index->seed;
	sequence->time.sequence = packet->sequence;
	sequence->time.machine_idx = (uint32_t)machine;
	sequence->last_ns = INT64_MIN;
	sequence->utid = -1;
	r = orma_base_map_put(&index->sequence_map, key, sequence);
	if (r < 0) {
		orma_base_free(sequence);
		return r;
	}
	index->sequences[index->sequence_count++] = sequence;
	*ret = sequence;
	return 0;
}

int orma_packet_index_add_gap(struct orma_packet_index *index, const struct orma_gap *gap)
{
	if (index->gap_count == ORMA_GAPS_MAX)
		return 0;
	int r = orma_store_grow(&index->gaps, (uint64_t)index->gap_count + 1, &index->gap_capacity,
				sizeof(*index->gaps));
	if (r == 0)
		index->gaps[index->gap_count++] = *gap;
	return r;
}

int orma_sequence_end_gap(struct orma_packet_index *index, struct orma_sequence *sequence,
			  int64_t ns)
{
	struct orma_gap gap = {.sequence = sequence,
			       .machine_idx = sequence->machine_idx,
			       .causes = sequence->gap_causes,
			       .first_ns = ORMA_MIN(sequence->gap_first_ns, ns),
			       .end_ns = ns};
	/* Before the gap there was no packet with a time. */
	if (sequence->gap_first_ns == INT64_MIN)
		gap.first_ns = ns;
	sequence->gap_causes = 0;
	return orma_packet_index_add_gap(index, &gap);
}

void orma_sequence_count_loss(struct orma_sequence *sequence, uint32_t causes)
{
	if (sequence->gap_causes == 0)
		sequence->gap_first_ns = sequence->last_ns;
	sequence->gap_causes |= causes;
	sequence->losses++;
	for (unsigned i = 0; i < ORMA_LOSS_CAUSES; i++)
		sequence->losses_by_cause[i] += causes >> i & 1;
}

void orma_packet_sequences_done(struct orma_packet_index *index)
{
	for (uint32_t i = 0; i < index->sequence_count; i++) {
		struct orma_sequence *sequence = index->sequences[i];

		orma_sequence_time_done(&sequence->time);
		orma_base_free(sequence->runs);
		orma_base_free(sequence->notes);
		orma_base_free(sequence);
	}
	orma_base_free(index->sequences);
	orma_base_free(index->gaps);
	orma_base_free(index->machine_ids);
	orma_base_map_done(&index->machines);
	orma_base_map_done(&index->sequence_map);
}
