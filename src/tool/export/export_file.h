/* SPDX-License-Identifier: Apache-2.0
 * export_file.h - a file that appears under its name when it is whole.
 */
#ifndef ORMA_TOOL_EXPORT_FILE_H
#define ORMA_TOOL_EXPORT_FILE_H

#include <limits.h>
#include <stdbool.h>

#include "base/buf.h"

/* Its functions return 0, or ORMA_EXIT_FAILURE when a message has said what is wrong. */
struct orma_export_file {
	char path[PATH_MAX]; /* while it is written, with ".part" behind */
	bool is_output;      /* standard output, a device or a pipe; it has no path */
	const char *name;    /* borrowed, for messages about these */
	int fd;
	struct orma_buf waiting;
	uint64_t size; /* so far, with what waits */
};

/* A path of - is standard output. A file that is not finished is removed when a signal ends the program. One file at a time. */
int orma_export_file_open(struct orma_export_file *file, const char *path);
/* The same for a file that another library writes: finds the path, and {.fd = -1} it stays. */
int orma_export_file_name(struct orma_export_file *file, const char *path);
int orma_export_file_write(struct orma_export_file *file, const void *data, size_t size);
/* Writes what waits, and gives the file its name. */
int orma_export_file_finish(struct orma_export_file *file);
/* Removes the file, unless it is finished. */
void orma_export_file_done(struct orma_export_file *file);

/*
 * Replaces bytes that are not UTF-8 by U+FFFD, because readers refuse a whole file for one of them. The text then is in the
 * buffer. 0 or -ENOMEM.
 */
int orma_export_utf8(struct orma_str *text, struct orma_buf *buf);

/* Creates a folder, unless it is there. */
int orma_export_folder(const char *path);

#endif
