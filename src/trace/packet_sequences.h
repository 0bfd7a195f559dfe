/* SPDX-License-Identifier: Apache-2.0
 * packet_sequences.h - the machines and sequences of a packet index, for the files that fill it.
 */
#ifndef ORMA_TRACE_PACKET_SEQUENCES_H
#define ORMA_TRACE_PACKET_SEQUENCES_H

#include "trace/packet_index.h"

/* Returns the index of the machine with this id, which is added if it is new, or a negative errno value. */
int orma_packet_machine_find(struct orma_packet_index *index, uint32_t id);
/* Packets of the sequence are missing before the current one. `causes`: bits of TracePacket.previous_packet_dropped. */
void orma_sequence_count_loss(struct orma_sequence *sequence, uint32_t causes);
/* Ends the gap of a sequence that has one. 0 or -ENOMEM. */
int orma_sequence_end_gap(struct orma_packet_index *index, struct orma_sequence *sequence,
			  int64_t ns);
/* Frees the sequences, machines and gaps. */
void orma_packet_sequences_done(struct orma_packet_index *index);

#endif
