/* SPDX-License-Identifier: Apache-2.0
 * private_folder.c - the folder with the sockets of a recorder that runs without a daemon, and with a trace that nobody keeps.
 *
 * A process that is killed cannot remove its folder, so the next recorder does. The kernel knows
 * whether a folder is in use: its owner holds a lock on it (flock), which ends with the process. A
 * process that gets the lock may remove the folder. A process that has just made a folder locks it,
 * and then checks that it still exists.
 *
 * The parent is a folder like /tmp, into which any user may put anything. So a matching name is
 * only a hint. The folder must not be a symbolic link, must belong to this user, and must be closed
 * to all others. Its files are removed relative to the descriptor that was checked. Other users
 * cannot rename or replace our folder because of the sticky bit. In a parent without the sticky
 * bit, the worst that they can cause is the removal of an empty folder.
 *
 * Rejected: an abstract socket (open and visible to all users), a file with the process id (ids are
 * reused), and removal by age (a recording may take a week).
 */
#include "tool/daemon/private_folder.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/error_message.h"
#include "base/fd.h"
#include "base/macros.h"

#define PREFIX "orma-record-"
enum {
	PARENT_BYTES_MAX = 32,
	SUFFIX_BYTES = 6,
	TRIES_MAX = 10,
	ENTRIES_MAX = 10000,
	REMOVED_MAX = 100
};

/* Returns the folder's descriptor if it is one of ours, else a negative value. */
static int open_ours(int parent_fd, const char *name)
{
	ORMA_AUTO(orma_base_fd_closep)
	int fd = openat(parent_fd, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	struct stat info;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &info) < 0 || info.st_uid != geteuid() || (info.st_mode & 0777) != 0700)
		return -EACCES;
	int r = fd;
	fd = -1;
	return r;
}

static void remove_content(int fd)
{
	static const char *const names[] = {
		ORMA_PRIVATE_FOLDER_SOCKET,   ORMA_PRIVATE_FOLDER_PRODUCERS,
		ORMA_PRIVATE_FOLDER_PROFILER, ORMA_PRIVATE_FOLDER_LIBRARY,
		ORMA_PRIVATE_FOLDER_TRACE,
	};

	for (size_t i = 0; i < ORMA_ARRAY_SIZE(names); i++)
		(void)unlinkat(fd, names[i], 0);
	(void)unlinkat(fd, ORMA_PRIVATE_FOLDER_INNER, AT_REMOVEDIR);
}

static bool remove_one(int parent_fd, const char *name)
{
	ORMA_AUTO(orma_base_fd_closep) int fd = open_ours(parent_fd, name);

	if (fd < 0 || flock(fd, LOCK_EX | LOCK_NB) < 0)
		return false;
	remove_content(fd);
	return unlinkat(parent_fd, name, AT_REMOVEDIR) == 0;
}

static void remove_stale(const char *parent)
{
	DIR *entries = opendir(parent);
	const struct dirent *entry;
	int removed = 0;

	if (!entries)
		return;
	for (int i = 0; i < ENTRIES_MAX && removed < REMOVED_MAX && (entry = readdir(entries)); i++)
		if (strncmp(entry->d_name, PREFIX, strlen(PREFIX)) == 0 &&
		    strlen(entry->d_name) == strlen(PREFIX) + SUFFIX_BYTES)
			removed += remove_one(dirfd(entries), entry->d_name);
	closedir(entries);
}

/* Returns 1 when it is locked and exists, 0 when another process removed it as a stale one. */
static int lock(struct orma_private_folder *folder)
{
	struct stat here, there;

	folder->fd = open_ours(AT_FDCWD, folder->path);
	if (folder->fd == -ENOENT)
		return 0;
	if (folder->fd < 0)
		return folder->fd;
	/* On a file system without locks, the lock fails for other processes too, so nothing is
	 * removed. */
	(void)flock(folder->fd, LOCK_EX);
	if (fstat(folder->fd, &here) == 0 && lstat(folder->path, &there) == 0 &&
	    here.st_ino == there.st_ino && here.st_dev == there.st_dev)
		return 1;
	folder->fd = orma_base_fd_close(folder->fd);
	return 0;
}

const char *orma_private_folder_parent(const char *wanted)
{
	/* Socket paths are short, and addresses are lists with commas. */
	bool is_usable =
		wanted && wanted[0] && strlen(wanted) <= PARENT_BYTES_MAX && !strchr(wanted, ',');

	return is_usable ? wanted : "/tmp";
}

int orma_private_folder_make(const char *parent, struct orma_private_folder *ret,
			     struct orma_error *reterr)
{
	struct orma_private_folder folder = {.fd = -1};
	int r = 0;

	remove_stale(parent);
	for (int i = 0; i < TRIES_MAX && r == 0; i++) {
		if ((size_t)snprintf(folder.path, sizeof(folder.path), "%s/" PREFIX "XXXXXX",
				     parent) >= sizeof(folder.path))
			return orma_base_error_set(
				reterr, -ENAMETOOLONG,
				"cannot make a folder in %s: the path is too long", parent);
		if (!mkdtemp(folder.path))
			return orma_base_error_set(reterr, -errno, "cannot make the folder %s: %s",
						   folder.path, strerror(errno));
		r = lock(&folder);
	}
	if (r <= 0)
		return orma_base_error_set(reterr, r < 0 ? r : -EBUSY,
					   "cannot keep the folder %s: something removes it",
					   folder.path);
	*ret = folder;
	return 0;
}

void orma_private_folder_remove(struct orma_private_folder *folder)
{
	if (!folder->path[0])
		return;
	remove_content(folder->fd);
	(void)rmdir(folder->path);
	folder->fd = orma_base_fd_close(folder->fd);
	folder->path[0] = '\0';
}
