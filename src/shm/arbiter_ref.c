/* SPDX-License-Identifier: Apache-2.0
 * arbiter_ref.c - references to an arbiter, and the ids of its writers.
 *
 * Invariant: the creator and each writer hold one reference. So a thread that is still writing when
 * the connection is lost writes into memory that is still mapped. The last one to go releases the
 * memory through options.release.
 *
 * Writer ids are bits in an array of words. The search for a free id starts at a position that only
 * moves forward, so an id is reused as late as possible, and never before the loop thread has
 * reported its writer gone.
 */
#include "base/alloc.h"
#include "base/fd.h"
#include "shm/arbiter_state.h"

static void arbiter_free(struct orma_shm_arbiter *arbiter)
{
	orma_base_fd_close(arbiter->wake_fd);
	orma_base_free(arbiter->slots);
	orma_base_free(arbiter->patches);
	orma_base_free(arbiter->copies);
	orma_base_free(arbiter);
}

void orma_shm_arbiter_ref(struct orma_shm_arbiter *arbiter)
{
	uint32_t before = atomic_fetch_add_explicit(&arbiter->ref_count, 1, memory_order_relaxed);

	ORMA_ASSERT(before > 0);
}

void orma_shm_arbiter_put(struct orma_shm_arbiter *arbiter)
{
	const struct orma_shm_arbiter_options *options = &arbiter->options;
	uint32_t before = atomic_fetch_sub_explicit(&arbiter->ref_count, 1, memory_order_acq_rel);

	ORMA_ASSERT(before > 0);
	if (before != 1)
		return;
	if (options->release)
		options->release(options->release_ctx, options->start, options->size_bytes);
	arbiter_free(arbiter);
}

uint16_t orma_shm_arbiter_take_id(struct orma_shm_arbiter *arbiter)
{
	for (uint32_t i = 0; i < ORMA_SHM_WRITER_ID_MAX; i++) {
		uint32_t at =
			atomic_fetch_add_explicit(&arbiter->id_cursor, 1, memory_order_relaxed) %
			ORMA_SHM_WRITER_ID_MAX;
		uint64_t bit = UINT64_C(1) << at % 64;

		/* Acquire pairs with the release in return_id(). */
		if (!(atomic_fetch_or_explicit(&arbiter->ids[at / 64], bit, memory_order_acquire) &
		      bit))
			return (uint16_t)(at + 1);
	}
	return 0;
}

static void return_id(struct orma_shm_arbiter *arbiter, uint16_t id)
{
	uint32_t at = (uint32_t)id - 1;

	if (id == 0)
		return;
	ORMA_ASSERT(arbiter->ids[at / 64] >> at % 64 & 1);
	atomic_fetch_and_explicit(&arbiter->ids[at / 64], ~(UINT64_C(1) << at % 64),
				  memory_order_release);
}

void orma_shm_writer_block_put(struct orma_shm_writer_block *block)
{
	struct orma_shm_arbiter *arbiter = block->writer.arbiter;
	uint32_t before = atomic_fetch_sub_explicit(&block->ref_count, 1, memory_order_acq_rel);

	ORMA_ASSERT(before > 0);
	if (before != 1)
		return;
	return_id(arbiter, block->writer.id);
	atomic_fetch_sub_explicit(&arbiter->writers, 1, memory_order_relaxed);
	orma_base_free(block);
	orma_shm_arbiter_put(arbiter);
}
