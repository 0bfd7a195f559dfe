/* SPDX-License-Identifier: Apache-2.0
 * file_write.h - writing to a descriptor of any kind without being caught in write(2) for good.
 */
#ifndef ORMA_TOOL_FILE_WRITE_H
#define ORMA_TOOL_FILE_WRITE_H

#include <stddef.h>

struct orma_file_writer {
	int fd;        /* borrowed */
	int wakeup_fd; /* an eventfd: readable when the patience has changed */
	/* How long to wait for room at a time: milliseconds, -1 = for ever. */
	int (*patience_ms)(void *ctx);
	void *ctx;
};

/*
 * All of it, or a negative errno value: -ETIMEDOUT when the patience ended. Adds to *ret_written
 * the number of bytes that the descriptor took, also on failure.
 */
int orma_file_write(const struct orma_file_writer *writer, const void *data, size_t size,
		    size_t *ret_written);
/* Takes the last bytes that were written off the end of a regular file. Does nothing to a
 * descriptor of another kind, nor when the file goes on behind its position. */
void orma_file_cut_tail(int fd, size_t bytes);

#endif
