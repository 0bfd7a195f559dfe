/* SPDX-License-Identifier: Apache-2.0
 * file_series.h - files that earlier recordings with the same output_path and max_file_count left.
 */
#ifndef ORMA_TOOL_FILE_SERIES_H
#define ORMA_TOOL_FILE_SERIES_H

#include "tool/file_rotate.h"

/*
 * Is `name`, in the folder, a file of the series that `output_path` names? It is when this user owns
 * it and it begins as a trace whose config has that output_path and a max_file_count. 1 = it is, and
 * *ret says which file that is; 0 = there is no such name; -EEXIST = it is something else; -EBUSY = a
 * recording writes into it. On 1 *ret_fd, if not NULL, is a descriptor that keeps other recordings
 * from the file until it is closed. Reads the file, so it may wait for the file system.
 */
int orma_file_series_check(int folder_fd, const char *name, const char *output_path,
			   struct orma_file_identity *ret, int *ret_fd);
/* Keeps other recordings from a file that was created, as long as its description is open. */
void orma_file_series_lock(int fd);

#endif
