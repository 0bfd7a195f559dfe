/* SPDX-License-Identifier: Apache-2.0
 * extents.c - runs of a megabyte; the oldest are written to an unlinked file, which takes their addresses.
 *
 * An extent is a mapping of its own. To spill one, its bytes are written to the file and the file's pages are mapped
 * over the same addresses. So pointers into it stay valid and nothing above knows of the file; the kernel keeps the pages
 * that are used, and drops the others without writing when memory is short. Invariant: an extent is spilled only when
 * it is full, and never written again.
 *
 * Rejected: a cache of blocks with pins, which puts a lookup and a reference count in front of each cell. Also rejected:
 * mapping the file from the start, because then the kernel writes back memory of small traces for no reason, and a full
 * disk is a signal instead of an error of write().
 */
#include "store/extents.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/assert.h"
#include "base/macros.h"

#define EXTENT_BYTES ((size_t)1 << 20)

struct orma_extent {
	uint8_t *data;
	size_t size;
};

void orma_store_extents_done(struct orma_extents *extents)
{
	for (size_t i = 0; i < extents->count; i++)
		munmap(extents->items[i].data, extents->items[i].size);
	orma_base_free(extents->items);
	if (extents->fd >= 0)
		close(extents->fd);
	orma_memory_budget_give(extents->budget, extents->memory_bytes);
	*extents = (struct orma_extents){.budget = extents->budget, .fd = -1};
}

static int write_all(int fd, const uint8_t *data, size_t size, off_t at)
{
	while (size > 0) {
		ssize_t written = pwrite(fd, data, size, at);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		data += written;
		size -= (size_t)written;
		at += written;
	}
	return 0;
}

static int spill_oldest(struct orma_extents *extents)
{
	struct orma_extent *extent = &extents->items[extents->spilled];
	if (extents->fd < 0) {
		int fd = orma_memory_budget_open_file(extents->budget);
		if (fd < 0)
			return fd;
		extents->fd = fd;
	}
	int r = write_all(extents->fd, extent->data, extent->size, (off_t)extents->file_bytes);
	if (r < 0)
		return r;
	if (mmap(extent->data, extent->size, PROT_READ, MAP_SHARED | MAP_FIXED, extents->fd,
		 (off_t)extents->file_bytes) == MAP_FAILED)
		return -errno;
	extents->file_bytes += extent->size;
	extents->memory_bytes -= extent->size;
	orma_memory_budget_give(extents->budget, extent->size);
	extents->spilled++;
	return 0;
}

/* Begins an extent that has room for `size` bytes. */
static int begin_extent(struct orma_extents *extents, size_t size)
{
	/* An extent is whole pages, of every machine's size. */
	size = size <= EXTENT_BYTES ? EXTENT_BYTES
				    : (size + EXTENT_BYTES - 1) / EXTENT_BYTES * EXTENT_BYTES;
	while (orma_memory_budget_is_over(extents->budget, size) &&
	       extents->spilled < extents->count) {
		int r = spill_oldest(extents);
		if (r < 0)
			return r;
	}
	if (extents->count == extents->capacity) {
		size_t capacity = ORMA_MAX(extents->capacity * 2, (size_t)16);
		struct orma_extent *items =
			orma_base_realloc_array(extents->items, capacity, sizeof(*items));
		if (!items)
			return -ENOMEM;
		extents->items = items;
		extents->capacity = capacity;
	}
	uint8_t *data =
		mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (data == MAP_FAILED)
		return -ENOMEM;
	extents->items[extents->count++] = (struct orma_extent){.data = data, .size = size};
	extents->memory_bytes += size;
	orma_memory_budget_take(extents->budget, size);
	extents->used = 0;
	return 0;
}

int orma_store_extents_add(struct orma_extents *extents, const void *data, size_t size,
			   const void **ret)
{
	ORMA_ASSERT(extents->spilled <= extents->count);
	if (size > SIZE_MAX / 2)
		return -ENOMEM;
	/* The last extent may have been spilled, when it was the only one left. */
	if (extents->spilled == extents->count ||
	    extents->items[extents->count - 1].size - extents->used < size) {
		int r = begin_extent(extents, size);
		if (r < 0)
			return r;
	}
	uint8_t *at = extents->items[extents->count - 1].data + extents->used;
	memcpy(at, data, size);
	extents->used += size;
	*ret = at;
	return 0;
}
