/* SPDX-License-Identifier: Apache-2.0
 * top_sequences.h - the packet sequences of a session, and the state that their packets refer to.
 */
#ifndef ORMA_TOOL_TOP_SEQUENCES_H
#define ORMA_TOOL_TOP_SEQUENCES_H

#include "base/map.h"
#include "trace/incremental_state.h"

enum {
	ORMA_TOP_SEQUENCES_MAX = 8192,
	ORMA_TOP_INTERNED_MAX_BYTES = 64 << 20, /* for all sequences */
};

struct orma_top_sequence {
	uint32_t id, interval; /* `interval` is the number of the interval of its last packet */
	size_t interned_bytes; /* its part of the sum over all sequences */
	struct orma_sequence_time time;
	struct orma_sequence_state state;
};

/* {.by_id.seed} is empty. */
struct orma_top_sequences {
	struct orma_map by_id; /* struct orma_top_sequence by id + 1 */
	size_t interned_bytes;
	uint32_t interval;       /* the number of the current one */
	uint32_t swept_interval; /* when quiet sequences were last removed */
};

/* Returns the sequence, which is made if it is new; NULL when there is no room or no memory. */
struct orma_top_sequence *orma_top_sequences_get(struct orma_top_sequences *sequences, uint32_t id);
/* Takes interned data, defaults and the clearing of both from a packet. 0 or a negative errno value; then the state is not valid. */
int orma_top_sequence_take_state(struct orma_top_sequences *sequences,
				 struct orma_top_sequence *sequence,
				 const struct orma_packet *packet);
/* Returns the time of a packet on its own clock. An incremental timestamp advances that clock. */
int64_t orma_top_sequence_time(const struct orma_top_sequence *sequence,
			       const struct orma_packet *packet);
/* Frees all sequences. */
void orma_top_sequences_clear(struct orma_top_sequences *sequences);

#endif
