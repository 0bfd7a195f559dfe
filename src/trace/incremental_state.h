/* SPDX-License-Identifier: Apache-2.0
 * incremental_state.h - the incremental state of a sequence at a packet: interned data, defaults, the thread.
 */
#ifndef ORMA_TRACE_INCREMENTAL_STATE_H
#define ORMA_TRACE_INCREMENTAL_STATE_H

#include "base/buf.h"
#include "trace/interning.h"

/* The content of the last ThreadDescriptor of a sequence. Events move the two counts on by differences. */
struct orma_sequence_thread {
	bool is_known;
	int64_t pid, tid;
	int64_t time_us, instructions;
};

/* A state begins at 0 but for `input` and `sequence`. */
struct orma_sequence_state {
	const struct orma_trace_bytes *input;
	const struct orma_sequence *sequence;
	struct orma_interning
		interning; /* the whole generation's; see orma_sequence_state_load() */
	bool is_loaded;
	uint32_t generation; /* counts the generations that the state has been in */
	uint32_t begin, end; /* the notes of the generation */
	uint32_t next;       /* the first note behind the packet */
	uint64_t since,
		until; /* packets at addresses in [since, until) have the same notes before them */
	struct orma_buf defaults; /* TracePacketDefaults */
	struct orma_sequence_thread thread;
	uint64_t default_track; /* the track that those defaults name; 0 = none */
	struct orma_trace_window window;
};

void orma_sequence_state_done(struct orma_sequence_state *state);
int orma_sequence_state_go(struct orma_sequence_state *state, uint64_t address);
/* Goes to the packet at an address, later or earlier than the last. 0, -ENOMEM or an error of reading. */
static inline int orma_sequence_state_move(struct orma_sequence_state *state, uint64_t address)
{
	if (address >= state->since && address < state->until)
		return 0;
	return orma_sequence_state_go(state, address);
}
/* Takes a packet at hand, in the order of the file: for a state that has no notes. `is_valid`: nothing was lost before it. 0 or
 * -ENOMEM. */
int orma_sequence_state_take(struct orma_sequence_state *state, const struct orma_packet *packet,
			     bool is_valid);
/* Reads the interned data of the generation, unless it has been. 0, -ENOMEM or an error of reading. */
int orma_sequence_state_load(struct orma_sequence_state *state);

#endif
