/* SPDX-License-Identifier: Apache-2.0
 * client_memory.c - the memory that the producer shares with one service: checked, mapped, released.
 *
 * A file from a daemon is untrusted: if the daemon could still shrink it, or if it had huge pages, our
 * next store could be a SIGBUS. Only sealed files of plain memory with a size that fits the ABI are
 * mapped. The mapping belongs to the arbiter, which unmaps it when its last writer is gone, on
 * whatever thread that is. The creator's reference of the arbiter is itself shared (struct
 * orma_client_memory), because the arbiter must not be freed while a thread is making a writer.
 * Rejected: making writers under the client's mutex (they allocate and may write to an eventfd).
 */
#include "client/client_memory.h"

#include <errno.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/fd.h"

static void release_mapping(void *ctx, void *start, size_t size)
{
	(void)ctx;
	munmap(start, size);
}

static void release_private(void *ctx, void *start, size_t size)
{
	(void)ctx;
	(void)size;
	orma_base_free(start);
}

static bool is_page_size(uint32_t bytes)
{
	return bytes >= ORMA_SHM_PAGE_BYTES_MIN && bytes <= ORMA_SHM_PAGE_BYTES_MAX &&
	       (bytes & (bytes - 1)) == 0;
}

static int map(int fd_untrusted, struct orma_shm_arbiter_options *options)
{
	size_t size;

	if (orma_base_memfd_check(fd_untrusted, &size) < 0 || size == 0 ||
	    size > ORMA_SHM_BYTES_MAX || size % options->page_bytes != 0)
		return -EPROTO;
	options->start = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd_untrusted, 0);
	if (options->start == MAP_FAILED)
		return -errno;
	options->size_bytes = size;
	options->release = release_mapping;
	return 0;
}

static int allocate(struct orma_shm_arbiter_options *options)
{
	options->start = orma_base_zalloc(ORMA_SHM_EMULATED_BYTES);
	if (!options->start)
		return -ENOMEM;
	options->size_bytes = ORMA_SHM_EMULATED_BYTES;
	options->is_emulated = true;
	options->release = release_private;
	return 0;
}

int orma_client_memory_new(const struct orma_client_shared *shared, void (*commit_now)(void *link),
			   struct orma_client_link *link, struct orma_client_memory **ret)
{
	struct orma_shm_arbiter_options options = {
		.page_bytes = shared->page_bytes,
		.can_hold_chunks = shared->can_hold_chunks,
		.commit_now = commit_now,
		.ctx = link,
	};
	struct orma_client_memory *memory;
	int r;

	if (!is_page_size(shared->page_bytes))
		return -EPROTO;
	memory = orma_base_zalloc(sizeof(*memory));
	if (!memory)
		return -ENOMEM;
	r = shared->fd >= 0 ? map(shared->fd, &options) : allocate(&options);
	if (r == 0) {
		r = orma_shm_arbiter_new(&options, &memory->arbiter);
		if (r < 0)
			options.release(NULL, options.start, options.size_bytes);
	}
	if (r < 0) {
		orma_base_free(memory);
		return r;
	}
	atomic_init(&memory->refs, 1);
	orma_base_fd_set_close_on_fork(orma_shm_arbiter_wake_fd(memory->arbiter));
	*ret = memory;
	return 0;
}

struct orma_client_memory *orma_client_memory_ref(struct orma_client_memory *memory)
{
	uint32_t refs = atomic_fetch_add_explicit(&memory->refs, 1, memory_order_relaxed);

	ORMA_ASSERT(refs > 0);
	(void)refs;
	return memory;
}

void orma_client_memory_orphan(struct orma_client_memory *memory)
{
	orma_shm_arbiter_orphan(memory->arbiter);
}

void orma_client_memory_unref(struct orma_client_memory *memory)
{
	uint32_t refs;

	if (!memory)
		return;
	refs = atomic_fetch_sub_explicit(&memory->refs, 1, memory_order_acq_rel);
	ORMA_ASSERT(refs > 0);
	if (refs > 1)
		return;
	orma_shm_arbiter_unref(memory->arbiter);
	orma_base_free(memory);
}
