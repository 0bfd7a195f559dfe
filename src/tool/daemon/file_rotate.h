/* SPDX-License-Identifier: Apache-2.0
 * file_rotate.h - the names of the files of one session that goes on in new files.
 */
#ifndef ORMA_TOOL_FILE_ROTATE_H
#define ORMA_TOOL_FILE_ROTATE_H

#include <stdint.h>
#include <sys/types.h>
#include <time.h>

/* A number of an inode may be used again when its file is gone; hence what else stays the same of a
 * file that nobody writes to. */
struct orma_file_identity {
	dev_t device;
	ino_t inode; /* 0 = there is no such file of ours */
	off_t size;
	struct timespec modified;
};

/* {0} is a good one. */
struct orma_file_rotation {
	struct orma_file_identity *files; /* that were put aside: files[i] is path.i */
	uint32_t count;                   /* size of the array */
};

/*
 * Paths are relative to `folder_fd`, which may be AT_FDCWD.
 *
 * Creates the first file. Neither it nor, when `count` is more than 1, path.1 to path.(count - 1)
 * may exist, except for files of the series that the config's output_path `series` names (NULL = for
 * none): those move up by one when there is a file called `path`, as in orma_file_rotate(), and the
 * oldest is removed when there are `count` of them; when the one called `path` is empty, it is
 * removed and the others stay. `rotation` is {0}. -EEXIST = something else is
 * called `path`; -ENOTUNIQ = something else has one of the numbers; -EBUSY = a recording writes into
 * `path`; -ENOMEM, and what the system says.
 */
int orma_file_create(struct orma_file_rotation *rotation, int folder_fd, const char *path,
		     uint32_t count, const char *series, int *ret_fd);
/* Removes the file `fd` from its folder if that is still its name. */
void orma_file_remove(int folder_fd, const char *path, int fd);

void orma_file_rotation_done(struct orma_file_rotation *rotation);
/*
 * Puts the file `fd`, called `path`, aside as path.1, what was path.1 as path.2 and so on, and
 * opens a new one called `path`. At most `count` files are kept, the new one included; `count` is
 * the same in each call. Files that somebody has removed or renamed meanwhile are gone; files of
 * others are neither removed nor renamed: -EEXIST when one is in the way. -ENOMEM, and what the
 * system says.
 */
int orma_file_rotate(struct orma_file_rotation *rotation, int folder_fd, const char *path,
		     uint32_t count, int fd, int *ret_fd);

#endif
