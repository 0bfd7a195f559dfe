/* SPDX-License-Identifier: Apache-2.0
 * heap_stacks.c - stacks as a tree from the outermost frame inwards, so that stacks share their common frames.
 *
 * Readers of a trace tell totals apart by process and stack, but not by heap. So two heaps never share a whole stack. The stack of
 * the second heap gets an additional frame with the name of the heap.
 */
#include "probes/heap/heap_stacks.h"

#include <errno.h>
#include <stdbool.h>

#include "base/macros.h"
#include "probes/heap/heap_limits.h"

void orma_heap_stacks_init(struct orma_heap_stacks *stacks, uint64_t seed)
{
	orma_heap_set_init(&stacks->frames, sizeof(struct orma_heap_frame), 2, ORMA_HEAP_FRAMES_MAX,
			   seed);
	orma_heap_set_init(&stacks->nodes, sizeof(struct orma_heap_node), 1, ORMA_HEAP_NODES_MAX,
			   seed);
	orma_heap_set_init(&stacks->sites, sizeof(struct orma_heap_site), 1, ORMA_HEAP_SITES_MAX,
			   seed);
}

void orma_heap_stacks_done(struct orma_heap_stacks *stacks)
{
	orma_heap_set_done(&stacks->frames);
	orma_heap_set_done(&stacks->nodes);
	orma_heap_set_done(&stacks->sites);
}

int orma_heap_stacks_take_frame(struct orma_heap_stacks *stacks, uint32_t module, uint64_t address,
				uint32_t *ret)
{
	struct orma_heap_frame frame = {.address = address, .module = module};
	int r = orma_heap_set_take(&stacks->frames, &frame, ret);

	return r < 0 ? r : 0;
}

static int take_node(struct orma_heap_stacks *stacks, uint32_t frame, uint32_t *at)
{
	struct orma_heap_node node = {.parent = *at, .frame = frame};
	uint32_t idx;
	int r = orma_heap_set_take(&stacks->nodes, &node, &idx);

	if (r < 0)
		return r;
	*at = idx + 1;
	return 0;
}

/* Appends the frame of a heap to a stack that another heap has. */
static int separate_heaps(struct orma_heap_stacks *stacks, uint32_t heap, uint32_t *at)
{
	struct orma_heap_node *node = orma_heap_stacks_node(stacks, *at - 1);
	uint32_t frame;

	if (node->heap == 0)
		node->heap = heap;
	if (node->heap == heap)
		return 0;
	int r = orma_heap_stacks_take_frame(stacks, ORMA_HEAP_MODULE_HEAP, heap, &frame);
	return r < 0 ? r : take_node(stacks, frame, at);
}

/* Returns the number of frames, from the outermost inwards, that the stack shares with the last one. */
static size_t common_with_last(const struct orma_heap_stacks *stacks, const uint32_t *frames,
			       size_t count)
{
	size_t max = ORMA_MIN(count, stacks->last_count), same = 0;

	while (same < max && stacks->last[same].frame == frames[count - 1 - same])
		same++;
	return same;
}

static void note_last(struct orma_heap_stacks *stacks, size_t depth, uint32_t frame, uint32_t node)
{
	if (depth >= ORMA_ARRAY_SIZE(stacks->last))
		return;
	stacks->last[depth].frame = frame;
	stacks->last[depth].node = node;
	stacks->last_count = depth + 1;
}

int orma_heap_stacks_take_site(struct orma_heap_stacks *stacks, uint32_t heap,
			       const uint32_t *frames, size_t count, uint32_t *ret)
{
	size_t depth = common_with_last(stacks, frames, count);
	uint32_t at = depth > 0 ? stacks->last[depth - 1].node : 0;
	int r = count > 0 ? 0 : -EINVAL;

	for (; depth < count && r == 0; depth++) {
		r = take_node(stacks, frames[count - 1 - depth], &at);
		if (r == 0)
			note_last(stacks, depth, frames[count - 1 - depth], at);
	}
	if (r == 0)
		r = separate_heaps(stacks, heap, &at);
	if (r < 0)
		return r;
	struct orma_heap_site site = {.node = at - 1, .heap = heap};
	r = orma_heap_set_take(&stacks->sites, &site, ret);
	return r < 0 ? r : 0;
}
