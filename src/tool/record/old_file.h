/* SPDX-License-Identifier: Apache-2.0
 * old_file.h - a file that stays until a new trace is worth its place.
 */
#ifndef ORMA_TOOL_OLD_FILE_H
#define ORMA_TOOL_OLD_FILE_H

#include <limits.h>

struct orma_old_file {
	char path[PATH_MAX]; /* without symbolic links */
	char part
		[PATH_MAX]; /* the new file, beside it; empty = there is no old file, or no place for another one */
};

/* Finds the old file, and a name for the new one, which the caller creates. */
void orma_old_file_find(struct orma_old_file *old, const char *path);
/* Puts the new file into the place of the old one, with its owner and mode. Says on stderr why that fails, and where the new
 * file is then. Returns the exit status. */
int orma_old_file_replace(struct orma_old_file *old);
/* Removes the new file. Nothing happens after orma_old_file_replace(). */
void orma_old_file_keep(struct orma_old_file *old);

#endif
