/* SPDX-License-Identifier: Apache-2.0
 * patch_pool.c - the records for patches, which any thread may take and return.
 *
 * The free records are a stack of indices. Single records are popped, so the ABA problem can arise
 * here: the other half of the head is a count of changes. A record that loses the race for the head
 * may be read while its owner writes to it, which is why next_free is atomic.
 *
 * Rejected: allocating each patch, because the emit path allocates nothing; a pool per writer,
 * because few writers ever need patches.
 */
#include "shm/arbiter_state.h"

struct orma_shm_patch *orma_shm_arbiter_take_patch(struct orma_shm_arbiter *arbiter)
{
	uint64_t head = atomic_load_explicit(&arbiter->free_patches, memory_order_acquire);
	struct orma_shm_patch *patch;
	uint64_t next;

	do {
		if ((uint32_t)head == 0)
			return NULL;
		ORMA_ASSERT((uint32_t)head <= arbiter->patch_count);
		patch = &arbiter->patches[(uint32_t)head - 1];
		next = ((head >> 32) + 1) << 32 |
		       atomic_load_explicit(&patch->next_free, memory_order_relaxed);
	} while (!atomic_compare_exchange_weak_explicit(
		&arbiter->free_patches, &head, next, memory_order_acquire, memory_order_acquire));
	return patch;
}

void orma_shm_arbiter_return_patch(struct orma_shm_arbiter *arbiter, struct orma_shm_patch *patch)
{
	uint64_t head = atomic_load_explicit(&arbiter->free_patches, memory_order_relaxed);
	uint64_t index = (uint64_t)(patch - arbiter->patches) + 1;
	uint64_t next;

	ORMA_ASSERT(index >= 1 && index <= arbiter->patch_count);
	do {
		atomic_store_explicit(&patch->next_free, (uint32_t)head, memory_order_relaxed);
		next = ((head >> 32) + 1) << 32 | index;
	} while (!atomic_compare_exchange_weak_explicit(
		&arbiter->free_patches, &head, next, memory_order_release, memory_order_relaxed));
}
