/* SPDX-License-Identifier: Apache-2.0
 * interned_stacks.h - call stacks that the interned data of a sequence describes.
 */
#ifndef ORMA_TRACE_INTERNED_STACKS_H
#define ORMA_TRACE_INTERNED_STACKS_H

#include "trace/call_stacks.h"
#include "trace/incremental_state.h"
#include "trace/system.h"

/* {.system = ..., .stacks = ...} is empty. */
struct orma_interned_stacks {
	struct orma_system *system; /* for statistics */
	struct orma_call_stacks *stacks;
	struct orma_map known; /* struct known_stack by sequence, process and iid */
	struct orma_arena arena;
	struct orma_known_frame *frames; /* the frames that were resolved last; NULL = none yet */
};

void orma_interned_stacks_done(struct orma_interned_stacks *interned);
/*
 * Returns the callsite of an interned call stack, ORMA_CELL_NULL when it can't be resolved (counted), or a negative errno
 * value. `upid` is whose address space it is in; ORMA_CELL_NULL = not known.
 */
int64_t orma_interned_stacks_find(struct orma_interned_stacks *interned,
				  struct orma_sequence_state *state, int64_t upid, uint64_t iid);

/* Tables in the form of interned data, from somewhere else. */
struct orma_stack_source {
	const struct orma_interning *interning;
	uint64_t key;        /* equal for generations of one source, and for nothing else */
	uint32_t generation; /* changes when the tables begin anew */
	uint32_t machine_idx;
	bool has_empty_names; /* a frame without a name has an empty one */
};
/* The same for such a source. */
int64_t orma_interned_stacks_find_in(struct orma_interned_stacks *interned,
				     const struct orma_stack_source *source, int64_t upid,
				     uint64_t iid);

#endif
