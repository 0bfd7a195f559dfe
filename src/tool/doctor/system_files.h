/* SPDX-License-Identifier: Apache-2.0
 * system_files.h - reads the files by which the kernel describes itself, below a root folder.
 */
#ifndef ORMA_TOOL_SYSTEM_FILES_H
#define ORMA_TOOL_SYSTEM_FILES_H

#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/buf.h"

/* `root` precedes each path; "" = the files of this machine. */

/* Replaces the content of `ret`. 0 or -errno. */
int orma_system_file_read(const char *root, const char *path, struct orma_buf *ret);
/* Reads the first word of a file as a number. */
bool orma_system_file_read_u64(const char *root, const char *path, uint64_t *ret);
/* Finds the number behind a key at the beginning of a line: "MemAvailable:" in /proc/meminfo. */
bool orma_system_file_find_u64(const char *root, const char *path, const char *key, uint64_t *ret);
/* Returns true when this process may read the file, or list the folder. */
bool orma_system_file_is_readable(const char *root, const char *path);
/* Copies the name of a group, or its number. */
void orma_system_name_group(const char *root, gid_t gid, char *ret, size_t size);
/* Finds where tracefs is mounted. Returns false when it is not. */
bool orma_system_find_tracefs(const char *root, char ret[PATH_MAX]);

#endif
