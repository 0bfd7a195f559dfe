/* SPDX-License-Identifier: Apache-2.0
 * callstacks.h - call stacks of events: one id for each stack of the process, and its declaration for readers that do not know
 * it.
 */
#ifndef ORMA_TRACK_CALLSTACKS_H
#define ORMA_TRACK_CALLSTACKS_H

#include "proto/writer.h"
#include "track/sequence_state.h"

/* The stacks that the reader of a sequence knows, with their frames and mappings. */
struct orma_track_known_stacks {
	uint64_t stacks[ORMA_TRACK_STACKS_MAX / ORMA_TRACK_WORD_BITS];
	uint64_t frames[ORMA_TRACK_STACK_FRAMES_MAX / ORMA_TRACK_WORD_BITS];
	uint64_t mappings[ORMA_TRACK_STACK_MODULES_MAX / ORMA_TRACK_WORD_BITS];
};

static inline bool orma_track_stack_is_known(const struct orma_track_sequence *sequence,
					     uint64_t id)
{
	return sequence->stacks && orma_track_has_bit(sequence->stacks->stacks, (uint32_t)id);
}
/* True if a stack has this id. */
bool orma_track_stack_exists(uint64_t id);
/* Writes the fields of InternedData that declare a stack. */
void orma_track_stack_write(const struct orma_track_sequence *sequence, uint64_t id,
			    struct orma_proto_writer *writer);
/* Notes that the reader knows the stack. If there is no memory, the next event declares it again. */
void orma_track_stack_commit(struct orma_track_sequence *sequence, uint64_t id);
/* Runs in the child of a fork. Async-signal-safe. */
void orma_track_stacks_forked(void);

#endif
