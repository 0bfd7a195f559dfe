/* SPDX-License-Identifier: Apache-2.0
 * heap_stacks.h - the call stacks of a process as a tree, and the totals of each heap in each stack.
 *
 * Threads: the loop's thread calls all functions.
 */
#ifndef ORMA_PROBES_HEAP_STACKS_H
#define ORMA_PROBES_HEAP_STACKS_H

#include <stddef.h>
#include <stdint.h>

#include "probes/heap/heap_limits.h"
#include "probes/heap/heap_set.h"

/* The `module` of frames without one: `address` is one of the process, the id of a heap, or an enum orma_heap_error. */
#define ORMA_HEAP_MODULE_NONE  UINT32_MAX
#define ORMA_HEAP_MODULE_HEAP  (UINT32_MAX - 1)
#define ORMA_HEAP_MODULE_ERROR (UINT32_MAX - 2)

/* The reasons why a stack is incomplete. */
enum orma_heap_error {
	ORMA_HEAP_ERROR_NO_STACK,
	ORMA_HEAP_ERROR_INCOMPLETE,
	ORMA_HEAP_ERROR_COUNT,
};

/* The number of an item in the trace, 0 = none yet, and the incremental state (heap_output.h) in which it was last described. */
struct orma_heap_shown {
	uint32_t iid, state;
};

struct orma_heap_frame {
	uint64_t address; /* in the module's file */
	uint32_t module;
	uint32_t unused;
	struct orma_heap_shown shown;
	/* Code without a file may have a name: its place among those of the process, + 1; 0 = none. */
	uint64_t jit_name;
};

struct orma_heap_node {
	uint32_t parent; /* index + 1 of the caller's node; 0 = none */
	uint32_t frame;
	struct orma_heap_shown shown;
	uint32_t heap; /* id of the heap whose samples end here; 0 = none */
	uint32_t unused;
};

/* Totals since the beginning. */
struct orma_heap_totals {
	uint64_t bytes, freed_bytes;
	uint64_t count, freed_count;
};

struct orma_heap_site {
	uint32_t node;
	uint32_t heap;
	struct orma_heap_totals totals;
	/* The state when the heap was largest. */
	uint64_t max_bytes, max_count;
	/* Sites whose live bytes have changed since the heap was largest form a list: index + 1 of the next one. */
	uint32_t next_changed;
	uint32_t flags;
};
enum {
	ORMA_HEAP_SITE_CHANGED = 1,   /* is in that list */
	ORMA_HEAP_SITE_UNWRITTEN = 2, /* differs from what the last dump has */
};

struct orma_heap_stacks {
	struct orma_heap_set frames, nodes, sites;
	/* The frames of the last stack, the outermost one first, each with the index of its node + 1. The next stack shares most
	 * frames with it. */
	struct {
		uint32_t frame, node;
	} last[ORMA_HEAP_STACK_FRAMES_MAX];
	size_t last_count;
};

void orma_heap_stacks_init(struct orma_heap_stacks *stacks, uint64_t seed);
void orma_heap_stacks_done(struct orma_heap_stacks *stacks);
/* Index of the frame; -ENOBUFS, -ENOMEM. */
int orma_heap_stacks_take_frame(struct orma_heap_stacks *stacks, uint32_t module, uint64_t address,
				uint32_t *ret);
/* The site of a heap and a stack, of which frames[0] is the innermost. -ENOBUFS, -ENOMEM. */
int orma_heap_stacks_take_site(struct orma_heap_stacks *stacks, uint32_t heap,
			       const uint32_t *frames, size_t count, uint32_t *ret);

static inline struct orma_heap_frame *orma_heap_stacks_frame(const struct orma_heap_stacks *stacks,
							     uint32_t idx)
{
	return orma_heap_set_item(&stacks->frames, idx);
}
static inline struct orma_heap_node *orma_heap_stacks_node(const struct orma_heap_stacks *stacks,
							   uint32_t idx)
{
	return orma_heap_set_item(&stacks->nodes, idx);
}
static inline struct orma_heap_site *orma_heap_stacks_site(const struct orma_heap_stacks *stacks,
							   uint32_t idx)
{
	return orma_heap_set_item(&stacks->sites, idx);
}

#endif
