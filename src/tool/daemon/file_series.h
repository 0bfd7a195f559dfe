/* SPDX-License-Identifier: Apache-2.0
 * file_series.h - files that earlier recordings with the same output_path and max_file_count left.
 */
#ifndef ORMA_TOOL_FILE_SERIES_H
#define ORMA_TOOL_FILE_SERIES_H

#include "tool/daemon/file_rotate.h"

/*
 * Is `name`, in the folder, a file of the series that `output_path` names? It is when this user owns
 * it and it begins as a trace whose config has that output_path and a max_file_count. 1 = it is, and
 * *ret says which file that is; 0 = there is no such name; -EEXIST = it is something else. With
 * `ret_fd` the file is the newest of the series: an empty one is then one of the series, too, -EBUSY
 * says that a recording writes into it, and on 1 *ret_fd is a descriptor that keeps other recordings
 * from the file until it is closed. Reads the file, so it may wait for the file system.
 */
int orma_file_series_check(int folder_fd, const char *name, const char *output_path,
			   struct orma_file_identity *ret, int *ret_fd);
/* Keeps other recordings from a new file, which nobody else may read yet, as long as it is open by
 * `fd`, which may write, or by a copy of it. 0, or -EBUSY when another recording looks at it. */
int orma_file_series_lock(int fd);

#endif
