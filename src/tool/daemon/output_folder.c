/* SPDX-License-Identifier: Apache-2.0
 * output_folder.c - opens paths that another user chose, below a folder that the administrator
 * chose.
 *
 * The daemon creates these files with rights that their users do not have, and any of the users may
 * change folders below the output folder meanwhile. So a path is walked name by name: each folder
 * is opened relative to the one before, without following a symbolic link, and ".." is refused. The
 * file is then created, renamed and removed relative to the descriptor of its own folder, so that
 * no folder of the path is looked up again.
 *
 * The output folder is opened when the daemon starts, before it changes its user and installs its
 * system call filter. Renaming the folder or its parents later has no effect.
 *
 * Rejected: openat2() with RESOLVE_BENEATH and RESOLVE_NO_SYMLINKS. It does the same in one call,
 * but its flags are in memory, where a system call filter cannot see them, so a filter that allows
 * the call would allow any existing file to be opened for writing. Kernels before 5.6 need the walk
 * in any case. Also rejected: realpath() of the user's path (links may change afterwards).
 */
#include "tool/daemon/output_folder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/alloc.h"
#include "base/error_message.h"
#include "base/fd.h"

#define FOLDER_ONLY (O_PATH | O_DIRECTORY)

/* Copies a path without the slashes at its end; "" is the root. */
static char *copy_path(const char *path)
{
	char *copy = orma_base_strdup(path);
	size_t size = strlen(path);

	while (copy && size > 0 && copy[size - 1] == '/')
		copy[--size] = '\0';
	return copy;
}

int orma_output_folder_open(const char *path, struct orma_output_folder *ret,
			    struct orma_error *reterr)
{
	struct orma_output_folder folder = ORMA_OUTPUT_FOLDER_NONE;
	char real_path[PATH_MAX];
	int r = 0;

	folder.fd = open(path, FOLDER_ONLY | O_CLOEXEC);
	if (folder.fd < 0 || !realpath(path, real_path))
		r = -errno;
	if (r == 0) {
		folder.path = copy_path(path);
		folder.real_path = copy_path(real_path);
		r = folder.path && folder.real_path ? 0 : -ENOMEM;
	}
	if (r) {
		orma_output_folder_close(&folder);
		return orma_base_error_set(reterr, r, "--output-dir %s: %s", path, strerror(-r));
	}
	*ret = folder;
	return 0;
}

void orma_output_folder_close(struct orma_output_folder *folder)
{
	folder->fd = orma_base_fd_close(folder->fd);
	orma_base_free(folder->path);
	orma_base_free(folder->real_path);
	folder->path = folder->real_path = NULL;
}

/* Returns the part of an absolute path after the folder's name; NULL = the path is not below it. */
static const char *skip_folder(const char *path, const char *folder)
{
	size_t size = strlen(folder);

	return strncmp(path, folder, size) == 0 && path[size] == '/' ? path + size : NULL;
}

/* Returns the size of the next name in *path, which then points behind the name; 0 = there is
 * none. */
static size_t next_name(const char **path, const char **ret_name)
{
	const char *name = *path + strspn(*path, "/");
	size_t size = strcspn(name, "/");

	*ret_name = name;
	*path = name + size;
	return size;
}

static bool is_name(const char *name, size_t size, const char *wanted)
{
	return size == strlen(wanted) && memcmp(name, wanted, size) == 0;
}

/* Returns true when the path has only names, no "..", and its last name is that of a file. */
static bool is_plain(const char *rest)
{
	const char *name, *last = NULL;
	size_t size, last_size = 0;

	while ((size = next_name(&rest, &name)) > 0) {
		if (is_name(name, size, ".."))
			return false;
		last = name;
		last_size = size;
	}
	return last && last[last_size] == '\0' && !is_name(last, last_size, ".");
}

int orma_output_folder_check(const struct orma_output_folder *folder, const char *path_untrusted,
			     const char **ret_rest, struct orma_error *reterr)
{
	const char *rest = path_untrusted;

	if (folder->fd < 0)
		return -EACCES;
	if (*path_untrusted == '/') {
		rest = skip_folder(path_untrusted, folder->real_path);
		if (!rest && *folder->path == '/')
			rest = skip_folder(path_untrusted, folder->path);
	}
	if (!rest || !is_plain(rest))
		return orma_base_error_set(
			reterr, -EXDEV,
			"output_path: for users other than root and its own this service creates "
			"files only below %s/, by paths without \"..\"; name a file there, or "
			"leave output_path out and pass a file descriptor, as `orma record --out "
			"FILE` does",
			folder->real_path);
	*ret_rest = rest;
	return 0;
}

/* Reports a symbolic link by an error of its own, so that the message can say so. */
static int open_child(int parent_fd, const char *name)
{
	struct stat info;
	int fd = openat(parent_fd, name, FOLDER_ONLY | O_NOFOLLOW | O_CLOEXEC), error = errno;

	if (fd >= 0)
		return fd;
	if (error == ENOTDIR && fstatat(parent_fd, name, &info, AT_SYMLINK_NOFOLLOW) == 0 &&
	    S_ISLNK(info.st_mode))
		return -ELOOP;
	return -error;
}

int orma_output_folder_enter(const struct orma_output_folder *folder, const char *rest, int *ret_fd,
			     const char **ret_name)
{
	char child[NAME_MAX + 1];
	const char *name;
	size_t size = next_name(&rest, &name);
	int fd = fcntl(folder->fd, F_DUPFD_CLOEXEC, 0), result = fd < 0 ? -errno : 0;

	while (result == 0 && *rest) {
		if (size > NAME_MAX) {
			result = -ENAMETOOLONG;
			break;
		}
		memcpy(child, name, size);
		child[size] = '\0';
		result = open_child(fd, child);
		if (result < 0)
			break;
		orma_base_fd_close(fd);
		fd = result;
		result = 0;
		size = next_name(&rest, &name);
	}
	if (result < 0) {
		orma_base_fd_close(fd);
		return result;
	}
	*ret_fd = fd;
	*ret_name = name;
	return 0;
}
