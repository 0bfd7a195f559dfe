/* SPDX-License-Identifier: Apache-2.0
 * file_series.h - files that earlier recordings with the same output_path and max_file_count left.
 */
#ifndef ORMA_TOOL_FILE_SERIES_H
#define ORMA_TOOL_FILE_SERIES_H

#include "tool/daemon/file_rotate.h"

/*
 * Checks whether `name`, in the folder, is a file of the series that `output_path` names: this user
 * owns it, and it begins as a trace whose config has that output_path and a max_file_count. Returns
 * 1 when it is, with its identity in *ret; 0 when the name does not exist; -EEXIST when it is
 * another file; or the error of a system call. Pass `ret_fd` for the newest file of the series.
 * Then an empty file belongs to the series, too, -EBUSY means that a recording writes into the
 * file, and on 1 *ret_fd is a descriptor that keeps other recordings from the file until it is
 * closed. The function reads the file, so it may wait for the file system.
 */
int orma_file_series_check(int folder_fd, const char *name, const char *output_path,
			   struct orma_file_identity *ret, int *ret_fd);
/* Keeps other recordings from a new file until `fd`, which is open for writing, and all copies of
 * it are closed. No other user may have the right to read the file yet. Returns 0, or -EBUSY when
 * another recording is checking the file. */
int orma_file_series_lock(int fd);

#endif
