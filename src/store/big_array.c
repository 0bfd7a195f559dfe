/* SPDX-License-Identifier: Apache-2.0
 * big_array.c - an array on the heap, or a mapping of a file without a name.
 *
 * The kernel writes a mapping's pages to the file and drops them when memory is short, so the array is used as any other. The
 * file's blocks are reserved before they are mapped: a full disk is then an error here and not a signal later.
 */
#include "store/big_array.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/alloc.h"

/* Smaller arrays stay in memory whatever the budget: a file costs more than they do. */
enum { IN_MEMORY_BYTES = 256 << 10, HUGE_PAGE_BYTES = 2 << 20 };

void orma_store_big_array_done(struct orma_big_array *array)
{
	if (array->file > 0) {
		munmap(array->data, array->size_bytes);
		close(array->file - 1);
	} else {
		orma_base_free(array->data);
		orma_memory_budget_give(array->budget, array->size_bytes);
	}
	*array = (struct orma_big_array){.budget = array->budget};
}

/* Pages of 2 MiB take less time to get than those of 4 KiB. Only whole ones are asked for, so that no array takes more memory. */
static void use_huge_pages(void *data, size_t size_bytes)
{
	uintptr_t first =
		((uintptr_t)data + HUGE_PAGE_BYTES - 1) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
	uintptr_t end = ((uintptr_t)data + size_bytes) & ~(uintptr_t)(HUGE_PAGE_BYTES - 1);
	if (first < end)
		madvise((void *)first, end - first, MADV_HUGEPAGE);
}

static int grow_in_memory(struct orma_big_array *array, size_t size_bytes)
{
	void *data = orma_base_realloc(array->data, size_bytes);
	if (!data)
		return -ENOMEM;
	orma_memory_budget_take(array->budget, size_bytes - array->size_bytes);
	array->data = data;
	array->size_bytes = size_bytes;
	use_huge_pages(data, size_bytes);
	return 0;
}

/* Maps a file of this size, which has its blocks. 0 or a negative errno value. */
static int map_file(int fd, size_t size_bytes, void **ret)
{
	int r = -posix_fallocate(fd, 0, (off_t)size_bytes);
	if (r < 0)
		return r;
	*ret = mmap(NULL, size_bytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	return *ret == MAP_FAILED ? -ENOMEM : 0;
}

static int move_to_file(struct orma_big_array *array, size_t size_bytes)
{
	void *data;
	int fd = orma_memory_budget_open_file(array->budget);
	if (fd < 0)
		return fd;
	int r = map_file(fd, size_bytes, &data);
	if (r < 0) {
		close(fd);
		return r;
	}
	if (array->size_bytes > 0)
		memcpy(data, array->data, array->size_bytes);
	orma_base_free(array->data);
	orma_memory_budget_give(array->budget, array->size_bytes);
	array->data = data;
	array->size_bytes = size_bytes;
	array->file = fd + 1;
	return 0;
}

static int grow_file(struct orma_big_array *array, size_t size_bytes)
{
	void *data;
	int r = map_file(array->file - 1, size_bytes, &data);
	if (r < 0)
		return r;
	munmap(array->data, array->size_bytes);
	array->data = data;
	array->size_bytes = size_bytes;
	return 0;
}

int orma_store_big_array_grow(struct orma_big_array *array, size_t size_bytes)
{
	if (size_bytes <= array->size_bytes)
		return 0;
	if (size_bytes > SIZE_MAX / 2)
		return -ENOMEM;
	if (array->file > 0)
		return grow_file(array, size_bytes);
	if (size_bytes > IN_MEMORY_BYTES &&
	    orma_memory_budget_is_over(array->budget, size_bytes - array->size_bytes))
		return move_to_file(array, size_bytes);
	return grow_in_memory(array, size_bytes);
}
