/* SPDX-License-Identifier: Apache-2.0
 * file_rotate.h - the names of the files of a session that continues in new files.
 */
#ifndef ORMA_TOOL_FILE_ROTATE_H
#define ORMA_TOOL_FILE_ROTATE_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* The inode of a removed file may be used again, so the identity also has properties that stay the
 * same while nobody writes to the file. */
struct orma_file_identity {
	dev_t device;
	ino_t inode; /* 0 = no file of ours */
	off_t size;
	struct timespec modified;
};

/* {0} is empty. */
struct orma_file_rotation {
	struct orma_file_identity *files; /* files that were put aside: files[i] is path.i */
	uint32_t count;                   /* size of the array */
};

/*
 * Paths are relative to `folder_fd`, which may be AT_FDCWD.
 *
 * Creates the first file. `path` must not exist, and if `count` is more than 1, neither may path.1
 * to path.(count - 1). Files of the series that the config's output_path `series` names (NULL =
 * none) are an exception. If there is a file `path`, they move up by one as in orma_file_rotate(),
 * and the oldest is removed when there are `count` of them. If `path` is empty, it is removed and
 * the others stay. `rotation` is {0}. -EEXIST: another file is called `path`. -ENOTUNIQ: another
 * file has one of the numbers. -EBUSY: a recording writes into `path`. -ENOMEM, or the error of a
 * system call.
 */
int orma_file_create(struct orma_file_rotation *rotation, int folder_fd, const char *path,
		     uint32_t count, const char *series, int *ret_fd);
/* Removes the file `fd` from its folder if `path` still leads to it. */
void orma_file_remove(int folder_fd, const char *path, int fd);

void orma_file_rotation_done(struct orma_file_rotation *rotation);
/*
 * Renames the file `fd`, called `path`, to path.1, path.1 to path.2 and so on, and opens a new file
 * `path`. At most `count` files are kept, including the new one; `count` is the same in each call.
 * Files that were removed or renamed by others meanwhile are skipped. Files of others are neither
 * removed nor renamed: -EEXIST when one is in the way. -ENOMEM, or the error of a system call.
 */
int orma_file_rotate(struct orma_file_rotation *rotation, int folder_fd, const char *path,
		     uint32_t count, int fd, int *ret_fd);

#endif
