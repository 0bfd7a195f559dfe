/* SPDX-License-Identifier: Apache-2.0
 * trace_bytes.h - the bytes of a trace under addresses, with what was compressed unpacked behind the file's end.
 */
#ifndef ORMA_TRACE_TRACE_BYTES_H
#define ORMA_TRACE_TRACE_BYTES_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/*
 * Addresses below `size` are places in the file; those from `size` on are in the spool, an unlinked file of our own. {.fd
 * = -1, .spool_fd = -1} is empty. A pipe is copied to the spool first, so its `size` is 0.
 */
struct orma_trace_bytes {
	int fd;       /* borrowed */
	int spool_fd; /* -1 = none */
	uint64_t size;
	uint64_t spool_size;
	uint64_t
		spool_start; /* where the spool begins in its file; 0, unless the file is an index */
	const char *folder;  /* for the spool; NULL = TMPDIR, else /var/tmp */
	/* Called when a window has read so many bytes; a negative value is the reader's error. NULL = not called. */
	int (*progress)(void *ctx, uint64_t bytes);
	void *progress_ctx;
};

/* One reader's view of the input. {0} is empty. */
struct orma_trace_window {
	uint8_t *data;
	size_t size, capacity;
	uint64_t address; /* where data[0] is */
	/* If it is set, small pieces are copied from these blocks. */
	struct orma_trace_blocks *blocks;
	/* If it is set, the bytes that are read are added to it, and not given to `progress`: for another thread's windows. */
	uint64_t *read_bytes;
};

/*
 * Parts of the input that several readers of one thread need at about the same time, a small piece each: where sequences take turns
 * packet by packet, a window of its own would cost each of them a system call for each packet. {0} is empty.
 */
enum { ORMA_TRACE_BLOCKS = 256 };
struct orma_trace_blocks {
	struct orma_trace_window windows[ORMA_TRACE_BLOCKS]; /* by the number of the block */
};
void orma_trace_blocks_done(struct orma_trace_blocks *blocks);

/* Begins to read a file or a pipe, which stays open until orma_trace_bytes_done(). 0 or a negative errno value. */
int orma_trace_bytes_open(struct orma_trace_bytes *input, int fd, const char *folder);
/* The same in two steps: of a pipe, the first one reads so many bytes, and perhaps a few more. */
int orma_trace_bytes_begin(struct orma_trace_bytes *input, int fd, const char *folder,
			   uint64_t least);
int orma_trace_bytes_read_rest(struct orma_trace_bytes *input);
void orma_trace_bytes_done(struct orma_trace_bytes *input);
static inline uint64_t orma_trace_bytes_end(const struct orma_trace_bytes *input)
{
	return input->size + input->spool_size;
}

/* Adds bytes to the spool. 0, -ENOSPC or another error of writing a file. */
int orma_trace_bytes_add(struct orma_trace_bytes *input, const void *data, size_t size,
			 uint64_t *ret_address);

void orma_trace_window_done(struct orma_trace_window *window);
/*
 * Finds `size` bytes at an address, reading on from there by as much as `ahead` bytes. They stay where they are until
 * the window is used again. 1, 0 (the input ends before), -ENOMEM, or an error of reading a file.
 */
int orma_trace_window_refill(struct orma_trace_window *window, const struct orma_trace_bytes *input,
			     uint64_t address, size_t size, size_t ahead, const uint8_t **ret);
static inline int orma_trace_window_read(struct orma_trace_window *window,
					 const struct orma_trace_bytes *input, uint64_t address,
					 size_t size, size_t ahead, const uint8_t **ret)
{
	uint64_t at = address - window->address;
	if (address < window->address || at > window->size || size > window->size - at)
		return orma_trace_window_refill(window, input, address, size, ahead, ret);
	*ret = window->data + at;
	return 1;
}

#endif
