/* SPDX-License-Identifier: Apache-2.0
 * trace_bytes.c - reads with pread() into windows.
 *
 * Each cursor over the trace has a window of its own, so a window is refilled in the direction in which its owner reads. Windows
 * that get small pieces may take them from blocks that they share, as copies, because a piece stays until its window is used again.
 * Invariant: window->data holds the `size` bytes from window->address on, all of them from the file or all from the spool.
 *
 * Rejected: mapping the file. A file that another process cuts while it is mapped kills the reader with SIGBUS, and its
 * pages count as the reader's memory. pread() costs a copy, 0.1 s per gigabyte.
 */
#include "trace/trace_bytes.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "store/memory_budget.h"

enum {
	BLOCK_BYTES = 16 << 10,
	/* Larger ones are worth a system call. A block is read with as much behind it, because pieces begin in one and end in the next. */
	PIECE_MAX_BYTES = 4 << 10,
};

static int open_spool(struct orma_trace_bytes *input)
{
	const struct orma_memory_budget budget = {.folder = input->folder};
	int fd = orma_memory_budget_open_file(&budget);
	if (fd < 0)
		return fd;
	input->spool_fd = fd;
	return 0;
}

int orma_trace_bytes_add(struct orma_trace_bytes *input, const void *data, size_t size,
			 uint64_t *ret_address)
{
	int r = input->spool_fd < 0 ? open_spool(input) : 0;
	if (r < 0)
		return r;
	const uint8_t *at = data;
	*ret_address = orma_trace_bytes_end(input);
	while (size > 0) {
		ssize_t written = pwrite(input->spool_fd, at, size, (off_t)input->spool_size);
		if (written < 0 && errno == EINTR)
			continue;
		if (written <= 0)
			return written < 0 ? -errno : -ENOSPC;
		at += written;
		size -= (size_t)written;
		input->spool_size += (uint64_t)written;
	}
	return 0;
}

/* Copies until the spool has so many bytes, and perhaps a few more, or to the end. */
static int copy_to_spool(struct orma_trace_bytes *input, uint64_t least)
{
	enum { COPY_BYTES = 1 << 16 };
	uint8_t *bytes = orma_base_alloc(COPY_BYTES);
	if (!bytes)
		return -ENOMEM;
	int r = 0;
	while (r == 0 && input->spool_size < least) {
		uint64_t address;
		ssize_t size = read(input->fd, bytes, COPY_BYTES);
		if (size == 0)
			break;
		if (size > 0)
			r = orma_trace_bytes_add(input, bytes, (size_t)size, &address);
		else if (errno != EINTR)
			r = -errno;
	}
	orma_base_free(bytes);
	return r;
}

int orma_trace_bytes_begin(struct orma_trace_bytes *input, int fd, const char *folder,
			   uint64_t least)
{
	struct stat status;
	*input = (struct orma_trace_bytes){.fd = fd, .spool_fd = -1, .folder = folder};
	if (fstat(fd, &status) < 0)
		return -errno;
	if (S_ISDIR(status.st_mode))
		return -EISDIR;
	if (!S_ISREG(status.st_mode))
		return copy_to_spool(input, least);
	input->size = (uint64_t)status.st_size;
	return 0;
}

int orma_trace_bytes_read_rest(struct orma_trace_bytes *input)
{
	return input->size == 0 && input->fd >= 0 ? copy_to_spool(input, UINT64_MAX) : 0;
}

int orma_trace_bytes_open(struct orma_trace_bytes *input, int fd, const char *folder)
{
	return orma_trace_bytes_begin(input, fd, folder, UINT64_MAX);
}

void orma_trace_bytes_done(struct orma_trace_bytes *input)
{
	if (input->spool_fd >= 0)
		close(input->spool_fd);
	*input = (struct orma_trace_bytes){.fd = -1, .spool_fd = -1};
}

void orma_trace_window_done(struct orma_trace_window *window)
{
	orma_base_free(window->data);
	*window = (struct orma_trace_window){.blocks = window->blocks,
					     .read_bytes = window->read_bytes};
}

void orma_trace_blocks_done(struct orma_trace_blocks *blocks)
{
	for (size_t i = 0; i < ORMA_TRACE_BLOCKS; i++)
		orma_trace_window_done(&blocks->windows[i]);
}

/* Reads up to `size` bytes; fewer only at the end of the file or of the spool. */
static int fill(struct orma_trace_window *window, const struct orma_trace_bytes *input,
		uint64_t address, size_t size)
{
	bool is_file = address < input->size;
	int fd = is_file ? input->fd : input->spool_fd;
	uint64_t at = is_file ? address : address - input->size + input->spool_start,
		 end = is_file ? input->size : input->spool_start + input->spool_size;
	size = at < end ? (size_t)ORMA_MIN((uint64_t)size, end - at) : 0;
	window->address = address;
	window->size = 0;
	while (window->size < size) {
		ssize_t got = pread(fd, window->data + window->size, size - window->size,
				    (off_t)(at + window->size));
		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (got == 0)
			break; /* the file has become shorter */
		window->size += (size_t)got;
	}
	if (window->read_bytes) {
		*window->read_bytes += window->size;
		return 0;
	}
	return input->progress ? input->progress(input->progress_ctx, window->size) : 0;
}

/* Makes room for so many bytes; the window is empty if it is moved. */
static int reserve(struct orma_trace_window *window, size_t size)
{
	if (size <= window->capacity)
		return 0;
	uint8_t *data = orma_base_alloc(size);
	if (!data)
		return -ENOMEM;
	orma_base_free(window->data);
	window->data = data;
	window->capacity = size;
	window->size = 0;
	return 0;
}

/* Copies bytes from the block that they begin in, which is read as far as they go. */
static int copy_from_block(struct orma_trace_window *window, const struct orma_trace_bytes *input,
			   uint64_t address, size_t size)
{
	uint64_t number = address / BLOCK_BYTES, begin = number * BLOCK_BYTES;
	struct orma_trace_window *block = &window->blocks->windows[number % ORMA_TRACE_BLOCKS];
	/* The file's last block ends where the spool begins. */
	if (begin < input->size && address >= input->size)
		begin = input->size;
	size_t skipped = (size_t)(address - begin), end = skipped + size;
	int r = 0;
	window->address = address;
	window->size = 0;
	block->read_bytes = window->read_bytes;
	if (block->address != begin || block->size < end) {
		size_t wanted = BLOCK_BYTES + PIECE_MAX_BYTES;
		r = reserve(block, wanted);
		if (r == 0)
			r = fill(block, input, begin, wanted);
	}
	if (r < 0 || block->size < skipped)
		return r;
	window->size = ORMA_MIN(size, block->size - skipped);
	memcpy(window->data, block->data + skipped, window->size);
	return 0;
}

int orma_trace_window_refill(struct orma_trace_window *window, const struct orma_trace_bytes *input,
			     uint64_t address, size_t size, size_t ahead, const uint8_t **ret)
{
	size_t wanted = ORMA_MAX(size, ahead);
	int r = reserve(window, wanted);
	if (r == 0)
		r = window->blocks && wanted <= PIECE_MAX_BYTES
			    ? copy_from_block(window, input, address, wanted)
			    : fill(window, input, address, wanted);
	if (r < 0)
		return r;
	*ret = window->data;
	return window->size >= size;
}
