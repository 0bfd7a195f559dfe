/* SPDX-License-Identifier: Apache-2.0
 * file_write.h - writes to a descriptor of any kind without blocking in write(2) forever.
 */
#ifndef ORMA_TOOL_FILE_WRITE_H
#define ORMA_TOOL_FILE_WRITE_H

#include <stddef.h>

struct orma_file_writer {
	int fd;        /* borrowed */
	int wakeup_fd; /* an eventfd: readable when patience_ms() has another answer */
	/* Returns how long to wait for room at a time, in milliseconds; -1 = without limit. */
	int (*patience_ms)(void *ctx);
	void *ctx;
};

/*
 * Writes everything. 0 or -errno: -ETIMEDOUT when the wait for room was too long. Adds the number
 * of bytes that the descriptor took to *ret_written, also on failure.
 */
int orma_file_write(const struct orma_file_writer *writer, const void *data, size_t size,
		    size_t *ret_written);
/* Cuts the last written bytes off the end of a regular file. Does nothing to a descriptor of
 * another kind, nor when the file continues behind its position. */
void orma_file_cut_tail(int fd, size_t bytes);

#endif
