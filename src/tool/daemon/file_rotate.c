/* SPDX-License-Identifier: Apache-2.0
 * file_rotate.c - renames the files of a session, each to the next number, and creates the next
 * file.
 *
 * The daemon may be root, and a consumer chooses the path. So only files that this session, or an
 * earlier one of the same series, has written may be lost. A file is removed or renamed only while
 * its name still leads to the file that was created, found or put there. A rename never replaces a
 * file, and the new file must not exist. Paths are relative to the descriptor of a folder, as with
 * openat(). It is AT_FDCWD for root and the daemon's own user, who may change their folders. For
 * other users it is the folder that holds the files (output_folder.h), so that no link in a path
 * leads elsewhere. Rejected: truncating the oldest file and using it again, because readers may
 * have it open.
 */
#include "tool/daemon/file_rotate.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/fd.h"
#include "base/macros.h"
#include "tool/daemon/file_series.h"

/* RENAME_NOREPLACE; musl has neither it nor the function. */
#define NOREPLACE 1u

struct names {
	char *text; /* a buffer for a name */
	size_t size;
	int folder_fd;
	const char *path; /* relative to the folder */
};

/* Returns path, path.1, path.2 and so on. Two names can be in use at a time. */
static const char *get_name(const struct names *names, uint32_t number)
{
	char *text = names->text + (number % 2 ? names->size : 0);

	if (number == 0)
		return names->path;
	snprintf(text, names->size, "%s.%u", names->path, number);
	return text;
}

static int identify(int fd, struct orma_file_identity *ret)
{
	struct stat info;

	if (fstat(fd, &info))
		return -errno;
	*ret = (struct orma_file_identity){info.st_dev, info.st_ino, info.st_size, info.st_mtim};
	return 0;
}

/* Returns 1 when the name leads to that file, 0 when to none, -EEXIST when to another one. */
static int check_identity(int folder_fd, const char *name, const struct orma_file_identity *file)
{
	struct stat info;

	if (fstatat(folder_fd, name, &info, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (info.st_dev != file->device || info.st_ino != file->inode ||
	    info.st_size != file->size || info.st_mtim.tv_sec != file->modified.tv_sec ||
	    info.st_mtim.tv_nsec != file->modified.tv_nsec)
		return -EEXIST;
	return 1;
}

/* Used on file systems without the flag. A file that appears between the check and the rename is
 * lost. Only a user who may write to the folder can put it there, and that user could replace any
 * file in it. */
static int rename_without_replacing(int folder_fd, const char *from, const char *to)
{
	struct stat info;

	if (syscall(SYS_renameat2, folder_fd, from, folder_fd, to, NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS)
		return -errno;
	if (fstatat(folder_fd, to, &info, AT_SYMLINK_NOFOLLOW) == 0)
		return -EEXIST;
	return renameat(folder_fd, from, folder_fd, to) ? -errno : 0;
}

/* Renames the file of that number to the next one, or removes it. */
static int move_up(struct orma_file_rotation *rotation, const struct names *names, uint32_t number)
{
	struct orma_file_identity *file = &rotation->files[number];
	const char *name = get_name(names, number);
	bool is_oldest = number + 1 == rotation->count;
	int r = file->inode ? check_identity(names->folder_fd, name, file) : 0;

	if (r == 0) /* there never was one, or it was removed */
		file->inode = 0;
	if (r == 1 && is_oldest)
		r = unlinkat(names->folder_fd, name, 0) ? -errno : 0;
	else if (r == 1)
		r = rename_without_replacing(names->folder_fd, name, get_name(names, number + 1));
	if (r < 0)
		return r;
	if (!is_oldest)
		rotation->files[number + 1] = *file;
	file->inode = 0;
	return 0;
}

/* Locks a new file. Until then, another recording may take it for an empty one that a crash has
 * left. */
static int claim(const struct names *names, int fd)
{
	struct orma_file_identity file = {0};
	int r = orma_file_series_lock(fd);

	if (r == 0)
		r = identify(fd, &file);
	if (r == 0)
		r = check_identity(names->folder_fd, names->path, &file);
	return r == 1 ? 0 : r == 0 || r == -EEXIST ? -EBUSY : r;
}

static int create(const struct names *names, uint32_t count)
{
	int fd = openat(names->folder_fd, names->path,
			O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	int r = fd < 0 ? -errno : claim(names, fd);

	if (r < 0) {
		orma_base_fd_close(fd);
		return r;
	}
	/* Every user may read the file of an output_path, as with Perfetto. A series is orma's own:
	 * its files are private like those of a recorder, unless the consumer is another user. A
	 * file system without modes does not matter. Not before the lock, which a reader could
	 * take. */
	if (count == 0 || names->folder_fd != AT_FDCWD)
		(void)fchmod(fd, 0644);
	return fd;
}

/* Reports a file that is in the way at once, not after hours of recording. */
static int check_names(const struct names *names, uint32_t count)
{
	struct stat info;

	for (uint32_t number = 1; number < count; number++)
		if (fstatat(names->folder_fd, get_name(names, number), &info,
			    AT_SYMLINK_NOFOLLOW) == 0)
			return -ENOTUNIQ;
	return 0;
}

/* Moves all files up by one, beginning with the oldest. `path` is free then. */
static int move_all_up(struct orma_file_rotation *rotation, const struct names *names)
{
	int r = 0;

	for (uint32_t number = rotation->count; number-- > 0 && r == 0;)
		r = move_up(rotation, names, number);
	return r;
}

/* Removes an empty file that a crash or a full disk has left, so that it does not take a number. */
static int remove_empty(struct orma_file_rotation *rotation, const struct names *names)
{
	int r = check_identity(names->folder_fd, names->path, &rotation->files[0]);

	rotation->files[0].inode = 0;
	if (r == 1 && unlinkat(names->folder_fd, names->path, 0))
		return -errno;
	return ORMA_MIN(r, 0);
}

/* Finds the files of earlier recordings of this series, and makes room for another one. All of them
 * are checked before anything is moved. */
static int continue_series(struct orma_file_rotation *rotation, const struct names *names,
			   const char *output_path)
{
	ORMA_AUTO(orma_base_fd_closep) int newest_fd = -1;
	int r = 0;

	for (uint32_t number = 1; number < rotation->count && r >= 0; number++)
		r = orma_file_series_check(names->folder_fd, get_name(names, number), output_path,
					   &rotation->files[number], NULL);
	if (r == -EEXIST)
		return -ENOTUNIQ;
	if (r < 0)
		return r;
	r = orma_file_series_check(names->folder_fd, names->path, output_path, &rotation->files[0],
				   &newest_fd);
	if (r <= 0)
		return r;
	return rotation->files[0].size == 0 ? remove_empty(rotation, names)
					    : move_all_up(rotation, names);
}

static int prepare(struct orma_file_rotation *rotation, const struct names *names, uint32_t count,
		   const char *series)
{
	if (!series || count == 0)
		return check_names(names, count);
	rotation->files = orma_base_alloc_array(count, sizeof(*rotation->files));
	if (!rotation->files)
		return -ENOMEM;
	rotation->count = count;
	return continue_series(rotation, names, series);
}

int orma_file_create(struct orma_file_rotation *rotation, int folder_fd, const char *path,
		     uint32_t count, const char *series, int *ret_fd)
{
	struct names names = {.size = strlen(path) + 12, .folder_fd = folder_fd, .path = path};
	int r;

	names.text = orma_base_alloc(2 * names.size);
	if (!names.text)
		return -ENOMEM;
	r = prepare(rotation, &names, count, series);
	if (r == 0)
		r = create(&names, count);
	orma_base_free(names.text);
	if (r < 0)
		return r;
	*ret_fd = r;
	return 0;
}

void orma_file_remove(int folder_fd, const char *path, int fd)
{
	struct orma_file_identity file;

	if (identify(fd, &file) == 0 && check_identity(folder_fd, path, &file) == 1)
		(void)unlinkat(folder_fd, path, 0);
}

static int rotate(struct orma_file_rotation *rotation, const struct names *names, int fd)
{
	int r = identify(fd, &rotation->files[0]);

	if (r == 0)
		r = move_all_up(rotation, names);
	return r < 0 ? r : create(names, rotation->count);
}

void orma_file_rotation_done(struct orma_file_rotation *rotation)
{
	orma_base_free(rotation->files);
	*rotation = (struct orma_file_rotation){0};
}

int orma_file_rotate(struct orma_file_rotation *rotation, int folder_fd, const char *path,
		     uint32_t count, int fd, int *ret_fd)
{
	struct names names = {.size = strlen(path) + 12, .folder_fd = folder_fd, .path = path};
	int r;

	if (!rotation->files)
		rotation->files = orma_base_alloc_array(count, sizeof(*rotation->files));
	names.text = orma_base_alloc(2 * names.size);
	if (!rotation->files || !names.text) {
		orma_base_free(names.text);
		return -ENOMEM;
	}
	rotation->count = count;
	r = rotate(rotation, &names, fd);
	orma_base_free(names.text);
	if (r < 0)
		return r;
	*ret_fd = r;
	return 0;
}
