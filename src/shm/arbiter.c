/* SPDX-License-Identifier: Apache-2.0
 * arbiter.c - makes and abandons the arbiter.
 *
 * Owns the arbiter, the records of its chunk slots, the pool of patches and the wake descriptor.
 *
 * Rejected: a callback to wake the loop, because its context could be freed while a thread is about
 * to call it, which cannot happen to a descriptor that the arbiter owns; unmapping the memory when
 * the connection is lost, because every store would then need a lock or a signal handler.
 */
#include <errno.h>
#include <sys/eventfd.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "shm/arbiter_state.h"

#define PATCHES_MIN      64u
#define PATCHES_PER_PAGE 4u

static void fill_patch_pool(struct orma_shm_arbiter *arbiter)
{
	for (uint32_t i = 0; i < arbiter->patch_count; i++) {
		arbiter->patches[i].event.kind = ORMA_SHM_EVENT_PATCH;
		orma_shm_arbiter_return_patch(arbiter, &arbiter->patches[i]);
	}
}

static int arbiter_init(struct orma_shm_arbiter *arbiter,
			const struct orma_shm_arbiter_options *options)
{
	int r = orma_shm_view_init(&arbiter->view, options->start, options->size_bytes,
				   options->page_bytes);
	uint32_t page_count = arbiter->view.page_count;

	if (r < 0)
		return r;
	arbiter->options = *options;
	if (options->stall_timeout_ms == 0)
		arbiter->options.stall_timeout_ms = ORMA_SHM_STALL_MS_DEFAULT;
	for (uint32_t layout = 0; layout < 8; layout++)
		arbiter->chunk_bytes[layout] =
			orma_shm_layout_chunk_bytes(layout, options->page_bytes);
	arbiter->now_bytes = (uint32_t)options->size_bytes / 4;
	arbiter->patch_count = PATCHES_MIN + PATCHES_PER_PAGE * page_count;
	arbiter->slots = orma_base_alloc_array(page_count,
					       ORMA_SHM_CHUNKS_PER_PAGE * sizeof(*arbiter->slots));
	arbiter->patches = orma_base_alloc_array(arbiter->patch_count, sizeof(*arbiter->patches));
	if (!arbiter->slots || !arbiter->patches)
		return -ENOMEM;
	if (options->is_emulated) {
		arbiter->copies = orma_base_alloc(ORMA_SHM_BATCH_BYTES_MAX);
		if (!arbiter->copies)
			return -ENOMEM;
	}
	arbiter->wake_fd = orma_base_fd_avoid_standard(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
	return arbiter->wake_fd < 0 ? -errno : 0;
}

int orma_shm_arbiter_new(const struct orma_shm_arbiter_options *options,
			 struct orma_shm_arbiter **ret)
{
	struct orma_shm_arbiter *arbiter = orma_base_zalloc(sizeof(*arbiter));
	int r;

	if (!arbiter)
		return -ENOMEM;
	arbiter->wake_fd = -1;
	atomic_store_explicit(&arbiter->ref_count, 1, memory_order_relaxed);
	r = arbiter_init(arbiter, options);
	if (r < 0) {
		arbiter->options.release = NULL; /* the memory stays the caller's */
		orma_shm_arbiter_put(arbiter);
		return r;
	}
	fill_patch_pool(arbiter);
	orma_shm_arbiter_set_loop_thread(arbiter);
	*ret = arbiter;
	return 0;
}

void orma_shm_arbiter_set_loop_thread(struct orma_shm_arbiter *arbiter)
{
	atomic_store_explicit(&arbiter->loop_thread, pthread_self(), memory_order_relaxed);
}

void orma_shm_arbiter_abandon(struct orma_shm_arbiter *arbiter)
{
	if (atomic_exchange_explicit(&arbiter->is_abandoned, true, memory_order_relaxed))
		return;
	orma_shm_arbiter_drop_events(arbiter);
}

void orma_shm_arbiter_orphan(struct orma_shm_arbiter *arbiter)
{
	const struct orma_shm_arbiter_options *options = &arbiter->options;

	atomic_store_explicit(&arbiter->is_abandoned, true, memory_order_relaxed);
	orma_shm_arbiter_cut_queue(arbiter);
	arbiter->wake_fd = -1;
	/* Emulated memory is private already. */
	if (!options->is_emulated)
		(void)mmap(options->start, options->size_bytes, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0);
}

void orma_shm_arbiter_unref(struct orma_shm_arbiter *arbiter)
{
	if (!arbiter)
		return;
	orma_shm_arbiter_abandon(arbiter);
	orma_shm_arbiter_put(arbiter);
}

int orma_shm_arbiter_wake_fd(const struct orma_shm_arbiter *arbiter)
{
	return arbiter->wake_fd;
}

void orma_shm_arbiter_get_stats(const struct orma_shm_arbiter *arbiter, struct orma_shm_stats *ret)
{
	*ret = (struct orma_shm_stats){
		.chunks_acquired =
			atomic_load_explicit(&arbiter->chunks_acquired, memory_order_relaxed),
		.packets_lost = atomic_load_explicit(&arbiter->packets_lost, memory_order_relaxed),
		.stalls = atomic_load_explicit(&arbiter->stalls, memory_order_relaxed),
		.patches_sent = atomic_load_explicit(&arbiter->patches_sent, memory_order_relaxed),
		.violations = atomic_load_explicit(&arbiter->violations, memory_order_relaxed),
		.writers = atomic_load_explicit(&arbiter->writers, memory_order_relaxed),
	};
}
